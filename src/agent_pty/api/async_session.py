"""One session, as a program with an event loop uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from agent_pty.api.generated.async_session import AsyncSessionOperations
from agent_pty.errors import UnknownSession

if TYPE_CHECKING:
    import re

    from agent_pty.api.generated.async_client import AsyncClientOperations
    from agent_pty.ops.model import Screen
    from agent_pty.ops.new import Created
    from agent_pty.ops.registry import Renamed


class AsyncSession(AsyncSessionOperations):
    """A session by its name; `AsyncClient.session` gives one. Every op of a session is a method."""

    def __init__(self, client: AsyncClientOperations, id: str) -> None:  # noqa: A002  as in ops
        self.id = id
        self._client = client

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    async def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op for this session."""
        return await self._client.ask(op, **{**fields, "id": self.id})

    async def stream(self, op: str, /, **fields: Any) -> Any:
        """Open a stream of this session."""
        return await self._client.stream(op, **{**fields, "id": self.id})

    async def rename(self, name: str, *, key: str | None = None) -> Renamed:
        """Give the session another name; this object follows it."""
        renamed = await super().rename(name, key=key)
        self.id = renamed.id
        return renamed

    async def expect_screen(
        self,
        *expected: str | re.Pattern[str],
        equals: str | None = None,
        absent: str | re.Pattern[str] | None = None,
        timeout: float = 10.0,  # noqa: ASYNC109  as of `Session`; the error shows the screen
    ) -> Screen:
        """Return the screen once it is as expected: see `Session.expect_screen`."""
        from agent_pty.api.async_expect_screen import expect_screen  # noqa: PLC0415  for tests only
        from agent_pty.api.expectation import Expectation  # noqa: PLC0415

        __tracebackhide__ = True  # pytest shows the caller's line
        wanted = Expectation(visible=expected, equals=equals, absent=absent)
        return await expect_screen(self, wanted, seconds=timeout)


class AsyncNewSession(AsyncSession):
    """A session that this client has made. At the end of an `async with` block it is killed."""

    def __init__(self, client: AsyncClientOperations, created: Created) -> None:
        super().__init__(client, created.id)
        self.instance = created.instance
        self.pid = created.pid

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.kill()
        except UnknownSession:
            return  # killed already
