"""The gate of one session: keys make a line, and the line that would run is judged. Pure.

A judgement changes nothing. Only what is typed after it is taken over, by its `accept`: a line that
was refused has defined no alias and no variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from agent_pty.core.policy.history_expansion import expands_history, switches_expansion_on
from agent_pty.core.policy.input_line import GIVE_UP, InputLine, Submitted
from agent_pty.core.policy.keystroke import Keystroke
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.shell_tree import is_whole, missing_end
from agent_pty.core.policy.unfinished import (
    AT_PROMPT,
    NOTHING,
    STARTING,
    Possible,
    Reader,
    Unfinished,
    after_prompt,
    distinct,
)
from agent_pty.core.policy.verdict import (
    ALLOWED,
    LONGEST,
    OPAQUE,
    Verdict,
    asking,
    judged,
    stricter,
)

# So many lines may belong together: quotes, loops, here-documents.
_MOST_CONTINUED = 1000
# Fewer lines of one input are always read one by one, as the shell does it.
_FEW_LINES = 8
# For so many possibilities a line is judged.
_MOST_POSSIBLE = 8


@dataclass(frozen=True, slots=True)
class State:
    """What a gate knows: the line, what the shell remembers, and lines that wait for more."""

    line: InputLine
    scope: Scope
    # What the shell may have read before without running it; one of these is so.
    unfinished: Possible = NOTHING
    # Who reads what is typed next.
    reader: Reader = STARTING
    # Whether the shell's line is surely the one above.
    certain: bool = True
    # Whether the shell takes parts of a line from its history; sessions switch that off.
    history_expansion: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict on *command*, all that would run; call *accept* when it is typed."""

    verdict: Verdict
    command: str
    accept: Callable[[], None]


def since_given_up(strokes: list[Keystroke]) -> tuple[bool, list[Keystroke]]:
    """Return whether Ctrl-C gives up the line, and the keys after it."""
    last = max((at for at, one in enumerate(strokes) if one.typed == GIVE_UP), default=None)
    return last is not None, strokes if last is None else strokes[last + 1 :]


