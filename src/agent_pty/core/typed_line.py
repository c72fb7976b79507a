"""The line that was typed into a shell, as far as it is known. Pure.

Rules about command lines are for the line that is submitted, which may be typed in several pieces.
Keys that edit a line in ways that only its editor knows (history, completion, cursor keys) make
it unknown, until it is cleared or submitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_pty.core.chord import chords

_CLEARS = frozenset("\x03\x04\x15")  # Ctrl-C, Ctrl-D, Ctrl-U
_BACKSPACE = frozenset("\x08\x7f")
_NAMED = {"space": " ", "enter": "\r", "return": "\r", "backspace": "\x7f"}
# Stands for every key that is no character.
_OTHER_KEY = "\x1b"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLine:
    """What stands on the line; *text* is None if that is unknown."""

    text: str | None = ""

    def after(self, typed: str) -> tuple[list[str | None], TypedLine]:
        r"""Return the lines that *typed* submits, and what stands on the line afterwards.

        >>> TypedLine(text="rm -r").after("f x\recho")
        (['rm -rf x'], TypedLine(text='echo'))
        """
        submitted: list[str | None] = []
        text = self.text
        for one in typed:
            if one in "\r\n":
                submitted.append(text)
                text = ""
            elif one in _CLEARS:
                text = ""
            elif text is not None:
                text = _edited(text, one)
        return submitted, TypedLine(text=text)


def _edited(text: str, one: str) -> str | None:
    if one in _BACKSPACE:
        return text[:-1]
    return text + one if one >= " " else None


def key_text(word: str) -> str:
    r"""Return what a key types; one that is no character is an escape.

    >>> key_text("a"), key_text("Enter"), key_text("C-c"), key_text("Up"), key_text("text:ls")
    ('a', '\r', '\x03', '\x1b', 'ls')
    """
    return "".join(_character(one.key, one.mods) for one in chords(word))


def _character(key: str, mods: frozenset[str]) -> str:
    name = _NAMED.get(key.lower(), key)
    if not mods - {"shift"} and len(name) == 1:
        return name.upper() if mods else name
    if mods == {"ctrl"} and len(key) == 1 and key.isascii() and key.isalpha():
        return chr(ord(key.upper()) - ord("@"))
    return _OTHER_KEY
