"""What is filled in for the caller of a method: program, directory and environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

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


def own_environment(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment for a program; the default is the caller's.

    A request is JSON, so a value that is no text cannot be sent: a warning names the variable.
    """
    if given is not None:
        return dict(given)
    sent = {}
    for name, value in os.environ.items():
        if _is_text(name + value):
            sent[name] = value
        else:
            _warn(f"{name!r} is not UTF-8: the program starts without it")
    return sent


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _warn(message: str) -> None:
    import warnings  # noqa: PLC0415  rarely needed

    # Above this function and its caller are the method and, at last, the caller's own line.
    warnings.warn(message, stacklevel=4)
