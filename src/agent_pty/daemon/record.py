"""What the daemon remembers of one session; its host knows the rest.

Rule of this file: a record is changed by these methods only.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.core.redaction.argv import redacted_argv
from agent_pty.core.redaction.redactor import redacted
from agent_pty.ops.guard_model import GuardStands
from agent_pty.ops.model import Described, Ending, SessionInfo, Spec, State


class Record:
    """One session. It is *settled* while it has a host; not while it moves to another one."""

    def __init__(self, spec: Spec, *, pid: int | None = None, birth: float | None = None) -> None:
        self._spec = spec
        self._pid = pid
        self._birth = birth
        self._host: str | None = None
        self._state = State.RUNNING
        self._ending: Ending | None = None
        self._diagnosis: str | None = None
        self._lost_at: str | None = None
        self._ended_at: str | None = None
        self._curable = False
        self._unasked = False
        self._described: Described | None = None
        self._tmux_session = None if spec.tmux is None else spec.tmux.session
        self._settled = asyncio.Event()

    @property
    def spec(self) -> Spec:
        """What is fixed or remembered about the session."""
        return self._spec

    @property
    def name(self) -> str:
        """What people call it."""
        return self._spec.name

    @property
    def instance(self) -> str:
        """What tells it from every other session, of any name and time."""
        return self._spec.instance

    @property
    def pid(self) -> int | None:
        """The pid of its program."""
        return self._pid

    @property
    def birth(self) -> float | None:
        """When its program was started, which tells it from a later one with the same pid."""
        return self._birth

    @property
    def last_event(self) -> int:
        """The number of its last event, as far as its host has said."""
        return self._described.last_event if self._described is not None else 0

    @property
    def recording_problem(self) -> str | None:
        """Why its terminal is not recorded at present."""
        return self._described.recording_problem if self._described is not None else None

    @property
    def evidence_problem(self) -> str | None:
        """Why nothing can be recorded of it at present, as its host last said."""
        return self._described.evidence_problem if self._described is not None else None

    @property
    def host(self) -> str | None:
        """The host that has it."""
        return self._host

    @property
    def state(self) -> State:
        """Whether it runs, has exited or is lost."""
        return self._state

    @property
    def diagnosis(self) -> str | None:
        """What went wrong with it."""
        return self._diagnosis

    @property
    def remedy(self) -> str:
        """What a caller can do about a session that is lost."""
        if self._unasked:
            again = "the next request for it asks tmux again"
            return f"{again}, `agent-pty kill {self.name}` ends it"
        if self._curable:
            again = "`agent-pty restart --keep` tries again"
            return f"{again}, `agent-pty kill {self.name}` ends it"
        return f"`agent-pty kill {self.name}` ends what is left of it and frees its name"

    @property
    def is_unasked(self) -> bool:
        """Whether it may be in tmux still: nobody could ask."""
        return self._state is State.LOST and self._unasked

    @property
    def stays_in_tmux(self) -> bool:
        """Whether it outlives us there."""
        return self._spec.tmux is not None and (self._state is State.RUNNING or self.is_unasked)

    @property
    def lost_at(self) -> str | None:
        """When its loss was noticed."""
        return self._lost_at

    @property
    def settled(self) -> asyncio.Event:
        """Set while a host has it, and when it is lost."""
        return self._settled

    # -- what happens to it

    def assign(self, host: str | None) -> None:
        """Note which host has it, or is about to get it."""
        self._host = host

    def settle(self) -> None:
        """Its host reads it."""
        self._settled.set()

    def orphan(self) -> None:
        """Its host is gone; requests wait until it has another."""
        self._host = None
        self._settled.clear()

    def recover(self, diagnosis: str) -> None:
        """Another host has taken it over."""
        self._diagnosis = diagnosis

    def lose(self, why: str, *, at: str, curable: bool) -> None:
        """No host can take it; *curable* if the next daemon may find one that can."""
        self._state, self._host, self._diagnosis = State.LOST, None, why
        self._lost_at, self._curable, self._unasked = at, curable, False
        self._settled.set()

    def miss(self, why: str, *, at: str) -> None:
        """Nobody of us has it, and tmux, which may have it, cannot be asked at present."""
        self.lose(why, at=at, curable=True)
        self._unasked = True

    def date_loss(self, at: str) -> None:
        """Its host has said that it is lost, but not when."""
        self._lost_at = at

    def find_again(self, host: str) -> None:
        """A host that did not answer has had it all the time."""
        self._state, self._host, self._diagnosis, self._lost_at = State.RUNNING, host, None, None

    def begin_again(self, spec: Spec, *, pid: int | None, birth: float | None) -> None:
        """Its terminal was found again; a host can take it."""
        self._spec, self._pid, self._birth = spec, pid, birth
        self._state, self._diagnosis, self._lost_at = State.RUNNING, None, None

    def exit(self, ending: Ending, *, at: str | None = None) -> None:
        """Its program ended; *at* if that is known."""
        self._state, self._ending, self._ended_at = State.EXITED, ending, at

    def rename(self, name: str) -> None:
        """Take another name."""
        self._spec = msgspec.structs.replace(self._spec, name=name)

    def rename_in_tmux(self, session: str) -> None:
        """A person has given it another name there."""
        self._tmux_session = session

    def update(self, described: Described) -> None:
        """Take over what its host says."""
        self._spec, self._described = described.spec, described
        self._pid, self._birth = described.pid, described.birth
        if self._state is not State.EXITED:  # the keeper's report may have come first
            self._state, self._ending = described.state, described.ending
        self._diagnosis = described.diagnosis or self._diagnosis

    def info(self, layout: Layout, host_pid: int | None) -> SessionInfo:
        """Return the contract's metadata object, ours after it."""
        ending = self._ending or Ending()
        return SessionInfo(
            id=self.name,
            workspace=self._spec.workspace,
            shell=self._spec.argv[0],
            env=dict.fromkeys(self._spec.env_names, "[REDACTED]"),
            rows=self._spec.rows,
            cols=self._spec.cols,
            started_at=self._spec.started_at,
            process_id=self._pid,
            active=self._state is State.RUNNING,
            log_path=f"{layout.log_dir}/{self.name}.jsonl",
            backend="pty" if self._spec.tmux is None else "tmux",
            tmux_session=self._tmux_session,
            instance=self.instance,
            state=self._state,
            exit_code=ending.code,
            signal=ending.signal,
            pid=self._pid,
            host_pid=host_pid,
            host=self._host,
            argv=self._spec.argv,
            title=self._spec.title,
            diagnosis=self._diagnosis,
            lost_at=self._lost_at,
            ended_at=self._ended_at,
            guard=self._guard,
            **self._activity(),
        )

    @property
    def _guard(self) -> GuardStands | None:
        if self._spec.guard is None:
            return None
        note = "sudo will not work inside" if self._spec.no_new_privs else None
        return GuardStands(mode=self._spec.guard, no_new_privs=self._spec.no_new_privs, note=note)

    def without_secrets(self, info: SessionInfo) -> SessionInfo:
        """Return what may be written into the index of what is known of the session."""
        argv, title = self._spec.shown_argv, self._spec.shown_title
        if argv is None:  # it was started by a build that did not redact them
            argv = redacted_argv(self._spec.argv)
            title = None if self._spec.title is None else redacted(self._spec.title)
        diagnosis = None if info.diagnosis is None else redacted(info.diagnosis)
        return msgspec.structs.replace(
            info, shell=argv[0], argv=argv, title=title, diagnosis=diagnosis
        )

    def _activity(self) -> dict[str, Any]:
        described = self._described
        if described is None:
            return {"cursor": None, "quiet_ms": None, "attached": 0, "output_paused": None}
        return {
            "cursor": described.cursor,
            "quiet_ms": described.quiet_ms,
            "attached": described.attached,
            "output_paused": described.output_paused,
        }
