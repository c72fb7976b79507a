"""Who may decide about agents: operators, who are outside of every session."""

from __future__ import annotations

import contextlib

from agent_pty.core.policy.approver_secret import is_secret
from agent_pty.daemon.admission import principal
from agent_pty.daemon.policy import DaemonPolicy
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError, OperatorOnly
from agent_pty.host.message import RefusedOperator
from agent_pty.ops.op import Op
from agent_pty.process.inside_session import has_terminal, session_of
from agent_pty.transports.caller import Caller


class Authority:
    """Refuses what only operators may ask for."""

    def __init__(self, registry: Registry, policy: DaemonPolicy) -> None:
        self._registry = registry
        self._policy = policy

    async def check(self, op: Op, caller: Caller) -> None:
        """Refuse an op for operators to callers inside of a session."""
        if op.audience != "operator" and not op.grants:
            return
        if op.grants and self._policy.current.file.self_approval:
            return
        if caller.surface != "socket":
            raise OperatorOnly(
                f"{op.name} is for operators: over {caller.transport} a caller counts as an agent; "
                "ask a person to run agent-pty approve, or set self_approval in the policy file",
                op=op.name,
            )
        inside = self.session_of(caller)
        if inside is not None:
            await self._record(inside, op.name, caller)
            raise OperatorOnly(
                f"{op.name} is for operators, and it was asked for inside of session "
                f"{inside.name}: run it in a terminal outside",
                op=op.name,
                id=inside.name,
            )

    async def _record(self, record: Record, op: str, caller: Caller) -> None:
        """Record in a session that something inside of it asked for what it may not have."""
        by = principal(caller).acting_as("agent")
        refused = RefusedOperator(instance=record.instance, op=op, by=by)
        with contextlib.suppress(AgentPtyError):  # the refusal itself must not wait for a host
            await (await self._registry.link(record)).control(refused)

    def check_approver(self, op: str, caller: Caller, secret: str | None) -> None:
        """Refuse an operator who does not show what the policy demands of one."""
        file = self._policy.current.file
        if file.self_approval:
            return
        if file.approver == "tty" and (caller.pid is None or not has_terminal(caller.pid)):
            raise OperatorOnly(
                f"the policy demands a terminal for {op}: run it at a terminal, without a pipe "
                "on its standard input",
                op=op,
            )
        digest = file.approver_secret
        if file.approver == "secret" and not (secret and digest and is_secret(secret, digest)):
            raise OperatorOnly(
                f"the policy demands the approver's secret for {op}: give it with --secret", op=op
            )

    def check_user(self, caller: Caller) -> None:
        """Refuse the decision of an MCP client's user, unless the policy allows such decisions.

        A client inside of a session may be the agent's own program, which answers itself. That of
        a client over HTTP is not known.
        """
        if not self._policy.current.file.ask_user:
            raise OperatorOnly("the policy file does not have ask_user: an operator must decide")
        if caller.pid is None:
            raise OperatorOnly("it is not known which process this client is: use mcp-stdio")
        inside = self.session_of(caller)
        if inside is not None:
            raise OperatorOnly(
                f"this client runs inside of session {inside.name}, so it cannot ask a person",
                id=inside.name,
            )

    def at_terminal(self, caller: Caller) -> bool:
        """Whether a caller is a person at a terminal outside of every session."""
        at_socket = caller.surface == "socket" and caller.pid is not None
        return at_socket and has_terminal(caller.pid or 0) and self.session_of(caller) is None

    def session_of(self, caller: Caller) -> Record | None:
        """Return the session that a caller runs in."""
        if caller.pid is None:
            return None
        records = {one.instance: one for one in self._registry.records}
        roots = {instance: one.pid for instance, one in records.items() if one.pid is not None}
        instance = session_of(caller.pid, roots)
        return None if instance is None else records.get(instance)
