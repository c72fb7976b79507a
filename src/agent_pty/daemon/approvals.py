"""Approvals as operators see them: of all sessions, and of programs that are not started yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from agent_pty.daemon.admission import principal
from agent_pty.daemon.authority import Authority
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.start_gate import StartGate
from agent_pty.errors import AgentPtyError, BadRequest
from agent_pty.host import message
from agent_pty.host.principal import Principal
from agent_pty.ops.approval import Approve, Denied, Deny, Granted, Pending
from agent_pty.ops.permit import Permit, Permitted
from agent_pty.ops.secret import Entered, Secret
from agent_pty.ops.user_decision import UserDecision
from agent_pty.transports.caller import Caller


class DaemonApprovals:
    """Carries an operator's decision to the gate that waits for it."""

    def __init__(
        self,
        pool: Pool,
        registry: Registry,
        authority: Authority,
        start: StartGate,
        caller: Callable[[], Caller],
    ) -> None:
        self._pool = pool
        self._registry = registry
        self._authority = authority
        self._start = start
        self._caller = caller

    async def approve(self, asked: Approve) -> Granted:
        """Approve a command of a session, or what somebody asked for."""
        by = self._operator("approve", asked.secret)
        if asked.request is not None:
            return await self._grant(asked.request, by)
        record = self._registry.find(asked.id or "")
        link = await self._registry.link(record)
        return await link.control(
            message.Approve(
                instance=record.instance,
                command=asked.command or "",
                rule=asked.rule,
                ttl_ms=asked.ttl_ms,
                by=by,
            )
        )

    async def deny(self, asked: Deny) -> Denied:
        """Say no to what somebody asked for."""
        return await self._deny(asked.request, self._operator("deny", asked.secret))

    async def decide_as_user(self, asked: UserDecision) -> Pending:
        """Take a decision of an MCP client's user about a request that this client has made."""
        caller = self._caller()
        self._authority.check_user(caller)
        mine = msgspec.to_builtins(principal(caller).acting_as("agent"))
        found = [one for one in await self.pending(None) if one.id == asked.request]
        if not found or found[0].requested_by != mine:
            raise BadRequest(f"no request {asked.request!r} of this client", request=asked.request)
        by = principal(caller).acting_as("human")
        if asked.approved is True:
            await self._grant(asked.request, by)
        elif asked.approved is False:
            await self._deny(asked.request, by)
        return found[0]

    async def _grant(self, request: str, by: Principal) -> Granted:
        if self._start.owns(request):
            return self._start.grant(request, by)
        record = self._requested(request)
        grant = message.Grant(instance=record.instance, request=request, by=by)
        return await (await self._registry.link(record)).control(grant)

    async def _deny(self, request: str, by: Principal) -> Denied:
        if self._start.owns(request):
            return self._start.deny(request, by)
        record = self._requested(request)
        deny = message.Deny(instance=record.instance, request=request, by=by)
        return await (await self._registry.link(record)).control(deny)

    async def pending(self, name: str | None) -> list[Pending]:
        """Return the requests that wait, the oldest first; a host that hangs is left out."""
        if name is not None:
            self._registry.find(name)
        asked = (self._of_host(link.name) for link in self._pool.links)
        found = [one for each in await asyncio.gather(*asked) for one in each]
        found += self._start.pending()
        wanted = [one for one in found if name in (None, one.session_id)]
        return sorted(wanted, key=lambda one: one.created_at)

    async def _of_host(self, host: str) -> list[Pending]:
        link = self._pool.get(host)
        try:
            return [] if link is None else await link.control(message.PendingApprovals())
        except AgentPtyError:  # it is being replaced, and its sessions are asked next time
            return []

    async def permit(self, asked: Permit) -> Permitted:
        """Spend an approval of what `[permission]` asks about, or request one."""
        instance = None if asked.id is None else self._registry.find(asked.id).instance
        by = principal(self._caller()).acting_as("agent")
        return self._start.permit(asked, instance, by)

    async def enter_secret(self, asked: Secret) -> Entered:
        """Type what a person entered."""
        record = self._registry.find(asked.id)
        link = await self._registry.link(record)
        return await link.control(
            message.EnterSecret(
                instance=record.instance,
                value=asked.value,
                by=principal(self._caller()).acting_as("human"),
            )
        )

    def _operator(self, op: str, secret: str | None) -> Principal:
        """Return who decides, as evidence names them, if they may."""
        caller = self._caller()
        self._authority.check_approver(op, caller, secret)
        agent = caller.surface != "socket" or self._authority.session_of(caller) is not None
        return principal(caller).acting_as("agent" if agent else "human")

    def _requested(self, request: str) -> Record:
        """Return the session of a request: its id begins as its instance does."""
        start = request.partition("-")[0]
        found = [one for one in self._registry.records if one.instance.startswith(start)]
        if not start or len(found) != 1:
            raise BadRequest(
                f"no request {request!r}: `agent-pty approvals` lists them", request=request
            )
        return found[0]
