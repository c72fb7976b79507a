"""The kinds of input that pass the door of a terminal."""

from __future__ import annotations

import enum


class InputKind(enum.StrEnum):
    """What a piece of input is."""

    TEXT = "text"
    PASTE = "paste"
    KEYS = "keys"
    MOUSE = "mouse"
    ATTACH = "attach"  # typed by a person who is attached
    CELL = "cell"  # the code of a cell
    INTERRUPT = "interrupt"  # Ctrl-C
    NUDGE = "nudge"  # one Enter, for a program that asks whether a block of code continues
    QUIT = "quit"  # the keys that leave a full-screen program
    SECRET = "secret"  # noqa: S105  entered by a person where nothing shows it
    REPLY = "reply"  # the terminal's answer to a query of the program
    QUESTION = "question"  # the key that makes a shell say what stands on its line
