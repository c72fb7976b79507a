"""Everything that lives below the keeper.

The keeper adopts every process whose parent has ended, so whatever a session has started is below
it, even if nothing else shows that any more.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterable

from agent_pty.core.layout import layout
from agent_pty.core.process_mark import process_mark
from agent_pty.errors import AgentPtyError
from agent_pty.ops.model import Process
from agent_pty.process import chain, spared, table, tree
from agent_pty.process.table import Entry
from agent_pty.process.tree import INSTANCE_VARIABLE, Found, KilledTrees


class KeeperScope:
    """All processes below the keeper of a home, but not what is spared, and not its daemon."""

    def __init__(
        self,
        keeper: int,
        home: str,
        instances: Collection[str],
        staying: Collection[str] = (),
    ) -> None:
        self._keeper = keeper
        self._home = os.path.realpath(home)
        self._instances = instances
        self._staying = {f"{INSTANCE_VARIABLE}={one}".encode() for one in staying}

    @property
    def keeper(self) -> int:
        """The keeper."""
        return self._keeper

    def read(self) -> Found:
        """Return every living process below the keeper."""
        entries = table.snapshot()
        children = [e for e in entries.values() if e.ppid == self._keeper and e.alive]
        ours = [e for e in children if self.owns(e)]
        found = tree.with_descendants(ours, entries, kept=self._is_kept)
        others = [e for e in children if e not in ours and not self._is_own(e)]
        return Found(members=found.members, spared=[*found.spared, *others])

    def owns(self, orphan: Entry) -> bool:
        """Whether a child of the keeper is to be ended."""
        if self._is_kept(orphan):
            return False
        environment = table.environment(orphan.pid)
        if not self._staying.isdisjoint(environment):
            return False
        foreign = _is_from_another_home(environment, self._home, self._instances)
        return not foreign and not spared.runs_in_tmux(environment)

    def _is_kept(self, found: Entry) -> bool:
        """Whether it is spared. A host or gateway of this home is not: it came too late."""
        if spared.home_of(found) == self._home:
            return found.name == spared.DAEMON
        return spared.is_spared(found)

    def _is_own(self, found: Entry) -> bool:
        """Whether it is a daemon of this home: this one, or one that waits for its end."""
        return spared.home_of(found) == self._home


def _is_from_another_home(
    environment: Iterable[bytes], home: str, instances: Collection[str]
) -> bool:
    """Whether a process is from a session of another home, whose keeper has died."""
    pairs = [os.fsdecode(item).partition("=") for item in environment]
    env = {name: value for name, _, value in pairs}
    instance = env.get(INSTANCE_VARIABLE)
    return instance is not None and instance not in instances and _home(env) != home


def _home(env: dict[str, str]) -> str | None:
    try:
        return os.path.realpath(layout(env, cwd="/").home)
    except AgentPtyError:
        return None


async def end_everything(
    keeper: int, home: str, instances: Collection[str], *, staying: Collection[str] = ()
) -> KilledTrees:
    """End all that is below the keeper; *instances* are those of this home's sessions.

    What belongs to the sessions *staying* is not ended.
    """
    return await tree.end(KeeperScope(keeper, home, instances, staying))


class _Attribution:
    """Which orphans belong to sessions of a home, as far as can be seen."""

    def __init__(self, home: str, instances: Collection[str]) -> None:
        self._home = os.path.realpath(home)
        self._instances = instances
        self._marks = {process_mark(instance) for instance in instances}
        self._variables = {f"{INSTANCE_VARIABLE}={one}".encode() for one in instances}

    def is_missing(self, orphan: Entry) -> bool:
        """Whether an orphan belongs to no session, of this home or of another one."""
        if table.mark(orphan.pid) in self._marks or spared.is_spared(orphan):
            return False
        environment = table.environment(orphan.pid)
        if not self._variables.isdisjoint(environment):
            return False
        return not _is_from_another_home(environment, self._home, self._instances)


def unattributed(
    keeper: int, home: str, programs: Iterable[int | None], instances: Collection[str]
) -> list[Process]:
    """Return the orphans that belong to no session of this home, as far as can be seen.

    *programs* are the pids of the sessions' own programs, which need not be looked at.
    """
    attribution = _Attribution(home, instances)
    known = {os.getpid(), *(pid for pid in programs if pid is not None)}
    found: list[Process] = []
    escaped = False
    for pid in table.children(keeper):
        if pid in known:
            continue
        judged = chain.judged(pid, keeper, attribution.is_missing)
        escaped = escaped or judged is None
        if judged is not None:
            known.add(pid)
        if judged and (entry := table.entry(pid)) is not None:
            found.append(table.described(entry))
    return found + (_short_lived(keeper, known, attribution) if escaped else [])


def _short_lived(keeper: int, known: set[int], attribution: _Attribution) -> list[Process]:
    """Return orphans that ended before they could be judged: each is stopped for a moment."""
    caught = chain.catch(keeper, known, attribution.is_missing)
    found = [table.described(entry) for entry in caught]
    for entry in caught:
        tree.send(entry, signal.SIGCONT)
    return found
