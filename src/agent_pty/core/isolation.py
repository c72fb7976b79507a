"""Whether terminals are read in processes of their own, by the environment. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from agent_pty.errors import BadConfig

# The second is the seed's; the first one that is set counts.
VARIABLES = ("AGENT_PTY_ISOLATION", "ANTHRACODE_PTY_ISOLATION")
_ON = ("on", "1", "true", "yes")
_OFF = ("off", "0", "false", "no")


def isolated(env: Mapping[str, str]) -> bool:
    """Return whether hosts are processes of their own; by default they are.

    >>> isolated({}), isolated({"ANTHRACODE_PTY_ISOLATION": "No"})
    (True, False)
    """
    name = next((one for one in VARIABLES if env.get(one)), None)
    if name is None:
        return True
    value = env[name].strip().lower()
    if value in _ON + _OFF:
        return value in _ON
    raise BadConfig(f"{name}={env[name]!r}: write one of {', '.join(_ON + _OFF)}", variable=name)
