"""Secrets that are recognised by how they look: the prefixes that their makers gave them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_pty.core.redaction.found import Found
from agent_pty.core.redaction.pattern import compiled

# What stands before a token: not a part of a longer word.
_BEFORE = r"(?:^|[^A-Za-z0-9_])"
_W = r"[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of secret; *marker* is what takes its place."""

    kind: str
    pattern: str
    marker: str = ""
    # Whether it is known also behind other letters and digits.
    anywhere: bool = False


# One line each: the kind, and what follows the border of a word.
_SHAPES = (
    # As the first evidence logs had them: these keep their markers.
    Shape(kind="sk_key", pattern=rf"sk-{_W}{{16,}}", marker="sk-[REDACTED]"),
    Shape(
        kind="github_token",
        pattern=r"gh[pousr]_[A-Za-z0-9_]{20,}",
        marker="gh_[REDACTED]",
        anywhere=True,
    ),
    Shape(kind="aws_key_id", pattern=r"AKIA[A-Z0-9]{16}", marker="AKIA[REDACTED]", anywhere=True),
    # Clouds and hosts of code
    Shape(kind="aws_key_id", pattern=r"(?:ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Shape(kind="github_token", pattern=r"github_pat_[A-Za-z0-9_]{20,}", anywhere=True),
    Shape(
        kind="gitlab_token",
        pattern=rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent|imt)-{_W}{{16,}}(?:\.[0-9a-z.]+)?",
    ),
    Shape(kind="google_key", pattern=rf"AIza{_W}{{30,}}"),
    Shape(kind="google_oauth", pattern=rf"ya29\.[A-Za-z0-9._-]{{16,}}|GOCSPX-{_W}{{16,}}"),
    Shape(kind="google_oauth", pattern=rf"1//0{_W}{{20,}}"),
    Shape(kind="digitalocean_token", pattern=r"do[opr]_v1_[0-9a-f]{32,}"),
    Shape(kind="databricks_token", pattern=r"dapi[0-9a-f]{32}(?:-\d)?"),
    Shape(kind="terraform_token", pattern=rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_W}{{40,}}"),
    Shape(kind="vault_token", pattern=rf"hv[sbr]\.{_W}{{20,}}"),
    Shape(kind="heroku_key", pattern=rf"HRKU-{_W}{{30,}}"),
    Shape(kind="fly_token", pattern=rf"fm[12]_{_W}{{20,}}|fo1_{_W}{{20,}}"),
    Shape(kind="netlify_token", pattern=r"nfp_[A-Za-z0-9]{30,}"),
    Shape(kind="supabase_token", pattern=r"sbp_[0-9a-f]{32,}"),
    Shape(kind="planetscale_token", pattern=rf"pscale_(?:tkn|pw|oauth)_{_W}{{20,}}"),
    Shape(kind="doppler_token", pattern=r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9.]{30,}"),
    Shape(kind="pulumi_token", pattern=r"pul-[0-9a-f]{32,}"),
    Shape(kind="tailscale_key", pattern=r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    Shape(kind="cloudflare_key", pattern=r"v1\.0-[0-9a-f]{20,}-[0-9a-f]{100,}"),
    Shape(kind="alibaba_key", pattern=r"LTAI[A-Za-z0-9]{12,}"),
    # Packages and pipelines
    Shape(kind="npm_token", pattern=r"npm_[A-Za-z0-9]{30,}"),
    Shape(kind="pypi_token", pattern=rf"pypi-{_W}{{30,}}"),
    Shape(kind="rubygems_key", pattern=r"rubygems_[0-9a-f]{40,}"),
    Shape(kind="crates_token", pattern=r"cio[A-Za-z0-9]{32}"),
    Shape(kind="docker_token", pattern=rf"dckr_[po]at_{_W}{{20,}}"),
    Shape(kind="jfrog_key", pattern=r"AKC[A-Za-z0-9]{60,}"),
    Shape(kind="circleci_token", pattern=r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{20,}"),
    Shape(kind="buildkite_token", pattern=r"bkua_[0-9a-f]{32,}"),
    Shape(kind="sonar_token", pattern=r"sq[pua]_[0-9a-f]{40}"),
    Shape(kind="sourcegraph_token", pattern=r"sgp_[A-Za-z0-9_]{32,}"),
    # Models
    Shape(kind="huggingface_token", pattern=r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}"),
    Shape(kind="groq_key", pattern=r"gsk_[A-Za-z0-9]{30,}"),
    Shape(kind="xai_key", pattern=r"xai-[A-Za-z0-9]{40,}"),
    Shape(kind="replicate_token", pattern=r"r8_[A-Za-z0-9]{30,}"),
    Shape(kind="nvidia_key", pattern=rf"nvapi-{_W}{{40,}}"),
    Shape(kind="perplexity_key", pattern=r"pplx-[A-Za-z0-9]{30,}"),
    Shape(kind="langsmith_key", pattern=r"lsv2_[a-z]{2}_[0-9a-f_]{32,}"),
    # Messages and mail
    Shape(kind="slack_token", pattern=r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}"),
    Shape(kind="slack_token", pattern=r"xox[a-z]\.[a-z]+-[A-Za-z0-9-]{10,}"),
    Shape(kind="discord_token", pattern=rf"[MNO][A-Za-z0-9]{{23,27}}\.{_W}{{6}}\.{_W}{{27,}}"),
    Shape(kind="telegram_token", pattern=rf"(?:bot)?[0-9]{{8,10}}:AA{_W}{{33}}"),
    Shape(kind="sendgrid_key", pattern=rf"SG\.{_W}{{16,}}\.{_W}{{16,}}"),
    Shape(kind="mailgun_key", pattern=r"key-[0-9a-f]{32}"),
    Shape(kind="mailchimp_key", pattern=r"[0-9a-f]{32}-us[0-9]{1,2}"),
    Shape(kind="brevo_key", pattern=rf"xkeysib-{_W}{{30,}}|xsmtpsib-{_W}{{30,}}"),
    Shape(kind="resend_key", pattern=r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    Shape(kind="twilio_key", pattern=r"SK[0-9a-f]{32}"),
    # Money and shops
    Shape(kind="stripe_key", pattern=r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}", anywhere=True),
    Shape(kind="stripe_webhook_secret", pattern=r"whsec_[A-Za-z0-9+/=]{16,}", anywhere=True),
    Shape(kind="square_token", pattern=rf"sq0[a-z]{{3}}-{_W}{{20,}}|EAAA[A-Za-z0-9_-]{{56,}}"),
    Shape(kind="shopify_token", pattern=r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32}"),
    # Work
    Shape(kind="linear_key", pattern=r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    Shape(kind="notion_token", pattern=r"ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{43}"),
    Shape(kind="atlassian_token", pattern=r"AT[AC]TT3[A-Za-z0-9_=-]{20,}"),
    Shape(kind="figma_token", pattern=rf"figd_{_W}{{20,}}"),
    Shape(kind="postman_key", pattern=r"PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}"),
    Shape(kind="airtable_token", pattern=r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}"),
    Shape(kind="contentful_token", pattern=rf"CFPAT-{_W}{{30,}}"),
    Shape(kind="sentry_token", pattern=r"sntry[su]_[A-Za-z0-9+/=_-]{30,}"),
    Shape(kind="grafana_token", pattern=rf"glsa_{_W}{{30,}}|glc_[A-Za-z0-9+/=]{{30,}}"),
    Shape(kind="newrelic_key", pattern=r"NRAK-[A-Z0-9]{20,}|NRJS-[0-9a-f]{16,}"),
    Shape(kind="dynatrace_token", pattern=r"dt0[a-z]\d\d\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    Shape(kind="onepassword_token", pattern=r"ops_eyJ[A-Za-z0-9+/=_-]{40,}"),
    # Forms that many use
    Shape(kind="jwt", pattern=r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    Shape(kind="age_key", pattern=r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    Shape(
        kind="password_hash",
        pattern=r"\$(?:1|2[abxy]|5|6|7|y|gy|argon2id?|scrypt)\$[A-Za-z0-9./$=,+]{16,}",
    ),
    Shape(
        kind="slack_webhook",
        pattern=r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,}",
    ),
    Shape(
        kind="discord_webhook",
        pattern=rf"discord(?:app)?\.com/api/webhooks/[0-9]+/{_W}{{20,}}",
    ),
    Shape(kind="teams_webhook", pattern=r"webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{30,}"),
)


def _either(*, anywhere: bool) -> str:
    return "|".join(one.pattern for one in _SHAPES if one.anywhere is anywhere)


# One search finds whether there is any; the kind is asked only of what was found.
PATTERN = rf"{_BEFORE}({_either(anywhere=False)})|({_either(anywhere=True)})"
_ANY = compiled(PATTERN)
_EACH = [(one, compiled(f"^(?:{one.pattern})$")) for one in _SHAPES]


def tokens(text: bytes) -> Iterator[Found]:
    """Yield the secrets that are known by their look."""
    for match in _ANY.finditer(text):
        span = match.span(1) if match.group(1) is not None else match.span(2)
        token = text[slice(*span)]
        shape = next(one for one, pattern in _EACH if pattern.search(token))
        yield Found.at(span, shape.kind, shape.marker)
