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
    from agent_pty.ops.execute import Executed
    from agent_pty.ops.model import SessionInfo, Stopped
    from agent_pty.ops.new import Created
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
        prefix: str | None = None,
        key: str | None = None,
    ) -> AsyncNewSession:
        """Start a shell or any other program in a session that outlives its clients."""
        answer: Created = await self.ask(
            "new",
            argv=program(argv),
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
            prefix=prefix,
            key=key,
        )
        return AsyncNewSession(self, answer)

    async def exec(
        self,
        argv: str | Sequence[str],
        *,
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

    async def list(self) -> builtins.list[SessionInfo]:
        """List every session with its state, as the operating system sees it now."""
        answer: builtins.list[SessionInfo] = await self.ask("list")
        return answer

    async def status(self) -> builtins.dict[str, Any]:
        """Report the state of the daemon: version, sessions, hosts and keeper."""
        answer: builtins.dict[str, Any] = await self.ask("status")
        return answer

    async def shutdown(self, *, keep: bool = False, successor: bool = False) -> Stopped:
        """Stop the daemon and end its sessions; with `keep`, the sessions keep running."""
        answer: Stopped = await self.ask("shutdown", keep=keep, successor=successor)
        return answer
