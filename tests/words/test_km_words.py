"""The words of `km` against ops that only tell events."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agent_pty import __version__
from agent_pty.errors import AgentPtyError, UnknownCell, UnknownSession
from agent_pty.words import km
from agent_pty.words.call import Call
from agent_pty.words.help import KM_HELP
from agent_pty.words.interrupt import Interrupt
from agent_pty.words.output import Output
from support.command_output import ERR, OUT, Ear

CELL, OTHER = "0123456789ab", "ba9876543210"
TS = "2026-11-15T12:00:00.123456+00:00"
WORK = {"id": "work", "active": True}

Event = dict[str, Any]


def of_cell(status: str, cell: str = CELL, session: str = "work", **facts: Any) -> Event:
    """Tell what happened to a cell."""
    return {
        "event": "cell",
        "id": session,
        "cell_id": cell,
        "status": status,
        **facts,
        "ts": TS,
    }


def of_session(kind: str, session: str = "work") -> Event:
    """Tell what happened to a session."""
    return {"event": kind, "id": session, "ts": TS}


class FakeOps:
    """Tells events to who watches; what it remembers of a cell is *fact*."""

    def __init__(self, events: Iterable[Event], fact: Any, *, ends: bool) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.interrupted = Interrupt()
        self._events = events
        self._fact = fact
        self._ends = ends

    async def ask(self, op: str, **fields: Any) -> Any:
        """Answer which sessions there are, or what is known of a cell."""
        self.asked.append((op, fields))
        if op == "list":
            return [WORK, {"id": "gone", "active": False}]
        if isinstance(self._fact, AgentPtyError):
            raise self._fact
        return self._fact

    async def watch(
        self,
        *,
        name: str | None,
        kinds: Sequence[str] | None = None,
        after: Mapping[str, int] | None = None,
    ) -> AsyncIterator[Event]:
        """Tell the events; when there are no more, the caller presses Ctrl-C, or all is over."""
        del kinds, after
        self.asked.append(("watch", {"name": name}))
        yield {"event": "watching", "seen": {}}
        for event in self._events:
            yield event
        if not self._ends:
            self.interrupted.set()
            await asyncio.Event().wait()


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What was said, and what was asked for."""

    out: str
    err: str
    status: int
    asked: list[tuple[str, dict[str, Any]]]

    @property
    def events(self) -> list[Event]:
        """The lines as objects."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def statuses(self) -> list[str]:
        """What happened, in a word each."""
        return [event["status"] for event in self.events]


def monitored(
    *argv: str, events: Iterable[Event] = (), fact: Any = None, ends: bool = False
) -> Heard:
    """Let `km` listen to these events to their end."""

    async def story() -> Heard:
        running = {"cell_id": CELL, "status": "fired", "at": TS, "for": None}
        ops, ear = FakeOps(events, fact or running, ends=ends), Ear()
        said = Output(ear.hear)
        call = Call(
            ops=ops, output=said, cwd="/", session=None, who="", interrupted=ops.interrupted
        )
        await said.end(await km.run(call, list(argv)))
        return Heard(out=ear.text(OUT), err=ear.text(ERR), status=ear.status, asked=ops.asked)

    return asyncio.run(story())


# -- the command line


@pytest.mark.parametrize("argv", [[], ["-h"], ["--help"]])
def test_without_a_word_km_explains_itself(argv: list[str]) -> None:
    """
    The help text is on standard output, and asking for it is no failure.
    """
    heard = monitored(*argv)

    assert (heard.status, heard.out) == (0, KM_HELP)


def test_the_version_is_told() -> None:
    """
    `km --version` names the program behind the word.
    """
    assert monitored("--version").out == f"km {__version__} (agent-pty)\n"


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["work", "-x"], "-x"),
        (["work", "abc"], "abc"),
        (["work", CELL + "0"], CELL + "0"),
        (["work", CELL.upper()], CELL.upper()),
        (["work", CELL, "-1", "more"], "more"),
        (["--all", CELL], CELL),
    ],
)
def test_an_unknown_argument_is_refused(argv: list[str], word: str) -> None:
    """
    On standard error, with status 1, before anything is watched.
    """
    heard = monitored(*argv)

    assert (heard.status, heard.out, heard.err) == (1, "", f"unknown arg: {word}\n")
    assert heard.asked == []


@pytest.mark.parametrize("name", ["a b", "../x", "", "a\n"])
def test_a_bad_name_is_refused(name: str) -> None:
    """
    On standard error too, in words of its own.
    """
    heard = monitored(name)

    assert (heard.status, heard.out) == (1, "")
    assert heard.err == f"km: invalid session name: {name!r}\n"


@pytest.mark.parametrize("name", ["nosuch", "gone", "wor"])
def test_a_session_that_is_not_there_is_an_error_event(name: str) -> None:
    """
    On standard output like every event, for a program reads it; the status is 1.
    """
    heard = monitored(name)

    said = heard.events[0]
    assert list(said) == ["session", "status", "message", "ts"]
    assert (said["session"], said["status"]) == (name, "error")
    assert said["message"] == f"no session '{name}'"
    assert heard.status == 1
    assert {op for op, _ in heard.asked} == {"list"}


def test_arguments_behind_the_session_come_in_any_order() -> None:
    """
    Cell and one-shot may change places.
    """
    done = [of_cell("done")]

    assert monitored("work", CELL, "-1", events=done) == monitored("work", "-1", CELL, events=done)


# -- events as they are told


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            of_cell("fired"),
            f'{{"cell_id": "{CELL}", "session": "work", "status": "fired", "ts": "{TS}"}}',
        ),
        (
            of_cell("done"),
            f'{{"cell_id": "{CELL}", "session": "work", "status": "done", "ts": "{TS}"}}',
        ),
        (
            of_cell("waiting", **{"for": "secret"}),
            (
                f'{{"cell_id": "{CELL}", "session": "work", "status": "waiting", '
                f'"for": "secret", "ts": "{TS}"}}'
            ),
        ),
        (
            {**of_session("notify"), "from": "bash@k:7", "message": "grüße"},
            (
                '{"session": "work", "status": "notify", "from": "bash@k:7", '
                f'"message": "grüße", "ts": "{TS}"}}'
            ),
        ),
        (of_session("killed"), f'{{"session": "work", "status": "closed", "ts": "{TS}"}}'),
    ],
)
def test_an_event_is_one_line_of_json(event: Event, said: str) -> None:
    """
    The keys of the contract in their order, blanks behind separators, text as it is, time last.
    """
    assert monitored("work", events=[event]).out == f"{said}\n"


def test_an_event_without_a_time_gets_ours() -> None:
    """
    UTC with microseconds and the offset written out.
    """
    event = of_cell("done")
    del event["ts"]

    stamp = monitored("work", events=[event]).events[0]["ts"]

    assert dt.datetime.fromisoformat(stamp).utcoffset() == dt.timedelta(0)
    assert len(stamp) == len(TS)
    assert stamp.endswith("+00:00")


@pytest.mark.parametrize("kind", ["output", "resized", "title", "bell", "created", "lagged"])
def test_other_events_are_not_told(kind: str) -> None:
    """
    `km` is about cells; what else a terminal does is not its business.
    """
    assert monitored("work", events=[of_session(kind)]).out == ""


def test_ctrl_c_ends_it_well() -> None:
    """
    Who has seen enough has not failed.
    """
    heard = monitored("work", events=[of_cell("fired")])

    assert (heard.status, heard.statuses) == (0, ["fired"])
    assert heard.asked[-1] == ("watch", {"name": "work"})


def test_events_that_end_are_a_failure() -> None:
    """
    The contract: when there is nothing to follow any more, the status is 1.
    """
    heard = monitored("work", events=[of_cell("fired")], ends=True)

    assert (heard.status, heard.statuses) == (1, ["fired"])


# -- one cell, and once

STORY = [
    of_cell("fired", OTHER),
    of_cell("done", OTHER),
    of_cell("fired"),
    {**of_session("notify"), "from": "a", "message": "b"},
    of_cell("done"),
    of_cell("fired"),
]


def test_of_one_cell_only_its_own_events_are_told() -> None:
    """
    Notes are for everybody, so they are not filtered.
    """
    heard = monitored("work", CELL, events=STORY)

    assert heard.statuses == ["fired", "notify", "done", "fired"]
    assert {one.get("cell_id", CELL) for one in heard.events} == {CELL}


def test_once_ends_with_the_first_completion() -> None:
    """
    Of any cell, or of the one that was named.
    """
    assert monitored("work", "-1", events=STORY).statuses == ["fired", "done"]
    named = monitored("work", CELL, "-1", events=STORY)
    assert named.statuses == ["fired", "notify", "done"]
    assert named.status == 0


@pytest.mark.parametrize("status", ["done", "interrupted", "exited", "error", "timeout", "waiting"])
def test_every_end_is_a_completion(status: str) -> None:
    """
    Nobody waits for ever for a cell that ended in another way, or that somebody has to answer.
    """
    heard = monitored("work", "-1", events=[of_cell(status), of_cell("fired")])

    assert (heard.status, heard.statuses) == (0, [status])


def test_without_once_it_goes_on() -> None:
    """
    A completion is told and the next is waited for.
    """
    assert monitored("work", events=STORY).statuses[-1] == "fired"


# -- looking back


@pytest.mark.parametrize("status", ["done", "interrupted", "exited", "error"])
def test_a_cell_that_has_ended_is_told_at_once(status: str) -> None:
    """
    Fire, then `km`: it does not matter which was faster, and the time is that of the end.
    """
    fact = {"cell_id": CELL, "status": status, "at": TS, "for": None}

    heard = monitored("work", CELL, "-1", fact=fact)

    assert heard.out == (
        f'{{"cell_id": "{CELL}", "session": "work", "status": "{status}", "ts": "{TS}"}}\n'
    )
    assert heard.status == 0
    assert heard.asked[-1] == ("cell", {"id": "work", "cell": CELL})


def test_it_listens_before_it_looks_back() -> None:
    """
    What ends between the two is seen twice at worst, never missed.
    """
    heard = monitored(
        "work", CELL, "-1", fact={"cell_id": CELL, "status": "done", "at": TS, "for": None}
    )

    assert [op for op, _ in heard.asked] == ["list", "watch", "cell"]


@pytest.mark.parametrize(
    "fact",
    [
        {"cell_id": CELL, "status": "fired", "at": TS, "for": None},
        UnknownSession("work"),
    ],
)
def test_a_cell_that_has_not_ended_is_waited_for(fact: Any) -> None:
    """
    One that runs is told of when its events come.
    """
    heard = monitored("work", CELL, "-1", fact=fact, events=[of_cell("done")])

    assert heard.statuses == ["done"]


def test_a_cell_that_never_was_is_not_waited_for() -> None:
    """
    Nobody will ever tell of it, so that is said at once.
    """
    heard = monitored("work", CELL, "-1", fact=UnknownCell("unknown cell"))

    assert (heard.status, heard.statuses) == (1, ["error"])
    assert heard.events[0]["message"] == "unknown cell"


def test_a_look_back_without_once_goes_on() -> None:
    """
    The past is told, then the present is followed.
    """
    fact = {"cell_id": CELL, "status": "done", "at": TS, "for": None}

    heard = monitored("work", CELL, fact=fact, events=[{**of_session("notify"), **NOTE}])

    assert heard.statuses == ["done", "notify"]


def test_without_a_cell_nothing_is_looked_up() -> None:
    """
    `km S -1` waits for the next completion, whatever ended before.
    """
    heard = monitored("work", "-1", fact={"cell_id": CELL, "status": "done", "at": TS, "for": None})

    assert heard.out == ""
    assert "cell" not in [op for op, _ in heard.asked]


# -- the end of a session

NOTE = {"from": "a", "message": "b"}


@pytest.mark.parametrize("kind", ["exited", "killed", "lost"])
def test_the_end_of_the_session_is_the_end(kind: str) -> None:
    """
    It is told as closed, and with it everything is told.
    """
    heard = monitored("work", events=[of_session(kind), of_cell("fired")])

    assert (heard.status, heard.statuses) == (0, ["closed"])


ALL = [
    of_cell("fired", session="play"),
    of_session("exited"),
    of_session("killed"),
    of_session("exited", "play"),
    of_session("created"),
    of_cell("done", OTHER),
    of_session("killed"),
]


def test_a_session_is_closed_once() -> None:
    """
    One that is killed exits first: that is one end. A new one of its name has its own.
    """
    heard = monitored("--all", events=ALL)

    assert [(one["session"], one["status"]) for one in heard.events] == [
        ("play", "fired"),
        ("work", "closed"),
        ("play", "closed"),
        ("work", "done"),
        ("work", "closed"),
    ]
    assert heard.asked == [("watch", {"name": None})]


def test_all_sessions_once() -> None:
    """
    The first completion anywhere; ends of sessions are none.
    """
    heard = monitored("--all", "-1", events=ALL)

    assert heard.statuses[-1] == "done"
    assert heard.status == 0
