"""Every form of a screen: the contract's object, what changed, where text is, pictures."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

import msgspec

from agent_pty.core import semantic
from agent_pty.core.deception import suspicions
from agent_pty.core.find import Place, find
from agent_pty.emulator import Cursor, Emulator, Run
from agent_pty.emulator.html_document import html_document
from agent_pty.emulator.palette import Palette, palette_named
from agent_pty.host.terminal.notices import Notices
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.context import Form
from agent_pty.ops.model import (
    ChangedRow,
    Changes,
    Hidden,
    Link,
    Process,
    Screen,
    ScreenCursor,
    ScreenSemantic,
    ScreenSpan,
    State,
)
from agent_pty.process import table

_HASH_BYTES = 8
# Concealed text; a background, which the characters may share.
_DISGUISE = re.compile(r"\x1b\[(?:[0-9:]*;)*(?:8|4[0-8]|48[:;][0-9:;]*|10[0-7])[;m]")
# Links are in no other form; text cannot imitate this, for its brackets are escaped.
_LINK = "<a href="
# Screens given out, by hash: an agent compares with one of its last few.
_REMEMBERED = 8
_KINDS: dict[Form, Literal["plain", "vt", "html"]] = {
    "text": "plain",
    "ansi": "vt",
    "html": "html",
}


class ScreenReader:
    """The screen of one terminal, for everybody who asks what it shows."""

    def __init__(self, terminal: Terminal, notices: Notices) -> None:
        self._terminal = terminal
        self._emulator = terminal.output.emulator
        self._notices = notices
        self._given: OrderedDict[str, list[str]] = OrderedDict()
        self._seen: Screen | None = None
        self._seen_version = -1

    def read(self) -> Screen:
        """Return the screen with everything that is known of it.

        As long as nothing was drawn, the last answer is given again: most agents look more
        often than programs write.
        """
        version, state = self._terminal.output.version, self._terminal.state
        if version != self._seen_version or self._seen is None:
            self._seen, self._seen_version = self._render(state), version
        active = self._terminal.foreground_process()
        meaning = msgspec.structs.replace(self._seen.semantic, active_process=_described(active))
        return msgspec.structs.replace(self._seen, semantic=meaning, state=state)

    def _render(self, state: State) -> Screen:
        emulator, text = self._emulator, self._emulator.text()
        styled = emulator.styled() if _styles_matter(emulator) else []
        return Screen(
            rows=emulator.rows,
            cols=emulator.cols,
            text=text,
            spans=[_span(span) for span in semantic.spans(text)],
            semantic=_summary(text),
            cursor=_cursor(emulator.cursor),
            title=emulator.title,
            cwd=emulator.cwd,
            alternate_screen=emulator.alternate,
            modes=dict(emulator.modes()),
            state=state,
            hash=self._remember(emulator.lines()),
            scrollback_rows=emulator.scrollback_rows,
            links=_links(styled),
            suspicious=[
                Hidden(row=one.row, col=one.col, kind=one.kind, text=one.text)
                for one in suspicions(styled)
            ],
            progress=self._notices.progress,
            notifications=list(self._notices.notifications),
            clipboard=list(self._notices.clipboard),
        )

    def _remember(self, lines: list[str]) -> str:
        digest = _hash(lines)
        self._given[digest] = lines
        self._given.move_to_end(digest)
        while len(self._given) > _REMEMBERED:
            self._given.popitem(last=False)
        return digest

    def changes(self, since: str) -> Changes:
        """Return the rows that differ from the screen with hash *since*."""
        before, now = self._given.get(since), self._emulator.lines()
        digest = self._remember(now)
        rows = [
            ChangedRow(row=row, text=line)
            for row, line in enumerate(now)
            if before is None or row >= len(before) or before[row] != line
        ]
        return Changes(
            hash=digest,
            unchanged=digest == since,
            full=before is None and digest != since,
            rows=[] if digest == since else rows,
            cursor=_cursor(self._emulator.cursor),
        )

    def find(self, text: str) -> list[Place]:
        """Return where *text* stands."""
        return find(self._emulator.lines(), text)

    async def render(self, form: Form, *, scrollback: int, palette: str) -> str:
        """Return the screen in another form."""
        colors = palette_named(palette)
        if form in ("svg", "png"):
            return await _picture(self._emulator, form, colors)
        painted = self._emulator.format(_KINDS[form], scrollback=bool(scrollback))
        if form == "html":
            return html_document(painted, title=self._terminal.name, palette=colors)
        if not scrollback:
            return painted
        return "\n".join(painted.split("\n")[-self._emulator.rows - scrollback :])


async def _picture(emulator: Emulator, form: Form, palette: Palette) -> str:
    """Draw the screen as it is now; drawing takes its time, so it has a thread of its own."""
    # Pictures are rare, and the rasteriser is large and optional.
    from agent_pty.emulator.picture import screen_of  # noqa: PLC0415
    from agent_pty.emulator.png import png_of  # noqa: PLC0415
    from agent_pty.emulator.svg import svg_of  # noqa: PLC0415

    screen = screen_of(emulator, palette)
    if form == "svg":
        return await asyncio.to_thread(svg_of, screen)
    return base64.b64encode(await asyncio.to_thread(png_of, screen)).decode()


def _styles_matter(emulator: Emulator) -> bool:
    """Whether a screen can have links or hidden text: reading its styles costs milliseconds."""
    painted = emulator.format("vt")
    if not painted.isascii() or _DISGUISE.search(painted) is not None:
        return True
    return _LINK in emulator.format("html")


def _hash(lines: Sequence[str]) -> str:
    joined = "\n".join(lines).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=_HASH_BYTES).hexdigest()


def _cursor(cursor: Cursor) -> ScreenCursor:
    return ScreenCursor(row=cursor.row, col=cursor.col, visible=cursor.visible)


def _links(styled: Sequence[Sequence[Run]]) -> list[Link]:
    return [
        Link(row=row, col=run.col, width=run.width, text=run.text, uri=run.link)
        for row, runs in enumerate(styled)
        for run in runs
        if run.link is not None
    ]


def _span(span: semantic.Span) -> ScreenSpan:
    return ScreenSpan(
        line=span.line,
        start_col=span.start_col,
        end_col=span.end_col,
        kind=span.kind,
        text=span.text,
    )


def _described(active: table.Entry | None) -> Process | None:
    return table.described(active) if active is not None else None


def _summary(text: str) -> ScreenSemantic:
    found = semantic.summarise(text)
    return ScreenSemantic(
        prompt=found.prompt,
        command=found.command,
        error_lines=list(found.error_lines),
        urls=list(found.urls),
        file_paths=list(found.file_paths),
        spinner_lines=list(found.spinner_lines),
        active_process=None,
    )
