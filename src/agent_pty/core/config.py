"""The settings of a home, `config.toml`: every key with its default. Pure: text in, values out.

A key that is not here is an error, so that a misspelt one is not silently without effect.
"""

from __future__ import annotations

import json
import tomllib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from agent_pty.core.duration import seconds
from agent_pty.errors import BadConfig, BadRequest

Verdict = Literal["allow", "ask", "deny"]
# One verdict for everything, or one for each pattern of a command line; the last match counts.
Rules = Verdict | dict[str, Verdict]


class GatewayConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The process behind HTTP and MCP."""

    warm: Annotated[bool, Meta(description="start it with the daemon, not when it is needed")] = (
        False
    )
    idle: Annotated[str, Meta(description="how long it stays when nobody uses it; 0: for ever")] = (
        "10m"
    )

    @property
    def idle_seconds(self) -> float:
        """The limit as a number; 0: there is none."""
        return seconds(self.idle, what="gateway.idle")


class PermissionConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What agents may do through the six `pty_*` tools."""

    terminal_start: Annotated[Rules, Meta(description="`pty_exec` and `pty_start`")] = "allow"
    terminal_stop: Annotated[Rules, Meta(description="`pty_stop`")] = "allow"


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting."""

    gateway: GatewayConfig = GatewayConfig()
    permission: PermissionConfig = PermissionConfig()


def parsed(text: str, *, path: str) -> Config:
    r"""Read a file's text: TOML, or an object in JSON as the seed's permissions are written.

    >>> parsed("[gateway]\nwarm = true", path="config.toml").gateway.warm
    True
    """
    try:
        values: dict[str, Any] = (
            json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        )
        config = msgspec.convert(values, Config)
        config.gateway.idle_seconds  # noqa: B018  refused here, where the file is known
    except (ValueError, RecursionError, BadRequest, msgspec.ValidationError) as error:
        raise BadConfig(f"{path}: {error}", path=path) from error
    return config
