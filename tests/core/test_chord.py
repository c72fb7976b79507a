from __future__ import annotations

import pytest

from agent_pty.core.chord import chord, chords
from agent_pty.errors import BadRequest

CHORDS = {
    "a": ("a", set()),
    "A": ("A", set()),
    "enter": ("enter", set()),
    "ENTER": ("enter", set()),
    "f5": ("f5", set()),
    "ctrl-c": ("c", {"ctrl"}),
    "Control-C": ("C", {"ctrl"}),
    "C-x": ("x", {"ctrl"}),
    "M-x": ("x", {"alt"}),
    "meta-x": ("x", {"alt"}),
    "shift+tab": ("tab", {"shift"}),
    "ctrl-shift-up": ("up", {"ctrl", "shift"}),
    "ctrl+alt-delete": ("delete", {"ctrl", "alt"}),
    "cmd-k": ("k", {"super"}),
    "page-up": ("page-up", set()),
    "alt-page-up": ("page-up", {"alt"}),
    "-": ("-", set()),
    "+": ("+", set()),
    "ctrl--": ("-", {"ctrl"}),
    "ctrl-+": ("+", {"ctrl"}),
    "c": ("c", set()),
    "s": ("s", set()),
    "ä": ("ä", set()),
}


@pytest.mark.parametrize("text", CHORDS)
def test_a_chord_is_a_key_and_what_is_held(text: str) -> None:
    """
    Modifiers may be written in several ways; what is left is the key.
    """
    read = chord(text)

    assert (read.key, set(read.mods)) == CHORDS[text]


@pytest.mark.parametrize("text", ["hyper-x", "ctrl-", "x-y"])
def test_what_is_no_modifier_belongs_to_the_key(text: str) -> None:
    """
    Whether such a key exists is the keyboard's to say, which can name near ones.
    """
    assert chord(text).key == text
    assert chord(text).mods == frozenset()


def test_nothing_is_no_key() -> None:
    """
    An empty word is refused with examples.
    """
    with pytest.raises(BadRequest, match="write for instance ctrl-c"):
        chord("")


def test_trial_18_a_text_is_its_characters() -> None:
    """
    Whatever follows `text:` is typed as it is: no character of it is a modifier or a name.
    """
    typed = chords("text:ctrl-C ä漢:")

    assert "".join(one.key for one in typed) == "ctrl-C ä漢:"
    assert all(one.mods == frozenset() for one in typed)
    assert chords("ctrl-c") == [chord("ctrl-c")]


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("text:a\nb", "enter"),
        ("text:\t", "tab"),
        ("text:\x1b[A", "escape"),
        ("text:", "text:hello"),
    ],
)
def test_trial_18_a_control_character_is_a_key_of_its_own(word: str, remedy: str) -> None:
    """
    In a text it is refused with the name of its key; so is a text without characters.
    """
    with pytest.raises(BadRequest, match=remedy):
        chords(word)
