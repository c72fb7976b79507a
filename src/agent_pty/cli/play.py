"""`replay --play`: a recording in the caller's own terminal, which it can do no harm."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator

from agent_pty.cli.command import Invocation
from agent_pty.cli.top.keyboard import Keyboard
from agent_pty.client.terminal import raw_mode, size
from agent_pty.core.duration import seconds
from agent_pty.core.evidence.playback import Moment, Player, shortened
from agent_pty.core.safe import SafeOutput
from agent_pty.errors import Usage
from agent_pty.store.whole_recording import WholeRecording, whole_recording

_INTERRUPTED = 130
_SKIP_SECONDS = 5.0
# A reset would clear what the person's terminal has kept; this clears the screen alone.
_RESET, _CLEAR = "\x1bc", "\x1b[!p\x1b[?1049l\x1b[2J\x1b[H"
_SPEEDS = {"up": 2.0, "down": 0.5}
_SKIPS = {"right": _SKIP_SECONDS, "left": -_SKIP_SECONDS}


class _Screen:
    """Where a recording is shown; nothing passes that a terminal would answer."""

    def __init__(self, stdout: int) -> None:
        self._stdout = stdout
        self._safe = SafeOutput()

    def show(self, moments: list[Moment]) -> None:
        text = "".join(one.text for one in moments if one.code == "o").replace(_RESET, _CLEAR)
        if text:
            self._write(self._safe.feed(text.encode()))

    def clear(self) -> None:
        self._safe = SafeOutput()
        self._write(_CLEAR.encode())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._stdout, view) :]


def play(call: Invocation) -> int:
    """Play a recording, as fast as was asked for; return 130 if Ctrl-C ended it."""
    o = call.options
    speed, limit = _speed(o.speed), seconds(o.idle_limit, what="idle limit")
    found = whole_recording(call.layout.log_dir, o.name, o.instance)
    stdin = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    _warn_of_size(found)

    def begin() -> Iterator[Moment]:
        return shortened(found.moments(), limit or None)

    player = Player(begin, speed=speed, now=time.monotonic())
    try:
        with raw_mode(stdin, sys.stdout.fileno()):
            status = _show(player, _Screen(sys.stdout.fileno()), stdin)
    finally:
        if sys.stdout.isatty():
            sys.stdout.write("\n")
    for problem in found.problems:
        sys.stderr.write(f"replay: {problem}\n")
    return status


def _speed(given: str) -> float:
    try:
        speed = float(given)
    except ValueError:
        speed = 0.0
    if not 0.01 <= speed <= 1000:  # noqa: PLR2004  named in the message
        raise Usage(f"--speed {given}: give a number from 0.01 to 1000")
    return speed


def _warn_of_size(found: WholeRecording) -> None:
    here = size(sys.stdout.fileno())
    if here is not None and (here[0] < found.rows or here[1] < found.cols):
        sys.stderr.write(
            f"replay: this terminal has {here[0]}x{here[1]} cells, the recording "
            f"{found.rows}x{found.cols}: it may look wrong\n"
        )


def _show(player: Player, screen: _Screen, stdin: int | None) -> int:
    keyboard = Keyboard()
    screen.clear()
    while not player.ended:
        deadline = player.deadline
        patience = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([] if stdin is None else [stdin], [], [], patience)
        for key in keyboard.feed(os.read(ready[0], 1024)) if ready else ():
            if key in ("q", "ctrl-c"):
                return 0 if key == "q" else _INTERRUPTED
            _press(player, screen, key)
        screen.show(player.due(time.monotonic()))
    return 0


def _press(player: Player, screen: _Screen, key: str) -> None:
    now = time.monotonic()
    if key == "space":
        player.pause(now)
    elif key in _SPEEDS:
        player.change_speed(_SPEEDS[key], now)
    elif key in _SKIPS and player.seek(_SKIPS[key], now):
        screen.clear()
