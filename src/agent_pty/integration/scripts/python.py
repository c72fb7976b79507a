"""Marks for Python's classic prompt (see core/mark.py), set up after the user's own start-up file.

Rule of the file: it runs on Python 3.7 and later, whichever the user has, and what it does is
visible neither in the user's namespace nor in tracebacks, history and environment.
"""

# It is never imported, so it is in no package; frames are read through a private name.
# ruff: noqa: E402, INP001, SLF001
from __future__ import annotations

import sys

# Python looks for modules in the current directory first, where the user may have a file named like
# a module of Python's own (`code.py`, `ast.py`). It must not be run by starting Python.
_PATH = sys.path[:]
sys.path[:] = [directory for directory in _PATH if directory]

import __future__

import ast
import builtins
import contextlib
import linecache
import os
import traceback
from collections.abc import Callable
from types import CodeType, TracebackType

import __main__

sys.path[:] = _PATH

_NONCE = os.read(3, 100).decode().strip()
os.close(3)
_FEATURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


class _State:
    """What is remembered from prompt to prompt, and from cell to cell."""

    number = 0
    cells = 0
    features = 0
    failure: tuple[object, object] = (None, None)


# -- marks


def _mark(kind: str) -> str:
    return f"\x1b]133;{kind};apty={_NONCE}.{_State.number}\x07"


def _unseen(mark: str) -> str:
    """Tell readline, if it draws the prompt, that a mark takes no room."""
    return f"\x01{mark}\x02" if sys.modules.get("readline") else mark


def _write(mark: str) -> None:
    # Python has flushed its own output by now, and readline draws after this.
    os.write(1, mark.encode())


def _ended() -> None:
    """Begin a prompt: the statement before it has ended."""
    _State.number += 1
    if _State.number == 1:
        _give_back("PYTHON_BASIC_REPL")
        _failed()
    _write(_mark(f"D;{_failed()}"))


def _failed() -> int:
    """Return the status of what ran since the last call: Python keeps the last error it reported.

    A value that is raised twice has two tracebacks; a syntax error has none, but is a new value.
    """
    now = (getattr(sys, "last_value", None), getattr(sys, "last_traceback", None))
    old, _State.failure = _State.failure, now
    if all(now[i] is None or now[i] is old[i] for i in (0, 1)):
        return 0
    return 130 if isinstance(now[0], KeyboardInterrupt) else 1


# -- prompts


class _Prompt(str):
    """The user's prompt, which Python asks for its text before every statement.

    Python itself has no frame. Other callers (`code.interact`, `print(sys.ps1)`) get no marks.
    """

    __slots__ = ("users",)
    users: object

    def __new__(cls, users: object) -> _Prompt:  # noqa: PYI034  Python 3.7 has no Self
        prompt = super().__new__(cls, users if isinstance(users, str) else "")
        prompt.users = users
        return prompt

    def __str__(self) -> str:
        users = self.users
        plain = str.__str__(users) if isinstance(users, str) else str(users)
        return plain if sys._getframe().f_back else self.marked(plain)

    def __repr__(self) -> str:
        return repr(self.users)

    def marked(self, plain: str) -> str:
        raise NotImplementedError


class _First(_Prompt):
    __slots__ = ()

    def marked(self, plain: str) -> str:
        _ended()
        if not isinstance(sys.ps2, _Second):
            sys.ps2 = _Second(sys.ps2)
        return plain + _unseen(_mark("B"))


class _Second(_Prompt):
    __slots__ = ()

    def marked(self, plain: str) -> str:
        # Python asks for ps2 right after ps1: the moment to notice that the user set a new ps1.
        if not isinstance(sys.ps1, _First):
            _ended()
            _write_once_drawn(_mark("B"))
            _hold()
        return plain + _unseen(_mark("P"))


def _write_once_drawn(mark: str) -> None:
    """Write a mark after a prompt whose text can no longer be changed."""
    set_hook = getattr(sys.modules.get("readline"), "set_pre_input_hook", None)
    if set_hook is None:
        _write(mark)
        return

    def drawn() -> None:
        set_hook(None)
        _write(mark)

    set_hook(drawn)


