"""Commands with their outcomes, and the timeline: the parts of the page that have many rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_pty.ops.proof_model import Bundle, ProvedCell
from agent_pty.proof.html_content import HtmlProof
from agent_pty.proof.html_element import Html, element, joined
from agent_pty.proof.timeline import Moment

_TYPED = "send_keys"
_SECOND = 1000
_FEW = 12


def steps_section(bundle: Bundle, proof: HtmlProof) -> Html:
    """Return cells and typed lines in their order."""
    times = {one.event: one.seconds for one in proof.moments}
    marked = proof.cast.markers
    rows = [
        (one.started_event or one.finished_event or 0, _cell(one, times, proof.markers, marked))
        for one in bundle.cells
    ]
    rows += [(one.event, _typed(one, marked)) for one in proof.moments if one.kind == _TYPED]
    rows.sort(key=lambda row: row[0])
    count = element("span", f" {len(rows)}", class_="count")
    body = [row for _, row in rows] or [element("p", "none recorded", class_="muted")]
    return element("section", element("h2", "Commands", count), *body, _left(bundle), id="commands")


def _left(bundle: Bundle) -> Html:
    left = bundle.omitted.get("cells")
    if left is None:
        return joined()
    return element("p", f"{left.count} cells: {left.note}: {left.sha256}", class_="muted")


def elapsed(seconds: float) -> str:
    """Return how long after the beginning something was.

    >>> elapsed(3.21), elapsed(75), elapsed(7275)
    ('+3.2 s', '+1:15', '+2:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    if not minutes:
        return f"+{seconds:.1f} s"
    hours, minutes = divmod(minutes, 60)
    return f"+{hours}:{minutes:02}:{rest:02}" if hours else f"+{minutes}:{rest:02}"


def _seek(marker: int | None, marked: int, seconds: float | None) -> Html:
    """Return a button that shows the moment in the player, or the time alone."""
    when = "" if seconds is None else elapsed(seconds)
    if marker is None or marker >= marked:
        return element("small", when)
    return element(
        "button",
        when or "show",
        class_="seek",
        type="button",
        data_marker=str(marker),
        title="show this moment in the player",
    )


def _cell(
    cell: ProvedCell, times: Mapping[int, float], markers: Mapping[str, int], marked: int
) -> Html:
    marker = markers.get(cell.cell_id)
    facts: list[Html | str] = [
        _seek(marker, marked, times.get(cell.started_event or 0)),
        _outcome(cell),
    ]
    if cell.duration_ms is not None:
        facts.append(element("small", _duration(cell.duration_ms)))
    if cell.by is not None:
        facts.append(element("small", cell.by))
    return element(
        "article",
        element("div", *facts, class_="line"),
        element("pre", cell.code or "(its code is not recorded)", class_="code"),
        _output(cell),
        _programs(cell),
        class_="step",
        data_row="",
    )


def _outcome(cell: ProvedCell) -> Html:
    if cell.status is None:
        return element("span", "has not ended", class_="badge warn")
    if cell.exit_code is None:
        return element("span", f"{cell.status}, exit unknown", class_="badge warn")
    kind = "bad" if cell.exit_code else "ok"
    return element("span", f"exit {cell.exit_code}", class_=f"badge {kind}")


def _duration(milliseconds: int) -> str:
    if milliseconds < _SECOND:
        return f"{milliseconds} ms"
    return f"{milliseconds / _SECOND:.1f} s"


def _output(cell: ProvedCell) -> Html:
    if not cell.output:
        return joined()
    size = len(cell.output.encode("utf-8", "replace"))
    whole = cell.output_bytes
    cut = whole is not None and whole > size
    words = f"output, the last {size} of {whole} bytes" if cut else f"output, {size} bytes"
    few = cell.output.count("\n") < _FEW or bool(cell.exit_code)
    return element(
        "details",
        element("summary", words),
        element("pre", cell.output, class_="output"),
        open="" if few else None,
    )


def _programs(cell: ProvedCell) -> Html:
    if not cell.programs:
        return joined()
    listed = ", ".join(f"{name} ({count})" for name, count in cell.programs.items())
    return element("p", "Programs that ran: ", element("code", listed), class_="muted")


def _typed(moment: Moment, marked: int) -> Html:
    facts = [
        _seek(moment.marker, marked, moment.seconds),
        element("span", "typed", class_="badge"),
        element("small", moment.by or "unknown"),
    ]
    return element(
        "article",
        element("div", *facts, class_="line"),
        element("pre", moment.text or "(a key)", class_="code"),
        class_="step",
        data_row="",
    )


def timeline_section(bundle: Bundle, moments: Sequence[Moment]) -> Html:
    """Return every event that says something, in its order."""
    rows = [
        element(
            "tr",
            element("td", str(one.event), title=one.at),
            element("td", elapsed(one.seconds)),
            element("td", one.kind.replace("_", " ")),
            element("td", element("code", one.text), *_by(one)),
            id=f"e{one.event}",
            data_row="",
        )
        for one in moments
    ]
    left = bundle.omitted.get("timeline")
    note = [] if left is None else [element("p", f"{left.count} {left.note}: {left.sha256}")]
    count = element("span", f" {len(rows)} of {bundle.event_count} events", class_="count")
    table = element("div", element("table", *rows, class_="timeline"), class_="scroll")
    return element("section", element("h2", "Timeline", count), table, *note, id="timeline")


def _by(moment: Moment) -> list[Html]:
    if moment.by is None or moment.by.startswith("system"):
        return []
    return [joined(" ", element("small", moment.by))]
