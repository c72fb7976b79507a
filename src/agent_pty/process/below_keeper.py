"""Everything that lives below the keeper.

The keeper adopts every process whose parent has ended, so whatever a session has started is below
it, even if nothing else shows that any more.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from agent_pty.core.layout import layout
from agent_pty.core.process_mark import process_mark
from agent_pty.errors import AgentPtyError
from agent_pty.process import spared, table, tree
from agent_pty.process.table import Entry
from agent_pty.process.tree import INSTANCE_VARIABLE, Found, KilledTrees


class KeeperScope:
    """All processes below the keeper of a home, but not what is spared, and not its daemon."""

    def __init__(self, keeper: int, home: str, instances: Collection[str]) -> None:
        self._keeper = keeper
        self._home = os.path.realpath(home)
        self._instances = instances

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
        foreign = _is_from_another_home(environment, self._home, self._instances)
        return not foreign and not spared.runs_in_tmux(environment)

    def _is_kept(self, found: Entry) -> bool:
        """Whether it is spared. A host of this home is not: it came too late to be asked."""
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


async def end_everything(keeper: int, home: str, instances: Collection[str]) -> KilledTrees:
    """End all that is below the keeper; *instances* are those of this home's sessions."""
    return await tree.end(KeeperScope(keeper, home, instances))


def unattributed(
    keeper: int, home: str, programs: Iterable[int | None], instances: Collection[str]
) -> list[Entry]:
    """Return the orphans that belong to no session of this home, as far as can be seen.

    *programs* are the pids of the sessions' own programs, which need not be looked at.
    """
    known = {os.getpid(), *programs}
    orphans = [table.entry(pid) for pid in table.children(keeper) if pid not in known]
    living = [found for found in orphans if found is not None and found.alive]
    marks = {process_mark(instance) for instance in instances}
    return [
        found
        for found in living
        if table.mark(found.pid) not in marks
        and not spared.is_spared(found)
        and not _has_variable(found, os.path.realpath(home), instances)
    ]


def _has_variable(orphan: Entry, home: str, instances: Collection[str]) -> bool:
    """Whether the environment of a process names a session of this or of another home."""
    environment = table.environment(orphan.pid)
    variables = {f"{INSTANCE_VARIABLE}={instance}".encode() for instance in instances}
    if not variables.isdisjoint(environment):
        return True
    return _is_from_another_home(environment, home, instances)
