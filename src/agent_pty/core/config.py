"""The settings of a home, `config.toml`: every key with its default. Pure: text in, values out.

A key that is not here is an error, so that a misspelt one is not silently without effect.
"""

from __future__ import annotations

import json
import tomllib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from agent_pty.core.byte_size import size_in_bytes
from agent_pty.core.duration import long_seconds, seconds
from agent_pty.core.otlp_address import traces_endpoint
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


class EvidenceConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record of what is done in sessions."""

    sync: Annotated[
        Literal["group", "always"],
        Meta(description="`always`: an answer waits until the disk has what was recorded"),
    ] = "group"
    required: Annotated[
        bool, Meta(description="refuse input that cannot be recorded; if not, the gap is recorded")
    ] = True


class RecordingConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recording of what terminals showed."""

    budget: Annotated[
        str, Meta(description="what one session's may take on the disk; 0: none is made")
    ] = "256MB"
    input: Annotated[bool, Meta(description="also record what is typed, not only its echo")] = False

    @property
    def budget_bytes(self) -> int:
        """The limit as a number; 0: nothing is recorded."""
        return size_in_bytes(self.budget, what="recording.budget")


class PermissionConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What agents may do through the six `pty_*` tools."""

    terminal_start: Annotated[Rules, Meta(description="`pty_exec` and `pty_start`")] = "allow"
    terminal_stop: Annotated[Rules, Meta(description="`pty_stop`")] = "allow"


class PolicyConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules about what may be typed and started."""

    file: Annotated[
        str, Meta(description="a policy file; empty: only the built-in rules count")
    ] = ""


class TracesConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where spans go, beside `traces.jsonl`."""

    otlp: Annotated[
        str, Meta(description="a collector that gets them by OTLP, such as `http://127.0.0.1:4318`")
    ] = ""

    @property
    def endpoint(self) -> str | None:
        """The URL to which spans are sent; None: they are not."""
        return traces_endpoint(self.otlp) if self.otlp else None


class SessionsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for every new session that does not say otherwise."""

    idle_stop: Annotated[
        str, Meta(description="end a session that was not used for so long; 0: never")
    ] = "0"

    @property
    def idle_stop_seconds(self) -> float:
        """The limit as a number; 0: there is none."""
        return long_seconds(self.idle_stop, what="sessions.idle_stop")


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting."""

    gateway: GatewayConfig = GatewayConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    recording: RecordingConfig = RecordingConfig()
    permission: PermissionConfig = PermissionConfig()
    policy: PolicyConfig = PolicyConfig()
    traces: TracesConfig = TracesConfig()
    sessions: SessionsConfig = SessionsConfig()


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
        # Refused here, where the file is known.
        config.gateway.idle_seconds, config.sessions.idle_stop_seconds  # noqa: B018
        config.traces.endpoint, config.recording.budget_bytes  # noqa: B018
    except (ValueError, RecursionError, BadRequest, msgspec.ValidationError) as error:
        raise BadConfig(f"{path}: {error}", path=path) from error
    return config
