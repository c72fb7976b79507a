"""The fields of `new` and `exec` about the environment of the program."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from agent_pty.core.command import Call, Fields, Part
from agent_pty.errors import BadRequest

Added = Annotated[dict[str, str], Meta(description="variables to add to the environment")]
Environment = Annotated[
    dict[str, str] | None,
    Meta(
        description="environment of the caller, to which `env` is added; default: the daemon's. "
        "What describes the caller's own terminal is left out"
    ),
]
Pager = Annotated[
    bool, Meta(description="show long output in a pager: without one PAGER, GIT_PAGER ... are cat")
]
_MIB = 1024 * 1024
_LARGEST_ADDED = _MIB
# A system accepts 2 MiB with its usual limits, and 6 MiB at most.
_LARGEST_ENVIRONMENT = 6 * _MIB


def check_environment(added: dict[str, str], environment: dict[str, str] | None) -> None:
    """Refuse what no program can be started with."""
    _check_size(added, _LARGEST_ADDED, field="env")
    _check_size(environment or {}, _LARGEST_ENVIRONMENT, field="environment")
    for name, value in added.items():
        _check_variable(name, value, field="env")
    for name, value in (environment or {}).items():
        if name:
            _check_variable(name, value, field="environment")


def _check_variable(name: str, value: str, *, field: str) -> None:
    if not name or "=" in name or "\0" in name + value:
        raise BadRequest(f"bad environment variable {name!r}", field=field)


def _check_size(variables: dict[str, str], most: int, *, field: str) -> None:
    size = sum(len(name) + len(value) for name, value in variables.items())
    if size > most:
        raise BadRequest(
            f"the environment is larger than {most // _MIB} MiB: unset what is not needed",
            field=field,
        )


async def _callers(call: Call) -> Fields:
    return {"environment": dict(await call.environment())}


# A part without arguments: every command line that starts a program sends its environment.
CALLERS_ENVIRONMENT = Part(arguments=(), fields=("environment",), fill=_callers)
