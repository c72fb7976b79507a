"""What records a session: its journal, its recording and the looks at its work tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_pty.host.events import Listener
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.recording import Recording
from agent_pty.host.evidence.tree_looks import TreeLooks


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvidence:
    """Given to a session when it is opened; without *recording* none is made."""

    recorder: Recorder
    recording: Recording | None
    looks: TreeLooks

    @property
    def listeners(self) -> Sequence[Listener]:
        """In their order: the last event of the recording comes before that of the end."""
        return [self.recorder] if self.recording is None else [self.recording, self.recorder]

    @property
    def recording_problem(self) -> str | None:
        """Why the terminal is not recorded at present."""
        return None if self.recording is None else self.recording.trouble

    def begin(self, *, recovered: bool) -> None:
        """Begin, or go on where a dead host stopped."""
        self.recorder.begin(recovered=recovered)
        if self.recording is not None:
            self.recording.start(recovered=recovered)

    def close(self) -> None:
        """Write no more."""
        if self.recording is not None:
            self.recording.close()
        self.recorder.close()
