from __future__ import annotations

import pytest

from agent_pty.core.width import cells
from agent_pty.emulator import Emulator

TEXTS = {
    "ascii": "plain text",
    "accents": "\u00e4\u00f6 e\u0301",
    "chinese": "\u4e2d\u6587",
    "half width": "\uff71",
    "full width": "\uff21",
    "korean": "\ud55c\uae00",
    "korean in parts": "\u1100\u1161\u11a8",
    "thai": "\u0e01\u0e47",
    "emoji": "\U0001f600\U0001f44d\U0001f3fd",
    "joined emoji": "\U0001f469\u200d\U0001f4bb",
    "heart": "\u2764\ufe0f",
    "flag": "\U0001f1e9\U0001f1ea",
    "zero width": "a\u200bb\u2060c",
    "soft hyphen": "a\u00adb",
    "box": "\u250c\u2500\u2588",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_wide_as_the_terminal_makes_it(name: str) -> None:
    """
    Counting agrees with the emulator: a click by text hits what is seen.
    """
    screen = Emulator(rows=2, cols=60)

    screen.feed(b"." + TEXTS[name].encode())

    assert cells(TEXTS[name]) == screen.cursor.col - 1
