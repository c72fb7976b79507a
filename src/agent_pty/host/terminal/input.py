"""Every way to give input: text, pastes, keys and the mouse, encoded as the program expects."""

from __future__ import annotations

import asyncio
import re
import sys
import termios
from collections.abc import Iterable, Sequence
from typing import Literal

from agent_pty.core.chord import Chord
from agent_pty.emulator import Modifiers
from agent_pty.errors import BadRequest
from agent_pty.host import principal
from agent_pty.host.principal import Principal
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.ops.context import Button, Direction

Wheel = Literal["wheel-up", "wheel-down", "wheel-left", "wheel-right"]
_WHEELS: dict[Direction, Wheel] = {
    "up": "wheel-up",
    "down": "wheel-down",
    "left": "wheel-left",
    "right": "wheel-right",
}


_BRACKETED_PASTE = 2004
# What the kernel keeps of a line in line mode.
_LONGEST_LINE = 4095 if sys.platform == "linux" else 1023
_LINE_END = re.compile(rb"[\r\n]")


class Input:
    """Encodes input for one terminal; whoever types holds its lock until everything is typed.

    *by* is who types; by default whoever made the present request.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._emulator = terminal.output.emulator

    @property
    def bracketed(self) -> bool:
        """Whether the program asked to be told what is a paste."""
        return self._emulator.mode(_BRACKETED_PASTE)

    async def type(self, text: str, *, enter: bool, raw: bool = False) -> int:
        """Type text; several lines are one paste, bracketed if the program asked for that.

        If *raw*, each character is sent as it is.
        """
        async with self._terminal.typing:
            data = text.encode()
            if raw:
                self._check_lines(data)
            elif b"\n" in data or b"\r" in data:
                data = self._emulator.encode_paste(data)
            return await self._terminal.write(
                data + b"\r" * enter,
                kind=InputKind.TEXT,
                by=principal.acting.get(),
                typed=text.splitlines(),
                entered=enter or (raw and "\r" in text),
            )

    def _check_lines(self, data: bytes) -> None:
        """Refuse a line that the kernel would cut off silently while it reads lines itself."""
        longest = max(map(len, _LINE_END.split(data)))
        if longest > _LONGEST_LINE and self._terminal.local_modes() & termios.ICANON:
            raise BadRequest(
                f"a line of {longest} bytes: the terminal takes lines of at most {_LONGEST_LINE} "
                "bytes while the program reads whole lines, and drops the rest; send shorter lines "
                "or write a file",
                field="text",
            )

    async def paste(
        self, text: str, *, enter: bool, kind: InputKind = InputKind.PASTE
    ) -> tuple[int, bool]:
        """Paste text; also say whether the program was told that it is a paste."""
        async with self._terminal.typing:
            cursor = await self._terminal.write(
                self._emulator.encode_paste(text.encode()) + b"\r" * enter,
                kind=kind,
                by=principal.acting.get(),
                typed=text.splitlines(),
                entered=enter,
            )
            return cursor, self.bracketed

    async def press(self, data: bytes, *, kind: InputKind, by: Principal | None = None) -> int:
        """Write bytes as they are."""
        async with self._terminal.typing:
            return await self._press(data, kind=kind, by=by)

    async def enter_secret(self, value: bytes, *, by: Principal) -> int:
        """Type what a person entered for a program that shows nothing of it, and Enter."""
        async with self._terminal.typing:
            return await self._terminal.write(
                value + b"\r", kind=InputKind.SECRET, by=by, entered=True
            )

    async def keys(
        self,
        chords: Sequence[Chord],
        *,
        pause: float,
        kind: InputKind = InputKind.KEYS,
        by: Principal | None = None,
    ) -> int:
        """Press keys, each encoded when it is pressed: the one before may have changed a mode."""
        self._all_encoded(chords)
        async with self._terminal.typing:
            if not pause:
                known = self._all_encoded(chords)
                return await self._press(b"".join(known[one] for one in chords), kind=kind, by=by)
            cursor = await self._press(self._encoded(chords[0]), kind=kind, by=by)
            for one in chords[1:]:
                await asyncio.sleep(pause)
                await self._press(self._encoded(one), kind=kind, by=by)
            return cursor

    def _all_encoded(self, chords: Sequence[Chord]) -> dict[Chord, bytes]:
        """Encode each only once: there may be a million, and others are waiting."""
        return {one: self._encoded(one) for one in dict.fromkeys(chords)}

    def _encoded(self, one: Chord) -> bytes:
        return self._emulator.encode_key(one.key, mods=_mods(one.mods))

    async def _press(self, data: bytes, *, kind: InputKind, by: Principal | None) -> int:
        shown = data.decode(errors="replace")
        return await self._terminal.write(
            data,
            kind=kind,
            by=by or principal.acting.get(),
            typed=shown.splitlines(),
            entered=b"\r" in data,
        )

    async def click(
        self, *, row: int, col: int, button: Button, count: int, mods: frozenset[str]
    ) -> int:
        """Press and let go, *count* times."""
        self._check(row, col)
        encode, held = self._emulator.encode_mouse, _mods(mods)
        press = encode(action="press", button=button, row=row, col=col, mods=held)
        release = encode(action="release", button=button, row=row, col=col, mods=held)
        return await self._mouse((press + release) * count)

    async def wheel(self, *, row: int, col: int, direction: Direction, count: int) -> int:
        """Turn the wheel *count* notches."""
        self._check(row, col)
        notch = self._emulator.encode_mouse(
            action="press", button=_WHEELS[direction], row=row, col=col
        )
        return await self._mouse(notch * count)

    async def drag(self, *, start: tuple[int, int], end: tuple[int, int]) -> int:
        """Press at *start*, move to *end*, let go there."""
        self._check(*start)
        self._check(*end)
        encode = self._emulator.encode_mouse
        press = encode(action="press", button="left", row=start[0], col=start[1])
        move = encode(action="motion", button="left", row=end[0], col=end[1])
        release = encode(action="release", button="left", row=end[0], col=end[1])
        return await self._mouse(press + move + release)

    async def _mouse(self, data: bytes) -> int:
        if not data:
            raise BadRequest("the program does not listen to the mouse: no mouse mode is set")
        async with self._terminal.typing:
            by = principal.acting.get()
            return await self._terminal.write(data, kind=InputKind.MOUSE, by=by)

    def _check(self, row: int, col: int) -> None:
        rows, cols = self._emulator.rows, self._emulator.cols
        if not (row < rows and col < cols):
            raise BadRequest(f"cell {row},{col} is outside the screen of {rows}x{cols}")


def _mods(names: Iterable[str]) -> Modifiers:
    return frozenset(names)  # type: ignore[arg-type]
