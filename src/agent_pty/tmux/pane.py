"""Panes of a tmux server: found, made, measured, resized and ended, always by their id."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.errors import TmuxFailed
from agent_pty.tmux.server import PATIENCE, TargetGone, TmuxServer

# An option of the pane that says whose it is: an id is used again by the next server.
INSTANCE = "@agent_pty_instance"
_FIELDS = (
    *("pane_id", "pane_pid", "pane_tty", "pane_dead", "pane_dead_status", "pane_dead_signal"),
    *("pane_height", "pane_width", "pane_pipe", "pid", "session_name", INSTANCE),
    *("window_index", "pane_index", "window_active", "pane_active"),
    *("pane_current_command", "pane_current_path"),
)
# How often a server is tried that ends in the moment in which it is asked for a new session.
_ATTEMPTS = 5
_PAUSE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """A pane as it is now. A *dead* one shows what its program left.

    *status* and *signal* say how the program ended, as far as tmux knows. *server* is tmux's pid.
    """

    id: str
    pid: int
    tty: str
    dead: bool
    status: int | None
    signal: int | None
    rows: int
    cols: int
    piped: bool
    server: int
    session: str
    instance: str | None
    window: int
    index: int
    window_active: bool
    active: bool
    command: str
    directory: str

    @property
    def address(self) -> str:
        """How a person names it."""
        return f"{self.session}:{self.window}.{self.index}"

    def is_meant_by(self, target: str) -> bool:
        """Whether SESSION, SESSION:WINDOW, SESSION:WINDOW.PANE or %PANE means this pane."""
        if target in (self.id, self.address):
            return True
        if target == f"{self.session}:{self.window}":
            return self.active
        return target == self.session and self.window_active and self.active


async def panes(server: TmuxServer, *, patience: float = PATIENCE) -> list[Pane]:
    """Return every pane of a server, each once; none if there is no server."""
    # A directory may have any character in its name, but not a number that was just drawn.
    end = f"<{secrets.token_hex(8)}>"
    wanted = "".join(f"#{{{name}}}{end}" for name in _FIELDS)
    try:
        listed = await server.run("list-panes", "-a", "-F", wanted, patience=patience)
    except TargetGone:
        return []
    return parsed(listed, end)


def parsed(listed: str, end: str) -> list[Pane]:
    """Return the panes that tmux has listed, each field with *end* after it.

    What cannot be read is an error: a pane that is missing here counts as gone.
    """
    *words, rest = listed.split(end)
    rows = [words[at : at + len(_FIELDS)] for at in range(0, len(words), len(_FIELDS))]
    if rest.strip() or (rows and len(rows[-1]) != len(_FIELDS)):
        raise TmuxFailed(f"tmux list-panes failed: this is no list of panes: {listed[:200]!r}")
    found: dict[str, Pane] = {}
    try:
        for id_, *others in rows:
            one = _pane([id_.strip(), *others])
            found.setdefault(one.id, one)
    except ValueError as error:
        raise TmuxFailed(f"tmux list-panes failed: a field has no number: {error}") from error
    return list(found.values())


async def find(server: TmuxServer, pane: str, instance: str) -> Pane | None:
    """Return the pane of a session of ours; None if it is gone."""
    return await pick(server, await panes(server), pane, instance)


async def pick(server: TmuxServer, listed: Sequence[Pane], pane: str, instance: str) -> Pane | None:
    """Return the pane of a session of ours among those that were *listed*; None if it is gone."""
    for found in listed:
        if found.id == pane and found.instance == instance:
            if found.dead and found.status is None and found.signal is None:
                return await _reaped(server, found)
            return found
    return None


async def _reaped(server: TmuxServer, dead: Pane) -> Pane:
    """Have tmux collect the exit status of a dead pane: version 3.3a sometimes misses a SIGCHLD."""
    with contextlib.suppress(OSError):
        os.kill(dead.server, signal.SIGCHLD)
    return next((one for one in await panes(server) if one.id == dead.id), dead)


async def create(
    server: TmuxServer, *, session: str, instance: str, rows: int, cols: int, argv: Sequence[str]
) -> Pane:
    """Start a program in a session of its own, which nobody is attached to."""
    target = f"={session}:"
    try:
        made = await _run_on_a_new_server_too(
            server,
            *("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session),
            *("-x", str(cols), "-y", str(rows), *argv),
            *(";", "set-option", "-p", "-t", target, INSTANCE, instance),
            # Only for this window. tmux 3.3a crashes if the size is set so for all of them.
            *(";", "set-option", "-w", "-t", target, "window-size", "manual"),
            *(";", "set-option", "-w", "-t", target, "remain-on-exit", "on"),
            *(";", "set-option", "-t", target, "destroy-unattached", "off"),
        )
    except TmuxFailed as error:
        if "duplicate session" in str(error):
            raise TmuxFailed(f"tmux session {session} already exists", session=session) from error
        raise
    except TargetGone as error:
        raise TmuxFailed(f"tmux new-session failed: {error}", session=session) from error
    pane = await find(server, made.strip(), instance)
    if pane is None:
        raise TmuxFailed("tmux new-session failed: its pane ended at once", session=session)
    return pane


async def _run_on_a_new_server_too(server: TmuxServer, *words: str) -> str:
    """Run what may start the server; one that is just ending is waited for."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(TargetGone):
            return await server.run(*words)
        await asyncio.sleep(_PAUSE)
    return await server.run(*words)


