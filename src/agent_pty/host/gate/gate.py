"""The gate in front of a terminal: it judges what would run, and refuses before it is typed.

Text at the prompt of a shell is judged as the line it makes. Keys that only the shell understands,
such as completion and history, are typed without their Enter; then the shell is asked for its line,
and that is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Protocol

from agent_pty.core.evidence.event import GateStands
from agent_pty.core.guard_mode import GuardMode
from agent_pty.core.line_text import unquoted
from agent_pty.core.mark import LineReport
from agent_pty.core.policy.gate_memory import GateMemory, decoded, encoded
from agent_pty.core.policy.keystroke import Keystroke
from agent_pty.core.policy.line_gate import Judgement, LineGate, since_given_up
from agent_pty.core.policy.program_gate import ProgramGate
from agent_pty.core.policy.program_text import judged_text
from agent_pty.core.policy.verdict import OPAQUE, asking
from agent_pty.errors import Refused, SecretPrompt
from agent_pty.host import events
from agent_pty.host.cells.line_check import LineQuestion
from agent_pty.host.cells.readiness import Readiness
from agent_pty.host.gate import situation
from agent_pty.host.gate.permission import Permission
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.gate.situation import Situation
from agent_pty.host.principal import Principal, acting
from agent_pty.host.terminal.admission import TypeKeys
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.integration.dialect import dialect

_NEVER_JUDGED = frozenset({InputKind.MOUSE, InputKind.QUIT, InputKind.NUDGE, InputKind.SECRET})
_FIRST_PRINTABLE = 0x20
_CTRL_C = "\x03"
# Shells say no more than this of their line.
_MOST_TOLD = 1000
# They name the lines before it, too, if it is continued.
_TELL_ALL = frozenset({"zsh", "fish"})
_FORGOTTEN = "another host had it: aliases, functions and variables set before are not known"
# A shell on a busy machine answers late, and without an answer a harmless line is refused.
_PATIENCE = 1.0
_UNKNOWN = "the shell does not say what stands on its line"


class Covers(Protocol):
    """The guard: an approved line covers what it executes."""

    def cover(self, rule: str) -> None:
        """Let executions that belong to a rule pass until the next prompt."""

    def uncover(self) -> None:
        """A prompt was drawn: what was approved has ended."""


class Gate:
    """A listener, and the first step of `Terminal.write`."""

    def __init__(
        self,
        terminal: Terminal,
        readiness: Readiness,
        question: LineQuestion,
        permission: Permission,
        in_force: PolicyInForce,
        *,
        guard: Covers | None = None,
    ) -> None:
        self._terminal = terminal
        self._readiness = readiness
        self._question = question
        self._permission = permission
        self._in_force = in_force
        self._guard = guard
        # Programs with our integration have the expansion of history switched off, or none.
        expands = readiness.program is None
        self._line = LineGate(history_expansion=expands, changed=self._remember)
        self._program = ProgramGate(changed=self._remember)
        self._forgotten = False
        self._prompt: int | None = None
        self._prompted = asyncio.Event()
        # The code of a cell that was permitted and is about to be typed.
        self._permitted: Judgement | None = None

    @property
    def permission(self) -> Permission:
        """What decides when a rule demands an approval."""
        return self._permission

    def recall(self) -> None:
        """Go on where the gate of a host before this one stopped; what it knew may be lost."""
        memory = self._terminal.output.memory
        if memory == b"":  # nothing was typed yet
            return
        found = decoded(memory)
        self._forgotten = found is None
        if found is None:
            self._line.forget()
        else:
            self._line.become(found.shell)
            self._program.become(found.program)

    def _remember(self) -> None:
        memory = GateMemory(shell=self._line.state, program=self._program.line)
        self._terminal.output.remember(encoded(memory))

    def described(self, guard: GuardMode | None) -> GateStands:
        """Return what is recorded of the gate when a host begins with the session."""
        asked = dialect(self._readiness.program).answers
        return GateStands(
            line="asked" if asked else "modelled",
            guard=guard,
            policy_hash=self._in_force.policy.digest,
            reason=_FORGOTTEN if self._forgotten else None,
        )

    def notice(self, event: events.Event | events.Signal) -> None:
        """See when commands end and prompts are drawn; asking repaints the one that is there."""
        if not isinstance(event, events.Batch):
            return
        for placed in event.marks:
            if placed.mark.kind == "D":
                self._line.ended()
            if placed.mark.kind == "B" and placed.mark.number != self._prompt:
                self._prompt = placed.mark.number
                self._prompted.set()
                self._line.prompt()
                if self._guard is not None:
                    self._guard.uncover()

    # -- the door

    async def admit(
        self, data: bytes, *, kind: InputKind, by: Principal, type_keys: TypeKeys
    ) -> bytes:
        """Return what is left to be typed of *data*, or refuse by raising."""
        self._line.use(self._in_force.policy)
        if kind in _NEVER_JUDGED:
            return data
        if kind is InputKind.INTERRUPT:
            self._line.judge(_CTRL_C).accept()
            return data
        if kind is InputKind.CELL and self._permitted is not None:
            permitted, self._permitted = self._permitted, None
            permitted.accept()
            return data
        seen = situation.look(self._terminal, self._readiness)
        if seen.asks and kind is not InputKind.ATTACH:
            self._check_secret(data, by)
        keys = data.decode("utf-8", "surrogateescape")
        if seen.taker == "asked" and not self._line.open:
            return await self._asked(keys, by, type_keys)
        await self._permit(self._judged(seen, keys), by)
        return data

    def _judged(self, seen: Situation, keys: str) -> Judgement:
        if seen.taker == "program":
            self._line.doubt()
            return self._program.judge(seen.family, keys, self._in_force.policy)
        return self._line.judge(keys)

    async def _permit(self, judgement: Judgement, by: Principal) -> None:
        """Go on if nothing is against it, or if it was approved; otherwise raise."""
        if judgement.verdict.action != "allow":
            await self._permission.require(judgement, by, line=self._line.line)
            if self._guard is not None and judgement.verdict.rule is not None:
                self._guard.cover(judgement.verdict.rule)
        judgement.accept()

    def _check_secret(self, data: bytes, by: Principal) -> None:
        """Refuse what an agent types where a program hides it; keys that leave are no secret."""
        hides = by.kind == "agent" and not self._in_force.policy.file.agent_secrets
        if hides and any(byte >= _FIRST_PRINTABLE for byte in data):
            name = self._terminal.name
            raise SecretPrompt(
                f"session {name} asks for a secret: what is typed there does not show, and a model "
                f"must not know it; a person enters it with: agent-pty secret {name}",
                id=name,
            )

    # -- a shell that can be asked

    async def _asked(self, keys: str, by: Principal, type_keys: TypeKeys) -> bytes:
        strokes = self._line.keystrokes(keys)
        enter = next((at for at, one in enumerate(strokes) if one.kind == "run"), None)
        if enter is None:
            self._line.judge(keys).accept()
            return _encoded(keys)
        head = strokes[:enter]
        given_up, line = since_given_up(head)
        edited = any(one.kind == "edit" for one in line)
        if not edited and not (given_up or self._line.certain):
            report = await self._know_line()
            # In the command mode of vi, letters are commands.
            edited = report is None or report.mode == "vi"
        if not edited:
            await self._permit(self._line.judge(keys), by)
            return _encoded(keys)
        return await self._edited(head, strokes[enter:], by, type_keys)

    async def _edited(
        self, head: list[Keystroke], tail: list[Keystroke], by: Principal, type_keys: TypeKeys
    ) -> bytes:
        """Type what edits the line, ask for the line, and judge it with the Enter after it."""
        typed, rest = _typed(head)[len(self._line.begun) :], _typed(tail)
        if typed:
            await type_keys(_encoded(typed))
        known = await self._know_line()
        judgement = self._line.judge(rest)
        if known is None:
            opaque = asking(OPAQUE, (0, len(judgement.command)), _UNKNOWN)
            judgement = replace(judgement, verdict=opaque)
        try:
            await self._permit(judgement, by)
        except Refused as error:
            if typed:
                await self._clear_line()
                error.details["cleared"] = True  # the keys had to be typed, and are gone again
            raise
        return _encoded(rest)

    async def _clear_line(self) -> None:
        """Give up the line; return at the next prompt, before which a shell loses what is typed."""
        self._prompted.clear()
        await self._terminal.clear_line()
        self._line.judge(_CTRL_C).accept()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._prompted.wait()

    async def _know_line(self) -> LineReport | None:
        """Ask the shell for its line; None if it does not say all of it."""
        report = await self._question.ask_now(_PATIENCE)
        if report is None:
            return None
        text, at = unquoted(report.text), report.cursor
        ambiguous = at != len(text) and not text.isascii()  # shells count bytes or characters
        if len(text) >= _MOST_TOLD or ambiguous:
            return None
        self._line.know(text, at, whole=self._readiness.program in _TELL_ALL)
        if report.mode == "vi":
            self._line.doubt()
        return report

    # -- cells

    async def permit_code(self, code: str) -> None:
        """Permit the code of a cell before it is begun; it is typed next."""
        self._line.use(self._in_force.policy)
        seen = situation.look(self._terminal, self._readiness)
        if seen.taker == "program":
            verdict = judged_text(seen.family, code, self._in_force.policy)
            judgement = Judgement(verdict=verdict, command=code, accept=self._line.doubt)
        else:
            judgement = self._line.judge_code(code)
        if judgement.verdict.action != "allow":
            await self._permission.require(judgement, acting.get(), line="")
            if self._guard is not None and judgement.verdict.rule is not None:
                self._guard.cover(judgement.verdict.rule)
        self._permitted = judgement

    # -- what operators ask

    def asks_secret(self) -> bool:
        """Whether the program in the foreground reads a line that it does not show."""
        return situation.look(self._terminal, self._readiness).taker == "secret"

    def judge_command(self, text: str) -> Judgement:
        """Judge text for somebody who approves it: as the shell and as the program would take it.

        Whoever approves may be in the foreground, and will not be when it is sent.
        """
        self._line.use(self._in_force.policy)
        judgement = self._line.judge_code(text)
        seen = situation.look(self._terminal, self._readiness)
        if seen.taker == "program" and judgement.verdict.action == "allow":
            verdict = judged_text(seen.family, text, self._in_force.policy)
            judgement = replace(judgement, verdict=verdict)
        return judgement


def _typed(strokes: list[Keystroke]) -> str:
    return "".join(one.typed for one in strokes)


def _encoded(keys: str) -> bytes:
    return keys.encode("utf-8", "surrogateescape")
