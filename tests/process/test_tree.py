import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent_pty.process import table, tree
from agent_pty.process.tree import INSTANCE_VARIABLE, KilledTrees, Root
from support.keeper import Talk, keeper, master_of, read_until, wait_for_end

# Says its pid on the terminal once it is where it wants to be, and stays.
LEAF = "echo up:$$:; exec /bin/sleep 1000"
PLACES = {
    "child": f"sh -c '{LEAF}' &",
    "grandchild": f"sh -c \"sh -c '{LEAF}' & wait\" &".replace("$$", "\\$\\$"),
    "own session": f"setsid sh -c '{LEAF}' &",
    "orphan": f"(setsid sh -c '{LEAF}' &)",
    "orphan without a terminal": (
        "(setsid sh -c 'echo up:$$:; exec /bin/sleep 1000 </dev/null >/dev/null 2>&1' &)"
    ),
    "orphan with an emptied environment": f"(env -i setsid /bin/sh -c '{LEAF}' &)",
    "orphan that shares only the session": (
        "(env -i /bin/sh -c 'echo up:$$:; exec /bin/sleep 1000 </dev/null >/dev/null 2>&1' &)"
    ),
    "orphan that shares nothing": (
        "(env -i setsid sh -c 'echo up:$$:; exec /bin/sleep 1000 </dev/null >/dev/null 2>&1' &)"
    ),
    "deaf to polite signals": f"sh -c 'trap \"\" TERM HUP INT QUIT; {LEAF}' &",
    "deaf orphan": f"(setsid sh -c 'trap \"\" TERM HUP INT QUIT; {LEAF}' &)",
    "stopped": "sh -c 'echo up:$$:; kill -STOP $$; exec /bin/sleep 1000' &",
    "stopped orphan": "(setsid sh -c 'echo up:$$:; kill -STOP $$; exec /bin/sleep 1000' &)",
}


@dataclass(frozen=True)
class Grown:
    """A session with something hidden in it."""

    root: Root
    hidden: table.Entry


class Garden:
    """Sessions under a real keeper, which becomes the parent of their orphans."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._handles: list[int] = []
        self._masters: list[int] = []
        self._number = 0
        talk.ask(do="hello", role="host", name="garden")

    def grow(self, script: str) -> Grown:
        """Start a shell with a script that says `up:PID:`."""
        self._number += 1
        instance = f"instance-{os.getpid()}-{self._number}"
        spawned = self._talk.spawn(
            instance, "sh", "-c", f"{script}\nread x", env={INSTANCE_VARIABLE: instance}
        )
        self._talk.ask(do="hand", instance=instance, host="garden", spec=None)
        master = master_of(self._talk.event("adopt"))
        self._masters.append(master)
        said = re.search(rb"up:(\d+):", read_until(master, b":\r\n"))
        assert said is not None
        hidden = table.entry(int(said[1]))
        assert hidden is not None
        root = Root(
            pid=spawned["pid"],
            birth=spawned["birth"],
            instance=instance,
            terminal=terminal_of(spawned["pid"]),
            keeper=self._talk.hello["pid"],
        )
        self._handles += [os.pidfd_open(hidden.pid), os.pidfd_open(root.pid)]
        return Grown(root, hidden)

    def close(self) -> None:
        """End what a test has left, by handle."""
        for handle in self._handles:
            try:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for fd in [*self._handles, *self._masters]:
            os.close(fd)


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    """A keeper for all tests of this file."""
    with keeper() as (_, connection):
        yield connection


@pytest.fixture
def garden(talk: Talk) -> Iterator[Garden]:
    """A place for sessions; nothing is left of them afterwards."""
    place = Garden(talk)
    yield place
    place.close()


@pytest.fixture
def bystander() -> Iterator[table.Entry]:
    """A process that leads a session of its own and has nothing to do with ours."""
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        found = table.entry(process.pid)
        assert found is not None
        yield found
        assert process.poll() is None
        assert process.stdin is not None


def terminal_of(pid: int) -> str:
    """Return the path of a program's terminal."""
    return os.readlink(f"/proc/{pid}/fd/0")


def alive(target: table.Entry) -> bool:
    """Whether this very process still lives."""
    now = table.entry(target.pid)
    return now is not None and now.alive and now.birth == target.birth


def kill_trees(*roots: Root) -> KilledTrees:
    """End trees."""
    return asyncio.run(tree.kill_trees(roots))


def pids(entries: Sequence[table.Entry]) -> set[int]:
    """Return who that is."""
    return {found.pid for found in entries}


@pytest.mark.parametrize("place", PLACES)
def test_nobody_of_a_session_survives(garden: Garden, place: str) -> None:
    """
    Wherever a process went it is found, named among the ended, and gone.
    """
    grown = garden.grow(PLACES[place])
    assert {grown.root.pid, grown.hidden.pid} <= pids(tree.members([grown.root]))

    killed = kill_trees(grown.root)

    assert killed.survivors == []
    ended = {process.pid: process.command for process in killed.ended}
    assert {grown.root.pid, grown.hidden.pid} <= ended.keys()
    assert ended[grown.root.pid].startswith("sh -c ")
    assert not alive(grown.hidden)
    assert tree.members([grown.root]) == []


