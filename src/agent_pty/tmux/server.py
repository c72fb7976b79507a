"""A tmux server, asked by the tmux program: bounded in time, and with its reasons in our errors.

Rule of this file: targets are exact. A pane is named by its id (`%3`) and a session by `=name`,
because tmux takes the beginning of another session's name for a match.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from agent_pty.errors import TmuxFailed

# A call takes some 5 ms. One that takes this long waits for a server that is stopped.
PATIENCE = 3.0
OLDEST = (3, 0)
_VERSION = re.compile(r"(\d+)\.(\d+)")
_INSTALL = "install tmux 3.0 or later (apt install tmux, brew install tmux) or use --backend pty"
# What the tmux program says if there is no server at a socket, or none any more.
_NO_SERVER = ("no server running", "lost server", "server exited")
# Other reasons, as a directory that may not be entered, say nothing about the server.
_NO_SOCKET = re.compile(r"error connecting to .*\((No such file or directory|Connection refused)\)")
_NO_TARGET = ("can't find", "no such", "no current target")
# What the server and its own programs need. Everything else is for the program in a pane.
_KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "AGENT_PTY_HOME",
)


class TargetGone(Exception):
    """There is no such server, session or pane."""


class TmuxServer:
    """The server at a socket; *own*: one of ours, which reads no configuration file."""

    def __init__(self, socket: str, *, own: bool) -> None:
        self.socket = socket
        self.own = own

    async def run(self, *words: str, patience: float = PATIENCE) -> str:
        """Run one or more commands; return what they print."""
        return await asyncio.to_thread(self._run, words, patience)

    def _run(self, words: tuple[str, ...], patience: float) -> str:
        configuration = ["-f", os.devnull] if self.own else []
        # -u: in a locale without UTF-8 tmux would print `_` for what is not ASCII.
        argv = [program(), "-u", *configuration, "-S", self.socket, *words]
        try:
            done = subprocess.run(
                argv,
                env=_environment(os.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
                check=False,
                cwd="/",
            )
        except subprocess.TimeoutExpired:
            raise TmuxFailed(
                f"tmux {_verb(words)} failed: the server at {self.socket} does not answer within "
                f"{patience:g} s: is it stopped?",
                socket=self.socket,
            ) from None
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        reason = done.stderr.decode("utf-8", "replace").strip() or f"status {done.returncode}"
        if reason.startswith((*_NO_SERVER, *_NO_TARGET)) or _NO_SOCKET.match(reason):
            raise TargetGone(reason)
        raise TmuxFailed(f"tmux {_verb(words)} failed: {reason}", socket=self.socket)


def program() -> str:
    """Return the tmux program, or say what to install."""
    found = shutil.which("tmux")
    if found is None:
        raise TmuxFailed(f"tmux is not installed: {_INSTALL}")
    return found


async def check_version() -> None:
    """Refuse a tmux that is missing or too old."""
    found = program()
    try:
        said = await asyncio.to_thread(
            subprocess.run, [found, "-V"], capture_output=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise TmuxFailed(f"{found} does not run: {error}: {_INSTALL}") from error
    version = said.stdout.decode("utf-8", "replace").strip()
    numbers = _VERSION.search(version)
    if numbers is not None and tuple(map(int, numbers.groups())) < OLDEST:
        raise TmuxFailed(f"{version} is too old: {_INSTALL}")


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a tmux program, which a server that it starts inherits."""
    kept = {name: ours[name] for name in _KEPT if name in ours}
    return {**kept, "SHELL": "/bin/sh", "TERM": "xterm-256color"}


def _verb(words: tuple[str, ...]) -> str:
    commands = [word for word in words if word not in ("start-server", ";")]
    return commands[0] if commands else "start-server"
