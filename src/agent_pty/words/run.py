"""Carry out one command line of `agent-pty`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agent_pty.core.command import text_room
from agent_pty.core.compact_json import json_line
from agent_pty.core.safe import safe_json
from agent_pty.core.short_json import shortened
from agent_pty.errors import AgentPtyError, Usage
from agent_pty.words import advice
from agent_pty.words.agent_pty import parsed
from agent_pty.words.arguments import fields_of
from agent_pty.words.call import Call
from agent_pty.words.caller import Caller
from agent_pty.words.event_line import event_line
from agent_pty.words.follow_approvals import approval_events
from agent_pty.words.followed import Followed, session_of
from agent_pty.words.interrupt import GivenUp, give_up
from agent_pty.words.parser import Printed, Subcommand

_INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class CommandCall:
    """See `core.command.Call`."""

    call: Call
    caller: Caller
    options: Namespace

    @property
    def json(self) -> bool:
        """Whether to print JSON."""
        return bool(self.options.json)

    @property
    def cwd(self) -> str:
        """The caller's directory."""
        return self.call.cwd

    @property
    def terminal(self) -> bool:
        """Whether a person reads the output."""
        return self.call.terminal

    @property
    def watched(self) -> bool:
        """Whether a person sees what is written to standard error."""
        return self.call.watched

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer."""
        return await self.call.ops.ask(op, **fields)

    async def events(self, **fields: Any) -> int:
        """Print events as they come."""
        name, since = fields.get("id"), fields.get("since")
        after: dict[str, int] | None = None
        if name is not None:
            session = await session_of(self.call, name)
            after = {session["instance"]: since} if since is not None else None
        elif since is not None:
            raise Usage("--since is a number of one session's events: name the session")
        followed = Followed(self.call, after)
        async for event in followed.events(name, kinds=fields.get("events")):
            readable = self.terminal and not self.json
            text = event_line(event) if readable else safe_json(msgspec.json.encode(event).decode())
            await self.print(text + "\n")
            await followed.settle()
        return 0

    async def approval_events(self, name: str | None) -> int:
        """Print requests for approval, and decisions, as they come."""
        async for event in approval_events(self.call, name):
            text = safe_json(msgspec.json.encode(event).decode())
            await self.print((text if self.json else event_line(event)) + "\n")
        return 0

    async def print(self, text: str) -> None:
        """Print as it is."""
        await self.call.output.write(text)

    async def show(self, answer: Any, text: str) -> None:
        """Print JSON or text."""
        if self.json:
            await self.show_json(answer)
        else:
            await self.print(text + "\n")

    async def show_json(self, answer: Any) -> None:
        """Print JSON."""
        await self.print(self.encoded(answer))

    def encoded(self, answer: Any) -> str:
        """Return JSON: one compact line, unless a person reads it."""
        return json_line(answer, for_people=self.call.terminal)

    async def warn(self, text: str) -> None:
        """Print a line to standard error."""
        await self.call.output.err(text)

    async def stdin(self) -> bytes:
        """Read standard input."""
        return await self.caller.stdin()

    async def environment(self) -> Mapping[str, str]:
        """Read the environment."""
        return await self.caller.environment()

    async def read_file(self, path: str) -> bytes:
        """Read a file."""
        return await self.caller.read_file(path)

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file."""
        await self.caller.write_file(path, data)


async def run(call: Call, caller: Caller, argv: Sequence[str]) -> int:
    """Carry out a command line; return its exit status. Ctrl-C ends whatever it does."""
    try:
        one, options = parsed(argv)
    except Printed as printed:
        if printed.status == 0:
            await call.output.write(printed.text)
        else:
            await call.output.err(printed.text.removesuffix("\n"))
        return printed.status
    made = CommandCall(call=call, caller=caller, options=options)
    try:
        return await call.interrupted.guard(_carried_out(one, made), give_up)
    except GivenUp:
        return _INTERRUPTED
    except AgentPtyError as error:
        await _report(made, error)
        return error.exit_status


async def _carried_out(one: Subcommand, call: CommandCall) -> int:
    command, fields = one.command, await fields_of(one.parts, call)
    if command.run is not None:
        return await command.run(call, fields)
    assert one.op is not None  # noqa: S101  commands without an op run in the client
    answer = await call.ask(one.op, **fields)
    if command.finish is not None:
        return await command.finish(call, answer)
    text = command.text if isinstance(command.text, str) else command.text(call, answer)
    await call.show(answer, text)
    return 0


async def _report(call: CommandCall, error: AgentPtyError) -> None:
    if call.json:
        failed = {"ok": False, "error": str(error), "code": error.code, "details": error.details}
        room = text_room(call)
        await call.show_json(failed if room is None else shortened(failed, room, rest=""))
    await call.warn(f"error: {error}")
    session = getattr(call.options, "name", None)
    line = await advice.advice(call.call.ops, error, session, advice.AGENT_PTY)
    if line is not None:
        await call.warn(f"hint: {line}")
