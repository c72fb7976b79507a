"""The top of the page: what the session was, and whether its record can be trusted."""

from __future__ import annotations

import datetime as dt

from agent_pty.ops.proof_model import Bundle
from agent_pty.proof.html_element import Html, element, joined


def summary(bundle: Bundle, title: str) -> Html:
    """Return title, verdict and figures."""
    program = " ".join(bundle.argv or ["unknown program"])
    where = element(
        "p",
        element("code", program),
        " in ",
        element("code", bundle.cwd or "unknown"),
        *([" on branch ", element("code", bundle.branch)] if bundle.branch else []),
        class_="muted",
    )
    head = element("header", element("h1", title), where, _verdict(bundle))
    return joined(head, element("div", *_cards(bundle), class_="cards"))


def _verdict(bundle: Bundle) -> Html:
    integrity = bundle.log_integrity
    span = f"{integrity.event_count} events"
    if integrity.verdict == "failed":
        kind, sign, words = "bad", "\u2717", "Log integrity: failed. The record is damaged."
        more = f"{integrity.first_error or 'unknown'} ({span} before it are good). "
        more += "Do not rely on what follows."
    elif integrity.verdict == "verified":
        kind, sign, words = "ok", "\u2713", "Log integrity: verified"
        more = f"All {span} are whole, in order and covered by a signed checkpoint."
    else:
        kind, sign, words = "warn", "\u2713", "Log integrity: verified to a checkpoint"
        more = f"{integrity.signed_count} of {span} are signed; the chain of the others is whole."
    said = element("div", element("strong", words), more)
    return element("div", element("span", sign, class_="sign"), said, class_=f"verdict {kind}")


def _cards(bundle: Bundle) -> list[Html]:
    span = bundle.event_range
    failed = sum(bool(one.exit_code) for one in bundle.cells)
    gate = bundle.gate_coverage[-1] if bundle.gate_coverage else None
    return [
        _card("Session", _state(bundle), _length(bundle)),
        _card("Events", str(bundle.event_count), f"{span.first} to {span.last}"),
        _card(
            "Commands",
            str(len(bundle.commands_run)),
            f"with the program itself; cells that failed: {failed}",
        ),
        _card("Files changed", str(_changed(bundle)), _before(bundle)),
        _card("Risk flags", str(len(bundle.risk_flags)), "see below"),
        _card("Secrets taken out", str(sum(bundle.secrets_redacted.values())), "before writing"),
        _card(
            "Gate",
            "unknown" if gate is None else f"line {gate.line}",
            "no fence is recorded" if gate is None else f"guard {gate.guard or 'none'}",
        ),
        _card("Generated", bundle.generated_at[:10], f"{bundle.generated_at[11:19]} UTC"),
    ]


def _changed(bundle: Bundle) -> int:
    return sum(not one.before and not one.reverted for one in bundle.files_changed)


def _before(bundle: Bundle) -> str:
    before = sum(one.before for one in bundle.files_changed)
    return f"{before} more before the session" if before else "by git's snapshots"


def _card(name: str, value: str, note: str) -> Html:
    longest = 12
    size = "long" if len(value) > longest else None
    return element(
        "div",
        element("span", name),
        element("b", value, class_=size),
        element("small", note),
        class_="card",
    )


def _state(bundle: Bundle) -> str:
    if bundle.state != "exited":
        return bundle.state
    if bundle.signal is not None:
        return f"signal {bundle.signal}"
    return "exit unknown" if bundle.exit_code is None else f"exit {bundle.exit_code}"


def _length(bundle: Bundle) -> str:
    first, last = bundle.event_range.first_at, bundle.event_range.last_at
    try:
        began, ended = (dt.datetime.fromisoformat(one or "") for one in (first, last))
    except ValueError:
        return "of unknown length"
    seconds = max(0.0, (ended - began).total_seconds())
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
