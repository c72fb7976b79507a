"""Secrets in addresses and headers: passwords in URLs, signatures in queries, `Authorization`."""

from __future__ import annotations

from collections.abc import Iterator

from agent_pty.core.redaction.found import Found
from agent_pty.core.redaction.pattern import compiled
from agent_pty.core.redaction.secret_name import is_no_secret

_USER_AND_PASSWORD = compiled(
    r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@\"'<>]*:([^\s/@\"'<>]+)@", case=False
)
# A password with a slash in it, which should have been written as %2F.
_SLASHED = compiled(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@\"'<>]+:([^\s@\"'<>]+)@[A-Za-z0-9.-]+[:/]")
# A user who is a key: Sentry, Stripe and others.
_ONLY_USER = compiled(r"[a-zA-Z][a-zA-Z0-9+.-]*://([0-9a-fA-F]{16,}|[A-Za-z0-9_-]{32,})@")
_SIGNED = compiled(
    r"[?&;](?:sig|signature|hmac|hash_key|key|apikey|code|state_token|x-amz-signature"
    r"|x-amz-security-token|x-amz-credential|x-goog-signature|x-goog-credential|se_token|jwt"
    r"|access_token|id_token|auth)=([A-Za-z0-9%._~+/=-]{12,})",
    case=False,
)
_SCHEME = r"(?:bearer|basic|token|negotiate|apikey|api-key|ntlm|key|bot|jwt)"
_SCHEME_ALONE = compiled(rf"^{_SCHEME}$", case=False)
_HEADER = r"(?:proxy-)?authorization\\?[\"']?[ \t]*[:=]+[ \t]*\\?[\"']?"
_AUTHORIZATION = compiled(rf"{_HEADER}(?:{_SCHEME}[ \t]+\\?[\"']?)?([^\s\"'\\`,;]+)", case=False)
# Schemes of many parts, each of which tells something.
_PARTS = compiled(
    rf"{_HEADER}(?:digest|aws4-hmac-sha256|signature|hmac)[ \t]+(\S[^\r\n\"']*)", case=False
)
_BEARER = compiled(r"\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/=-]{16,})", case=False)
_COOKIES = compiled(r"\b(?:set-)?cookie\\?[\"']?[ \t]*:[ \t]*\\?[\"']?([^\"'\r\n]+)", case=False)
_COOKIE = compiled(
    r"(?:^|[;\s])([A-Za-z0-9_.-]*(?:sess|sid|auth|token|csrf|xsrf|jwt|remember|login)[A-Za-z0-9_.-]*)"
    r"=([^;\s]{6,})",
    case=False,
)
_HEADER_KEY = compiled(
    r"\b(?:x-[a-z-]*(?:key|token|secret|auth|signature)[a-z-]*|private-token|job-token|deploy-token"
    r"|api-key|apikey|ocp-apim-subscription-key)\\?[\"']?[ \t]*:[ \t]*\\?[\"']?([^\s\"'\\,]+)",
    case=False,
)
_ACCOUNT_KEY = compiled(
    r"\b(?:accountkey|sharedaccesskey|sharedaccesssignature)=([^;\s\"']+)", case=False
)
# The secret half beside the id of a key.
_KEY_PAIR = compiled(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}[\s:,|\"']+([A-Za-z0-9/+=]{40})(?:[^A-Za-z0-9/+=]|$)"
)


def address_secrets(text: bytes) -> Iterator[Found]:
    """Yield the secrets of URLs, queries and headers."""
    for pattern, kind in (
        (_USER_AND_PASSWORD, "url_password"),
        (_SLASHED, "url_password"),
        (_ONLY_USER, "url_key"),
        (_SIGNED, "query"),
        (_PARTS, "header"),
        (_AUTHORIZATION, "header"),
        (_BEARER, "header"),
        (_HEADER_KEY, "header"),
        (_ACCOUNT_KEY, "assignment"),
        (_KEY_PAIR, "aws_secret_key"),
    ):
        for match in pattern.finditer(text):
            value = match.group(1)
            if not (is_no_secret(value.decode(errors="replace")) or _SCHEME_ALONE.search(value)):
                yield Found.at(match.span(1), kind)
    for header in _COOKIES.finditer(text):
        start = header.start(1)
        for cookie in _COOKIE.finditer(header.group(1)):
            yield Found(start + cookie.start(2), start + cookie.end(2), "cookie")