async def mark(server: TmuxServer, pane: str, instance: str | None) -> None:
    """Note in a pane whose it is, if it is nobody's yet; or that it is nobody's."""
    # -o: tmux refuses to replace a mark, which another daemon may have set in this moment.
    words = ("-u",) if instance is None else ("-o",)
    value = () if instance is None else (instance,)
    with contextlib.suppress(TargetGone):
        await server.run("set-option", "-p", *words, "-t", pane, INSTANCE, *value)


async def resize(server: TmuxServer, pane: str, *, rows: int, cols: int) -> None:
    """Change the size of the window that a pane fills."""
    with contextlib.suppress(TargetGone):
        await server.run("resize-window", "-t", pane, "-x", str(cols), "-y", str(rows))


async def kill(server: TmuxServer, pane: str) -> None:
    """End a pane, and with it its session if that has no other."""
    with contextlib.suppress(TargetGone):
        await server.run("kill-pane", "-t", pane)


async def kill_session(
    server: TmuxServer, session: str, instance: str, *, patience: float = PATIENCE
) -> None:
    """End a session with all its panes, if it is that of an instance: another may have its name."""
    ours = f"#{{==:#{{{INSTANCE}}},{instance}}}"
    killing = f"kill-session -t {shlex.quote(f'={session}')}"
    with contextlib.suppress(TargetGone):
        await server.run("if-shell", "-F", "-t", f"={session}:", ours, killing, patience=patience)


def _pane(fields: list[str]) -> Pane:
    id_, pid, tty, dead, status, ended_by, rows, cols, piped, server, session, instance = fields[
        :12
    ]
    window, index, window_active, active, command, directory = fields[12:]
    return Pane(
        id=id_,
        pid=int(pid),
        tty=tty,
        dead=dead == "1",
        status=int(status) if status.isdigit() else None,
        signal=_signal(ended_by),
        rows=int(rows),
        cols=int(cols),
        piped=piped == "1",
        server=int(server),
        session=session,
        instance=instance or None,
        window=int(window),
        index=int(index),
        window_active=window_active == "1",
        active=active == "1",
        command=command,
        directory=directory,
    )


def _signal(name: str) -> int | None:
    """Return a signal's number; tmux gives a number or, on some systems, a name."""
    if name.isdigit():
        return int(name)
    found = getattr(signal, f"SIG{name.upper().removeprefix('SIG')}", None) if name else None
    return int(found) if isinstance(found, signal.Signals) else None
