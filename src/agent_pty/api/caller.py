"""What is filled in for the caller of a method: a program's words, and the directory."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agent_pty.client.directory import here
from agent_pty.errors import BadRequest


def program(given: str | Sequence[str] | None) -> list[str] | None:
    """Return a program and its arguments; a text is split as a shell would do it.

    >>> program("python3 -c 'print(1)'")
    ['python3', '-c', 'print(1)']
    >>> program(["sh", "-c", "echo $HOME"])
    ['sh', '-c', 'echo $HOME']
    """
    if not isinstance(given, str):
        return None if given is None else list(given)
    import shlex  # noqa: PLC0415  rarely needed, and importing the API must be quick

    try:
        return shlex.split(given)
    except ValueError as error:
        raise BadRequest(f"argv {given!r}: {error}; or give a list", field="argv") from error


def directory(given: str | os.PathLike[str] | None) -> str:
    """Return an absolute path; the default is the caller's directory."""
    if given is None:
        return here()
    return os.path.normpath(os.path.join(here(), os.path.expanduser(given)))
