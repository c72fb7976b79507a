"""Chords as people write them: `ctrl-c`, `alt-x`, `f5`, `enter`, `a`; `text:good bye` is many."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from agent_pty.errors import BadRequest

_MODIFIERS = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "c": "ctrl",
    "alt": "alt",
    "meta": "alt",
    "option": "alt",
    "m": "alt",
    "shift": "shift",
    "s": "shift",
    "super": "super",
    "cmd": "super",
}
_TEXT = "text:"
# Keys of their own, which a text must not contain.
_KEYS = {"\n": "enter", "\r": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chord:
    """A key and the modifiers held with it; the keyboard decides whether the key exists."""

    key: str
    mods: frozenset[str]


def chords(word: str) -> list[Chord]:
    """Read a chord, or the characters of a text as one chord each.

    >>> [one.key for one in chords("text:a-b")], [one.key for one in chords("page-up")]
    (['a', '-', 'b'], ['page-up'])
    """
    if not word.startswith(_TEXT):
        return [chord(word)]
    text = word.removeprefix(_TEXT)
    if not text:
        raise BadRequest(f"no text in {word!r}: write for instance text:hello")
    return [_character(one) for one in text]


def _character(character: str) -> Chord:
    if unicodedata.category(character) == "Cc":
        key = _KEYS.get(character, "ctrl-c")
        raise BadRequest(
            f"the character U+{ord(character):04X} is a key, no text: give it a word of its own, "
            f"such as {key}"
        )
    return Chord(key=character, mods=frozenset())


def chord(text: str) -> Chord:
    """Read one chord.

    >>> chord("ctrl-shift-up").key, sorted(chord("ctrl-shift-up").mods)
    ('up', ['ctrl', 'shift'])
    """
    *held, key = _split(text)
    mods = frozenset(_MODIFIERS[word.lower()] for word in held)
    # A single capital letter keeps its case: it is what shift and the letter produce.
    if len(key) > 1:
        key = key.lower()
    return Chord(key=key, mods=mods)


def _split(text: str) -> list[str]:
    """Cut at `-` and `+`; the key itself may be one of them, or be called `page-up`."""
    words: list[str] = []
    rest = text
    while len(rest) > 1:
        head, mark, tail = _first(rest)
        if not mark or not tail or head.lower() not in _MODIFIERS:
            break
        words.append(head)
        rest = tail
    if not rest:
        raise BadRequest(f"empty key in {text!r}: write for instance ctrl-c, up, f5 or enter")
    return [*words, rest]


def _first(rest: str) -> tuple[str, str, str]:
    places = [place for place in (rest.find("-", 1), rest.find("+", 1)) if place > 0]
    if not places:
        return rest, "", ""
    cut = min(places)
    return rest[:cut], rest[cut], rest[cut + 1 :]
