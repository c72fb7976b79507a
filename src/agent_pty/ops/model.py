"""Values that several ops return; keys and order as in the contract, ours after them."""

from __future__ import annotations

import enum
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from agent_pty.core.evidence.git_snapshot import GitSnapshot
from agent_pty.core.evidence.git_status import FileChange
from agent_pty.core.guard_mode import GuardMode
from agent_pty.ops.guard_model import GuardStands
from agent_pty.ops.tmux_place import TmuxPlace


class State(enum.StrEnum):
    """The life of a session."""

    RUNNING = "running"
    EXITED = "exited"
    LOST = "lost"


class Process(Struct, frozen=True, kw_only=True):
    """One process of a session."""

    pid: int
    ppid: int
    stat: str
    command: str


class ProcessSnapshot(Struct, frozen=True, kw_only=True):
    """The process tree of a session."""

    root_pid: int
    processes: list[Process]


class ScreenSpan(Struct, frozen=True, kw_only=True):
    """A stretch of a line with a meaning; columns are UTF-8 byte offsets, end exclusive."""

    line: int
    start_col: int
    end_col: int
    kind: str
    text: str


class ScreenSemantic(Struct, frozen=True, kw_only=True):
    """What an agent most often wants to know about a screen."""

    prompt: str | None
    command: str | None
    error_lines: list[int]
    urls: list[str]
    file_paths: list[str]
    spinner_lines: list[int]
    active_process: Process | None


class ScreenCursor(Struct, frozen=True, kw_only=True):
    """Where the cursor is, counted from 0."""

    row: int
    col: int
    visible: bool


class Link(Struct, frozen=True, kw_only=True):
    """A hyperlink (OSC 8) and the cells it covers."""

    row: int
    col: int
    width: int
    text: str
    uri: str


class Hidden(Struct, frozen=True, kw_only=True):
    """Text that a person does not see, or sees as something else; escaped."""

    row: int
    col: int
    kind: str
    text: str


class Notified(Struct, frozen=True, kw_only=True):
    """A desktop notification the program asked for (OSC 9, 777)."""

    title: str
    body: str


class ClipboardSeen(Struct, frozen=True, kw_only=True):
    """A clipboard write the program tried (OSC 52); no clipboard was touched."""

    location: str
    text: str
    truncated: bool


class ProgressSeen(Struct, frozen=True, kw_only=True):
    """Progress the program reported (OSC 9;4)."""

    state: str
    percent: int | None


class Screen(Struct, frozen=True, kw_only=True):
    """The visible screen, as a person would see it."""

    rows: int
    cols: int
    text: str
    spans: list[ScreenSpan]
    semantic: ScreenSemantic
    # ours
    cursor: ScreenCursor
    title: str
    cwd: str | None
    alternate_screen: bool
    modes: dict[str, Any]
    state: State
    hash: str
    scrollback_rows: int
    links: list[Link]
    suspicious: list[Hidden]
    progress: ProgressSeen | None
    notifications: list[Notified]
    clipboard: list[ClipboardSeen]


class ChangedRow(Struct, frozen=True, kw_only=True):
    """One row as it is now."""

    row: int
    text: str


class Changes(Struct, frozen=True, kw_only=True):
    """What differs from an earlier screen; *full* if that one is no longer known."""

    hash: str
    unchanged: bool
    full: bool
    rows: list[ChangedRow]
    cursor: ScreenCursor


# How many characters of the last output an observation has.
TAIL_CHARACTERS = 12_000


class Observation(Struct, frozen=True, kw_only=True):
    """What a wait saw when it ended."""

    screen: Screen
    stdout_tail: str
    stderr_tail: str
    exit_status: int | None
    # Null if it is not known; see `git_skipped`. Outside of a repository there are none.
    files_changed: list[FileChange] | None
    git_snapshot: GitSnapshot | None
    process_snapshot: ProcessSnapshot | None
    # ours: which condition came true, the matching text, and where to read on
    matched: str
    failed: bool
    match: str | None
    cursor: int
    id: str
    # Ctrl-S or the program has stopped the output; null if that is not known.
    output_paused: bool | None
    # The prompt that ended the wait only looks like one: the program does not mark it.
    guess: bool
    # The whole line that the matching text is in; null if no text was waited for.
    line: str | None = None
    # Why nothing is known of the work tree.
    git_skipped: str | None = None


class Ending(Struct, frozen=True, kw_only=True):
    """How a program ended; both are null if that is not known."""

    code: int | None = None
    signal: int | None = None

    @property
    def status(self) -> int | None:
        """One number as shells give it: 128 + n for signal n."""
        return 128 + self.signal if self.signal is not None else self.code


class Spec(Struct, frozen=True, kw_only=True):
    """What is fixed or remembered about a session: enough to continue it after a crash.

    Environment values are not in it: they may be secrets, and only the program needs them.
    """

    instance: str
    name: str
    argv: list[str]
    workspace: str
    env_names: list[str]
    rows: int
    cols: int
    started_at: str
    title: str | None = None
    isolate: bool = False
    # Shell integration: the secret in its marks, the program that sends them, and how the end
    # of a command is recognized if the caller chose that (`exact:...`, `hook:...`, `repeat`).
    nonce: str = ""
    program: str | None = None
    frame: str | None = None
    # The key of the request that made the session, so that the same request finds it again.
    key: str | None = None
    # Program and title without their secrets, as they are written into the index; null in the
    # file of a build that did not redact them.
    shown_argv: list[str] | None = None
    shown_title: str | None = None
    # The session is ended when it was not used for so many seconds; 0: never.
    idle_stop: float = 0.0
    # Which execs are judged; null: none. With no_new_privs no program gets more privileges.
    guard: GuardMode | None = None
    no_new_privs: bool = False
    # The pane it runs in; null: it has a PTY of ours.
    tmux: TmuxPlace | None = None


