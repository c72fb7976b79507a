"""A keeper that takes over from another build in the same process, with what that one saved."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agent_pty.core.layout import Layout
from agent_pty.keeper.spool import create_spool
from agent_pty.store.home import prepare
from support.keeper import Talk


@pytest.fixture
def layout() -> Iterator[Layout]:
    """A home of its own."""
    # Not tmp_path: a socket's path may have 107 bytes.
    home = tempfile.mkdtemp(prefix="ap-")
    where = Layout(home=home, socket=f"{home}/s.sock", log_dir=f"{home}/runs")
    prepare(where)
    yield where
    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def resumed(layout: Layout, **held: int) -> Iterator[Talk]:
    """Run a keeper that resumes with one session, `work`, whose descriptors are *held*."""
    with (
        socket.socket(socket.AF_UNIX) as listener,
        open(layout.keeper_lock, "w") as lock,
        tempfile.TemporaryFile("w+") as saved,
    ):
        listener.bind(layout.keeper_socket)
        listener.listen()
        session: dict[str, Any] = {
            "pid": os.getpid(),
            "birth": None,
            "host": "h1",
            "ended": None,
            "spec": None,
        }
        fds = [listener.fileno(), lock.fileno(), *held.values()]
        state = {
            "listener": listener.fileno(),
            "lock": lock.fileno(),
            "daemon_socket": None,
            "sessions": {"work": {**session, **held}},
            "programs": {},
            "hosts": {},
            "gateway": None,
            "fds": fds,
        }
        json.dump(state, saved)
        saved.seek(0)
        words = json.dumps({**layout.to_wire(), "resume": saved.fileno()})
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_pty.keeper", words], pass_fds=[*fds, saved.fileno()]
        )
    try:
        with Talk(layout.keeper_socket) as talk:
            yield talk
            talk.ask(do="stop")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def handed(layout: Layout, talk: Talk) -> tuple[int, ...]:
    """Return what a host gets for the session."""
    with Talk(layout.keeper_socket, role="host", name="h2") as host:
        talk.ask(do="hand", instance="work", host="h2", spec=None)
        return host.event("adopt").fds


def test_terminal_and_spool_come_through_an_upgrade(layout: Layout) -> None:
    """
    The next host is handed both, with what is in them.
    """
    master, slave = os.openpty()
    made = create_spool()
    os.write(made, b"spooled before the upgrade")

    with resumed(layout, master=master, spool=made) as talk:
        again, spooled = handed(layout, talk)
        os.write(slave, b"written after it")

        assert os.read(again, 100) == b"written after it"
        assert os.pread(spooled, 100, 0) == b"spooled before the upgrade"

    for fd in (master, slave, made, again, spooled):
        os.close(fd)


def test_a_session_of_the_previous_build_has_no_spool(layout: Layout) -> None:
    """
    That build saved the master only: the session is held, and its next host gets an empty spool.
    """
    master, slave = os.openpty()

    with resumed(layout, master=master) as talk:
        known = talk.hello["sessions"]["work"]
        again, spooled = handed(layout, talk)
        os.write(slave, b"still here")

        assert (known["pid"], known["host"]) == (os.getpid(), "h1")
        assert os.read(again, 100) == b"still here"
        assert os.fstat(spooled).st_size == 0

    for fd in (master, slave, again, spooled):
        os.close(fd)
