"""Start a program in a new pane: in its own environment, its pipe open before its first byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_pty.core.process_mark import process_mark
from agent_pty.errors import TmuxFailed
from agent_pty.keeper.program import FILES
from agent_pty.tmux import pane as panes
from agent_pty.tmux.meeting import command, guest, meeting
from agent_pty.tmux.pane import Pane
from agent_pty.tmux.pipe import open_pipe
from agent_pty.tmux.server import TmuxServer

# A program that has not reached its exec after this time hangs in chdir or on its file.
_SECONDS = 5.0
# How long a server is waited for that has not answered just before.
_GLANCE_SECONDS = 0.5


class LaunchFailed(Exception):
    """The program could not be started; *why* has the stage, the reason and the errno."""

    def __init__(self, why: dict[str, Any]) -> None:
        super().__init__(str(why.get("reason")))
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneProgram:
    """What to start; *secret* is a line that it can read once, from descriptor 3."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    secret: str | None
    instance: str
    session: str
    rows: int
    cols: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A program that runs in a pane; the caller owns *pipe*."""

    pane: Pane
    pid: int
    pipe: int


async def start(server: TmuxServer, wanted: PaneProgram, path: str) -> Started:
    """Start a program; if that fails, nothing of it is left. *path* begins the names of sockets."""
    async with meeting(f"{path}.program") as listener:
        pane = await _created(server, wanted, command("launcher", f"{path}.program"))
        try:
            pipe, _ = await open_pipe(server, pane.id, path)
            try:
                with await guest(listener, "new-session") as launcher:
                    pid = await _launch(launcher, wanted)
            except BaseException:
                os.close(pipe)
                raise
        except BaseException:
            with contextlib.suppress(TmuxFailed):
                await panes.kill(server, pane.id)
            raise
    return Started(pane=pane, pid=pid, pipe=pipe)


async def _created(server: TmuxServer, wanted: PaneProgram, argv: Sequence[str]) -> Pane:
    try:
        return await panes.create(
            server,
            session=wanted.session,
            instance=wanted.instance,
            rows=wanted.rows,
            cols=wanted.cols,
            argv=argv,
        )
    except BaseException:
        # A server that hangs may still make the session when it goes on. It takes this after that;
        # if not, the launcher removes its pane, because nobody is at its socket.
        with contextlib.suppress(TmuxFailed):
            await panes.kill_session(
                server, wanted.session, wanted.instance, patience=_GLANCE_SECONDS
            )
        raise


async def _launch(launcher: socket.socket, wanted: PaneProgram) -> int:
    """Tell the launcher what to start; return its pid when it runs."""
    loop = asyncio.get_running_loop()
    facts = {
        "argv": list(wanted.argv),
        "cwd": wanted.cwd,
        "env": dict(wanted.env),
        "secret": wanted.secret,
        "files": FILES,
        "mark": process_mark(wanted.instance),
    }
    try:
        async with asyncio.timeout(_SECONDS):
            await loop.sock_recv(launcher, 64)
            await loop.sock_sendall(launcher, json.dumps(facts).encode() + b"\n")
            report = b""
            while part := await loop.sock_recv(launcher, 1 << 16):
                report += part
    except TimeoutError:
        reason = f"not started within {_SECONDS:g} s: is its directory reachable?"
        raise LaunchFailed({"stage": "cwd", "reason": reason}) from None
    except OSError as error:
        raise TmuxFailed(f"tmux new-session failed: its pane ended: {error}") from error
    # The pid and the reason of a failure come from two processes, in any order.
    pids = [line for line in report.splitlines() if line.isdigit()]
    failures = [line for line in report.splitlines() if line and not line.isdigit()]
    if failures or not pids:
        why = json.loads(failures[0]) if failures else {"reason": "the launcher ended"}
        raise LaunchFailed(why)
    return int(pids[0])
