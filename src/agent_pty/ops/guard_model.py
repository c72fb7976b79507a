"""The guard as ops report it."""

from __future__ import annotations

from msgspec import Struct

from agent_pty.core.guard_mode import GuardMode


class GuardStands(Struct, frozen=True, kw_only=True):
    """Which execs of a session are judged; *active*: as the kernel has shown at its start.

    *note* says what does not work inside because of it.
    """

    mode: GuardMode
    active: bool = True
    reason: str | None = None
    no_new_privs: bool = False
    note: str | None = None