class LineGate:
    """Follows what is typed into a shell, whatever pieces it comes in.

    *changed* is called whenever the state is another one.
    """

    def __init__(
        self,
        policy: Policy = BUILT_IN,
        *,
        history_expansion: bool = True,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._policy = policy
        self._changed = changed
        self._state = State(InputLine(), Scope(), history_expansion=history_expansion)

    @property
    def state(self) -> State:
        """What is known."""
        return self._state

    def become(self, state: State) -> None:
        """Know this from now on."""
        self._state = state
        self._changed()

    def forget(self) -> None:
        """Nothing is known of what was typed before."""
        line = InputLine(opaque=True)
        self.become(replace(self._state, line=line, unfinished=NOTHING, certain=False))

    def use(self, policy: Policy) -> None:
        """Judge by these rules from now on."""
        self._policy = policy

    @property
    def line(self) -> str:
        """What stands on the line, as far as it is known."""
        return self._state.line.text

    @property
    def certain(self) -> bool:
        """Whether the shell's line is surely known."""
        return self._state.certain and not self._state.line.opaque

    @property
    def open(self) -> bool:
        """Whether a paste or a quoted key has begun: the shell cannot be asked."""
        return self._state.line.keystrokes.open

    @property
    def begun(self) -> str:
        """The beginning of a key that was typed already."""
        return self._state.line.keystrokes.begun

    def keystrokes(self, keys: str) -> list[Keystroke]:
        """Cut keys as they will be cut when they are judged."""
        return self._state.line.keystrokes.copy().feed(keys)

    def send(self, keys: str) -> Verdict:
        """Judge keys, and take them over if nothing is against it."""
        judgement = self.judge(keys)
        if judgement.verdict.action == "allow":
            judgement.accept()
        return judgement.verdict

    def judge(self, keys: str) -> Judgement:
        """Judge what these keys would run; without Enter nothing runs, and nothing is judged."""
        line, scope = self._state.line.copy(), self._scope()
        given_up, strokes = since_given_up(self.keystrokes(keys))
        known = self._state.certain or given_up
        known = known and all(one.kind != "edit" for one in strokes)
        return self._judgement(line.feed(keys), line, scope, self._state.unfinished, certain=known)

    def judge_code(self, text: str) -> Judgement:
        """Judge text that an empty prompt is given as one unit."""
        line = InputLine()
        found = [Submitted(text, opaque=False)]
        return self._judgement(found, line, self._scope(), NOTHING, certain=True)

    def know(self, text: str, at: int, *, whole: bool) -> None:
        """Take over what the shell says of its line; *whole*: also of the lines before it."""
        line = InputLine()
        line.insert(text)
        line.move(at)
        unfinished = NOTHING if whole else self._state.unfinished
        state = replace(self._state, line=line, unfinished=unfinished, certain=True)
        # The key that asks came after all that was typed, and the shell takes one after the other.
        self.become(replace(state, reader=AT_PROMPT))

    def doubt(self) -> None:
        """The shell's line may be another one: something else may have taken what was typed."""
        if self._state.certain:
            self.become(replace(self._state, certain=False))

    def ended(self) -> None:
        """The shell says that a command has ended."""
        reader = self._state.reader.ended()
        if reader != self._state.reader:
            self.become(replace(self._state, reader=reader))

    def prompt(self) -> None:
        """The shell has drawn a prompt: lines that it read before wait for nothing more.

        What was typed before it, without Enter, stands on the new line unless a program took it.
        """
        line, reader = self._state.line, self._state.reader.prompted()
        certain = not line.text and not line.opaque and not line.keystrokes.begun
        unfinished = after_prompt(self._state.unfinished)
        self.become(replace(self._state, unfinished=unfinished, reader=reader, certain=certain))
        if len(unfinished) > _MOST_POSSIBLE:
            self.forget()

    def _scope(self) -> Scope:
        return self._state.scope.copied()

    def _judgement(
        self,
        submitted: Iterable[Submitted | None],
        line: InputLine,
        scope: Scope,
        unfinished: Possible,
        *,
        certain: bool,
    ) -> Judgement:
        verdict, texts = ALLOWED, list[str]()
        state = replace(self._state, line=line, scope=scope, unfinished=unfinished, certain=certain)
        lines = list(submitted)
        if sum(len(one.text) for one in lines if one is not None) > LONGEST:
            return self._too_much(lines, replace(state, unfinished=NOTHING))
        units = self._whole(lines, state)
        for number, one in enumerate(units, start=1):
            if one is None:  # Ctrl-C
                state = replace(state, unfinished=NOTHING, reader=state.reader.given_up())
                continue
            found, text, state = self._submitted(one, state, last=number == len(units))
            texts.append(text)
            verdict = stricter(verdict, found)
        # Each line may be a command of its own, with a prompt after it.
        after = replace(state, reader=state.reader.submitted(len(lines) - len(units)))
        return Judgement(
            verdict=verdict, command="\n".join(texts), accept=lambda: self.become(after)
        )

    def _whole(self, lines: list[Submitted | None], state: State) -> Sequence[Submitted | None]:
        """Return many lines that are whole together as one.

        To find out after each of them what is missing takes a time that grows with their square.
        """
        plain = [one.text for one in lines if one is not None and not one.opaque]
        text = "\n".join(plain)
        expands = state.history_expansion or switches_expansion_on(text)
        few = len(plain) < max(_FEW_LINES, len(lines))
        if few or expands or len(state.unfinished) > 1:
            return lines
        together = "\n".join([*state.unfinished[0].lines, text])
        return [Submitted(text, opaque=False)] if is_whole(together) else lines

    def _too_much(self, lines: list[Submitted | None], after: State) -> Judgement:
        """Judge more lines at once than can be followed, as one text."""
        command = "\n".join(one.text for one in lines if one is not None)
        verdict = judged(command, after.scope, self._policy)
        return Judgement(verdict=verdict, command=command, accept=lambda: self.become(after))

    def _submitted(
        self, line: Submitted, state: State, *, last: bool
    ) -> tuple[Verdict, str, State]:
        """Judge a line after everything that may be unfinished before it.

        Return the strictest verdict, the text that it is about, and what is known afterwards.
        """
        expands = state.history_expansion or switches_expansion_on(line.text)
        verdict, text, possible = ALLOWED, line.text, list[Unfinished]()
        for before in state.unfinished:
            together = "\n".join([*before.lines, line.text])
            found, end = self._joined(
                line, together, before, state.scope, expands=expands, last=last
            )
            possible.append(state.reader.continued(before, line.text, end))
            if not possible[1:] or stricter(verdict, found) is not verdict:
                verdict, text = found, together
        whole = any(not one.lines for one in possible)
        after = replace(
            state,
            unfinished=distinct(possible),
            reader=state.reader.submitted() if whole else state.reader,
            history_expansion=expands,
        )
        return verdict, text, after

    def _joined(
        self,
        line: Submitted,
        together: str,
        before: Unfinished,
        scope: Scope,
        *,
        expands: bool,
        last: bool,
    ) -> tuple[Verdict, str | None]:
        """Judge a line together with those before it; return also what would end them, if not all.

        A line that is not finished is judged again with the next one: if that is in the same input,
        only then. What nobody can know yet matters when it is whole.
        """
        span = (0, len(line.text))
        if line.opaque:
            return asking(OPAQUE, span, "keys whose effect only the shell knows are in it"), None
        if expands and expands_history(line.text):
            return asking(OPAQUE, span, "only the shell knows what it takes from its history"), None
        # What is too long to be followed is not parsed for its end, either.
        readable = len(before.lines) < _MOST_CONTINUED and len(together) <= LONGEST
        end = missing_end(together, before.end) if readable else None
        if end is None:
            return judged(together, scope, self._policy), None
        verdict = judged(together + end, scope.copied(), self._policy) if last else ALLOWED
        return ALLOWED if verdict.rule == OPAQUE else verdict, end
