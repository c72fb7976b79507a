"""One session, as a program uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from agent_pty.api.generated.session import SessionOperations
from agent_pty.errors import UnknownSession

if TYPE_CHECKING:
    import re

    from agent_pty.api.generated.client import ClientOperations
    from agent_pty.ops.model import Screen
    from agent_pty.ops.new import Created
    from agent_pty.ops.registry import Renamed


class Session(SessionOperations):
    """A session by its name; `Client.session` gives one. Every op of a session is a method.

    >>> session = client.session("work")
    >>> session.run("echo $((6 * 7))").output
    '42'
    """

    def __init__(self, client: ClientOperations, id: str) -> None:  # noqa: A002  named as in ops
        self.id = id
        self._client = client

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"

    def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op for this session."""
        return self._client.ask(op, **{**fields, "id": self.id})

    def stream(self, op: str, /, **fields: Any) -> Any:
        """Open a stream of this session."""
        return self._client.stream(op, **{**fields, "id": self.id})

    def rename(self, name: str, *, key: str | None = None) -> Renamed:
        """Give the session another name; this object follows it."""
        renamed = super().rename(name, key=key)
        self.id = renamed.id
        return renamed

    def expect_screen(
        self,
        *expected: str | re.Pattern[str],
        equals: str | None = None,
        absent: str | re.Pattern[str] | None = None,
        timeout: float = 10.0,
    ) -> Screen:
        """Return the screen once it is as expected; raise an AssertionError that shows it if not.

        Every *expected* text or pattern must be visible, *absent* must not. *equals* is the whole
        screen; blanks at the ends of its lines and empty lines after it do not count.

        >>> session = client.session("work")
        >>> _ = session.send("echo ready-$((1 + 1))")
        >>> session.expect_screen("ready-2").cols
        80
        """
        from agent_pty.api.expect_screen import expect_screen  # noqa: PLC0415  for tests only
        from agent_pty.api.expectation import Expectation  # noqa: PLC0415

        __tracebackhide__ = True  # pytest shows the caller's line
        wanted = Expectation(visible=expected, equals=equals, absent=absent)
        return expect_screen(self, wanted, seconds=timeout)


class NewSession(Session):
    """A session that this client has made. At the end of a `with` block it is killed.

    >>> with client.new("bash") as shell:
    ...     shell.run("cd /tmp && pwd").output
    '/tmp'
    """

    def __init__(self, client: ClientOperations, created: Created) -> None:
        super().__init__(client, created.id)
        self.instance = created.instance
        self.pid = created.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.kill()
        except UnknownSession:
            return  # killed already
