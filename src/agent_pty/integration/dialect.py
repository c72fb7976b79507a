"""How programs take code that is more than one simple line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_pty.integration import bash, dash, gdb, ipython, node, psql, python, sqlite3

# In line mode the kernel keeps 4095 bytes of a line and drops the rest.
_LONGEST_LINE = 1000


def one_line(code: str) -> bool:
    """Whether code is one line that any terminal takes whole."""
    return "\n" not in code and len(code.encode()) < _LONGEST_LINE


def never(_code: str) -> bool:
    """Whatever the code is: no."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """*load* is the line that runs a file as one unit; *is_simple* code can be typed as it is.

    *pastes*: a bracketed paste is one unit too, and shows what runs, but for code *from_file*.
    """

    load: str | None = None
    text: str = "{code}"  # what is put into the file
    is_simple: Callable[[str], bool] = one_line
    pastes: bool = False
    answers: bool = False  # it says what stands on its line when it is asked
    from_file: Callable[[str], bool] = never
    exit_codes: bool = False  # its mark D has an exit code; without one, the code is unknown
    marks_exit: bool = False  # it marks the end of `exit` as that of any command
    asks: bool = False  # code may ask a question in the way in which it reads commands
    prompt_on_stderr: bool = False
    loops: bool = False  # it waits for its keyboard and for everything else in the same place


_DIALECTS: dict[str, Dialect] = {
    "bash": Dialect(
        load=bash.LOAD,
        text=bash.TEXT,
        pastes=True,
        from_file=bash.sets_list,
        answers=True,
        exit_codes=True,
        prompt_on_stderr=True,
    ),
    "zsh": Dialect(load=". '{path}'", pastes=True, answers=True, exit_codes=True, asks=True),
    "fish": Dialect(
        load="source '{path}'",
        pastes=True,
        answers=True,
        exit_codes=True,
        marks_exit=True,
        asks=True,
    ),
    "dash": Dialect(
        load=dash.LOAD,
        text=dash.TEXT,
        is_simple=dash.is_simple,
        exit_codes=True,
        prompt_on_stderr=True,
    ),
    "python": Dialect(load=python.LOAD, is_simple=python.is_simple, exit_codes=True, asks=True),
    "ipython": Dialect(load=ipython.LOAD, is_simple=ipython.is_simple, exit_codes=True, asks=True),
    "node": Dialect(load=node.LOAD, is_simple=node.is_simple, loops=True),
    "psql": Dialect(load=psql.LOAD, is_simple=psql.is_simple),
    "sqlite3": Dialect(load=sqlite3.LOAD, is_simple=sqlite3.is_simple),
    "gdb": Dialect(load=gdb.LOAD, is_simple=gdb.is_simple),
}


def dialect(program: str | None) -> Dialect:
    """Return how *program* takes code."""
    return _DIALECTS.get(program or "", Dialect(pastes=True))
