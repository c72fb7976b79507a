"""Keys by name: where they are on a US keyboard and what they type there. Pure."""

from __future__ import annotations

import difflib
import string as characters
import unicodedata
from typing import Final, Literal, NamedTuple

from agent_pty.errors import BadRequest

Modifier = Literal["shift", "ctrl", "alt", "super"]
Modifiers = frozenset[Modifier]

NO_MODIFIERS: Final[Modifiers] = frozenset()
BITS: Final[dict[str, int]] = {"shift": 1, "ctrl": 2, "alt": 4, "super": 8}

# The library numbers keys by their place on a US keyboard, in the order of the W3C's
# list of `code` values; a test compares these numbers with its headers.
_UNIDENTIFIED: Final = 0
_PLACES: Final[dict[str, int]] = {
    "`": 1,
    "\\": 2,
    "[": 3,
    "]": 4,
    ",": 5,
    "=": 16,
    "-": 46,
    ".": 47,
    "'": 48,
    ";": 49,
    "/": 50,
    " ": 63,
    **{digit: 6 + at for at, digit in enumerate(characters.digits)},
    **{letter: 20 + at for at, letter in enumerate(characters.ascii_lowercase)},
}
_SHIFTED: Final = dict(
    zip('~!@#$%^&*()_+{}|:"<>?', "`1234567890-=[]\\;',./", strict=True),
)

NAMES: Final[dict[str, int]] = {
    "backspace": 53,
    "caps-lock": 54,
    "menu": 55,
    "enter": 58,
    "space": 63,
    "tab": 64,
    "delete": 68,
    "end": 69,
    "help": 70,
    "home": 71,
    "insert": 72,
    "page-down": 73,
    "page-up": 74,
    "down": 75,
    "left": 76,
    "right": 77,
    "up": 78,
    **{f"kp-{digit}": 80 + digit for digit in range(10)},
    "kp-add": 90,
    "kp-decimal": 95,
    "kp-divide": 96,
    "kp-enter": 97,
    "kp-equal": 98,
    "kp-multiply": 104,
    "kp-subtract": 107,
    "escape": 120,
    **{f"f{number}": 120 + number for number in range(1, 26)},
    "print-screen": 148,
    "scroll-lock": 149,
    "pause": 150,
}
_ALIASES: Final[dict[str, str]] = {
    "esc": "escape",
    "return": "enter",
    "cr": "enter",
    "bs": "backspace",
    "del": "delete",
    "ins": "insert",
    "pgup": "page-up",
    "pageup": "page-up",
    "prior": "page-up",
    "pgdn": "page-down",
    "pagedown": "page-down",
    "next": "page-down",
    "spc": "space",
    **{f"arrow-{way}": way for way in ("up", "down", "left", "right")},
}
# What a keypad key types while the keypad is numeric.
_KEYPAD_TEXT: Final[dict[str, str]] = {
    **{f"kp-{digit}": str(digit) for digit in range(10)},
    "kp-add": "+",
    "kp-decimal": ".",
    "kp-divide": "/",
    "kp-equal": "=",
    "kp-multiply": "*",
    "kp-subtract": "-",
}


class Stroke(NamedTuple):
    """A key as the library wants it described."""

    place: int
    text: str
    unshifted: int
    mods: int
    consumed: int


def bits(mods: Modifiers) -> int:
    """Return *mods* as the library's bit set."""
    unknown = sorted(set(mods) - BITS.keys())
    if unknown:
        raise BadRequest(f"unknown modifier {unknown[0]!r}; there are {', '.join(BITS)}")
    return sum(BITS[mod] for mod in mods)


def stroke(key: str, *, mods: Modifiers, text: str) -> Stroke:
    """Describe the key named *key*; *text* overrides what it would type."""
    if len(key) == 1 and unicodedata.category(key) != "Cc":
        return _character(key, mods=bits(mods), text=text)
    name = key.lower().replace("_", "-")
    name = _ALIASES.get(name, name)
    if name == "space":
        return _character(" ", mods=bits(mods), text=text)
    place = NAMES.get(name)
    if place is None:
        raise BadRequest(_unknown(key, name), key=key)
    return Stroke(place, text or _KEYPAD_TEXT.get(name, ""), 0, bits(mods), 0)


def _character(character: str, *, mods: int, text: str) -> Stroke:
    """Describe the key that types *character* on a US keyboard, with Shift where it needs it."""
    base = _SHIFTED.get(character, character.lower())
    if len(base) != 1 or base not in _PLACES:
        return Stroke(_UNIDENTIFIED, text or character, ord(character), mods, 0)
    shift = BITS["shift"]
    if base != character:
        mods |= shift
    elif mods & shift:
        character = _upper(character)
    return Stroke(_PLACES[base], text or character, ord(base), mods, mods & shift)


def _upper(character: str) -> str:
    """Return what Shift makes of *character* on a US keyboard."""
    shifted = {base: upper for upper, base in _SHIFTED.items()}
    return shifted.get(character, character.upper())


def _unknown(key: str, name: str) -> str:
    near = difflib.get_close_matches(name, [*NAMES, *_ALIASES], n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; say enter, up, f5, a ..."
    typed = f"; to type it as text, write text:{key}" if key.isprintable() and key else ""
    return f"unknown key {key!r}{hint}{typed}"
