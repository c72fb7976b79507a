import re

import pytest

from agent_pty.core.chord import chord
from agent_pty.core.quit_keys import _KEYS, how_to_quit


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("vim", "escape : q ! enter"),
        ("less", "q"),
        ("nano", "ctrl-x n"),
        ("emacs", "ctrl-x ctrl-c"),
        ("tmux: client", "ctrl-b d"),
        ("vim.basic", "escape : q ! enter"),
        ("vim.tiny", "escape : q ! enter"),
    ],
)
def test_a_known_program_is_left_with_its_keys(program: str, keys: str) -> None:
    """
    The line names the program as it runs, and keys as `k keys` takes them.
    """
    assert how_to_quit(program) == f"{program} has the whole screen; leave it with keys: {keys}"


@pytest.mark.parametrize("program", ["doom", "", ".hidden", "vimdiffer"])
def test_of_an_unknown_program_only_advice_is_given(program: str) -> None:
    """
    Nothing is claimed to end it; a program without a name is called one.
    """
    told = how_to_quit(program)

    assert told.startswith(f"{program or 'the program'} has the whole screen; try keys: ")
    assert "interrupt" in told


@pytest.mark.parametrize("program", _KEYS)
def test_every_key_can_be_pressed(program: str) -> None:
    """
    The advice is of use: each word is a key by the names that keys have here.
    """
    for key in _KEYS[program].split():
        assert chord(key)


def test_the_advice_is_one_line() -> None:
    """
    It stands in a JSON line and on standard error: no line ends, no controls.
    """
    for program in (*_KEYS, "doom", ""):
        assert re.fullmatch(r"[ -~]+", how_to_quit(program))