def test_who_ends_when_asked_is_not_killed(garden: Garden, tmp_path: Path) -> None:
    """
    A program gets the chance to put its things in order.
    """
    last_words = tmp_path / "words"
    trap = f'trap "echo bye >{last_words}; exit 0" TERM; trap "" HUP'
    grown = garden.grow(f"sh -c '{trap}; echo up:$$:; sleep 1000 & wait' &")

    killed = kill_trees(grown.root)

    assert killed.survivors == []
    assert last_words.read_text() == "bye\n"


def test_several_trees_fall_together(garden: Garden) -> None:
    """
    Many sessions are ended in the time of one.
    """
    grown = [garden.grow(PLACES["deaf orphan"]) for _ in range(5)]

    killed = kill_trees(*(one.root for one in grown))

    assert killed.survivors == []
    assert {one.hidden.pid for one in grown} <= {process.pid for process in killed.ended}
    assert not any(alive(one.hidden) for one in grown)


@pytest.mark.parametrize("place", ["child", "orphan", "orphan with an emptied environment"])
def test_a_neighbour_is_not_touched(garden: Garden, bystander: table.Entry, place: str) -> None:
    """
    Another session of the same keeper, and a stranger, live on.
    """
    grown, neighbour = garden.grow(PLACES[place]), garden.grow(PLACES[place])

    killed = kill_trees(grown.root)

    touched = {process.pid for process in killed.ended}
    assert touched.isdisjoint({neighbour.root.pid, neighbour.hidden.pid, bystander.pid})
    assert alive(neighbour.hidden)
    assert alive(bystander)


def test_we_ourselves_are_nobodys_member(garden: Garden) -> None:
    """
    Whoever asks is never in the list, even if the session's marks are on it.
    """
    grown = garden.grow(PLACES["child"])
    own = Root(
        pid=os.getpid(), birth=None, instance=grown.root.instance, terminal=None, keeper=None
    )

    assert os.getpid() not in pids(tree.members([own]))


def test_a_later_process_with_the_pid_is_not_a_member(bystander: table.Entry) -> None:
    """
    A pid that now belongs to a process born at another time means nobody, nor its session.
    """
    root = Root(
        pid=bystander.pid,
        birth=bystander.birth - 1,
        instance="long gone",
        terminal=None,
        keeper=None,
    )

    assert tree.members([root]) == []
    assert kill_trees(root) == KilledTrees(ended=[], survivors=[], spared=[])
    assert alive(bystander)


def test_trial_06_a_kernel_session_without_its_leader_may_be_somebody_elses() -> None:
    """
    A number that was our program's is not enough: the members must carry a mark.
    """
    with subprocess.Popen(
        ["sh", "-c", "sleep 1000 >/dev/null & echo $!"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as leader:
        assert leader.stdout is not None
        left = table.entry(int(leader.stdout.readline()))
        leader.wait()
        assert left is not None
        try:
            root = Root(pid=leader.pid, birth=1.0, instance="long gone", terminal=None, keeper=None)

            assert left.session == leader.pid
            assert kill_trees(root) == KilledTrees(ended=[], survivors=[], spared=[])
            assert alive(left)
        finally:
            tree.send(left, signal.SIGKILL)


def test_a_later_process_with_the_pid_is_not_signalled(bystander: table.Entry) -> None:
    """
    A signal goes to the process that was meant, or to nobody.
    """
    assert not tree.send(replace(bystander, birth=bystander.birth + 1), signal.SIGKILL)
    assert alive(bystander)


def test_a_signal_to_who_is_meant_arrives(garden: Garden) -> None:
    """
    True says that it was delivered; to one who is gone it is not.
    """
    grown = garden.grow(PLACES["child"])
    handle = os.pidfd_open(grown.hidden.pid)

    assert tree.send(grown.hidden, signal.SIGTERM)

    wait_for_end(handle)
    os.close(handle)
    # The shell is its parent and has not waited for it, or has: both are the end.
    assert not alive(grown.hidden)


def test_no_handle_is_left_open(garden: Garden, bystander: table.Entry) -> None:
    """
    Looking, signalling and felling cost no descriptor.
    """
    grown = garden.grow(PLACES["deaf to polite signals"])
    before = len(os.listdir("/proc/self/fd"))

    tree.send(bystander, 0)
    tree.send(replace(bystander, birth=0.0), 0)
    kill_trees(grown.root)

    assert len(os.listdir("/proc/self/fd")) == before


def test_waiting_for_the_end_has_an_end(bystander: table.Entry) -> None:
    """
    Who does not end is not waited for beyond the patience given; who is gone not at all.
    """
    ended = replace(bystander, birth=0.0)

    asyncio.run(asyncio.wait_for(tree.wait_gone([ended], 1000.0), 10))
    asyncio.run(asyncio.wait_for(tree.wait_gone([bystander], 0.05), 10))

    assert alive(bystander)
