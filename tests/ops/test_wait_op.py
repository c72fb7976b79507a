import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    HostLost,
    SessionEnded,
    UnknownSession,
    WaitTimeout,
)
from agent_pty.ops.op import Op, decode, failure
from agent_pty.ops.wait import MANY, OP

SEEN = {"matched": "ready", "cursor": 5}
MET = msgspec.json.encode(
    {"ok": True, "data": {"type": "observation", "data": SEEN}, "error": None}
)


class FakeSession:
    """Notes what it was asked to wait for."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.waits = self

    async def wait(self, **fields: Any) -> str:
        """Be there at once."""
        self.asked = fields
        return "observation"


class FakeRegistry:
    """Sessions whose waits end as told: by an envelope, by an error, or never."""

    def __init__(self, ends: Mapping[str, bytes | AgentPtyError | None]) -> None:
        self._ends = ends
        self.asked: dict[str, Any] = {}
        self.cancelled: list[str] = []

    async def forward(self, name: str, payload: bytes) -> bytes:
        """Answer for a host."""
        self.asked[name] = msgspec.json.decode(payload)
        end = self._ends[name]
        if end is None:
            await self._for_ever(name)
        if isinstance(end, AgentPtyError):
            raise end
        return end or b""

    async def _for_ever(self, name: str) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise


async def _answer(op: Op, context: object, request: object) -> Any:
    async with asyncio.timeout(10):
        return await op.handler(context, request)


def ask(op: Op, context: object, **fields: Any) -> Any:
    """Send a request as it comes from the wire."""
    request = decode(op, msgspec.json.encode({"op": op.name, **fields}))
    return asyncio.run(_answer(op, context, request))


def many(registry: FakeRegistry, **fields: Any) -> Any:
    """Wait for all sessions there are."""
    return ask(MANY, registry, **{"ids": list(registry._ends), "until": "ready", **fields})


# -- one session


def test_one_condition_is_a_list_of_one() -> None:
    """
    Text or a list of texts: the session gets a list, and the time in seconds.
    """
    session = FakeSession()

    assert ask(OP, session, id="x", until="ready") == "observation"
    first = {"until": ["ready"], "fail_on": [], "patience": 30.0, "since": None, "files": True}
    assert session.asked == first

    ask(OP, session, id="x", until=["a", "b"], fail_on="c", timeout_ms=250, since=7, files=False)
    later = {"until": ["a", "b"], "fail_on": ["c"], "patience": 0.25, "since": 7, "files": False}
    assert session.asked == later


def test_no_time_is_a_test() -> None:
    """
    A timeout of 0 is allowed: it asks whether the condition is true now.
    """
    session = FakeSession()

    ask(OP, session, id="x", until="ready", timeout_ms=0)

    assert session.asked["patience"] == 0.0


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout_ms": -1},
        {"timeout_ms": 8 * 24 * 3600 * 1000},
        {"timeout_ms": 1.5},
        {"since": -1},
        {"until": 7},
        {"until": [7]},
        {"until": ["x"] * 33},
        {"fail_on": ["x"] * 33},
    ],
)
def test_a_wait_has_bounds(fields: dict[str, Any]) -> None:
    """
    Times, cursors and numbers of conditions beyond reason are refused.
    """
    with pytest.raises(BadRequest):
        ask(OP, FakeSession(), **{"id": "x", "until": "ready", **fields})


# -- several sessions


def test_any_ends_with_the_first() -> None:
    """
    One that matched is enough; the others are waited for no more.
    """
    registry = FakeRegistry({"a": None, "b": MET, "c": None})

    answer = many(registry)

    assert answer.mode == "any"
    assert [(one.id, one.code, one.observation) for one in answer.outcomes] == [
        ("b", "matched", SEEN)
    ]
    assert sorted(registry.cancelled) == ["a", "c"]


def test_each_host_gets_the_same_wait() -> None:
    """
    Conditions and time are handed on as they were given.
    """
    registry = FakeRegistry({"a": MET, "b": MET})

    many(registry, mode="all", until=["x", "y"], fail_on="z", timeout_ms=5)

    assert registry.asked["b"] == {
        "op": "wait",
        "id": "b",
        "until": ["x", "y"],
        "fail_on": "z",
        "timeout_ms": 5,
        "files": False,
    }


def test_all_means_all() -> None:
    """
    Every session has its outcome, each once though it was named twice.
    """
    registry = FakeRegistry({"a": MET, "b": MET})

    answer = many(registry, ids=["a", "b", "a"], mode="all")

    assert sorted(one.id for one in answer.outcomes) == ["a", "b"]


LOST: dict[str, bytes | AgentPtyError] = {
    "timeout": failure(WaitTimeout("timed out", observation=SEEN)),
    "exited": failure(SessionEnded("it has ended")),
    "unknown_session": UnknownSession("a"),
    "host_lost": HostLost("its host was lost"),
}


@pytest.mark.parametrize("code", LOST)
def test_one_failure_does_not_end_a_wait_for_any(code: str) -> None:
    """
    A session that ended, was lost or never was is an outcome; another may still match.
    """
    registry = FakeRegistry({"a": LOST[code], "b": MET})

    answer = many(registry)

    assert {one.id: one.code for one in answer.outcomes}["b"] == "matched"


@pytest.mark.parametrize("code", LOST)
def test_one_failure_ends_a_wait_for_all(code: str) -> None:
    """
    The error is that session's, with its name, and the others are waited for no more.
    """
    registry = FakeRegistry({"a": LOST[code], "b": None})

    with pytest.raises(AgentPtyError, match=r"^a: ") as caught:
        many(registry, mode="all")

    assert caught.value.code == code
    assert caught.value.details["id"] == "a"
    assert [one["code"] for one in caught.value.details["outcomes"]] == [code]
    assert registry.cancelled == ["b"]


def test_any_fails_when_nobody_is_left() -> None:
    """
    The error tells of one of them, and of all in its details.
    """
    registry = FakeRegistry({"a": LOST["timeout"], "b": LOST["exited"]})

    with pytest.raises(AgentPtyError) as caught:
        many(registry)

    outcomes = {one["id"]: one for one in caught.value.details["outcomes"]}
    assert {name: one["code"] for name, one in outcomes.items()} == {"a": "timeout", "b": "exited"}
    assert outcomes["a"]["observation"] == SEEN


def test_who_gives_up_leaves_nothing_waiting() -> None:
    """
    Cancelling the request cancels every wait it began.
    """
    registry = FakeRegistry({"a": None, "b": None})

    async def story() -> None:
        request = decode(MANY, b'{"op":"wait_many","ids":["a","b"],"until":"x"}')
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await MANY.handler(registry, request)

    asyncio.run(story())

    assert sorted(registry.cancelled) == ["a", "b"]


@pytest.mark.parametrize("fields", [{"ids": []}, {"ids": ["x"] * 1001}, {"mode": "most"}])
def test_many_has_bounds(fields: dict[str, Any]) -> None:
    """
    At least one session, at most a thousand, and one of two modes.
    """
    with pytest.raises(BadRequest, match="invalid request"):
        many(FakeRegistry({"a": MET}), **fields)
