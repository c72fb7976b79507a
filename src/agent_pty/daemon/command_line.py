"""A command line of `agent-pty`, `k` or `km`, carried out in the daemon for the script.

The script's own work is to send its arguments and to print what comes back (`cli/script`).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from agent_pty import script
from agent_pty.core.frame import Garbage
from agent_pty.errors import AgentPtyError
from agent_pty.ops import find
from agent_pty.ops.op import PASSING, unexpected
from agent_pty.ops.words import FULL_CLIENT, Words
from agent_pty.transports.caller import Caller as Client
from agent_pty.words import k, km, run
from agent_pty.words.agent_pty import runs_in_client
from agent_pty.words.call import Call, no_environment
from agent_pty.words.caller import Caller
from agent_pty.words.frames import CallerFrames, FromCaller, ToCaller, frame
from agent_pty.words.interrupt import Interrupt
from agent_pty.words.output import Output, Send

_ALIVE_SECONDS = 5.0


class Daemon(Protocol):
    """As much of the daemon as a command line needs."""

    async def ask(self, name: str, fields: dict[str, Any], caller: Client) -> Any:
        """Return what an op answers, or raise its error."""

    async def announced_events(
        self, name: str | None, kinds: Sequence[str] | None, after: Mapping[str, int] | None
    ) -> AsyncIterator[bytes]:
        """Follow events; the first one says that none is missed from now on."""


class Ops:
    """The daemon's ops in the name of one client: what `words.call.Ops` promises.

    Each request that may be carried out only once has a key, made of the *key* of the command
    line and a number. So a command line that is sent again to the next daemon takes up the
    requests that it made before.
    """

    def __init__(self, daemon: Daemon, client: Client, key: str | None) -> None:
        self._daemon = daemon
        self.client = client
        self._key = key
        self._numbers = itertools.count(1)

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer, or raise its error."""
        given = _given(fields)
        if self._key is None or "key" in given or not find(op).keyed:
            return await self._daemon.ask(op, given, self.client)
        given["key"] = f"{PASSING}{self._key}.{next(self._numbers)}"
        answer = await self._daemon.ask(op, given, self.client)
        if isinstance(answer, dict):
            answer.pop("replayed", None)  # of no interest: the caller asked once
        return answer

    async def watch(
        self,
        *,
        name: str | None,
        kinds: Sequence[str] | None = None,
        after: Mapping[str, int] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield events; the first, `watching`, says that none is missed from now on."""
        async for line in await self._daemon.announced_events(name, kinds, after):
            yield msgspec.json.decode(line)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _for_client(asked: Words) -> bool:
    """Whether the full client must do it: another build's script, or a command of its own."""
    if asked.build in (None, FULL_CLIENT) or asked.printed is not None:
        return False  # one that is sent again has begun here
    if asked.build != script.digest():
        return True
    return asked.program == "agent-pty" and runs_in_client(asked.argv)


class _Pulse:
    """Shows the script, every few seconds, that this daemon has not stopped."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sending: asyncio.Task[None] | None = None
        self._timer = self._later()

    def _later(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(_ALIVE_SECONDS, self._beat)

    def _beat(self) -> None:
        self._timer = self._later()
        if self._sending is None or self._sending.done():  # a script that reads nothing gets one
            self._sending = asyncio.get_running_loop().create_task(self._say())

    async def _say(self) -> None:
        await self._send(frame(ToCaller.ALIVE))

    def stop(self) -> None:
        self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()


class CommandLine:
    """One command line, carried out with *ops*."""

    def __init__(self, asked: Words, ops: Ops) -> None:
        self._asked = asked
        self._ops = ops
        self._interrupted = Interrupt()
        self._frames = CallerFrames()
        self._caller: Caller | None = None

    def give(self, data: bytes) -> None:
        """Take what the caller sends: Ctrl-C, or something that was asked for."""
        if self._asked.build is None:  # the script of an earlier build sends nothing but Ctrl-C
            self._interrupted.set()
            return
        try:
            frames = self._frames.feed(data)
        except Garbage:
            self._interrupted.set()
            return
        for kind, payload in frames:
            if kind is FromCaller.INTERRUPT:
                self._interrupted.set()
            elif self._caller is not None:
                self._caller.feed(kind, payload)

    async def pour(self, send: Send) -> None:
        """Carry it out and send everything it prints; cancelling ends what is being done."""
        if _for_client(self._asked):
            await send(frame(ToCaller.FULL))
            return
        asked = self._asked
        output = Output(send, printed=asked.printed or (0, 0), terminal=asked.shows_a_person)
        self._caller = Caller(send)
        program = asked.program
        pulse = _Pulse(send)
        try:
            status = await self._run(output, self._caller)
        except AgentPtyError as error:
            await output.err(f"{program}: {error}")
            status = error.exit_status
        except Exception as error:  # noqa: BLE001  reported, and the log has the traceback
            known = unexpected(error)
            await output.err(f"{program}: {known}")
            status = known.exit_status
        finally:
            pulse.stop()
        await output.end(status)

    async def _run(self, output: Output, caller: Caller) -> int:
        asked = self._asked
        argv = [asked.text(word) for word in asked.argv]
        call = Call(
            ops=self._ops,
            output=output,
            cwd=asked.text(asked.cwd),
            session=None if asked.session is None else asked.text(asked.session),
            who=f"{asked.parent}@k:{self._ops.client.pid}",
            interrupted=self._interrupted,
            bookmark=None if asked.bookmark is None else asked.text(asked.bookmark),
            terminal=asked.shows_a_person,
            watched=asked.tells_a_person,
            k_max=asked.k_max,
            environment=no_environment if asked.build is None else caller.environment,
        )
        if asked.program == "agent-pty":
            return await run.run(call, caller, argv)
        return await (km.run if asked.program == "km" else k.run)(call, argv)
