"""`words`: one command line of `k` or `km`, spoken by the daemon."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request


class Words(Request, frozen=True, kw_only=True):
    """Speak a command line of k or km; frames of its output and its exit status come back."""

    program: Annotated[Literal["k", "km", "agent-tty"], Meta(description="which vocabulary")]
    argv: Annotated[list[str], Meta(description="the words behind the program's name")]
    cwd: Annotated[str, Meta(description="where the caller is")]
    session: Annotated[str | None, Meta(description="the caller's K_SESSION")] = None
    parent: Annotated[str, Meta(description="the program that called")] = "?"


def words(registry: Registry, request: Words) -> Any:
    """Speak."""
    return registry.speak(
        program=request.program,
        argv=request.argv,
        cwd=request.cwd,
        session=request.session,
        parent=request.parent,
    )


OP = Op(name="words", answer="saying", request=Words, where="daemon", handler=words, stream=True)
