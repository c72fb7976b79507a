"""Events of sessions whose terminal is a tmux pane."""

from __future__ import annotations

from agent_pty.core.evidence.event import Action


class Adopted(Action, frozen=True, kw_only=True, tag="adopted"):
    """A pane of a person's tmux is this session from here on; *argv* is what runs in it."""

    tmux_session: str
    pane: str
    argv: list[str]
    cwd: str


class Released(Action, frozen=True, kw_only=True, tag="released"):
    """The pane was given back; its program goes on."""


class OutputGap(Action, frozen=True, kw_only=True, tag="output_gap"):
    """What the program wrote for a while is neither in the transcript nor in the recording."""

    reason: str
