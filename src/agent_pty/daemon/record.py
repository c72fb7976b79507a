"""What the daemon remembers of one session; its host knows the rest."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agent_pty.core.layout import Layout
from agent_pty.ops.model import Described, Ending, SessionInfo, Spec, State


@dataclass(slots=True, kw_only=True, eq=False)
class Record:
    """One session. *settled* is clear while it has no host, or moves from one to the next."""

    spec: Spec
    pid: int | None = None
    birth: float | None = None
    host: str | None = None
    state: State = State.RUNNING
    ending: Ending | None = None
    diagnosis: str | None = None
    cursor: int | None = None
    quiet_ms: int | None = None
    attached: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.name

    def update(self, described: Described) -> None:
        """Take the host's word."""
        self.spec = described.spec
        self.pid = described.pid
        self.birth = described.birth
        if self.state is not State.EXITED:  # the keeper may have told before its host was told
            self.state = described.state
            self.ending = described.ending
        self.diagnosis = described.diagnosis or self.diagnosis
        self.cursor = described.cursor
        self.quiet_ms = described.quiet_ms
        self.attached = described.attached

    def info(self, layout: Layout, host_pid: int | None) -> SessionInfo:
        """Return the contract's metadata object, ours after it."""
        ending = self.ending or Ending()
        return SessionInfo(
            id=self.name,
            workspace=self.spec.workspace,
            shell=self.spec.argv[0],
            env=dict.fromkeys(self.spec.env_names, "[REDACTED]"),
            rows=self.spec.rows,
            cols=self.spec.cols,
            started_at=self.spec.started_at,
            process_id=self.pid,
            active=self.state is State.RUNNING,
            log_path=f"{layout.log_dir}/{self.name}.jsonl",
            backend="pty",
            tmux_session=None,
            instance=self.spec.instance,
            state=self.state,
            exit_code=ending.code,
            signal=ending.signal,
            pid=self.pid,
            host_pid=host_pid,
            host=self.host,
            argv=self.spec.argv,
            title=self.spec.title,
            cursor=self.cursor,
            quiet_ms=self.quiet_ms,
            attached=self.attached,
            diagnosis=self.diagnosis,
        )
