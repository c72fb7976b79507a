"""The table of `top`: rows and a size in, lines of text out. Pure.

Rule of the file: names, titles and output of sessions are shown escaped; the only escape
sequences in a line are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_pty.core.duration import age
from agent_pty.core.width import cells, width

_BOLD, _DIM, _RED, _REVERSE, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[7m", "\x1b[0m"
_YELLOW = "\x1b[33m"
# What a session does while it needs a person.
WAITS = ("waiting", "secret", "approval")
# From this width on there is room for a screen of 80 columns beside the table.
_WIDE = 150
_NARROWEST_TABLE = 70
_PREVIEW_COLUMNS = 80
_LEAST_LAST_LINE = 16
_LONGEST_NAME = 16
# Heading, column titles, footer.
_FRAME = 3
_KILO = 1024
_PRECISE = 10
_FULL = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One session; None means not known."""

    id: str
    instance: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    quiet_ms: int | None = None
    host: str | None = None
    attached: int | None = None
    pid: int | None = None
    cpu_percent: float | None = None
    memory_bytes: int | None = None
    title: str | None = None
    last_line: str = ""
    diagnosis: str | None = None
    output_paused: bool | None = None
    # While it runs: idle, busy, waiting or secret; the command in it; its directory.
    doing: str | None = None
    command: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything on the screen."""

    rows: Sequence[Row]
    index: int
    heading: str
    footer: str
    title: str
    preview: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a screen of this size is divided."""

    cols: int
    table_rows: int
    table_cols: int
    preview_rows: int
    preview_cols: int

    @property
    def beside(self) -> bool:
        """Whether the preview is on the right, not below."""
        return self.table_cols < self.cols


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    title: str
    width: int
    text: Callable[[Row], str]
    right: bool = True


