"""A session live, as a person would see it: bytes both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from agent_pty.client.attach import Attachment as Attached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_pty.api.client import Client


class Attachment:
    r"""Iterate over what the terminal shows, until the session ends; `send` types.

    If the daemon dies it is attached again, and what comes next repaints the screen. What was typed
    is never sent twice: *lost* is how many bytes may not have arrived.

    >>> with client.new("bash") as shell, shell.attach() as live:
    ...     live.send("echo seen-$((1 + 1)); exit\r")
    ...     b"seen-2" in b"".join(live)
    True
    """

    def __init__(self, client: Client, fields: dict[str, Any]) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        name = given.pop("id")
        self._attached = Attached(lambda first: client.connect(start=first), name=name, **given)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while not self._closed:
            data = self._attached.received()
            if data:
                yield data
            elif not self._attached.reopen():
                return

    @property
    def lost(self) -> int:
        """How many typed bytes may not have arrived."""
        return self._attached.lost

    def fileno(self) -> int:
        """Return a descriptor that is readable when there is something to see."""
        return self._attached.stream.fileno()

    def send(self, data: bytes | str) -> None:
        """Type, as it is: Enter is a carriage return."""
        self._attached.send(data.encode() if isinstance(data, str) else data)

    def close(self) -> None:
        """Detach."""
        self._closed = True
        self._attached.close()
