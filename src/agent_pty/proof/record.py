"""One pass over a journal: everything that a proof says of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.checkpoint import Checkpoint
from agent_pty.core.evidence.claim import Claim
from agent_pty.core.evidence.event_reader import ReadEvent, read_event
from agent_pty.core.evidence.verdict import Verdict, judged
from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.proof.claim_check import ClaimCheck, check_of
from agent_pty.proof.commands import Commands
from agent_pty.proof.fences import Fences
from agent_pty.proof.person import People
from agent_pty.proof.risk import Risks
from agent_pty.proof.timeline import Timeline
from agent_pty.proof.work_tree import FileHistory

_SCREEN_CHARACTERS = 8000


class Part(Protocol):
    """What takes note of some of the events."""

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""


class Record:
    """What a journal says, up to the place where it was cut."""

    def __init__(self, claims: Sequence[Claim] = (), policy: Policy = BUILT_IN) -> None:
        self.commands = Commands()
        self.people = People()
        self.fences = Fences()
        self.files = FileHistory()
        self.risks = Risks()
        self.timeline = Timeline()
        self.claims: list[ClaimCheck] = [check_of(one, policy) for one in claims]
        self._parts: list[Part] = [
            *(self.commands, self.people, self.fences, self.files, self.risks, self.timeline)
        ]
        self.first: ReadEvent | None = None
        self.last: ReadEvent | None = None
        self.argv: list[str] | None = None
        self.cwd: str | None = None
        self.ending: events.Exited | None = None
        self.lost = False
        self.screen: str | None = None
        self.secrets: Counter[str] = Counter()
        self.segments: dict[int, events.Recording] = {}
        self.dropped: set[int] = set()
        self.lines = 0
        self.unreadable = 0
        self.journal_bytes = 0
        self._digest = hashlib.sha256()

    @property
    def journal_sha256(self) -> str:
        """The digest of all lines that were read."""
        return self._digest.hexdigest()

    @property
    def state(self) -> Literal["running", "exited", "lost"]:
        """How the session was at the end of the record."""
        if self.ending is not None:
            return "exited"
        return "lost" if self.lost else "running"

    def read(self, lines: Iterable[bytes], checkpoints: Sequence[Checkpoint]) -> Verdict:
        """Read all *lines*, also after damage, and compare them with the checkpoints."""
        fed = self._fed(lines)
        verdict = judged(fed, checkpoints)
        for _ in fed:
            pass  # what stands after a bad event is read, too, and counts as not verified
        return verdict

    def _fed(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self.lines += 1
            self.journal_bytes += len(line) + 1
            self._digest.update(line + b"\n")
            event = read_event(line)
            if event is None:
                self.unreadable += 1
            else:
                self.feed(event)
            yield line

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        self.first = self.first or event
        self.last = event
        self.secrets.update(event.redacted)
        for part in [*self._parts, *self.claims]:
            part.feed(event)
        self._note_state(event)

    def _note_state(self, event: ReadEvent) -> None:
        match event.payload:
            case events.Exec(argv=argv, cwd=cwd) if self.argv is None:
                self.argv, self.cwd = argv, cwd
            case events.Exited() as ending:
                self.ending = ending
            case events.Lost():
                self.lost = True
            case events.HostRecovered():
                self.lost = False
            case events.Observation(screen_text=text) if text is not None:
                self.screen = text[-_SCREEN_CHARACTERS:]
            case events.Recording() as covered:
                self.segments[covered.segment] = covered
            case events.RecordingDropped(segments=numbers):
                self.dropped.update(numbers)
