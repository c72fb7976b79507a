"""Every way to type: text, pastes, keys and the mouse, encoded as the program wants them now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Literal, Protocol

from agent_pty.core.chord import Chord
from agent_pty.emulator import Emulator, Modifiers
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Button, Direction


class Input(Protocol):
    """Write bytes to the terminal as one input; return the cursor before them."""

    def __call__(self, data: bytes, *, typed: Sequence[str], entered: bool) -> Awaitable[int]:
        """Give *data* to the program; *typed* is what of it will be echoed."""


Wheel = Literal["wheel-up", "wheel-down", "wheel-left", "wheel-right"]
_WHEELS: dict[Direction, Wheel] = {
    "up": "wheel-up",
    "down": "wheel-down",
    "left": "wheel-left",
    "right": "wheel-right",
}


_BRACKETED_PASTE = 2004


class Hands:
    """The input side of one session; whoever types has the turn until they are done."""

    def __init__(self, emulator: Emulator, turn: asyncio.Lock, give: Input) -> None:
        self._emulator = emulator
        self._turn = turn
        self._give = give

    @property
    def bracketed(self) -> bool:
        """Whether the program wants to be told what is a paste."""
        return self._emulator.mode(_BRACKETED_PASTE)

    async def type(self, text: str, *, enter: bool) -> int:
        """Type text; several lines are one paste, bracketed if the program asked for that."""
        async with self._turn:
            data = text.encode()
            if b"\n" in data or b"\r" in data:
                data = self._emulator.encode_paste(data)
            return await self._give(data + b"\r" * enter, typed=text.splitlines(), entered=enter)

    async def paste(self, text: str, *, enter: bool) -> tuple[int, bool]:
        """Paste text; also say whether the program was told that it is a paste."""
        async with self._turn:
            data = self._emulator.encode_paste(text.encode()) + b"\r" * enter
            cursor = await self._give(data, typed=text.splitlines(), entered=enter)
            return cursor, self.bracketed

    async def press(self, data: bytes) -> int:
        """Write bytes as they are."""
        async with self._turn:
            return await self._press(data)

    async def keys(self, chords: Sequence[Chord], *, pause: float) -> int:
        """Press keys; each is encoded when its turn comes, for the last may have changed a mode."""
        self._all_encoded(chords)
        async with self._turn:
            if not pause:
                known = self._all_encoded(chords)
                return await self._press(b"".join(known[one] for one in chords))
            cursor = await self._press(self._encoded(chords[0]))
            for one in chords[1:]:
                await asyncio.sleep(pause)
                await self._press(self._encoded(one))
            return cursor

    def _all_encoded(self, chords: Sequence[Chord]) -> dict[Chord, bytes]:
        """Encode each only once: there may be a million, and others are waiting."""
        return {one: self._encoded(one) for one in dict.fromkeys(chords)}

    def _encoded(self, one: Chord) -> bytes:
        return self._emulator.encode_key(one.key, mods=_mods(one.mods))

    async def _press(self, data: bytes) -> int:
        shown = data.decode(errors="replace")
        return await self._give(data, typed=shown.splitlines(), entered=b"\r" in data)

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
        async with self._turn:
            return await self._give(data, typed=(), entered=False)

    def _check(self, row: int, col: int) -> None:
        rows, cols = self._emulator.rows, self._emulator.cols
        if not (row < rows and col < cols):
            raise BadRequest(f"cell {row},{col} is outside the screen of {rows}x{cols}")


def _mods(names: Iterable[str]) -> Modifiers:
    return frozenset(names)  # type: ignore[arg-type]
