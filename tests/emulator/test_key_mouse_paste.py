"""What the program reads when a person types, clicks or pastes."""

from __future__ import annotations

import string
import time

import pytest

from agent_pty.emulator import Emulator, Modifiers
from agent_pty.emulator.mouse import Action, Button
from agent_pty.emulator.paste import encode_paste
from agent_pty.errors import BadRequest


def fed(data: bytes) -> Emulator:
    """Return an emulator of the usual size that has read *data*."""
    emulator = Emulator(rows=24, cols=80)
    emulator.feed(data)
    return emulator


NONE: Modifiers = frozenset()
SHIFT: Modifiers = frozenset({"shift"})
CTRL: Modifiers = frozenset({"ctrl"})
ALT: Modifiers = frozenset({"alt"})
CTRL_ALT: Modifiers = CTRL | ALT
CTRL_SHIFT: Modifiers = CTRL | SHIFT

KEYS = [
    ("a", NONE, b"a"),
    ("A", NONE, b"A"),
    ("a", SHIFT, b"A"),
    ("1", SHIFT, b"!"),
    ("!", NONE, b"!"),
    ("é", NONE, "é".encode()),
    ("日", NONE, "日".encode()),
    ("enter", NONE, b"\r"),
    ("Return", NONE, b"\r"),
    ("tab", NONE, b"\t"),
    ("tab", SHIFT, b"\x1b[Z"),
    ("escape", NONE, b"\x1b"),
    ("backspace", NONE, b"\x7f"),
    ("space", NONE, b" "),
    ("c", CTRL, b"\x03"),
    ("c", CTRL_SHIFT, b"\x03"),
    ("space", CTRL, b"\0"),
    ("@", CTRL, b"\0"),
    # The library would send `CSI ... u` for these three, which no shell understands.
    ("i", CTRL, b"\t"),
    ("m", CTRL, b"\r"),
    ("[", CTRL, b"\x1b"),
    ("\\", CTRL, b"\x1c"),
    ("x", ALT, b"\x1bx"),
    ("x", CTRL_ALT, b"\x1b\x18"),
    ("up", NONE, b"\x1b[A"),
    ("left", CTRL, b"\x1b[1;5D"),
    ("home", NONE, b"\x1b[H"),
    ("end", NONE, b"\x1b[F"),
    ("insert", NONE, b"\x1b[2~"),
    ("delete", NONE, b"\x1b[3~"),
    ("page-up", NONE, b"\x1b[5~"),
    ("page_down", NONE, b"\x1b[6~"),
    ("f1", NONE, b"\x1bOP"),
    ("f5", NONE, b"\x1b[15~"),
    ("f12", SHIFT, b"\x1b[24;2~"),
    ("kp-5", NONE, b"5"),
    ("kp-enter", NONE, b"\r"),
]


@pytest.mark.parametrize(("key", "mods", "expected"), KEYS)
def test_keys_send_what_xterm_sends(key: str, mods: Modifiers, expected: bytes) -> None:
    """
    Without special modes a key is the bytes every terminfo of xterm knows.
    """
    assert fed(b"").encode_key(key, mods=mods) == expected


MODES = [
    (b"\x1b[?1h", "up", NONE, b"\x1bOA"),
    (b"\x1b[?1h", "up", SHIFT, b"\x1b[1;2A"),
    (b"\x1b[?67h", "backspace", NONE, b"\x08"),
    (b"\x1b[>4;2m", "i", CTRL, b"\x1b[27;5;105~"),
    (b"\x1b[>1u", "i", CTRL, b"\x1b[105;5u"),
    (b"\x1b[>1u", "escape", NONE, b"\x1b[27u"),
    (b"\x1b[>1u\x1b[<u", "escape", NONE, b"\x1b"),
]


@pytest.mark.parametrize(("data", "key", "mods", "expected"), MODES)
def test_modes_change_what_keys_send(
    data: bytes, key: str, mods: Modifiers, expected: bytes
) -> None:
    """
    A key is encoded by what the program asked for last.
    """
    assert fed(data).encode_key(key, mods=mods) == expected


@pytest.mark.parametrize("prefix", [b"", b"\x1b"], ids=["plain", "alt"])
def test_trial_24_every_character_of_the_keyboard_types_itself(prefix: bytes) -> None:
    """
    What is printed on a key is typed by it, after an escape with Alt: `u` is no Ctrl-U.
    """
    mods: Modifiers = frozenset({"alt"}) if prefix else frozenset()
    keys = string.ascii_lowercase + string.digits + "`-=;',./"

    sent = {key: Emulator(rows=2, cols=10).encode_key(key, mods=mods) for key in keys}

    assert {key: one for key, one in sent.items() if one != prefix + key.encode()} == {}


def test_a_key_may_type_other_text() -> None:
    """
    A layout other than the US one says what its key types.
    """
    assert fed(b"").encode_key("q", text="й") == "й".encode()


def test_a_misspelt_key_is_refused_with_its_neighbours() -> None:
    """
    The error names keys that are spelled alike.
    """
    with pytest.raises(BadRequest, match=r"'entr'.*enter"):
        fed(b"").encode_key("entr")


