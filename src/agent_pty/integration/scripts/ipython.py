"""Marks for IPython (see core/mark.py), put around methods of its one shell.

Rule of the file: nothing that users configure is touched, neither prompts nor events, so it does
not matter that their profile is read after this.
"""

# It is never imported, so it is in no package.
# ruff: noqa: INP001
from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
from typing import Any

_LOAD = re.compile(r"__cell__\((.+)\)\s*")


class _Marks:
    """Marks one shell: D and B in its prompt, C and D around each cell that was read there."""

    def __init__(self, shell: Any, nonce: str) -> None:
        self._nonce = nonce
        self._number = 0
        self._ended = self._drawn = self._running = False
        self._depth = 0
        self._read, shell.prompt_for_code = shell.prompt_for_code, self.prompt_for_code
        self._run, shell.run_cell = shell.run_cell, self.run_cell
        history = shell.pt_app.history
        self._remember, history.append_string = history.append_string, self.append_string
        shell.pt_app.app.after_render += self.rendered

    def prompt_for_code(self) -> str:
        """Read a cell; a line that names a file is replaced by the content of the file."""
        if not self._ended:  # the first prompt, or an interrupt before D was written
            self._end(130 if self._running else 0)
        self._drawn = False
        try:
            code = _loaded(self._read())
        finally:
            self._ended = False
        self._running = True
        self._write("C")
        if not code:  # IPython will not run it
            self._end(0)
        return code

    def rendered(self, _app: Any) -> None:
        """Mark the prompt when it is drawn for the first time."""
        if not self._drawn:
            self._drawn = True
            self._write("B")

    def run_cell(self, *args: Any, **kwargs: Any) -> Any:
        """Run a cell; D comes after all that hooks and extensions print after it."""
        self._depth += 1
        try:
            result = self._run(*args, **kwargs)
        finally:
            self._depth -= 1
        # Cells run cells, and so do start-up files before there is a prompt.
        if self._running and self._depth == 0:
            self._end(_status(result))
        return result

    def append_string(self, text: str) -> None:
        """Keep the code itself for the arrow keys, not the line that names its file."""
        self._remember(_loaded(text))

    def _end(self, status: int) -> None:
        self._number += 1
        self._ended, self._running = True, False
        self._write(f"D;{status}")

    def _write(self, kind: str) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os.write(1, f"\x1b]133;{kind};apty={self._nonce}.{self._number}\x07".encode())


def _loaded(text: str) -> str:
    """Return the text of the file if *text* is a line that runs one."""
    match = _LOAD.fullmatch(text)
    if match is None:
        return text
    try:
        with open(ast.literal_eval(match[1]), encoding="utf-8") as file:
            return file.read()
    except (OSError, SyntaxError, TypeError, ValueError):
        return text


def _status(result: Any) -> int:
    error = result.error_before_exec or result.error_in_exec
    if error is None:
        return 0
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _start() -> None:
    shell = sys.modules["IPython"].get_ipython()
    nonce = os.read(3, 100).decode().strip()
    os.close(3)
    users = os.environ.pop("AGENT_PTY_PYTHONSTARTUP", None)
    for name in ("AGENT_PTY_SCRIPT", "PYTHONSTARTUP"):
        del os.environ[name]
    # Without an editor (--simple-prompt) and in very old versions there is nothing to mark.
    if getattr(shell, "pt_app", None) is not None:
        _Marks(shell, nonce)
    if users is not None:
        os.environ["PYTHONSTARTUP"] = users
        if os.path.isfile(users):
            shell.user_ns["__file__"] = users
            shell.safe_execfile(users, shell.user_ns)


_start()
