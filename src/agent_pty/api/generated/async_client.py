"""The ops of the daemon. Written by `make reference`; do not edit."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Literal

from agent_pty.api.async_session import AsyncNewSession
from agent_pty.api.caller import directory, own_environment, program

if TYPE_CHECKING:
    import builtins
    import os
    from collections.abc import Mapping, Sequence

    from agent_pty.api.async_watching import AsyncWatching
    from agent_pty.ops.approval import Denied, Granted, Pending
    from agent_pty.ops.execute import Executed
    from agent_pty.ops.forks import ForkInfo
    from agent_pty.ops.gc import Collected
    from agent_pty.ops.model import SessionInfo, Stopped
    from agent_pty.ops.new import Created
    from agent_pty.ops.policy import InForce, Reloaded
    from agent_pty.ops.tmux import Adopted, TmuxPane
    from agent_pty.ops.wait import Outcomes


class AsyncClientOperations(abc.ABC):
    """The ops of the daemon."""

    @abc.abstractmethod
    async def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op; fields that are None are left out."""

    @abc.abstractmethod
    async def stream(self, op: str, /, **fields: Any) -> Any:
        """Open a stream."""

    async def new(
        self,
        argv: str | Sequence[str] | None = None,
        *,
        approval: str | None = None,
        wait_approval_ms: int = 0,
        repo: str | os.PathLike[str] | None = None,
        id: str | None = None,
        shell: str | None = None,
        rows: int = 24,
        cols: int = 80,
        env: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        pager: bool = True,
        title: str | None = None,
        isolate: bool = False,
        marks: bool = True,
        frame: str | None = None,
        backend: Literal["pty", "tmux"] = "pty",
        tmux_socket: str | None = None,
        idle_stop_ms: int | None = None,
        guard: Literal["strict", "builds"] | None = None,
        prefix: str | None = None,
        key: str | None = None,
    ) -> AsyncNewSession:
        """Start a shell or any other program in a session that outlives its clients."""
        answer: Created = await self.ask(
            "new",
            argv=program(argv),
            approval=approval,
            wait_approval_ms=wait_approval_ms,
            repo=directory(repo),
            id=id,
            shell=shell,
            rows=rows,
            cols=cols,
            env=env,
            environment=own_environment(environment),
            pager=pager,
            title=title,
            isolate=isolate,
            marks=marks,
            frame=frame,
            backend=backend,
            tmux_socket=tmux_socket,
            idle_stop_ms=idle_stop_ms,
            guard=guard,
            prefix=prefix,
            key=key,
        )
        return AsyncNewSession(self, answer)

    async def exec(
        self,
        argv: str | Sequence[str],
        *,
        approval: str | None = None,
        wait_approval_ms: int = 0,
        repo: str | os.PathLike[str] | None = None,
        timeout_ms: int = 30000,
        id: str | None = None,
        inline: int = 65536,
        rows: int = 24,
        cols: int = 80,
        env: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        pager: bool = True,
        key: str | None = None,
    ) -> Executed:
        """Run one program, without a shell, in a terminal of its own and wait until it ends."""
        answer: Executed = await self.ask(
            "exec",
            argv=program(argv),
            approval=approval,
            wait_approval_ms=wait_approval_ms,
            repo=directory(repo),
            timeout_ms=timeout_ms,
            id=id,
            inline=inline,
            rows=rows,
            cols=cols,
            env=env,
            environment=own_environment(environment),
            pager=pager,
            key=key,
        )
        return answer

    async def wait_many(
        self,
        ids: Sequence[str],
        until: str | Sequence[str],
        *,
        mode: Literal["any", "all"] = "any",
        timeout_ms: int = 30000,
        fail_on: str | Sequence[str] = (),
        key: str | None = None,
    ) -> Outcomes:
        """Wait for several sessions at once, until any of them or all of them match."""
        answer: Outcomes = await self.ask(
            "wait_many",
            ids=ids,
            until=until,
            mode=mode,
            timeout_ms=timeout_ms,
            fail_on=fail_on,
            key=key,
        )
        return answer

    async def watch(
        self,
        *,
        id: str | None = None,
        events: Sequence[str] | None = None,
        since: int | None = None,
    ) -> AsyncWatching:
        """Follow the events of one session or of all, one JSON object per line."""
        answer: AsyncWatching = await self.stream("watch", id=id, events=events, since=since)
        return answer

    async def list(
        self, *, all: bool = False, after: str | None = None
    ) -> builtins.list[SessionInfo]:
        """List every session with its state, as the operating system sees it now."""
        answer: builtins.list[SessionInfo] = await self.ask("list", all=all, after=after)
        return answer

    async def approve(
        self,
        *,
        id: str | None = None,
        command: str | None = None,
        ttl_ms: int = 600000,
        rule: str | None = None,
        request: str | None = None,
        secret: str | None = None,
        key: str | None = None,
    ) -> Granted:
        """Approve one command once, for one session; or approve what an agent has asked for."""
        answer: Granted = await self.ask(
            "approve",
            id=id,
            command=command,
            ttl_ms=ttl_ms,
            rule=rule,
            request=request,
            secret=secret,
            key=key,
        )
        return answer

    async def deny(
        self, request: str, *, secret: str | None = None, key: str | None = None
    ) -> Denied:
        """Say no to what an agent has asked for."""
        answer: Denied = await self.ask("deny", request=request, secret=secret, key=key)
        return answer

    async def approvals(self, *, id: str | None = None) -> builtins.list[Pending]:
        """List what waits for an operator's approval."""
        answer: builtins.list[Pending] = await self.ask("approvals", id=id)
        return answer

    async def policy(self) -> InForce:
        """Return which policy is in force: its file, its digest and what it says about
        approvals.
        """
        answer: InForce = await self.ask("policy")
        return answer

    async def policy_reload(self, *, path: str | None = None, key: str | None = None) -> Reloaded:
        """Read the policy file again; one with a mistake is refused, and the old one stays in
        force.
        """
        answer: Reloaded = await self.ask("policy_reload", path=path, key=key)
        return answer

    async def forks(self) -> builtins.list[ForkInfo]:
        """List forks: whose they are, where they work and how much was done in them."""
        answer: builtins.list[ForkInfo] = await self.ask("forks")
        return answer

    async def adopt(
        self,
        target: str,
        *,
        id: str | None = None,
        tmux_socket: str | None = None,
        key: str | None = None,
    ) -> Adopted:
        """Take a pane of a running tmux as a session: what happens in it from now on."""
        answer: Adopted = await self.ask(
            "adopt", target=target, id=id, tmux_socket=tmux_socket, key=key
        )
        return answer

    async def tmux_panes(self, *, tmux_socket: str | None = None) -> builtins.list[TmuxPane]:
        """List the panes of a running tmux that could be adopted."""
        answer: builtins.list[TmuxPane] = await self.ask("tmux_panes", tmux_socket=tmux_socket)
        return answer

    async def gc(
        self,
        *,
        older_than_ms: int | None = None,
        larger_than: int | None = None,
        export: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        after: str | None = None,
        key: str | None = None,
    ) -> Collected:
        """Remove the journals and recordings of past sessions, and their places in the index."""
        answer: Collected = await self.ask(
            "gc",
            older_than_ms=older_than_ms,
            larger_than=larger_than,
            export=export,
            force=force,
            dry_run=dry_run,
            after=after,
            key=key,
        )
        return answer

    async def status(self) -> builtins.dict[str, Any]:
        """Report the state of the daemon: version, sessions, hosts and keeper."""
        answer: builtins.dict[str, Any] = await self.ask("status")
        return answer

    async def trace_path(self) -> str:
        """Tell which file has the trace: a line about each request, as OpenTelemetry has it."""
        answer: str = await self.ask("trace_path")
        return answer

    async def shutdown(self, *, keep: bool = False, successor: bool = False) -> Stopped:
        """Stop the daemon and end its sessions; with `keep`, the sessions keep running."""
        answer: Stopped = await self.ask("shutdown", keep=keep, successor=successor)
        return answer