def _hold() -> None:
    """Put our marks around prompts that the user has set since."""
    for name, kind, usual in (("ps1", _First, ">>> "), ("ps2", _Second, "... ")):
        users = getattr(sys, name, usual)
        if not isinstance(users, kind):
            setattr(sys, name, kind(users))


# -- code from a file


def _cell(path: str) -> None:
    """Run the file at *path* as if its statements had been typed one by one."""
    _write(_mark("C"))
    _forget_line()
    _State.cells += 1
    name = f"<cell-{_State.cells}>"
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    lines[-1:] = [line.rstrip("\n") + "\n" for line in lines[-1:]]  # carets are misplaced without
    # Without a modification time the entry stays: linecache does not look for such a file.
    linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    _State.features |= sys._getframe(1).f_code.co_flags & _FEATURES
    codes = _compiled(lines, name)
    if codes is not None:
        _run(codes)
    _hold()


def _forget_line() -> None:
    """Remove the call of `__cell__` from the history."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    last = readline.get_current_history_length()
    if last and (readline.get_history_item(last) or "").startswith("__cell__("):
        readline.remove_history_item(last - 1)


def _compiled(lines: list[str], name: str) -> list[CodeType] | None:
    """Compile every statement before any runs; None if one failed, which was then reported."""
    codes = []
    try:
        for statement in ast.parse("".join(lines), name).body:
            one = ast.Interactive([statement])
            codes.append(compile(one, name, "single", _State.features, dont_inherit=True))
            _State.features |= codes[-1].co_flags & _FEATURES
    except SyntaxError as error:
        if error.text is None and 0 < (error.lineno or 0) <= len(lines):
            error.text = lines[(error.lineno or 0) - 1]
        _report(error, None)
        return None
    except (ValueError, MemoryError, RecursionError) as error:  # a NUL, too deep
        _report(error, None)
        return None
    return codes


def _run(codes: list[CodeType]) -> None:
    try:
        for code in codes:
            exec(code, __main__.__dict__)  # noqa: S102  it is what the user asked for
            _flush()
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  as at the prompt, where everything is reported
        _report(error, error.__traceback__ and error.__traceback__.tb_next)


def _flush() -> None:
    """Show what was printed, as Python does after each statement, if it can be shown."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()


def _report(error: BaseException, trace: TracebackType | None) -> None:
    """Handle an exception as Python does when it reaches the prompt."""
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    if sys.version_info < (3, 13) and sys.excepthook is sys.__excepthook__:
        # The hook in C finds source lines in files only, not in linecache.
        traceback.print_exception(type(error), error, trace)
    else:
        sys.excepthook(type(error), error, trace)


# -- start


def _give_back(name: str) -> None:
    """Restore a variable of the environment to the user's value."""
    users = os.environ.pop(f"AGENT_PTY_{name}", None)
    if users is not None:
        os.environ[name] = users
    else:
        os.environ.pop(name, None)


def _run_users_file(path: str) -> None:
    """Run the user's PYTHONSTARTUP as Python would have done."""
    try:
        with open(path, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
    except OSError as error:
        sys.stderr.write("Could not open PYTHONSTARTUP\n")
        _report(error, None)
        return
    except (SyntaxError, ValueError) as error:
        _report(error, None)
        return
    _State.features |= code.co_flags & _FEATURES
    __main__.__dict__["__file__"] = path
    _run([code])


def _away_from_here(hook: Callable[[], object]) -> Callable[[], None]:
    """Return a hook that does the same but imports nothing from the current directory."""

    def hook_once() -> None:
        sys.__interactivehook__ = hook
        path, sys.path[:] = sys.path[:], [directory for directory in sys.path if directory]
        try:
            hook()
        finally:
            sys.path[:] = path

    return hook_once


def _start() -> None:
    del os.environ["AGENT_PTY_SCRIPT"]
    _give_back("PYTHONSTARTUP")
    if os.environ.get("PYTHONSTARTUP"):
        _run_users_file(os.environ["PYTHONSTARTUP"])
    # Python's own hook imports a module `code` from 3.13 on; it is called after this file.
    hook = getattr(sys, "__interactivehook__", None)
    if hook is not None and getattr(hook, "__module__", None) == "site":
        sys.__interactivehook__ = _away_from_here(hook)
    vars(builtins)["__cell__"] = _cell
    _hold()


_start()
