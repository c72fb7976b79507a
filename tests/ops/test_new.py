import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from agent_pty.errors import BadRequest
from agent_pty.ops.model import Wanted
from agent_pty.ops.new import OP, Created
from agent_pty.ops.op import decode


@dataclass
class Info:
    """What a registry says of a new session."""

    id: str
    instance: str = "i-1"
    pid: int = 42
    guard: None = None


class FakeRegistry:
    """Notes what it was asked to start."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    async def create(self, wanted: Wanted) -> Info:
        """Start nothing."""
        self.asked = msgspec.structs.asdict(wanted)
        return Info(id=wanted.name or "s1")


def ask(**fields: Any) -> tuple[Any, dict[str, Any]]:
    """Send a request as it comes from the wire; return the answer and what was started."""
    registry = FakeRegistry()
    request = decode(OP, msgspec.json.encode({"op": "new", "repo": "/work", **fields}))
    return asyncio.run(_answer(registry, request)), registry.asked


async def _answer(registry: FakeRegistry, request: object) -> Any:
    return await OP.handler(registry, request)


def test_a_directory_is_enough() -> None:
    """
    Everything else has a default: a shell of our choice on 24 by 80, without a name.
    """
    answer, asked = ask()

    assert answer == Created(id="s1", instance="i-1", pid=42)
    assert (asked["name"], asked["argv"], asked["cwd"]) == (None, [""], "/work")
    assert (asked["rows"], asked["cols"]) == (24, 80)
    assert (asked["env"], asked["title"], asked["isolate"]) == ({}, None, False)


def test_what_is_asked_is_handed_on() -> None:
    """
    Name, program, size, environment, title and isolation reach the registry as given.
    """
    _, asked = ask(
        id="work",
        argv=["vim", "a b"],
        rows=50,
        cols=200,
        env={"A": "1"},
        title="editor",
        isolate=True,
    )

    assert asked["name"] == "work"
    assert asked["argv"] == ["vim", "a b"]
    assert (asked["rows"], asked["cols"]) == (50, 200)
    assert (asked["env"], asked["title"], asked["isolate"]) == ({"A": "1"}, "editor", True)


def test_a_shell_is_a_program_without_arguments() -> None:
    """
    A blank in its path does not cut it.
    """
    _, asked = ask(shell="/opt/my shell")  # noqa: S604  a field of ours, no shell

    assert asked["argv"] == ["/opt/my shell"]


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"shell": "sh", "argv": ["ls"]}, "argv", "either shell or argv"),
        ({"argv": []}, "argv", "must name a program"),
        ({"argv": [""]}, "argv", "must name a program"),
        ({"argv": ["a\0b"]}, "argv", "NUL"),
        ({"shell": "a\0b"}, "argv", "NUL"),
        ({"repo": "/a\0b"}, "argv", "NUL"),
        ({"env": {"": "x"}}, "env", "bad environment variable ''"),
        ({"env": {"A=B": "x"}}, "env", "bad environment variable 'A=B'"),
        ({"env": {"A": "x\0"}}, "env", "bad environment variable 'A'"),
        ({"env": {"A": "x" * 1_048_576}}, "env", "larger than 1 MiB"),
        ({"environment": {"A=B": "x"}}, "environment", "bad environment variable 'A=B'"),
        ({"environment": {"A": "x" * 6 * 1_048_576}}, "environment", "larger than 6 MiB"),
    ],
)
def test_what_cannot_be_started_is_refused_before(
    fields: dict[str, Any], field: str, message: str
) -> None:
    """
    The mistake is named with its field, and the registry is not even asked.
    """
    with pytest.raises(BadRequest, match=message) as caught:
        ask(**fields)

    assert caught.value.details["field"] == field


@pytest.mark.parametrize(
    "fields",
    [
        {"rows": 0},
        {"rows": 1001},
        {"cols": -1},
        {"cols": 1001},
        {"rows": True},
        {"rows": "24"},
        {"backend": "screen"},
        {"env": {"A": 1}},
        {"argv": "ls -l"},
        {"repo": None},
    ],
)
def test_a_field_of_the_wrong_kind_is_refused(fields: dict[str, Any]) -> None:
    """
    Sizes have bounds, a program is a list, a variable is text.
    """
    with pytest.raises(BadRequest, match="invalid request: "):
        ask(**fields)


@pytest.mark.parametrize("size", [1, 1000])
def test_the_bounds_are_within(size: int) -> None:
    """
    The smallest and the largest terminal can be had.
    """
    assert ask(rows=size, cols=size)[1]["rows"] == size
