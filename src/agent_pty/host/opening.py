"""What a session is opened with: the device of its terminal, and its recording."""

from __future__ import annotations

from collections.abc import Callable

from agent_pty.core.config import RecordingConfig
from agent_pty.core.layout import Layout
from agent_pty.host.evidence.cleaning import Cleaner
from agent_pty.host.evidence.recorder import Recorder
from agent_pty.host.evidence.recording import Place, Recording
from agent_pty.host.terminal.device import Device, PtyDevice
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.host.terminal.tmux_device import TmuxDevice
from agent_pty.host.tmux_custodian import TmuxCustodian
from agent_pty.keeper.link import KeeperLink
from agent_pty.ops.model import Spec
from agent_pty.store.recording import directory_of


def device_of(
    layout: Layout, spec: Spec, master: int, *, pid: int, keeper: Callable[[], KeeperLink]
) -> Device:
    """Return the kind of terminal that a session has; it owns *master*."""
    if spec.tmux is None:
        return PtyDevice(master)
    return TmuxDevice(
        master,
        spec.tmux,
        pid=pid,
        directory=layout.session(spec.instance),
        sockets=layout.pane_sockets(spec.instance),
        custodian=TmuxCustodian(keeper, spec.instance, pid),
    )


def recording_of(
    layout: Layout,
    settings: RecordingConfig,
    spec: Spec,
    output: TerminalOutput,
    *,
    recorder: Recorder,
    cleaner: Cleaner,
) -> Recording | None:
    """Return the recording of what a terminal shows; None if there is to be none."""
    if not settings.budget_bytes:
        return None
    place = Place(
        directory=directory_of(layout.log_dir, spec.instance), budget=settings.budget_bytes
    )
    recording = Recording(
        spec,
        output,
        place,
        known=cleaner.known,
        note=recorder.note_recording,
        clean=recorder.clean,
    )
    if settings.input:
        recorder.give_typed_to(recording.typed)
    return recording
