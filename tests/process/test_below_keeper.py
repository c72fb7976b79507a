"""What lives below the keeper: attributed to a session, ended, or spared."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator

import pytest

from agent_pty.core.layout import Layout
from agent_pty.core.process_mark import process_mark
from agent_pty.process import below_keeper, table
from agent_pty.process.tree import INSTANCE_VARIABLE, KilledTrees
from support.agent import alive, eventually
from support.keeper import Talk, keeper, master_of, read_until

STAY = "exec /bin/sleep 1000 </dev/null >/dev/null 2>&1"
# Takes its mark away, as a program that sets its limits would.
UNMARKED = (
    f'{sys.executable} -I -S -c "import os, resource; resource.setrlimit(10, (-1, -1)); '
    "os.execv('/bin/sh', ['sh', '-c', os.environ['SCRIPT']])\""
)


class Home:
    """A keeper, and programs that leave orphans to it."""

    def __init__(self, layout: Layout, talk: Talk) -> None:
        self.layout = layout
        self.keeper: int = talk.hello["pid"]
        self._talk = talk
        self._masters: list[int] = []
        self.programs: dict[str, int] = {}
        talk.ask(do="hello", role="host", name="home")

    def orphan(self, instance: str, script: str, **env: str) -> int:
        """Run a script that says `up:PID:` of an orphan, and return that pid."""
        spawned = self._talk.spawn(
            instance, "sh", "-c", f"{script}\nread x", env={INSTANCE_VARIABLE: instance, **env}
        )
        self.programs[instance] = spawned["pid"]
        self._talk.ask(do="hand", instance=instance, host="home", spec=None)
        master = master_of(self._talk.event("adopt"))
        self._masters.append(master)
        said = re.search(rb"up:(\d+):", read_until(master, b":\r\n"))
        assert said is not None
        pid = int(said[1])
        eventually(lambda: (found := table.entry(pid)) is not None and found.ppid == self.keeper)
        return pid

    def marked(self, instance: str) -> int:
        """Leave an orphan that has nothing of its session but the mark."""
        return self.orphan(instance, f"(env -i setsid /bin/sh -c 'echo up:$$:; {STAY}' &)")

    def unmarked(self, instance: str, *clean: str) -> int:
        """Leave an orphan without the mark; *clean* are the words before its command."""
        words = " ".join(clean)
        script = f"echo up:$$:; {STAY}"
        return self.orphan(instance, f"({words} SCRIPT='{script}' setsid {UNMARKED} &)")

    def unattributed(self, *instances: str) -> list[int]:
        """Return the orphans that belong to none of these sessions."""
        home, programs = self.layout.home, self.programs.values()
        found = below_keeper.unattributed(self.keeper, home, programs, instances)
        return [process.pid for process in found]

    def end_everything(self, *instances: str) -> KilledTrees:
        """End all that is below the keeper."""
        ending = below_keeper.end_everything(self.keeper, self.layout.home, instances)
        return asyncio.run(ending)

    def close(self) -> None:
        """End what a test has left."""
        for pid in table.children(self.keeper):
            os.kill(pid, signal.SIGKILL)
        for master in self._masters:
            os.close(master)


@pytest.fixture
def home() -> Iterator[Home]:
    """A keeper of this test alone."""
    with keeper() as (layout, talk):
        place = Home(layout, talk)
        yield place
        place.close()


def test_trial_06_every_process_of_a_session_has_its_mark(home: Home) -> None:
    """
    Neither an empty environment nor a session of its own changes it; the keeper has none.
    """
    orphan = home.marked("i-a")

    assert table.mark(orphan) == process_mark("i-a")
    assert table.mark(home.programs["i-a"]) == process_mark("i-a")
    assert table.mark(home.keeper) is None


def test_trial_06_an_orphan_with_a_mark_or_a_variable_is_attributed(home: Home) -> None:
    """
    One of the two is enough; without both an orphan could be from any session.
    """
    home.marked("i-a")
    home.unmarked("i-b", "env")
    unknown = home.unmarked("i-c", "env -i")

    assert home.unattributed("i-a", "i-b", "i-c") == [unknown]


def test_trial_06_an_orphan_of_a_session_that_is_gone_is_not_attributed(home: Home) -> None:
    """
    A mark that no session has says that something survived.
    """
    left = home.marked("i-a")

    assert home.unattributed("i-other") == [left]


def test_trial_06_everything_below_the_keeper_is_ended(home: Home) -> None:
    """
    Programs, orphans and what cannot be attributed: all of it, and all of it is named.
    """
    pids = [home.marked("i-a"), home.unmarked("i-b", "env -i"), *home.programs.values()]

    killed = home.end_everything("i-a", "i-b")

    assert (killed.survivors, killed.spared) == ([], [])
    assert set(pids) <= {process.pid for process in killed.ended}
    assert [pid for pid in pids if alive(pid)] == []
    assert alive(home.keeper)


def test_trial_06_a_program_of_another_home_is_spared(home: Home) -> None:
    """
    It was started by a keeper that has died, and its home may find it again.
    """
    foreign = home.unmarked("i-a", f"env -i {INSTANCE_VARIABLE}=i-x AGENT_PTY_HOME=/nowhere")

    assert home.unattributed("i-a") == []
    killed = home.end_everything("i-a")

    assert [process.pid for process in killed.spared] == [foreign]
    assert alive(foreign)


def test_trial_06_a_program_that_names_another_home_belongs_to_its_session(home: Home) -> None:
    """
    Its instance is one of ours, whatever home it wants to use.
    """
    orphan = home.unmarked("i-a", "env AGENT_PTY_HOME=/nowhere")

    killed = home.end_everything("i-a")

    assert killed.spared == []
    assert not alive(orphan)
