"""Rules and approvals in the daemon, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_pty.core.layout import Layout
from agent_pty.daemon.admission import principal
from agent_pty.daemon.approvals import DaemonApprovals
from agent_pty.daemon.authority import Authority
from agent_pty.daemon.policy import DaemonPolicy
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.start_gate import StartGate
from agent_pty.ops.model import Wanted
from agent_pty.store.policy_store import KeptPolicy
from agent_pty.transports.caller import Caller


class Policing:
    """Who may decide, what waits for a decision, and what may be started."""

    def __init__(
        self,
        layout: Layout,
        policy: KeptPolicy,
        pool: Pool,
        registry: Registry,
        *,
        caller: Callable[[], Caller],
        publish: Callable[..., None],
    ) -> None:
        self._caller = caller
        self.policy = DaemonPolicy(layout, policy, pool.use_policy)
        self.authority = Authority(registry, self.policy)
        self.start_gate = StartGate(layout, self.policy, publish)
        self.approvals = DaemonApprovals(pool, registry, self.authority, self.start_gate, caller)

    def judge_start(self, wanted: Wanted, argv: Sequence[str], cwd: str) -> None:
        """Refuse a program that the present caller wants to start, by raising."""
        by = principal(self._caller()).acting_as("agent")
        self.start_gate.check(wanted, argv, cwd, by)
