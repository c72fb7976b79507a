"""`words`: one command line of `agent-pty`, `k` or `km`, carried out by the daemon."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from msgspec import Meta

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request

# What the full client sends instead of a digest: it must not be sent on to the full client.
FULL_CLIENT = "full"


class Words(Request, frozen=True, kw_only=True):
    """Carry out a command line; its output and its exit status are sent back as frames."""

    program: Annotated[
        Literal["agent-pty", "k", "km", "agent-tty"], Meta(description="name of the program")
    ]
    argv: Annotated[list[str], Meta(description="arguments after the name of the program")]
    cwd: Annotated[str, Meta(description="directory of the caller")]
    session: Annotated[str | None, Meta(description="the caller's K_SESSION")] = None
    k_max: Annotated[str | None, Meta(description="the caller's K_MAX")] = None
    parent: Annotated[str, Meta(description="name of the process that called the program")] = "?"
    build: Annotated[str | None, Meta(description="digest of the calling script")] = None
    octets: Annotated[
        bool, Meta(description="in argv, cwd and session each character stands for one byte")
    ] = False
    terminals: Annotated[
        list[bool] | None,
        Meta(description="whether stdin, stdout and stderr are terminals"),
    ] = None

    key: Annotated[
        str | None, Meta(description="names this command line if it must be sent again")
    ] = None
    printed: Annotated[
        tuple[int, int] | None,
        Meta(description="sent again: bytes of standard output and error since the bookmark"),
    ] = None
    bookmark: Annotated[
        str | None, Meta(description="sent again: the last bookmark that was received")
    ] = None

    @property
    def shows_a_person(self) -> bool:
        """Whether the caller's standard output is a terminal."""
        return self.terminals is not None and self.terminals[1:2] == [True]

    @property
    def tells_a_person(self) -> bool:
        """Whether the caller's standard error is a terminal."""
        return self.terminals is not None and self.terminals[2:3] == [True]

    def text(self, value: str) -> str:
        """Return an argument as a Python string; bytes that are not UTF-8 are surrogates."""
        return os.fsdecode(value.encode("latin-1")) if self.octets else value


async def words(registry: Registry, request: Words) -> Any:
    """Return the stream of frames."""
    return registry.command_line(request)


OP = Op(
    name="words",
    answer="saying",
    request=Words,
    where="daemon",
    handler=words,
    stream=True,
    surfaces=frozenset({"socket"}),
)