@pytest.mark.parametrize("character", ["\u200d", "\u0301", "\u00a0", "\ue0b0"])
def test_trial_18_a_character_that_is_not_drawn_is_typed(character: str) -> None:
    """
    Joiners, accents and the like are part of texts, though they are no signs of their own.
    """
    assert fed(b"").encode_key(character) == character.encode()


def test_trial_18_an_unknown_key_may_be_meant_as_text() -> None:
    """
    The error says how to type it.
    """
    with pytest.raises(BadRequest, match=r"unknown key 'goodbye'.*write text:goodbye"):
        fed(b"").encode_key("goodbye")


@pytest.mark.parametrize("key", ["", "\x1b", "no such key", "f99"])
def test_what_is_no_key_is_refused(key: str) -> None:
    """
    Neither a control character nor an unknown word is a key.
    """
    with pytest.raises(BadRequest, match="unknown key"):
        fed(b"").encode_key(key)


MOUSE: list[tuple[bytes, Action, Button, Modifiers, bytes]] = [
    (b"", "press", "left", NONE, b""),
    (b"\x1b[?9h", "press", "left", NONE, b'\x1b[M #"'),
    (b"\x1b[?9h", "release", "left", NONE, b""),
    (b"\x1b[?1000h", "press", "left", NONE, b'\x1b[M #"'),
    (b"\x1b[?1000h", "release", "left", NONE, b'\x1b[M##"'),
    (b"\x1b[?1000h", "motion", "left", NONE, b""),
    (b"\x1b[?1000;1006h", "press", "right", NONE, b"\x1b[<2;3;2M"),
    (b"\x1b[?1000;1006h", "release", "middle", NONE, b"\x1b[<1;3;2m"),
    (b"\x1b[?1000;1006h", "press", "wheel-up", CTRL, b"\x1b[<80;3;2M"),
    (b"\x1b[?1000;1006h", "press", "wheel-down", NONE, b"\x1b[<65;3;2M"),
    (b"\x1b[?1000;1015h", "press", "left", NONE, b"\x1b[32;3;2M"),
    (b"\x1b[?1002;1006h", "motion", "left", NONE, b"\x1b[<32;3;2M"),
    (b"\x1b[?1002;1006h", "motion", "none", NONE, b""),
    (b"\x1b[?1003;1006h", "motion", "none", NONE, b"\x1b[<35;3;2M"),
    (b"\x1b[?1000;1006h\x1b[?1000l", "press", "left", NONE, b""),
]


@pytest.mark.parametrize(("data", "action", "button", "mods", "expected"), MOUSE)
def test_the_mouse_speaks_the_encoding_asked_for(
    data: bytes, action: Action, button: Button, mods: Modifiers, expected: bytes
) -> None:
    """
    Row 1, column 2 arrives in the program's encoding, or not at all if it did not ask.
    """
    emulator = fed(data)

    assert emulator.encode_mouse(action=action, button=button, row=1, col=2, mods=mods) == expected


@pytest.mark.parametrize(
    ("data", "tracking"),
    [
        (b"", "none"),
        (b"\x1b[?9h", "x10"),
        (b"\x1b[?1000h", "normal"),
        (b"\x1b[?1002h", "button"),
        (b"\x1b[?1003h", "any"),
        (b"\x1b[?1003h\x1b[?1000h", "normal"),
        (b"\x1b[?1000h\x1b[?1002h\x1b[?1002l", "none"),
    ],
)
def test_mouse_mode_names_what_is_sent(data: bytes, tracking: str) -> None:
    """
    The last tracking mode wins and resetting any ends it, as in xterm.
    """
    assert fed(data).modes()["mouse"] == tracking


def test_a_click_off_the_screen_is_refused() -> None:
    """
    The error names the place and the size.
    """
    with pytest.raises(BadRequest, match="row 24, col 0 is off the 24x80 screen"):
        fed(b"").encode_mouse(action="press", button="left", row=24, col=0)


def test_paste_is_bracketed_on_request() -> None:
    """
    A program that asked for brackets gets them; for others a newline is an Enter.
    """
    text = b"one\ntwo\r\nthree"

    assert fed(b"").encode_paste(text) == b"one\rtwo\rthree"
    assert fed(b"\x1b[?2004h").encode_paste(text) == b"\x1b[200~" + text + b"\x1b[201~"


@pytest.mark.parametrize("bracketed", [True, False])
@pytest.mark.parametrize(
    "text", [b"a\x1b[201~rm\r", b"\x1b[20\x1b[201~1~x", b"\x1b\x1b[201~[201~", b"\x1b[201~" * 3]
)
def test_pasted_text_cannot_end_the_paste(text: bytes, *, bracketed: bool) -> None:
    """
    No terminator survives in the text, not even one formed by taking another out.
    """
    encoded = encode_paste(text, bracketed=bracketed)

    assert encoded.count(b"\x1b[201~") == (1 if bracketed else 0)
    assert encoded.endswith(b"\x1b[201~") == bracketed


@pytest.mark.serial
def test_a_large_hostile_paste_takes_linear_time() -> None:
    """
    A megabyte of nested terminators is done at once.
    """
    depth = 200_000
    text = b"\x1b[20" * depth + b"1~" * depth

    began = time.process_time()
    encoded = encode_paste(text, bracketed=True)

    assert time.process_time() - began < 1
    assert encoded.count(b"\x1b[201~") == 1
