"""`proof`: everything that the record of a session shows, as files that can be checked anywhere."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from agent_pty.core.command import NAME, Call, Command, Fields, Part, argument, part
from agent_pty.core.evidence.claim import BadClaim, parsed_claim
from agent_pty.core.safe import one_line
from agent_pty.errors import BadRequest, Usage
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request
from agent_pty.ops.proof_model import Bundle

_FAILED, _UNDECIDABLE = 1, 3

_HELP = (
    "Write a proof of a session: JSON, Markdown and one self-contained HTML page, signed.\n\n"
    "Prints the path of the Markdown file, of the page with --html, or the whole bundle with "
    "--json. The session may run or be gone. Each --claim is checked by the record: "
    '"ran:pytest exit:0 after:last-change", "never:rm_rf", "clean-tree". Exit status 0: all '
    "claims are true; 1: one is false, or the record is damaged; 3: one cannot be decided. "
    "`agent-pty verify FILE.proof.json` checks the files on any machine."
)


class Proof(Request, frozen=True, kw_only=True):
    """Write a proof of a session: what was typed, what came of it, which files changed.

    JSON, Markdown and HTML are written to the log directory, with a signed statement about them.
    An answer has at most 256 KiB; `json_path` has all of it.
    """

    id: Annotated[str, Meta(description="session, running or not")]
    instance: Annotated[
        str | None, Meta(description="an earlier one of that name; default: the newest")
    ] = None
    claims: Annotated[
        list[str],
        Meta(description="`ran:COMMAND exit:N after:last-change`, `never:RULE`, `clean-tree`"),
    ] = field(default_factory=list)


async def proof(registry: Registry, request: Proof) -> Bundle:
    """Refuse what is no claim, then let the daemon make the bundle."""
    for claim in request.claims:
        try:
            parsed_claim(claim)
        except BadClaim as error:
            raise BadRequest(str(error), field="claims") from error
    made: Bundle = await registry.proof(request)  # or its JSON, which is the same in an answer
    return made


async def _prove(call: Call, fields: Fields) -> int:
    for claim in fields["claims"] or ():
        try:
            parsed_claim(claim)
        except BadClaim as error:
            raise Usage(str(error)) from error
    try:
        bundle = await call.ask("proof", **fields)
    except BadRequest as error:
        if error.details.get("field") != "claims":
            raise
        raise Usage(str(error)) from error  # no rule has the name; only the daemon knows them
    if call.json:
        await call.print((await call.read_file(bundle["json_path"])).decode())
    else:
        path = bundle["html_path" if call.options.html else "markdown_path"]
        await call.print(f"{path}\n")
    await _warn(call, bundle)
    return _status(bundle)


async def _warn(call: Call, bundle: dict[str, Any]) -> None:
    """Say what a reader of the path alone would miss."""
    integrity = bundle["log_integrity"]
    if not integrity["verified"]:
        error = one_line(str(integrity["first_error"]))
        await call.warn(f"proof: integrity: failed: the record is damaged: {error}")
    for one in bundle["claims"]:
        shown = f" (events {', '.join(map(str, one['events']))})" if one["events"] else ""
        claim, reason = one_line(one["claim"]), one_line(one["reason"])
        await call.warn(f"proof: {one['result']}: {claim}: {reason}{shown}")


def _status(bundle: dict[str, Any]) -> int:
    found = {one["result"] for one in bundle["claims"]}
    if not bundle["log_integrity"]["verified"] or "false" in found:
        return _FAILED
    return _UNDECIDABLE if "undecidable" in found else 0


async def _claims(call: Call) -> Fields:
    return {"claims": call.options.claims}


_CLAIMS = Part(
    arguments=(
        argument(
            "--claim",
            dest="claims",
            action="append",
            default=[],
            metavar="CLAIM",
            help="a statement to be checked; may be repeated",
        ),
    ),
    fields=("claims",),
    fill=_claims,
)

OP = Op(
    name="proof",
    tool="terminal.proof",
    answer="proof",
    request=Proof,
    where="daemon",
    handler=proof,
    commands=(
        Command(
            parts=(
                NAME,
                part("html", "--html", action="store_true", help="print the path of the page"),
                _CLAIMS,
            ),
            run=_prove,
            summary=_HELP,
            examples=(
                "agent-pty proof work",
                "agent-pty proof work --html",
                'agent-pty proof work --claim "ran:pytest exit:0 after:last-change"',
            ),
        ),
    ),
)
