"""Risk flags: what a reviewer should look at first. The contract's words, then ours."""

from __future__ import annotations

from collections import Counter

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.event_reader import ReadEvent
from agent_pty.core.evidence.tmux_event import OutputGap
from agent_pty.core.short_code import shortened

_MOST = 200


class Risks:
    """Fed with all events."""

    def __init__(self) -> None:
        self._flags: set[str] = set()
        self._more = 0
        self._counts: Counter[str] = Counter()

    def flags(self, *others: str) -> list[str]:
        """Return every flag, sorted; *others* are what events do not say."""
        counted = {text.format(count) for text, count in self._counts.items() if count}
        more = {f"{self._more} more flags are left out"} if self._more else set()
        return sorted(self._flags | counted | more | set(others))

    def feed(self, event: ReadEvent) -> None:
        """Take the next event."""
        match event.payload:
            case events.PolicyDenied(rule=rule, command=command):
                self._add(f"blocked {rule}: {command}")
            case events.PolicyApproved(rule=rule, command=command):
                self._add(f"approved {rule}: {command}")
            case events.GuardedExec(result=result, rule=rule, argv=argv) if result != "covered":
                self._add(f"guard {result} {rule}: {' '.join(argv)}")
            case events.Observation(exit_status=code) | events.Exited(exit_code=code) if code:
                self._add(f"nonzero exit status {code}")
            case events.Exited(signal=number) if number is not None:
                self._add(f"ended by signal {number}")
            case events.CellFinished(exit_code=code) if code:
                self._counts["cells with a nonzero exit status: {}"] += 1
            case _:
                self._feed_doubts(event)

    def _feed_doubts(self, event: ReadEvent) -> None:
        """Note what makes the record less than whole, or was not meant to be seen."""
        match event.payload:
            case events.Gap(missing=missing, refused=refused, reason=reason):
                lost = sum(missing.values())
                self._add(f"gap in the record: {lost} events missing, {refused} refused: {reason}")
            case events.Recovery(bytes=count):
                self._add(f"the end of the record was torn: {count} bytes were set aside")
            case events.Outcome(result="unknown"):
                self._counts["inputs whose delivery is unknown: {}"] += 1
            case events.Outcome(result="failed"):
                self._counts["inputs that failed: {}"] += 1
            case events.SecretEntered():
                self._counts["secrets entered: {}"] += 1
            case events.MarkForged(count=count):
                self._counts["forged marks: {}"] += count
            case events.Lost(diagnosis=diagnosis):
                self._add(f"host lost: {shortened(diagnosis)}")
            case events.HostRecovered():
                self._counts["hosts replaced: {}"] += 1
            case _:
                self._feed_recording(event)

    def _feed_recording(self, event: ReadEvent) -> None:
        """Note what is missing of what the terminal showed."""
        match event.payload:
            case OutputGap(reason=reason):
                # Nobody has read it, so nobody has counted it.
                self._add(f"gap in the output, of unknown size: {reason}")
                self._counts["gaps in the output: {}"] += 1
            case events.RecordingGap(bytes=missing_bytes, reason=reason):
                size = "unknown" if missing_bytes is None else str(missing_bytes)
                self._add(f"gap in the recording: {size} bytes: {reason}")
            case events.RecordingDropped(segments=segments):
                self._counts["segments of the recording removed: {}"] += len(segments)

    def _add(self, flag: str) -> None:
        if len(self._flags) < _MOST:
            self._flags.add(flag)
        elif flag not in self._flags:
            self._more += 1
