"""A daemon that started itself ends when nobody has used it for a while; sessions if configured.

A daemon is used while there is a session, running or exited, or a client that is connected.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_pty import log
from agent_pty.core.duration import seconds
from agent_pty.core.layout import Layout
from agent_pty.errors import BadConfig, BadRequest
from agent_pty.store import config

_VARIABLE = "AGENT_PTY_IDLE"
_DEFAULT = "10m"


def limit(env: Mapping[str, str]) -> float | None:
    """Return for how many seconds a daemon stays that nobody uses; None: for ever."""
    try:
        return seconds(env.get(_VARIABLE) or _DEFAULT, what=_VARIABLE) or None
    except BadRequest as error:
        log.line(f"daemon: {error}; {_DEFAULT} is used")
        return seconds(_DEFAULT)


def session_limit(layout: Layout) -> float:
    """Return for how many seconds a session stays that nobody uses; 0: for ever."""
    try:
        return config.load(layout).sessions.idle_stop_seconds
    except BadConfig as error:
        log.line(f"daemon: no session is ended when it is idle: {error}")
        return 0.0
