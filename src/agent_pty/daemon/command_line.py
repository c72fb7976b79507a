"""`k` and `km` spoken in the daemon: their words over our ops."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from agent_pty.errors import AgentPtyError, from_wire
from agent_pty.words import k, km
from agent_pty.words.interrupt import Interrupt
from agent_pty.words.said import Hear, Said
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
    """One command line, and the one thing its caller can say: to stop."""

    def __init__(
        self,
        ops: Ops,
        *,
        program: str,
        argv: Sequence[str],
        cwd: str,
        session: str | None,
        who: str,
    ) -> None:
        self._program = program
        self._argv = list(argv)
        self._interrupted = Interrupt()
        self._speaker = partial(
            Speaker, ops=ops, cwd=cwd, session=session, who=who, interrupted=self._interrupted
        )

    def give(self, data: bytes) -> None:
        """Whatever the caller sends is Ctrl-C."""
        if data:
            self._interrupted.set()

    async def pour(self, hear: Hear) -> None:
        """Carry it out and say everything; who is cancelled ends what is being done."""
        said = Said(hear)
        speak = km.speak if self._program == "km" else k.speak
        try:
            status = await speak(self._speaker(said=said), self._argv)
        except AgentPtyError as error:
            await said.err(f"{self._program}: {error}")
            status = error.exit_status
        except Exception:  # noqa: BLE001  told, and the log has it
            traceback.print_exc(file=sys.stderr)
            await said.err(f"{self._program}: internal error; the daemon's log has the traceback")
            status = 1
        await said.end(status)
