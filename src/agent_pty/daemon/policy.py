"""The policy in force: kept here, known to every host, replaced as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent_pty.core.layout import Layout
from agent_pty.core.policy.policy_file import Policy
from agent_pty.host.message import UsePolicy
from agent_pty.ops.policy import InForce, Reloaded
from agent_pty.store import policy_store
from agent_pty.store.policy_store import KeptPolicy


class DaemonPolicy:
    """The rules that count for every session of this daemon."""

    def __init__(
        self, layout: Layout, kept: KeptPolicy, tell_hosts: Callable[[], Awaitable[None]]
    ) -> None:
        self._layout = layout
        self._tell_hosts = tell_hosts
        self._kept = kept
        self._policy = kept.policy()

    @property
    def current(self) -> Policy:
        """The rules."""
        return self._policy

    @property
    def message(self) -> UsePolicy:
        """What a host is told before anything else."""
        return UsePolicy(text=self._kept.text, path=self._kept.path or "")

    def described(self) -> InForce:
        """Return what is in force."""
        file = self._policy.file
        return InForce(
            path=self._kept.path,
            hash=self._policy.digest,
            builtin_rules=file.builtin_rules,
            rules=[rule.label for rule in file.rules],
            self_approval=file.self_approval,
            approver=file.approver,
            ask_user=file.ask_user,
            agent_secrets=file.agent_secrets,
        )

    async def reload(self, path: str | None) -> Reloaded:
        """Read the file again, or another one; one with a mistake changes nothing."""
        kept = policy_store.read(path or self._kept.path)
        policy_store.keep(self._layout, kept)
        old, self._kept, self._policy = self._policy.digest, kept, kept.policy()
        await self._tell_hosts()
        return Reloaded(old_hash=old, new_hash=self._policy.digest, path=kept.path)
