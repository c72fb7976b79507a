"""`k` and `km` spoken in the daemon: their words over our ops."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from agent_pty.errors import AgentPtyError, from_wire
from agent_pty.words import k, km
from agent_pty.words.said import Said
from agent_pty.words.speaker import Speaker

Answer = Callable[[bytes], Awaitable[bytes]]
Watch = Callable[[str | None], AsyncIterator[bytes]]


class Ops:
    """The daemon's road, asked with names and values: what `words.speaker.Ops` promises."""

    def __init__(self, answer: Answer, watch: Watch) -> None:
        self._answer = answer
        self._watch = watch

    async def ask(self, op: str, **fields: Any) -> Any:
        """Return an op's answer, or raise its error."""
        given = {name: value for name, value in fields.items() if value is not None}
        envelope = msgspec.json.decode(await self._answer(msgspec.json.encode({"op": op, **given})))
        if not envelope["ok"]:
            raise from_wire(envelope["code"], envelope["error"], envelope["details"])
        return envelope["data"].get("data")

    async def watch(self, *, name: str | None) -> AsyncIterator[dict[str, Any]]:
        """Yield events; the first, `watching`, says that none is missed from now on."""
        async for line in self._watch(name):
            yield msgspec.json.decode(line)


class Talk:
    """One command line: its frames, and the one thing its caller can say, to stop."""

    def __init__(self, speaker: Speaker, program: str, argv: list[str]) -> None:
        self._speaker = speaker
        self._speak = km.speak if program == "km" else k.speak
        self._program = program
        self._argv = argv

    def give(self, data: bytes) -> None:
        """Whatever the caller sends is Ctrl-C."""
        if data:
            self._speaker.interrupted.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield frames; leaving early ends what is being done."""
        task = asyncio.get_running_loop().create_task(self._carry_out())
        try:
            async for frame in self._speaker.said.frames():
                yield frame
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _carry_out(self) -> None:
        said = self._speaker.said
        try:
            status = await self._speak(self._speaker, self._argv)
        except AgentPtyError as error:
            await said.err(f"{self._program}: {error}")
            status = error.exit_status
        except Exception:  # noqa: BLE001  told, and the log has it
            traceback.print_exc(file=sys.stderr)
            await said.err(f"{self._program}: internal error; the daemon's log has the traceback")
            status = 1
        await said.end(status)


def talk(
    ops: Ops, *, program: str, argv: Sequence[str], cwd: str, session: str | None, who: str
) -> Talk:
    """Begin to speak one command line."""
    speaker = Speaker(ops=ops, said=Said(), cwd=cwd, session=session, who=who)
    return Talk(speaker, program, list(argv))