def printable(text: str) -> str:
    r"""Return *text* with everything that is no visible character escaped.

    >>> printable("a\x1b[2Jb\u202e")
    'a\\x1b[2Jb\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def fit(text: str, columns: int, *, right: bool = False) -> str:
    """Return *text*, escaped, in exactly *columns* cells; a long text ends in an ellipsis."""
    text = printable(text)
    if cells(text) > columns:
        text = _cut(text, columns - 1) + "…" if columns > 0 else ""
    blank = " " * (columns - cells(text))
    return blank + text if right else text + blank


def _cut(text: str, columns: int) -> str:
    taken = 0
    for place, character in enumerate(text):
        taken += width(character)
        if taken > columns:
            return text[:place]
    return text


# -- values


def state(row: Row) -> str:
    """Return the state of a session in at most nine characters."""
    if row.state == "running":
        return "paused" if row.output_paused else row.doing or row.state
    if row.state != "exited":
        return row.state
    if row.signal is not None:
        return f"signal {row.signal}"
    return "exit ?" if row.exit_code is None else f"exit {row.exit_code}"


def duration(milliseconds: int | None) -> str:
    """Return a duration in its largest unit."""
    return "-" if milliseconds is None else age(milliseconds)


def size(count: int | None) -> str:
    """Return an amount of memory in at most five characters.

    >>> size(5_500_000), size(123_000_000)
    ('5.2M', '117M')
    """
    if count is None:
        return "-"
    value, units = count / _KILO, iter("KMGT")
    unit = next(units)
    while value >= _KILO:
        value, unit = value / _KILO, next(units)
    return f"{value:.1f}{unit}" if value < _PRECISE else f"{value:.0f}{unit}"


def _percent(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if value < _FULL else f"{value:.0f}"


def _host(row: Row) -> str:
    people = f"+{row.attached}" if row.attached else ""
    return f"{row.host or '-'}{people}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


_COLUMNS = (
    _Column(title="STATE", width=9, text=state, right=False),
    _Column(title="QUIET", width=5, text=lambda row: duration(row.quiet_ms)),
    _Column(title="CPU%", width=5, text=lambda row: _percent(row.cpu_percent)),
    _Column(title="MEM", width=5, text=lambda row: size(row.memory_bytes)),
    _Column(title="PID", width=7, text=lambda row: _number(row.pid)),
    _Column(title="HOST", width=6, text=_host, right=False),
)
# Where there is no room for all columns, these are left out, in this order.
_DISPENSABLE = ("HOST", "PID", "MEM", "CPU%", "QUIET")
# Where there is more room than for all columns, these are added, if a row has something for them.
_COMMAND = _Column(title="COMMAND", width=20, text=lambda row: row.command or "", right=False)
_DIRECTORY = _Column(title="DIRECTORY", width=20, text=lambda row: row.cwd or "", right=False)


def _columns(rows: Sequence[Row], columns: int) -> list[_Column]:
    longest = max([len("NAME"), *(cells(printable(row.id)) for row in rows)])
    name = _Column(
        title="NAME", width=min(longest, _LONGEST_NAME), text=lambda row: row.id, right=False
    )
    chosen = [name, *_COLUMNS]
    for dispensable in _DISPENSABLE:
        if _rest(chosen, columns) >= _LEAST_LAST_LINE:
            break
        chosen = [column for column in chosen if column.title != dispensable]
    for extra in (_COMMAND, _DIRECTORY):
        wanted = any(extra.text(row) for row in rows)
        if wanted and _rest([*chosen, extra], columns) >= _LEAST_LAST_LINE:
            chosen.append(extra)
    rest = max(0, _rest(chosen, columns))
    text = _last_line if _COMMAND in chosen else _command_and_last_line
    return [*chosen, _Column(title="LAST LINE", width=rest, text=text, right=False)]


def _last_line(row: Row) -> str:
    return row.last_line or row.title or ""


def _command_and_last_line(row: Row) -> str:
    return ": ".join(part for part in (row.command, _last_line(row)) if part)


def _rest(chosen: Sequence[_Column], columns: int) -> int:
    """Count the cells left for the last line; each column has a blank or mark before it."""
    return columns - 1 - sum(column.width + 1 for column in chosen)


# -- lines


def plan(rows: int, cols: int, sessions: int) -> Plan:
    """Divide a screen between the table and the preview."""
    body = max(0, rows - _FRAME)
    if cols >= _WIDE:
        table = max(_NARROWEST_TABLE, cols - _PREVIEW_COLUMNS - 1)
        return Plan(
            cols=cols,
            table_rows=body,
            table_cols=table,
            preview_rows=body,
            preview_cols=cols - table - 1,
        )
    # The table takes what it needs, up to half; its border with the preview is a line too.
    table = min(max(1, sessions), max(1, body // 2))
    return Plan(
        cols=cols,
        table_rows=min(table, body),
        table_cols=cols,
        preview_rows=max(0, body - table - 1),
        preview_cols=cols,
    )


def window(count: int, index: int, height: int) -> range:
    """Return which rows are visible; the chosen one always is."""
    first = min(max(0, index - height // 2), max(0, count - height))
    return range(first, min(count, first + height))


def plain(rows: Sequence[Row], cols: int) -> list[str]:
    """Return titles and rows without any escape sequence, as `--once` prints them."""
    columns = _columns(rows, cols)
    texts = [[column.title for column in columns], *(_texts(row, columns) for row in rows)]
    return [_joined(columns, text).rstrip() for text in texts]


def _texts(row: Row, columns: Sequence[_Column]) -> list[str]:
    return [column.text(row) for column in columns]


def _joined(columns: Sequence[_Column], texts: Sequence[str]) -> str:
    return " ".join(
        fit(text, column.width, right=column.right)
        for column, text in zip(columns, texts, strict=True)
    )


def picture(view: View, *, rows: int, cols: int) -> list[str]:
    """Return every line of the screen."""
    where = plan(rows, cols, len(view.rows))
    table = _table(view, where)
    preview = [_border(view.title, where.preview_cols), *_preview(view, where)]
    if where.beside:
        # By absolute column: a character of unexpected width does not move the border.
        at = f"{_PLAIN}\x1b[{where.table_cols + 1}G{_DIM}│{_PLAIN}"
        body = [left + at + right for left, right in zip(table, preview, strict=True)]
    else:
        body = [*table, *preview]
    heading = _BOLD + fit(view.heading + _position(view, where), cols)
    footer = _REVERSE + fit(view.footer, cols)
    return [*[heading, *body][: rows - 1], footer]


def _position(view: View, where: Plan) -> str:
    """Say which rows are visible, unless all are."""
    count = len(view.rows)
    seen = window(count, view.index, where.table_rows)
    return f", {seen.start + 1}-{seen.stop} of {count}" if 0 < len(seen) < count else ""


def _table(view: View, where: Plan) -> list[str]:
    columns = _columns(view.rows, where.table_cols)
    titles = " " + _joined(columns, [column.title for column in columns])
    lines = [
        _line(view.rows[place], columns, where.table_cols, chosen=place == view.index)
        for place in window(len(view.rows), view.index, where.table_rows)
    ]
    blank = [""] * (where.table_rows - len(lines))
    return [_BOLD + fit(titles, where.table_cols), *lines, *blank]


def _line(row: Row, columns: Sequence[_Column], cols: int, *, chosen: bool) -> str:
    """Return a row; the mark before it is for people who see no colours."""
    text = (">" if chosen else " ") + _joined(columns, _texts(row, columns))
    return _style(row, chosen=chosen) + fit(text, cols)


def _style(row: Row, *, chosen: bool) -> str:
    if chosen:
        return _REVERSE
    if row.state == "lost" or row.signal or row.exit_code:
        return _RED
    if row.state == "running" and row.doing in WAITS:
        return _YELLOW
    return "" if row.state == "running" else _DIM


def _border(title: str, columns: int) -> str:
    text = _cut(f"── {printable(title)} ", columns)
    return _DIM + text + "─" * (columns - cells(text))


def _preview(view: View, where: Plan) -> list[str]:
    """Return the bottom of a session's screen, where its latest output is."""
    lines = [fit(line, where.preview_cols).rstrip() for line in view.preview]
    while lines and not lines[-1]:
        lines.pop()
    lines = lines[max(0, len(lines) - where.preview_rows) :]
    return lines + [""] * (where.preview_rows - len(lines))
