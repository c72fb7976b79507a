"""The smaller parts of the page: claims, risks, files, policy, people, screen, integrity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_pty.ops.proof_model import Bundle, GateCoverage
from agent_pty.proof.html_diff import diff_html
from agent_pty.proof.html_element import Html, element, joined

_CLAIM = {"true": "ok", "false": "bad", "undecidable": "warn"}
_POLICY = {"denied": "bad", "refused": "bad", "approved": "warn", "granted": "warn"}
_BAD_FLAGS = ("the record is damaged", "blocked", "gap in", "host lost", "events that cannot")


def _section(title: str, *body: str, place: str, count: int | None = None) -> Html:
    shown = [] if count is None else [element("span", f" {count}", class_="count")]
    return element("section", element("h2", title, *shown), *body, id=place)


def _none(words: str = "none") -> Html:
    return element("p", words, class_="muted")


def _list(items: Iterable[Html]) -> Html:
    return element("ul", *(element("li", one, data_row="") for one in items), class_="plain")


def _badge(words: str, kind: str | None) -> Html:
    return element("span", words, class_=f"badge {kind}" if kind else "badge")


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    head = element("tr", *(element("th", one) for one in names))
    body = [element("tr", *(element("td", one) for one in row), data_row="") for row in rows]
    return element("div", element("table", head, *body), class_="scroll")


def _event(number: int) -> Html:
    return element("a", str(number), href=f"#e{number}")


def claims(bundle: Bundle) -> Html:
    """Return each claim with its answer."""
    rows = []
    for one in bundle.claims:
        shown = [joined(" ", _event(number)) for number in one.events]
        rows.append(
            joined(
                _badge(one.result, _CLAIM[one.result]),
                " ",
                element("code", one.claim),
                element("br"),
                element("small", one.reason, *([" (events", *shown, ")"] if shown else [])),
            )
        )
    return _section("Claims", _list(rows), place="claims", count=len(rows))


def risks(bundle: Bundle) -> Html:
    """Return the risk flags."""
    rows = [
        joined(_badge("!", "bad" if one.startswith(_BAD_FLAGS) else "warn"), " ", one)
        for one in bundle.risk_flags
    ]
    body = _list(rows) if rows else _none()
    return _section("Risk Flags", body, place="risks", count=len(rows))


def files(bundle: Bundle) -> Html:
    """Return the files that changed, and the diffs."""
    rows = [
        (
            element("code", one.path),
            _badge(one.status, None),
            "before the session" if one.before else "reverted" if one.reverted else "",
        )
        for one in bundle.files_changed
    ]
    table = _table(("Path", "Status", ""), rows) if rows else _none()
    return _section(
        "Files Changed",
        table,
        _diff("Git Diff", bundle.git_diff),
        _diff("Staged Diff", bundle.staged_diff),
        place="files",
        count=len(rows),
    )


def _diff(title: str, diff: str | None) -> Html:
    if not diff:
        words = "no diff recorded" if diff is not None else "no snapshot of a work tree"
        return element("p", f"{title}: {words}", class_="muted")
    return joined(element("h3", title), diff_html(diff))


def policy(bundle: Bundle) -> Html:
    """Return what the fences said, and which of them stood."""
    rows = [
        (
            _event(one.event),
            _badge(one.what, _POLICY.get(one.what)),
            one.rule,
            element("code", one.command),
            one.by or "",
            one.reason or "",
        )
        for one in bundle.approvals
    ]
    names = ("Event", "What", "Rule", "Command", "By", "Reason")
    return _section(
        "Policy",
        element("p", "Gate coverage: ", *_coverage(bundle.gate_coverage)),
        element("p", "Policy: ", element("code", bundle.policy_hash or "unknown")),
        _table(names, rows) if rows else _none("no approvals and no denials"),
        _execs(bundle),
        _programs(bundle),
        place="policy",
    )


def _coverage(stood: Sequence[GateCoverage]) -> list[str]:
    if not stood:
        return ["unknown: the record does not say that a line gate or a guard stood"]
    found: list[str] = []
    for one in stood:
        why = f" ({one.reason})" if one.reason else ""
        found += [
            "from event ",
            _event(one.from_event),
            f": line gate {one.line}, guard {one.guard or 'none'}{why}. ",
        ]
    return found


def _execs(bundle: Bundle) -> Html:
    if not bundle.guarded_execs:
        return joined()
    rows = [
        (_event(one.event), _badge(one.result, None), one.rule, element("code", " ".join(one.argv)))
        for one in bundle.guarded_execs
    ]
    table = _table(("Event", "Result", "Rule", "Program"), rows)
    return joined(element("h3", "Programs that a rule is about"), table)


def _programs(bundle: Bundle) -> Html:
    if not bundle.programs_run:
        return joined()
    rows = [(element("code", name), str(count)) for name, count in bundle.programs_run.items()]
    title = element("summary", f"Programs that ran where the guard stood: {len(rows)}")
    return element("details", title, _table(("Program", "Times"), rows))


def people(bundle: Bundle) -> Html:
    """Return who attached and who typed."""
    typed = [
        (one.by, str(one.inputs), _times(one.first_at, one.last_at), _event(one.first_event))
        for one in bundle.typed
    ]
    attached = [
        joined(
            one.by or "somebody",
            " attached at ",
            one.at,
            " (read only)" if one.read_only else "",
            ", event ",
            _event(one.event),
        )
        for one in bundle.attached
    ]
    return _section(
        "Who Typed",
        _table(("Who", "Inputs", "When", "First event"), typed) if typed else _none("nobody"),
        _list(attached) if attached else _none("nobody attached"),
        place="people",
    )


def _times(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def screen(bundle: Bundle) -> Html:
    """Return the end of the screen and of `git status`."""
    status = (bundle.latest_git_status or "").strip() or "clean or unavailable"
    source = {"observation": "as a wait saw it", "recording": "drawn from the recording"}
    note = source.get(bundle.screen_source or "", "nobody has seen it")
    return _section(
        "Screen Tail",
        element("p", note, class_="muted"),
        element("pre", bundle.screen_tail or " ", class_="screen"),
        element("h3", "Latest Git Status"),
        element("pre", status, class_="screen"),
        place="screen",
    )


def integrity(bundle: Bundle) -> Html:
    """Return digests, what is left out, and where the files are."""
    found, span = bundle.log_integrity, bundle.event_range
    facts = [
        ("Verdict", found.verdict.replace("_", " ")),
        ("First error", found.first_error or "none"),
        ("Head", found.head_hash or "none"),
        ("Instance", bundle.instance),
        ("Signed with key", bundle.key_id or "none"),
        ("Journal", f"first {span.journal_bytes} bytes, sha256 {span.journal_sha256}"),
        ("Event log", bundle.log_path),
        ("JSON", bundle.json_path),
        ("Markdown", bundle.markdown_path),
        ("Statement", bundle.statement_path),
        ("Made by", f"{bundle.tool.name} {bundle.tool.version}, build {bundle.tool.build}"),
    ]
    segments = [
        (f"segment {one.segment}", f"{one.bytes} bytes, sha256 {one.sha256}")
        for one in bundle.recording
    ]
    omitted = [
        (
            f"Left out: {name}",
            f"{'unknown' if one.count is None else one.count}: {one.note}: {one.sha256}",
        )
        for name, one in bundle.omitted.items()
    ]
    rows = [
        element("tr", element("td", name), element("td", element("code", value)), data_row="")
        for name, value in [*facts, *segments, *omitted]
    ]
    table = element("div", element("table", *rows, class_="facts"), class_="scroll")
    return _section("Integrity", table, place="integrity")


def footer(bundle: Bundle) -> Html:
    """Say how to check the page itself."""
    return element(
        "footer",
        "Check this page and the files beside it on any machine: ",
        element("code", f"agent-pty verify {bundle.json_path} --key {bundle.key_id}.pub"),
        ". A proof shows what was recorded; it cannot show what happened elsewhere.",
    )