class Wanted(Struct, frozen=True, kw_only=True):
    """The wanted properties of a new session. A *name* is generated if it is None.

    Paths, arguments and values may have any bytes except NUL. Bytes that are not UTF-8 are
    surrogates, as `os.fsdecode` makes them.
    """

    argv: list[str]
    cwd: str
    name: str | None = None
    prefix: str | None = None  # of a generated name
    env: dict[str, str] = field(default_factory=dict)  # added to what the program inherits
    environment: dict[str, str] | None = None  # the caller's; None: it has not sent its own
    pager: bool = True
    rows: int = 24
    cols: int = 80
    title: str | None = None
    isolate: bool = False
    marks: bool = True
    frame: str | None = None
    key: str | None = None
    idle_stop: float | None = None  # None: as configured
    backend: Literal["pty", "tmux"] = "pty"
    tmux_socket: str | None = None  # None: a server of ours; "default": the user's own
    shell: bool = False  # whether the program was asked for as a shell
    approval: str | None = None  # a token
    guard: GuardMode | None = None  # None: as the policy says


class Described(Struct, frozen=True, kw_only=True):
    """A host's description of one of its sessions."""

    spec: Spec
    pid: int
    birth: float | None
    state: State
    ending: Ending | None
    cursor: int
    quiet_ms: int
    last_event: int = 0  # its number
    attached: int = 0
    diagnosis: str | None = None
    output_paused: bool | None = None
    evidence_problem: str | None = None  # why nothing can be recorded at present
    recording_problem: str | None = None  # why the terminal is not recorded at present


class HostReport(Struct, frozen=True, kw_only=True):
    """A host's description of itself; *build* is empty for a build that does not report it.

    *sync_lag_ms* is how long after it was written the last event was on the disk.
    """

    pid: int
    sessions: list[Described]
    build: str = ""
    sync_lag_ms: int | None = None


# Without gc: it is in no cycle, and a collection that looks at thousands of them takes 40 ms.
class SessionInfo(Struct, frozen=True, kw_only=True, gc=False):
    """One session in `list` and in the index.

    The size of the terminal is null only for a past session of which nothing but its journal is
    left.
    """

    id: str
    workspace: str
    shell: str
    env: dict[str, str]
    rows: int | None
    cols: int | None
    started_at: str
    process_id: int | None
    active: bool
    log_path: str
    backend: str
    tmux_session: str | None
    # ours
    instance: str
    state: State
    exit_code: int | None
    signal: int | None
    pid: int | None
    host_pid: int | None
    host: str | None
    argv: list[str]
    title: str | None
    cursor: int | None
    quiet_ms: int | None
    attached: int
    diagnosis: str | None
    lost_at: str | None = None
    # Ctrl-S or the program has stopped the output; null if that is not known.
    output_paused: bool | None = None
    # Null while it runs, and if nobody was there to see the end.
    ended_at: str | None = None
    # Which execs are judged; null: none, nobody has asked for it.
    guard: GuardStands | None = None


class Exported(Struct, frozen=True, kw_only=True):
    """Where the record of a session was copied to, when, and the hash of its last event."""

    to: str
    at: str
    head: str | None


class PastSession(SessionInfo, frozen=True, kw_only=True, gc=False):
    """A session that has ended and whose record is kept: what was last known of it."""

    exported: Exported | None = None


class Gap(Struct, frozen=True, kw_only=True):
    """Text that is no longer kept: it was requested from *start* on, and is kept from *end* on."""

    start: int
    end: int


class LineNumbers(Struct, frozen=True, kw_only=True):
    """The *matching* lines of a page, counted from 1, and how many *lines* end in the page."""

    matching: list[int]
    lines: int


class Reading(Struct, frozen=True, kw_only=True):
    """Text of the transcript. If *more*, ask again with `since` = *cursor* for the rest."""

    text: str
    cursor: int
    gap: Gap | None
    more: bool
    state: State
    exit_code: int | None
    signal: int | None
    # The cursor of the text's first byte.
    begin: int = 0
    numbers: LineNumbers | UnsetType = UNSET  # if they were asked for


class Killed(Struct, frozen=True, kw_only=True):
    """What `kill` ended, and what it could not end.

    *possible_survivors* are orphans that cannot be attributed to a session. *spared* are processes
    in the session that are not ended with it: tmux servers, and daemons and keepers of agent-pty.
    """

    ended: list[Process]
    survivors: list[Process]
    exit_code: int | None
    signal: int | None
    already: bool = False
    possible_survivors: list[Process] = field(default_factory=list)
    spared: list[Process] = field(default_factory=list)


class Stopped(Struct, frozen=True, kw_only=True):
    """What `stop` could not end, and what it does not end: as in `Killed`."""

    survivors: list[Process] = field(default_factory=list)
    spared: list[Process] = field(default_factory=list)
