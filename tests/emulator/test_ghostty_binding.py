"""Our declarations against the library's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyghostty._ffi import ffi as theirs

from agent_pty.emulator import binding, declarations
from agent_pty.emulator.keyboard import _PLACES, NAMES

OURS: Any = binding.ffi


def structs() -> list[str]:
    """Name the structs we declare."""
    typedefs, tagged, _unions = OURS.list_types()
    return [name for name in {*typedefs, *tagged} if name.startswith("Ghostty")]


def test_the_compiled_loader_is_up_to_date(tmp_path: Path) -> None:
    """
    Compiling the declarations again gives the committed file.
    """
    fresh = tmp_path / "compiled.py"

    declarations.compile_to(fresh)

    assert fresh.read_text() == declarations.COMPILED.read_text()


@pytest.mark.parametrize("name", sorted(structs()))
def test_structs_are_laid_out_as_the_library_lays_them_out(name: str) -> None:
    """
    Sizes agree, and fields of the same name have the same place.
    """
    fields = dict(theirs.typeof(name).fields)

    assert OURS.sizeof(name) == theirs.sizeof(name)
    assert OURS.alignof(name) == theirs.alignof(name)
    for field, description in OURS.typeof(name).fields:
        if field in fields:
            assert description.offset == fields[field].offset


def test_constants_have_the_library_values() -> None:
    """
    Every number we declare is the number in its headers.
    """
    library = theirs.dlopen(binding._library())
    constants = [name for name in dir(binding.lib) if name.startswith("GHOSTTY_")]

    assert len(constants) > 40
    for name in constants:
        assert getattr(binding.lib, name) == getattr(library, name), name


def test_keys_have_the_library_numbers() -> None:
    """
    Every key we name is the key of that name in its headers.
    """
    numbers = theirs.typeof("GhosttyKey").relements
    special = {"menu": "CONTEXT_MENU", "space": "SPACE"}

    for name, number in NAMES.items():
        plain = special.get(name, name.upper().replace("-", "_").replace("KP_", "NUMPAD_"))
        wanted = f"ARROW_{plain}" if plain in {"UP", "DOWN", "LEFT", "RIGHT"} else plain
        assert numbers[f"GHOSTTY_KEY_{wanted}"] == number, name
    for character, number in _PLACES.items():
        if character.isalnum():
            wanted = f"DIGIT_{character}" if character.isdigit() else character.upper()
            assert numbers[f"GHOSTTY_KEY_{wanted}"] == number
