"""Which processes are recognised as not to be ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.process import spared, table
from support.keeper import keeper

# Takes a name and opens a file, says so, and stays.
_NAMED = """
import sys
open("/proc/self/comm", "w").write(sys.argv[1])
held = open(sys.argv[2])
print("up", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def named(name: str, held: str = os.devnull) -> Iterator[table.Entry]:
    """Start a process that calls itself *name* and has the file *held* open."""
    with subprocess.Popen(
        [sys.executable, "-c", _NAMED, name, held], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        found = table.entry(process.pid)
        assert found is not None
        assert found.name == name
        yield found


def test_trial_06_a_keeper_is_recognised_with_its_home() -> None:
    """
    A keeper is spared, and it is known whose it is.
    """
    with keeper() as (layout, talk):
        found = table.entry(talk.hello["pid"])

        assert found is not None
        assert spared.home_of(found) == os.path.realpath(layout.home)
        assert spared.is_spared(found)


def test_trial_06_a_daemon_in_the_foreground_is_recognised_by_its_lock(tmp_path: Path) -> None:
    """
    A process with the name of a daemon that holds a home's lock is that home's daemon.
    """
    lock = tmp_path / "run" / "daemon.lock"
    lock.parent.mkdir()
    lock.touch()

    with named(spared.DAEMON, str(lock)) as found:
        assert spared.home_of(found) == str(tmp_path)
        assert spared.is_spared(found)


@pytest.mark.parametrize(
    "name", [spared.KEEPER, spared.DAEMON, spared.HOST, spared.GATEWAY, "tmux: server", "cat"]
)
def test_trial_06_a_name_alone_spares_nobody(name: str) -> None:
    """
    A program that only calls itself like one of them is ended like any other.
    """
    with named(name) as found:
        assert not spared.is_spared(found)


@pytest.mark.parametrize(
    "environment",
    [
        set(),
        {b"TMUX"},
        {b"TMUX="},
        {b"TMUX=/tmp/tmux-0/default"},
        {b"TMUX=/tmp/tmux-0/default,x,0"},
        {b"TMUX=/tmp/tmux-0/default,1,0"},
        {b"TMUX=/tmp/tmux-0/default,4194305,0"},
    ],
    ids=str,
)
def test_trial_06_who_was_not_started_in_tmux_is_not_spared(environment: set[bytes]) -> None:
    """
    The variable must name a living tmux server.
    """
    assert not spared.runs_in_tmux(environment)
