"""`gc` as an op and as a command line: what is refused, what is printed, and when."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent_pty.core.command import Call
from agent_pty.errors import BadRequest, Usage
from agent_pty.ops import gc
from agent_pty.ops.context import Registry

KEPT = {"result": "kept", "reason": "it was not exported", "remedy": "--export DIR"}
REMOVED = {"result": "removed", "exported_to": "/x/i", "reason": None, "remedy": None}


def judged(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what became of one session."""
    common = {"id": name, "instance": f"i-{name}", "verdict": "verified", "bytes": 1500}
    return {"exported_to": None, **common, **facts}


class FakeCall:
    """A command line whose answers are these pages; it keeps what is printed."""

    def __init__(self, *pages: dict[str, Any], json: bool = False, watched: bool = False) -> None:
        self.json = json
        self.watched = watched
        self.options = SimpleNamespace()
        self.out = ""
        self.err = ""
        self.shown: Any = None
        self.asked: list[dict[str, Any]] = []
        self._pages = iter(pages)

    async def ask(self, _op: str, **fields: Any) -> Any:
        """Return the next page."""
        self.asked.append(fields)
        return next(self._pages)

    async def print(self, text: str) -> None:
        """Keep it."""
        self.out += text

    async def warn(self, text: str) -> None:
        """Keep it."""
        self.err += f"{text}\n"

    async def show_json(self, answer: Any) -> None:
        """Keep it."""
        self.shown = answer


PAGES = (
    {"judged": [judged("a", REMOVED)], "left": 2, "next": "place-1"},
    {"judged": [judged("b", KEPT), judged("c\x1b[2J", REMOVED)], "left": 0, "next": None},
)
ASKED = {"older_than_ms": 1000, "larger_than": None, "dry_run": None}


def run(call: FakeCall, **fields: Any) -> int:
    """Carry out a command line; return its exit status."""
    (command,) = gc.OP.commands
    assert command.run is not None
    carried_out = command.run
    fields = {**ASKED, **fields}

    async def carry_out() -> int:
        return await carried_out(cast("Call", call), fields)

    return asyncio.run(carry_out())


def test_every_page_is_printed_and_the_status_says_what_was_kept() -> None:
    """
    One line for each, what a name contains is escaped, and the sums at the end.
    """
    call = FakeCall(*PAGES)

    status = run(call)

    assert status == 3
    assert call.out.splitlines() == [
        "removed a (i-a): 1.5 kB, verified, exported to /x/i",
        "kept b (i-b): it was not exported; --export DIR",
        r"removed c\x1b[2J (i-c\x1b[2J): 1.5 kB, verified, exported to /x/i",
        "2 removed (3.0 kB), 1 kept",
    ]
    assert [one["after"] for one in call.asked] == [None, "place-1"]
    assert call.err == ""


def test_progress_is_for_people_who_watch() -> None:
    """
    On standard error, if that is a terminal, and also with JSON on standard output.
    """
    call = FakeCall(*PAGES, json=True, watched=True)

    run(call)

    assert call.err == "gc: 1 of 3 sessions, 1.5 kB freed\n"
    assert call.out == ""
    assert [one["id"] for one in call.shown["kept"]] == ["b"]
    assert (len(call.shown["removed"]), call.shown["freed_bytes"]) == (2, 3000)


def test_nothing_kept_is_success() -> None:
    """
    Exit status 0, also if there was nothing to do.
    """
    call = FakeCall({"judged": [], "left": 0, "next": None})

    assert run(call, dry_run=True) == 0
    assert call.out == "0 would be removed (0 bytes), 0 kept\n"


def test_a_command_line_without_limits_is_explained() -> None:
    """
    Nothing is asked of the daemon.
    """
    call = FakeCall()

    with pytest.raises(Usage, match="--older-than 30d"):
        run(call, older_than_ms=None)
    assert call.asked == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "give `older_than_ms`, `larger_than` or both"),
        ({"force": True, "export": "/x"}, "give `older_than_ms`, `larger_than` or both"),
        ({"older_than_ms": 0, "export": "x/y"}, "'x/y' is not an absolute path"),
    ],
)
def test_a_request_without_limits_is_refused(fields: dict[str, Any], said: str) -> None:
    """
    An empty request must not remove everything.
    """
    with pytest.raises(BadRequest, match=said):
        asyncio.run(gc.gc(cast("Registry", None), gc.Gc(**fields)))
