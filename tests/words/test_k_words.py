"""The words of `k` against ops that only answer: the contract is in the words."""

import asyncio
import inspect
import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_pty import __version__
from agent_pty.errors import (
    AgentPtyError,
    BadRequest,
    Busy,
    CellActive,
    HostLost,
    InterruptFailed,
    NotReady,
    NotWaiting,
    SessionEnded,
    SpawnFailed,
    UnknownCell,
    UnknownSession,
    WaitTimeout,
)
from agent_pty.ops.cell_model import CellReport, OutputExcerpt, Status
from agent_pty.words import k
from agent_pty.words.call import Call
from agent_pty.words.help import ALIASES, K_HELP
from agent_pty.words.interrupt import Interrupt
from agent_pty.words.output import Output
from support.command_output import ERR, OUT, Ear

DURATION = "seconds or a duration such as 500ms, 30s, 5m"
CELL = "0123456789ab"
WORK = {"id": "work", "active": True, "argv": ["bash"], "exit_code": None, "state": "running"}
GONE = {"id": "gone", "active": False, "argv": ["sh", "-c", "x y"], "exit_code": 3, "state": "x"}


def cell(status: Status = Status.DONE, **facts: Any) -> dict[str, Any]:
    """Return a cell as ops report it."""
    report = CellReport(
        cell_id=CELL,
        status=status,
        output="hi",
        exit_code=0 if status is Status.DONE else None,
        error=None,
        waiting_for=None,
        hint=None,
        frame=None,
        cwd="/",
        duration_ms=1,
        size=2,
        truncated=False,
        path=None,
        told=0,
    )
    built: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(report, **facts))
    return built


class FakeOps:
    """Notes what it is asked; answers as a test wants it, raises what is an error."""

    def __init__(self, answers: dict[str, Any], events: Iterable[dict[str, Any]]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.interrupted = Interrupt()
        self._answers = {"list": [WORK], "peek": UnknownCell("no cell"), **answers}
        self._events = events

    async def ask(self, op: str, **fields: Any) -> Any:
        """Answer a value, the value of a function of the fields, or an error."""
        self.asked.append((op, fields))
        answer = self._answers[op]
        if isinstance(answer, AgentPtyError):
            raise answer
        if callable(answer):
            answer = answer(**fields)
        return await answer if inspect.isawaitable(answer) else answer

    async def watch(
        self,
        *,
        name: str | None,
        kinds: Sequence[str] | None = None,
        after: Mapping[str, int] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Tell the events; when there are no more, the caller has seen enough."""
        del kinds, after
        self.asked.append(("watch", {"name": name}))
        for event in self._events:
            yield event
        self.interrupted.set()
        await asyncio.Event().wait()


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a command said, and what it asked for."""

    out: str
    err: str
    status: int
    asked: list[tuple[str, dict[str, Any]]]

    @property
    def told(self) -> tuple[int, str]:
        """Status and standard output, which are the contract."""
        return self.status, self.out

    @property
    def ops(self) -> list[str]:
        """The names of what was asked."""
        return [op for op, _ in self.asked]


def spoken(
    *argv: str,
    session: str | None = None,
    k_max: str | None = None,
    cwd: str = "/work",
    events: Iterable[dict[str, Any]] = (),
    pressed: bool = False,
    **answers: Any,
) -> Heard:
    """Speak one command line to ops with these *answers*; *pressed*: the caller did Ctrl-C."""

    async def story() -> Heard:
        ops, ear = FakeOps(answers, events), Ear()
        if pressed:
            ops.interrupted.set()
        said = Output(ear.hear)
        call = Call(
            ops=ops,
            output=said,
            cwd=cwd,
            session=session,
            k_max=k_max,
            who="bash@k:7",
            interrupted=ops.interrupted,
        )
        await said.end(await k.run(call, list(argv)))
        return Heard(out=ear.text(OUT), err=ear.text(ERR), status=ear.status, asked=ops.asked)

    return asyncio.run(story())


RUN_WORK = ["run", "work", "x"]

# -- the help text


@pytest.mark.parametrize("argv", [[], ["-h"], ["--help"]])
def test_without_a_word_k_explains_itself(argv: list[str]) -> None:
    """
    The help text is on standard output, and asking for it is no failure.
    """
    assert spoken(*argv).told == (0, K_HELP)


@pytest.mark.parametrize(
    ("argv", "meant"),
    [(["frobnicate"], ""), (["-z"], ""), (["lst"], "did you mean list? "), (["runn", "x"], "run")],
)
def test_trial_21_an_unknown_word_gets_one_line(argv: list[str], meant: str) -> None:
    """
    It is on standard error and says what may be meant; nothing is asked, and the status is 1.
    """
    heard = spoken(*argv)

    assert heard.told == (1, "")
    assert heard.err.startswith(f"k: unknown command {argv[0]!r}: ")
    assert heard.err.endswith("k --help shows all\n")
    assert heard.err.count("\n") == 1
    assert meant in heard.err
    assert heard.asked == []


@pytest.mark.parametrize("verb", ["new", "kill", "fire", "notify"])
def test_trial_21_a_verb_without_its_words_says_how_it_is_used(verb: str) -> None:
    """
    Only the lines about this verb are printed, not the whole page.
    """
    heard = spoken(verb)

    assert heard.status == 1
    assert heard.out.startswith(f"  k {verb} ")
    assert len(heard.out.splitlines()) < 10
    assert heard.asked == []


@pytest.mark.parametrize("verb", list(k._VERBS))
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_trial_21_every_verb_explains_itself(verb: str, flag: str) -> None:
    """
    `k run --help` prints help about `run`, and runs nothing; `k help run` is the same.
    """
    heard = spoken(verb, flag)

    assert heard.status == 0
    assert heard.out.startswith(f"  k {ALIASES.get(verb, verb)} ")
    assert len(heard.out.splitlines()) < 20
    assert heard.asked == []
    assert spoken("help", verb).told == spoken("--help", verb).told == heard.told


@pytest.mark.parametrize("verb", ["run", "fire"])
def test_trial_21_code_that_was_forgotten_is_an_error(verb: str) -> None:
    """
    The name of a session alone is not taken for code.
    """
    heard = spoken(verb, "work", session="work")

    assert heard.status == 1
    assert heard.out.startswith(f"usage: k {verb} ")
    assert heard.err == "k: work is a session: give the code that it must run\n"
    assert set(heard.ops) == {"list"}


BUSY = CellActive(CELL, code="make all", running_ms=150_000, **{"for": None})
ASKS = CellActive(CELL, code="read x", running_ms=3_000, **{"for": "input"})
ADVICE: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "a name that is nearly right": (
        ["run", "wrok", "x"],
        {"run": UnknownSession("wrok")},
        "did you mean work? sessions: work",
    ),
    "a name that is nearly right, of a wait": (
        ["wait", "wrok", "--until", "x"],
        {"wait": UnknownSession("wrok")},
        "did you mean work? sessions: work",
    ),
    "a name like no other": (
        ["kill", "x"],
        {"kill": UnknownSession("x")},
        "sessions: work; k new x starts this one",
    ),
    "no session at all": (
        ["screen", "x"],
        {"screen": UnknownSession("x"), "list": []},
        "there are no sessions: k new x starts this one",
    ),
    "no name, several sessions": (
        ["poll"],
        {"list": [WORK, {**WORK, "id": "play"}]},
        "name one, or set K_SESSION; sessions: work, play",
    ),
    "no name, no session": (
        ["run", "x"],
        {"list": []},
        "there are no sessions: k new NAME starts one",
    ),
    "one that has ended": (
        ["status", "gone"],
        {"list": [GONE]},
        "gone has ended with exit code 3: k new gone starts it anew",
    ),
    "busy": (
        RUN_WORK,
        {"run": BUSY},
        "work runs 'make all' for 2 min: k peek work shows its output, k int work stops it",
    ),
    "busy with a question": (
        RUN_WORK,
        {"run": ASKS},
        (
            "work waits for input in 'read x' for 3 s: k peek work shows its output, "
            "k int work stops it"
        ),
    ),
    "a program that is no cell": (
        RUN_WORK,
        {"run": NotReady("not at a prompt: vim waits for input")},
        "k screen work shows it, k int work stops it",
    ),
    "a duplicate": (
        ["new", "work"],
        {},
        (
            "nothing was started: work has run bash, no cell runs: k run work <code> uses it, "
            "k kill work ends it"
        ),
    ),
    "a duplicate that is busy": (
        ["new", "work"],
        {"peek": cell(Status.RUNNING, code="make all", duration_ms=61_000)},
        (
            "nothing was started: work has run bash, now 'make all' for 61 s: "
            "k peek work shows its output, k kill work ends it"
        ),
    ),
}


@pytest.mark.parametrize("option", ["-u", "--until"])
def test_trial_20_a_condition_may_be_given_in_both_ways_and_twice(option: str) -> None:
    """
    Conditions go to the op as they are; the status is 0 when one came true, and 9 if none did.
    """
    words = ["run", option, "a b", "-j", option, "regex:^c", "work", "x"]

    met = spoken(*words, run=cell(Status.RUNNING, matched="a b"))
    unmet = spoken(*words, run=cell(unmet="a b or regex:^c"))

    assert met.asked[-1][1]["until"] == ["a b", "regex:^c"]
    assert (met.status, list(json.loads(met.out))[2:]) == (0, ["output", "matched"])
    assert (unmet.status, list(json.loads(unmet.out))[2:]) == (9, ["output", "unmet"])


def test_trial_20_a_wait_says_the_whole_line_that_matched() -> None:
    """
    The matched text alone may say little: its line follows the condition, and is a key of its own.
    """
    seen = {"matched": "regex:up", "failed": False, "match": "up", "cursor": 7, "line": "web is up"}

    plain = spoken("wait", "work", "--until", "regex:up", wait=seen)
    said = spoken("wait", "-j", "work", "--until", "regex:up", wait=seen)

    assert plain.told == (0, "OK work matched regex:up\nweb is up\n")
    assert list(json.loads(said.out).items())[-2:] == [("cursor", 7), ("line", "web is up")]


@pytest.mark.parametrize("case", list(ADVICE))
def test_trial_21_an_error_about_a_session_comes_with_advice(case: str) -> None:
    """
    One line on standard error says what runs there, which sessions there are, and what to do.
    """
    argv, answers, line = ADVICE[case]

    assert spoken(*argv, **answers).err == f"k: {line}\n"


def test_trial_21_an_error_is_reported_even_if_there_is_no_advice() -> None:
    """
    When the facts for the advice cannot be had, the error stays what it is.
    """
    heard = spoken(*RUN_WORK, run=UnknownSession("work"), list=HostLost("the host went away"))

    assert heard.told == (1, "no session 'work'\n")
    assert heard.err == ""


def test_the_version_is_told() -> None:
    """
    `k --version` names the program behind the word.
    """
    assert spoken("--version").told == (0, f"k {__version__} (agent-pty)\n")


# -- every row of the table of exit codes

DONE = cell()
TIMEOUT = cell(Status.TIMEOUT, output="so far")
INTERRUPTED = cell(Status.ERROR, error="interrupted", exit_code=130)
RUN, FIRE = ["run", "-j", "work", "x"], ["fire", "work", "x"]
POLL, POLL_CELL = ["poll", "work"], ["poll", "work", CELL]

# What happens -> the command line, what ops answer, the status, what is said.
ROWS: dict[str, tuple[list[str], dict[str, Any], int, str]] = {
    "run: done": (
        RUN,
        {"run": DONE},
        0,
        '{"cell_id": "0123456789ab", "status": "done", "output": "hi"}',
    ),
    "run: done, the command failed": (
        RUN,
        {"run": cell(exit_code=2)},
        0,
        '{"cell_id": "0123456789ab", "status": "done", "output": "hi", "exit_code": 2}',
    ),
    "run: timeout": (
        RUN,
        {"run": TIMEOUT},
        0,
        '{"cell_id": "0123456789ab", "status": "timeout", "output": ""}',
    ),
    "run: waits for input": (
        RUN,
        {"run": cell(Status.WAITING, waiting_for="input", output="name? ")},
        0,
        '{"cell_id": "0123456789ab", "status": "waiting", "for": "input", "output": "name? "}',
    ),
    "run: a full screen": (
        RUN,
        {"run": cell(Status.WAITING, waiting_for="input", hint="press q")},
        0,
        (
            '{"cell_id": "0123456789ab", "status": "waiting", "for": "input", "output": "hi", '
            '"hint": "press q"}'
        ),
    ),
    "run: no session": (
        RUN,
        {"run": UnknownSession("work")},
        1,
        '{"status": "error", "output": "no session \'work\'"}',
    ),
    "run: the program has ended": (
        RUN,
        {"run": SessionEnded("over")},
        1,
        '{"status": "error", "output": "no session \'work\'"}',
    ),
    "run: active cell": (
        RUN,
        {"run": CellActive(CELL)},
        1,
        '{"status": "error", "output": "active cell \'0123456789ab\'"}',
    ),
    "run: not at a prompt": (
        RUN,
        {"run": NotReady("not at a prompt: vim waits for input")},
        1,
        '{"status": "error", "output": "not at a prompt: vim waits for input"}',
    ),
    "run: send failed": (
        RUN,
        {"run": Busy("no room")},
        1,
        '{"status": "error", "output": "send failed: no room"}',
    ),
    "run: interrupted by another": (
        RUN,
        {"run": INTERRUPTED},
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "interrupted"}',
    ),
    "run: the program ended": (
        RUN,
        {"run": cell(Status.ERROR, error="exited", exit_code=0)},
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "exited", "exit_code": 0}',
    ),
    "run: not a whole command": (
        RUN,
        {"run": cell(Status.ERROR, error="incomplete input")},
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "incomplete input"}',
    ),
    "fire: accepted": (
        FIRE,
        {"fire": cell(Status.RUNNING)},
        0,
        '{"cell_id": "0123456789ab", "status": "fired"}',
    ),
    "fire: no session": (
        FIRE,
        {"fire": UnknownSession("work")},
        1,
        '{"status": "error", "output": "no session \'work\'"}',
    ),
    "fire: active cell": (
        FIRE,
        {"fire": CellActive(CELL)},
        1,
        '{"status": "error", "output": "active cell \'0123456789ab\'"}',
    ),
    "poll: running": (
        POLL,
        {"poll": cell(Status.RUNNING)},
        0,
        '{"cell_id": "0123456789ab", "status": "running"}',
    ),
    "poll: done": (
        POLL_CELL,
        {"poll": DONE},
        0,
        '{"cell_id": "0123456789ab", "status": "done", "output": "hi"}',
    ),
    "poll: first timeout": (
        POLL,
        {"poll": TIMEOUT},
        0,
        '{"cell_id": "0123456789ab", "status": "timeout", "output": ""}',
    ),
    "poll: second timeout": (
        POLL,
        {"poll": cell(Status.TIMEOUT, told=1)},
        1,
        '{"cell_id": "0123456789ab", "status": "timeout", "output": "use k int or k kill"}',
    ),
    "poll: interrupted": (
        POLL_CELL,
        {"poll": INTERRUPTED},
        0,
        '{"cell_id": "0123456789ab", "status": "error", "output": "interrupted"}',
    ),
    "poll: no active cell": (
        POLL,
        {"poll": UnknownCell("no active cell")},
        1,
        '{"status": "error", "output": "no active cell on \'work\'"}',
    ),
    "poll: no session": (
        POLL,
        {"poll": UnknownSession("work")},
        1,
        '{"status": "error", "output": "no active cell on \'work\'"}',
    ),
    "poll: unknown cell": (
        POLL_CELL,
        {"poll": UnknownCell("unknown cell", cell_id=CELL)},
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "unknown cell"}',
    ),
    "new: created": (["new", "s"], {"new": {}, "ready": {}}, 0, "OK s"),
    "new: already alive": (["new", "work"], {}, 0, "OK work (alive)"),
    "new: already alive, whatever is asked for": (
        ["new", "work", "python3", "--prompt=>>>"],
        {},
        0,
        "OK work (alive)",
    ),
    "new: hook missing": (
        ["new", "s", "sh", "--prompt=./none"],
        {},
        1,
        "ERR hook not found: /work/none",
    ),
    "new: exits at once": (
        ["new", "s", "nosuch"],
        {
            "new": {},
            "ready": SessionEnded("over", exit_code=127),
            "read": {"text": "nosuch: not found\n"},
            "kill": {"survivors": []},
        },
        1,
        "ERR s exited at once (exit code 127): nosuch: not found",
    ),
    "kill: killed": (["kill", "work"], {"kill": {"survivors": []}}, 0, "OK killed work"),
    "kill: unknown": (["kill", "x"], {"kill": UnknownSession("x")}, 0, "ERR no session 'x'"),
    "int: stopped": (["int", "work"], {"interrupt": {}}, 0, "OK"),
    "int: unknown": (["int", "x"], {"interrupt": UnknownSession("x")}, 0, "OK"),
    "int: dead": (["int", "x"], {"interrupt": SessionEnded("over")}, 0, "OK"),
    "int: does not stop": (
        ["int", "work"],
        {"interrupt": InterruptFailed("it does not stop", cell_id=CELL)},
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "interrupt failed; use k kill"}',
    ),
    "ls: some": (["ls"], {}, 0, "work  running   bash"),
    "ls: none": (["ls"], {"list": []}, 0, "no sessions"),
    "status: well": (["status", "work"], {}, 0, "OK work pipe=ok"),
    "status: unknown": (["status", "x"], {}, 1, "ERR no session 'x'"),
    "status: ended": (["status", "gone"], {"list": [GONE]}, 1, "ERR no session 'gone'"),
    "watch: unknown": (["watch", "x"], {}, 1, "ERR no session 'x'"),
    "history: unknown": (
        ["history", "x"],
        {"history": UnknownSession("x")},
        1,
        "ERR no session 'x'",
    ),
    "notify: told": (["notify", "work", "a", "b"], {"notify": {}}, 0, "OK notified: a b"),
}


@pytest.mark.parametrize("row", ROWS)
def test_every_outcome_has_its_words_and_status(row: str) -> None:
    """
    One line with the keys of the contract in their order, and the status of the table.
    """
    argv, answers, status, said = ROWS[row]

    heard = spoken(*argv, **answers)

    assert heard.told == (status, f"{said}\n")
    # Advice is one line, on standard error.
    assert re.fullmatch(r"(k: .*\n)?", heard.err)


def test_notify_of_an_unknown_session_is_refused() -> None:
    """
    The session that K_SESSION names must be there to be told something.
    """
    heard = spoken("notify", "hello", session="x")

    assert heard.told == (1, "ERR no session 'x'\n")


def test_what_the_contract_does_not_know_is_for_the_caller() -> None:
    """
    An error that has no words here is not dressed up as an answer.
    """
    with pytest.raises(HostLost, match="went away"):
        spoken("poll", "work", poll=HostLost("the host went away"))


# -- run


def test_await_is_run() -> None:
    """
    The alias asks the same and says the same.
    """
    assert spoken("await", "-j", "work", "x", run=DONE) == spoken(*RUN, run=DONE)


@pytest.mark.parametrize(
    ("argv", "op", "limit"),
    [
        (["run", "work", "x"], "run", 30_000),
        (["run", "-t", "5", "work", "x"], "run", 5000),
        (["run", "-t", "0", "work", "x"], "run", 0),
        (["run", "-t", "-1", "work", "x"], "run", -1000),
        (["fire", "work", "x"], "fire", 300_000),
        (["fire", "-t", "7", "work", "x"], "fire", 7000),
    ],
)
def test_a_limit_is_asked_in_milliseconds(argv: list[str], op: str, limit: int) -> None:
    """
    Thirty seconds for who waits, three hundred for who does not, or as given.
    """
    answers: dict[str, Any] = {op: DONE}

    heard = spoken(*argv, **answers)

    asked, fields = heard.asked[-1]
    assert (asked, fields["timeout_ms"], fields["code"]) == (op, limit, "x")


def test_code_is_handed_on_as_it_is() -> None:
    """
    Several lines, blanks, quotes and what looks like an option are code.
    """
    code = "  if x:\n\ty '-t'\n\n"

    heard = spoken("run", "work", code, run=DONE)

    assert heard.asked[-1][1]["code"] == code
    assert spoken("run", "work", "-j", run=DONE).asked[-1][1]["code"] == "-j"


@pytest.mark.parametrize(
    ("verb", "usage"),
    [("run", "k run [-j] [-t N] [session] <code>"), ("fire", "k fire [-t N] [session] <code>")],
)
def test_a_wrong_number_of_words_is_refused(verb: str, usage: str) -> None:
    """
    Code is one word: what else stands there was meant as something, so nothing is run.
    """
    for words in (["a", "b", "c"], ["work", "x", "-t", "5"], ["-t"], ["-t", "5"]):
        heard = spoken(verb, *words)

        assert heard.told == (1, f"usage: {usage}\n")
        assert heard.asked == []


def test_a_limit_that_is_no_number_is_refused() -> None:
    """
    The usage, then what is wrong, and no traceback.
    """
    heard = spoken("run", "-t", "1.5", "work", "x")

    usage = "usage: k run [-j] [-t N] [session] <code>"
    assert heard.told == (1, f"{usage}\n-t takes {DURATION}, not '1.5'\n")
    assert spoken("history", "-n").told == (1, "usage: k history [-n N] [session]\n")


@pytest.mark.parametrize(
    ("answer", "out", "err"),
    [
        (DONE, "hi\n", ""),
        (cell(output="  a\n\nb"), "  a\n\nb\n", ""),
        (cell(output=""), "\n", ""),
        (INTERRUPTED, "interrupted\n", ""),
        (CellActive(CELL), f"active cell '{CELL}'\n", ""),
        (UnknownSession("work"), "no session 'work'\n", "sessions: work"),
        (TIMEOUT, "\n", "timed out"),
        (cell(Status.WAITING, waiting_for="secret", output="Password: "), "Password: \n", "secret"),
        (cell(Status.WAITING, waiting_for="input", hint="press q"), "hi\n", "press q"),
    ],
)
def test_plain_run_says_only_the_output(answer: Any, out: str, err: str) -> None:
    """
    Errors too; what would be taken for a silent success is told apart on standard error.
    """
    heard = spoken("run", "work", "x", run=answer)

    assert heard.out == out
    assert err in heard.err
    assert bool(heard.err) == bool(err)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (cell(exit_code=0), 0),
        (cell(exit_code=3), 3),
        (cell(exit_code=None), 0),
        (cell(Status.ERROR, error="exited", exit_code=4), 4),
        (cell(Status.ERROR, error="exited", exit_code=0), 1),
        (INTERRUPTED, 130),
        (TIMEOUT, 124),
        (cell(Status.WAITING, waiting_for="input"), 125),
        (CellActive(CELL), 1),
    ],
)
@pytest.mark.parametrize("flags", [["-e"], ["-e", "-j"]])
def test_with_e_the_commands_own_status_is_ours(flags: list[str], answer: Any, status: int) -> None:
    """
    A script may ask as it would ask the command; what is no end has numbers of its own.
    """
    assert spoken("run", *flags, "work", "x", run=answer).status == status


def test_ctrl_c_stops_the_cell_and_tells_how_it_ended() -> None:
    """
    The caller's Ctrl-C goes to the program; the answer is the cell's own, with its id.
    """
    stopped = asyncio.Event()

    async def run(**_: Any) -> dict[str, Any]:
        await stopped.wait()
        return INTERRUPTED

    def interrupt(**_: Any) -> None:
        stopped.set()

    heard = spoken(*RUN, pressed=True, run=run, interrupt=interrupt)

    assert heard.asked[-1] == ("interrupt", {"id": "work"})
    assert heard.told == (
        1,
        '{"cell_id": "0123456789ab", "status": "error", "output": "interrupted"}\n',
    )


def test_ctrl_c_that_does_not_stop_the_cell_is_told() -> None:
    """
    In the words of `int`: nothing was wrong with what was sent.
    """

    async def run(**_: Any) -> None:
        await asyncio.Event().wait()

    failed = InterruptFailed("it does not stop", cell_id=CELL)

    heard = spoken(*RUN, pressed=True, run=run, interrupt=failed)

    _, _, status, said = ROWS["int: does not stop"]
    assert heard.told == (status, f"{said}\n")


# -- output that is larger than a report

TEXT = 'one "quoted"\nzwölf 漢\n' * 3


def by_pages(*, size: int, lost: int = 0) -> dict[str, Any]:
    """Answer with a truncated cell whose output comes in pages of so many characters."""

    def output(*, id: str, cell: str, since: int) -> dict[str, Any]:  # noqa: A002  the op's field
        assert (id, cell) == ("work", CELL)
        text = TEXT[since : since + size]
        more = since + size < len(TEXT)
        return {"text": text, "next": since + len(text), "more": more, "lost": 0 if since else lost}

    return {"run": cell(output="[...]", truncated=True, exit_code=1), "output": output}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_large_output_is_one_object_all_the_same(size: int) -> None:
    """
    It is said page by page, but who reads it finds the same keys in the same order.
    """
    heard = spoken(*RUN, **by_pages(size=size))

    facts = {"cell_id": CELL, "status": "done", "output": TEXT, "exit_code": 1}
    assert heard.out == json.dumps(facts, ensure_ascii=False) + "\n"
    assert heard.ops.count("output") == max(1, -(-len(TEXT) // size))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_large_output_is_plain_text_all_the_same(size: int) -> None:
    """
    The pages follow each other without a seam, and the last has its line end.
    """
    assert spoken("run", "work", "x", **by_pages(size=size)).out == TEXT + "\n"


@pytest.mark.parametrize("flags", [[], ["-j"]])
def test_what_is_no_longer_kept_is_told(flags: list[str]) -> None:
    """
    The beginning of an output that outgrew the disk is gone: standard error says how much.
    """
    heard = spoken("run", *flags, "work", "x", **by_pages(size=7, lost=12))

    assert heard.err == "k: 12 bytes of the output are no longer kept\n"


def test_a_polled_output_comes_by_pages_too() -> None:
    """
    `poll` says a large output as `run` does.
    """
    answers = by_pages(size=7)
    answers |= {"poll": answers["run"]}

    assert spoken("poll", "work", **answers).out == spoken(*RUN, **answers).out


def excerpt(**facts: Any) -> dict[str, Any]:
    """Return an excerpt as the op gives it."""
    built: dict[str, Any] = msgspec.to_builtins(OutputExcerpt(text="a\nz", cursor=9, **facts))
    return built


CUT = excerpt(left_out=7, path="/all")


def test_trial_19_a_bound_asks_for_an_excerpt() -> None:
    """
    In agent mode an output that does not fit is asked for as an excerpt, within the bound.
    """
    answers = by_pages(size=7) | {"excerpt": CUT}
    heard = spoken("run", "-m", "1000", "-j", "work", "x", **answers)

    assert heard.out == (
        '{"cell_id": "0123456789ab", "status": "done", "output": "a\\nz", '
        '"exit_code": 1, "left_out": 7, "path": "/all"}\n'
    )
    assert heard.ops == ["run", "excerpt"]
    assert 500 <= heard.asked[1][1]["fit"] < 1000
    assert spoken("run", "work", "x", k_max="1000", **answers).out == "a\nz\n"
    assert spoken("run", "-m", "0", "work", "x", k_max="1000", **answers).out == TEXT + "\n"


def test_trial_19_in_agent_mode_messages_carry_the_output() -> None:
    """
    A timeout and an error have what was written in a key of its own, and `poll` has the code.
    """
    late = cell(Status.TIMEOUT, output="part", code="make", cursor=5)
    wrong = cell(Status.ERROR, output="part", error="interrupted", code="make")

    assert spoken("run", "-j", "-m", "999", "work", "x", run=late).out == (
        '{"cell_id": "0123456789ab", "status": "timeout", "output": "", "so_far": "part", '
        '"cursor": 5}\n'
    )
    assert spoken("poll", "-m", "999", "work", poll=wrong).out == (
        '{"cell_id": "0123456789ab", "status": "error", "output": "interrupted", '
        '"code": "make", "so_far": "part"}\n'
    )
    running = cell(Status.RUNNING, code="make")
    assert spoken("poll", "-m", "999", "work", poll=running).out == (
        '{"cell_id": "0123456789ab", "status": "running", "code": "make"}\n'
    )
    assert spoken("run", "-m", "999", "work", "x", run=wrong).out == "part\ninterrupted\n"


def test_trial_19_a_cell_that_is_gone_is_bounded_all_the_same() -> None:
    """
    If the session was killed between answer and excerpt, what is known is cut.
    """
    large = cell(output=TEXT * 1000, truncated=True)

    heard = spoken("run", "-j", "-m", "500", "work", "x", run=large, excerpt=UnknownCell("gone"))

    assert len(heard.out.encode()) <= 500
    assert " lines left out ...]" in heard.out


def test_trial_19_a_peek_asks_for_what_is_new() -> None:
    """
    `--since` is the cursor of an earlier answer; the new one comes last.
    """
    heard = spoken("peek", "--since", "4", "work", peek=cell(Status.RUNNING), excerpt=excerpt())

    assert heard.out == (
        '{"cell_id": "0123456789ab", "status": "running", "output": "a\\nz", "cursor": 9}\n'
    )
    assert heard.asked[1][1]["since"] == 4
    assert spoken("peek", "--since", "x", "work").status == 1


# -- which session is meant


@pytest.mark.parametrize("argv", [["poll"], ["peek"], ["int"], ["run", "x"], ["fire", "x"]])
def test_the_only_session_is_understood(argv: list[str]) -> None:
    """
    Without a name the one that runs is meant, however many have ended.
    """
    answers: dict[str, Any] = dict.fromkeys(("poll", "peek", "interrupt", "run", "fire"), DONE)

    heard = spoken(*argv, list=[GONE, WORK], **answers)

    assert heard.status == 0
    assert heard.asked[-1][1]["id"] == "work"


@pytest.mark.parametrize(
    "argv",
    [
        ["poll"],
        ["int"],
        ["status"],
        ["history"],
        ["watch"],
        ["screen"],
        ["read"],
        ["notify", "hello"],
        ["run", "x"],
        ["run", "-j", "x"],
        ["fire", "x"],
    ],
)
@pytest.mark.parametrize("sessions", [[], [GONE], [WORK, {**WORK, "id": "play"}]])
def test_no_session_or_several_are_none(argv: list[str], sessions: list[dict[str, Any]]) -> None:
    """
    Nothing is guessed, and the words are plain whatever was asked for.
    """
    heard = spoken(*argv, list=sessions)

    assert heard.told == (1, "ERR: no session found.\n")
    assert set(heard.ops) == {"list"}


def test_the_environment_names_the_session() -> None:
    """
    K_SESSION is believed without a look, a name on the command line goes before it.
    """
    assert spoken("poll", session="mine", poll=DONE).asked == [
        ("poll", {"id": "mine", "cell": None, "spill": False})
    ]
    assert spoken("poll", "yours", session="mine", poll=DONE).asked[0][1]["id"] == "yours"
    assert spoken("run", "yours", "x", session="mine", run=DONE).asked[0][1]["id"] == "yours"


def test_an_empty_variable_names_nothing() -> None:
    """
    K_SESSION= is as good as no K_SESSION.
    """
    assert spoken("int", session="", interrupt={}).asked[-1] == ("interrupt", {"id": "work"})


BAD = ["a b", "a/b", "a..b", "", "ü", "a\n", "a:b"]


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("verb", ["new", "kill", "poll", "int", "status", "history"])
def test_a_bad_name_is_refused(verb: str, name: str) -> None:
    """
    With its own spelling, before anything is asked.
    """
    heard = spoken(verb, name)

    assert heard.told == (1, f"ERR invalid session name: {name!r}\n")
    assert heard.asked == []


@pytest.mark.parametrize("name", [name for name in BAD if name])
def test_a_bad_name_in_the_environment_is_refused(name: str) -> None:
    """
    K_SESSION is held to the same rule.
    """
    assert spoken("poll", session=name).told == (1, f"ERR invalid session name: {name!r}\n")
    assert spoken("run", "-j", name, "x").told == (1, f"ERR invalid session name: {name!r}\n")


@pytest.mark.parametrize("name", ["a", "a.b", "A-1_x.y", "0"])
def test_a_name_with_dots_is_a_name(name: str) -> None:
    """
    What the contract documents works.
    """
    assert spoken("int", name, interrupt={}).asked == [("interrupt", {"id": name})]


# -- poll, peek


def test_a_poll_names_the_cell() -> None:
    """
    The second word is a cell; without it the session's own is meant.
    """
    assert spoken(*POLL_CELL, poll=DONE).asked == [
        ("poll", {"id": "work", "cell": CELL, "spill": False})
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (cell(Status.RUNNING), '{"cell_id": "0123456789ab", "status": "running", "output": "hi"}'),
        (TIMEOUT, '{"cell_id": "0123456789ab", "status": "timeout", "output": "so far"}'),
        (
            cell(Status.WAITING, waiting_for="secret"),
            '{"cell_id": "0123456789ab", "status": "waiting", "for": "secret", "output": "hi"}',
        ),
        (
            cell(exit_code=1),
            '{"cell_id": "0123456789ab", "status": "done", "output": "hi", "exit_code": 1}',
        ),
        (
            INTERRUPTED,
            (
                '{"cell_id": "0123456789ab", "status": "error", "output": "hi", '
                '"error": "interrupted"}'
            ),
        ),
    ],
)
def test_a_peek_shows_what_there_is(answer: Any, said: str) -> None:
    """
    The output so far, whatever the state, and no state is a failure.
    """
    cursor = said.removesuffix("}") + ', "cursor": 2}\n'

    assert spoken("peek", "work", peek={**answer, "cursor": 2}).told == (0, cursor)


def test_a_peek_at_nothing_is_an_error() -> None:
    """
    In the words of `poll`.
    """
    heard = spoken("peek", "work", peek=UnknownCell("no cell"))

    assert heard.told == (1, '{"status": "error", "output": "no active cell on \'work\'"}\n')


# -- new


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        ([], ["bash"]),
        (["python3", "-i"], ["python3", "-i"]),
        (["python3 -i"], ["python3", "-i"]),
        (["sh", "-c", "a | b"], ["/bin/sh", "-c", "sh -c a | b"]),
        (["A=1 make"], ["/bin/sh", "-c", "A=1 make"]),
        (["gdb", "--prompt=(gdb)", "-q"], ["gdb", "-q"]),
    ],
)
def test_the_words_behind_the_name_are_a_command(words: list[str], argv: list[str]) -> None:
    """
    Joined by blanks, as the original does; only what needs a shell gets one.
    """
    heard = spoken("new", "s", *words, new={}, ready={})

    op, fields = heard.asked[1]
    assert (op, fields["argv"], fields["repo"]) == ("new", argv, "/work")


@pytest.mark.parametrize(
    ("option", "frame", "shown"),
    [
        ("--prompt=(gdb)", "exact:(gdb)", " prompt='(gdb)'"),
        ("--prompt=(gdb) ", "exact:(gdb) ", " prompt='(gdb) '"),
        ("--exact=P:/tmp>", "exact:P:/tmp>", " prompt='P:/tmp>'"),
        ("--frame=repeat", "repeat", ""),
        ("--frame=ladder", None, ""),
    ],
)
def test_the_end_of_a_cell_can_be_chosen(option: str, frame: str | None, shown: str) -> None:
    """
    An exact prompt is shown as it was understood; without an option nobody says anything.
    """
    heard = spoken("new", "s", "gdb", option, new={}, ready={})

    assert heard.told == (0, f"OK s{shown}\n")
    assert heard.asked[1][1]["frame"] == frame


def test_an_unknown_frame_is_refused() -> None:
    """
    It is named, and nothing is started.
    """
    heard = spoken("new", "s", "--frame=magic")

    assert heard.told == (1, "ERR unknown frame 'magic': repeat or ladder\n")
    assert heard.asked == []


def test_a_hook_is_a_program_that_exists(tmp_path: Path) -> None:
    """
    A prompt with a slash is a path, made absolute from where the caller is, or refused.
    """
    hook = tmp_path / "hook"
    hook.write_text("#!/bin/sh\n")
    ready: dict[str, Any] = {"new": {}, "ready": {}}
    where = str(tmp_path)

    blunt = spoken("new", "s", "sh", "--prompt=./hook", cwd=where)
    hook.chmod(0o755)
    sharp = spoken("new", "s", "sh", "--prompt=./hook", cwd=where, **ready)
    named = spoken("new", "s", "sh", "--hook=hook", cwd=where, **ready)
    folder = spoken("new", "s", "sh", "--prompt=../", cwd=where)

    assert blunt.told == (1, f"ERR hook not executable: {hook}\n")
    assert sharp.told == (0, f"OK s prompt={str(hook)!r}\n")
    assert sharp.asked[1][1]["frame"] == f"hook:{hook}"
    assert named.told == sharp.told
    assert folder.told == (1, f"ERR hook not found: {tmp_path.parent}\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_hook_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """
    It is there, but not for the caller.
    """
    hook = tmp_path / "hook"
    hook.touch(mode=0o111)

    heard = spoken("new", "s", "--prompt=./hook", cwd=str(tmp_path))

    assert heard.told == (1, f"ERR hook not readable: {hook}\n")


def test_a_session_that_has_ended_makes_room() -> None:
    """
    Its name is free for a new one; what was left of it is cleared away first.
    """
    heard = spoken("new", "gone", list=[GONE], kill={}, new={}, ready={})

    assert heard.told == (0, "OK gone\n")
    assert heard.ops == ["list", "kill", "new", "ready"]


def test_a_name_is_matched_whole() -> None:
    """
    `wor` is not `work`: a prefix of a name is another name.
    """
    assert spoken("new", "wor", new={}, ready={}).told == (0, "OK wor\n")
    assert spoken("status", "wor").told == (1, "ERR no session 'wor'\n")


def test_what_cannot_be_started_is_told() -> None:
    """
    In one line, not in a traceback.
    """
    heard = spoken("new", "s", "x", new=SpawnFailed("no program x"))

    assert heard.told == (1, "ERR no program x\n")


def test_a_program_that_ends_at_once_leaves_nothing() -> None:
    """
    Its last words are told, and its session is forgotten.
    """
    answers = ROWS["new: exits at once"][1]

    assert spoken("new", "s", "nosuch", **answers).asked[-1] == ("kill", {"id": "s"})


def test_a_program_without_a_prompt_is_a_session_all_the_same() -> None:
    """
    It runs; that it shows no prompt is said on standard error.
    """
    heard = spoken("new", "s", "cat", new={}, ready=NotReady("not at a prompt: cat is running"))

    assert heard.told == (0, "OK s\n")
    assert heard.err == "k: s: not at a prompt: cat is running\n"


# -- kill, ls, status, notify


def test_survivors_of_a_kill_are_named() -> None:
    """
    Nobody is to believe that all is over when it is not.
    """
    killed = {"survivors": [{"pid": 7, "command": "sleep 9"}]}

    heard = spoken("kill", "work", kill=killed)

    assert heard.told == (0, "OK killed work\n")
    assert heard.err == "k: process 7 survived: sleep 9\n"


def test_ls_puts_names_first() -> None:
    """
    One session a line: name, state, program; with -j the same as a list.
    """
    sessions = [WORK, GONE, {**GONE, "id": "lost", "exit_code": None, "state": "lost"}]

    plain = spoken("ls", list=sessions)
    objects = spoken("ls", "-j", list=sessions)

    assert plain.out == (
        "work  running   bash\ngone  exited 3  sh -c 'x y'\nlost  lost      sh -c 'x y'\n"
    )
    assert objects.out == (
        '[{"name": "work", "state": "running", "command": "bash"}, '
        '{"name": "gone", "state": "exited 3", "command": "sh -c \'x y\'"}, '
        '{"name": "lost", "state": "lost", "command": "sh -c \'x y\'"}]\n'
    )


def test_status_can_be_an_object() -> None:
    """
    With -j it is what `ls -j` says of the session; nothing is typed for it.
    """
    heard = spoken("status", "-j", "work")

    assert heard.told == (0, '{"name": "work", "state": "running", "command": "bash"}\n')
    assert heard.ops == ["list"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["work", "a", "b"], "a b"),
        (["work"], "work"),
        (["other", "a"], "other a"),
        (["über", "alles"], "über alles"),
    ],
)
def test_the_first_of_several_words_may_be_a_session(words: list[str], message: str) -> None:
    """
    Only if there is one of that name and something left to say; else it is part of the note.
    """
    heard = spoken("notify", *words, notify={})

    assert heard.told == (0, f"OK notified: {message}\n")
    assert heard.asked[-1] == ("notify", {"id": "work", "message": message, "who": "bash@k:7"})


# -- history, watch, screen, keys, read

PAST = [
    {"kind": "text", "text": "$ make", "who": ""},
    {"kind": "fired", "text": CELL, "who": ""},
    {"kind": "text", "text": "...", "who": ""},
    {"kind": "text", "text": "ok", "who": ""},
    {"kind": "text", "text": "ok", "who": ""},
    {"kind": "text", "text": "  ", "who": ""},
    {"kind": "done", "text": CELL, "who": ""},
    {"kind": "notify", "text": "mind the gap", "who": "bash@k:1"},
]
TOLD = [
    "$ make",
    "\x1b[2;36m── 01234567 ──\x1b[0m",
    "ok",
    "\x1b[2;32m── ✓ ──\x1b[0m",
    "\x1b[33m📢 mind the gap\x1b[0m \x1b[2m(bash@k:1)\x1b[0m",
]


def test_history_is_the_past_for_people() -> None:
    """
    Without blank lines, lone dots and what repeats itself; cells and notes in colour.
    """
    heard = spoken("history", "work", history={"entries": PAST})

    assert heard.out.splitlines() == TOLD


@pytest.mark.parametrize(("words", "lines"), [([], 25), (["-n", "1"], 5), (["-n", "0"], 0)])
def test_history_is_as_long_as_asked(words: list[str], lines: int) -> None:
    """
    Five lines a step, the last ones; zero steps are none.
    """
    past = [{"kind": "text", "text": f"line {number}", "who": ""} for number in range(200)]

    heard = spoken("history", *words, "work", history={"entries": past})

    assert heard.out.splitlines() == [f"line {number}" for number in range(200 - lines, 200)]


def watched(*events: dict[str, Any], pages: Iterable[str] = ()) -> Heard:
    """Watch a session that writes these *pages* of text, one for each time it is read."""
    texts = iter(["", *pages])

    def read(**_: Any) -> dict[str, Any]:
        return {"text": next(texts, ""), "cursor": 0, "more": False}

    return spoken("watch", "work", events=[{"event": "watching", "seen": {}}, *events], read=read)


RED = "\x1b[31m── ✗ {} ──\x1b[0m"
FAILURES = [
    ("done", {"exit_code": 3}, RED.format("exit 3")),
    ("done", {"exit_code": 0}, TOLD[3]),
    ("exited", {"exit_code": 2}, RED.format("exited, exit 2")),
    ("exited", {}, "\x1b[2m── exited ──\x1b[0m"),
    ("interrupted", {}, RED.format("interrupted")),
    ("error", {}, RED.format("error")),
    ("timeout", {}, "\x1b[2m── timeout ──\x1b[0m"),
]


@pytest.mark.parametrize(("kind", "facts", "line"), FAILURES)
def test_trial_25_a_failed_command_is_shown_as_failed(
    kind: str, facts: dict[str, int], line: str
) -> None:
    """
    Only what succeeded has a tick; what failed is red and says how, in `history` and `watch`.
    """
    past = [{"kind": kind, "text": CELL, "who": "", **facts}]

    told = spoken("history", "work", history={"entries": past})
    seen = watched({"event": "cell", "cell_id": CELL, "status": kind, **facts})

    assert told.out.splitlines() == [line]
    assert seen.out.splitlines()[2:-1] == [line]


def test_watch_follows_until_ctrl_c() -> None:
    """
    New text, cells and notes as `history` shows them, then a word of farewell.
    """
    heard = watched(
        {"event": "output"},
        {"event": "cell", "cell_id": CELL, "status": "fired"},
        {"event": "notify", "from": "bash@k:1", "message": "mind the gap"},
        pages=["$ make\n$ make\n\nok\n"],
    )

    assert heard.out.splitlines() == [
        "\x1b[2mwatching work (ctrl-c to stop)\x1b[0m",
        "",
        "$ make",
        "ok",
        TOLD[1],
        TOLD[4],
        "\x1b[2mstopped\x1b[0m",
    ]
    assert heard.status == 0


@pytest.mark.parametrize("end", ["exited", "killed", "lost"])
def test_watch_ends_with_its_session(end: str) -> None:
    """
    The last text is shown, then that there will be no more.
    """
    heard = watched({"event": end, "id": "work"}, pages=["last words\n"])

    assert heard.out.splitlines()[2:] == ["last words", "\x1b[2mclosed\x1b[0m"]
    assert heard.status == 0


def test_keys_are_pressed_by_name() -> None:
    """
    Each word behind the session is a key.
    """
    heard = spoken("keys", "work", "escape", ":", "q", keys={"keys": 3})

    assert heard.told == (0, "OK work keys=3\n")
    assert heard.asked == [("keys", {"id": "work", "keys": ["escape", ":", "q"]})]
    assert spoken("keys", "work").told == (1, "usage: k keys <session> key...\n")


def test_screen_and_read_show_text() -> None:
    """
    What a person sees, or the last lines written; as JSON everything that is known.
    """
    assert spoken("screen", "work", screen={"text": "a\n\n"}).told == (0, "a\n")
    assert spoken("screen", "-j", "work", screen={"text": "ä"}).told == (0, '{"text": "ä"}\n')
    heard = spoken("read", "-n", "2", "work", read={"text": "a\nb\n"})
    assert heard.told == (0, "a\nb\n")
    assert heard.asked == [("read", {"id": "work", "tail": 2})]


# -- exec


def executed(**facts: Any) -> dict[str, Any]:
    """Return what `exec` answers for `true`, but for *facts*."""
    usual = {"output": "", "truncated": False, "running": False, "exit_code": 0, "signal": None}
    return {**usual, "session": None, **facts}


@pytest.mark.parametrize(
    ("answer", "status", "out", "json_out"),
    [
        (executed(output="hi\n"), 0, "hi\n", '{"status": "done", "output": "hi"}'),
        (executed(output="hi"), 0, "hi\n", '{"status": "done", "output": "hi"}'),
        (executed(exit_code=3), 3, "", '{"status": "done", "output": "", "exit_code": 3}'),
        (
            executed(exit_code=None, signal=9),
            137,
            "",
            '{"status": "done", "output": "", "exit_code": 137}',
        ),
        (
            executed(running=True, exit_code=None, session="s1"),
            124,
            "",
            '{"status": "timeout", "output": "", "session": "s1"}',
        ),
    ],
)
def test_exec_ends_as_its_program_does(
    answer: dict[str, Any], status: int, out: str, json_out: str
) -> None:
    """
    The output is the program's and so is the status; past the limit it goes on as a session.
    """
    plain = spoken("exec", "--", "prog", "-j", exec=answer)
    objects = spoken("exec", "-j", "-t", "5", "prog", exec=answer)

    assert plain.told == (status, out)
    assert objects.told == (status, f"{json_out}\n")
    assert plain.asked[-1][1]["argv"] == ["prog", "-j"]
    assert objects.asked[-1][1]["timeout_ms"] == 5000


def test_exec_without_a_program_is_refused() -> None:
    """
    With and without the dashes.
    """
    for words in ([], ["--"], ["-j"]):
        assert spoken("exec", *words).told == (
            1,
            "usage: k exec [-j] [-t N] [--pager] -- argv...\n",
        )


def test_a_large_output_of_exec_is_read_and_forgotten() -> None:
    """
    The session that kept it for us is ended when all is said.
    """

    def read(*, id: str, since: int) -> dict[str, Any]:  # noqa: A002  the op's field
        return {"text": f"{id}{since} ", "cursor": since + 1, "more": since < 2}

    heard = spoken("exec", "prog", exec=executed(truncated=True, session="s"), read=read, kill={})

    assert heard.told == (0, "s0 s1 s2 \n")
    assert heard.asked[-1] == ("kill", {"id": "s"})


# -- keys and the screen

CURSOR = {"row": 1, "col": 2, "visible": True}
AFTER = {
    "settled": True,
    "whole": False,
    "rows": [{"row": 0, "text": "new"}, {"row": 1, "text": ""}, {"row": 9, "text": "last  "}],
    "cursor": CURSOR,
    "cursor_before": CURSOR,
    "hash": "0",
}


@pytest.mark.parametrize(
    "words", [("-s", "work", "a"), ("--screen", "work", "a"), ("work", "a", "--screen")]
)
def test_trial_18_keys_say_the_rows_that_changed(words: tuple[str, ...]) -> None:
    """
    Rows without numbers, and on standard error what they do not show.
    """
    heard = spoken("keys", *words, keys={"cursor": 1, "keys": 1, "screen": AFTER})

    assert heard.told == (0, "new\n\nlast\n")
    assert heard.err == "k: 1 row(s) became blank\n"
    assert heard.asked == [
        ("keys", {"id": "work", "keys": ["a"], "screen": True, "timeout_ms": 3000})
    ]


@pytest.mark.parametrize(
    ("facts", "remark"),
    [
        ({"settled": False}, "has not settled"),
        ({"whole": True}, "every row of the screen changed"),
        ({"rows": []}, "no row of the screen changed\n"),
        ({"rows": [], "cursor_before": {**CURSOR, "row": 0}}, "moved to row 1, column 2"),
    ],
)
def test_trial_18_what_rows_do_not_show_is_said(facts: dict[str, Any], remark: str) -> None:
    """
    Each case has its own remark, and the keys were pressed all the same.
    """
    heard = spoken("keys", "-s", "work", "a", keys={"keys": 1, "screen": {**AFTER, **facts}})

    assert heard.status == 0
    assert remark in heard.err


# -- answer

SEEN = {"matched": "regex:up", "failed": False, "match": "up at 80", "cursor": 7, "guess": False}
SCREEN = {"screen": {"text": "a\n\nb\nc  \nd\ne\nf\n\n"}}


def test_trial_18_an_answer_is_asked_for_and_said_as_a_run() -> None:
    """
    One op with the text and the limit; what it returns is said in the words of `run`.
    """
    heard = spoken("answer", "-j", "work", "yes", "-t", "5m", answer=cell(since=4))

    assert heard.told == (0, f'{{"cell_id": "{CELL}", "status": "done", "output": "hi"}}\n')
    assert heard.asked == [
        ("answer", {"id": "work", "text": "yes", "timeout_ms": 300_000, "spill": False})
    ]


def test_trial_18_one_word_is_the_answer_for_the_session_that_is_understood() -> None:
    """
    As with `run`: the only session there is, or K_SESSION.
    """
    assert spoken("answer", "yes", answer=cell()).asked[-1][1]["id"] == WORK["id"]
    assert spoken("answer", "yes", session="own", answer=cell()).asked[0][1]["id"] == "own"


def test_trial_18_the_pages_of_a_large_reply_begin_with_it() -> None:
    """
    What came before the answer is not said again.
    """
    page = {"text": "reply", "next": 9, "more": False, "lost": 0}
    heard = spoken("answer", "work", "x", answer=cell(truncated=True, since=4), output=page)

    assert heard.told == (0, "reply\n")
    assert heard.asked[1] == ("output", {"id": "work", "cell": CELL, "since": 4})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NotWaiting("x"), ["nothing runs in 'work'", "k run"]),
        (NotWaiting("x", cell_id=CELL), [f"cell {CELL} runs", "k wait work", "k send work"]),
        (NotWaiting("x", program="vim"), ["vim has its keyboard", "k send"]),
        (UnknownSession("work"), ["no session 'work'"]),
        (SessionEnded("x"), ["no session 'work'"]),
    ],
)
def test_trial_18_who_cannot_be_answered_is_refused_with_a_remedy(
    error: Exception, words: list[str]
) -> None:
    """
    An error object without a cell, as when `run` is refused; status 1.
    """
    heard = spoken("answer", "-j", "work", "x", answer=error)
    said = json.loads(heard.out)

    assert heard.status == 1
    assert list(said) == ["status", "output"]
    assert all(word in said["output"] for word in words)


def test_trial_18_a_question_names_the_word_that_answers_it() -> None:
    """
    On standard error, with the session, so that it can be copied.
    """
    waits = cell(Status.WAITING, waiting_for="input", output="name? ")

    assert "k answer work TEXT" in spoken("run", "work", "x", run=waits).err


# -- send and type


@pytest.mark.parametrize(
    ("verb", "enter", "done"), [("send", True, "sent"), ("type", False, "typed")]
)
def test_trial_18_text_is_typed_with_or_without_enter(verb: str, enter: bool, done: str) -> None:  # noqa: FBT001  a column
    """
    `send` types a line, `type` presses no Enter.
    """
    heard = spoken(verb, "work", "-j", send={"cursor": 5})

    assert heard.told == (0, f"OK work {done}\n")
    assert heard.asked == [("send", {"id": "work", "text": "-j", "enter": enter})]
    assert spoken(verb, "work", "x", "-j", send={"cursor": 5}).out == '{"cursor": 5}\n'


def test_trial_18_text_for_nobody_is_refused() -> None:
    """
    In the words of the contract, or with the usage.
    """
    assert spoken("send", "no", "x", send=UnknownSession("no")).told == (1, "ERR no session 'no'\n")
    assert spoken("send").told == (1, "usage: k send [-j] [session] <text>\n")
    assert spoken("type", "a", "b", "c").status == 1


# -- wait


def test_trial_18_a_wait_says_which_condition_and_what_it_found() -> None:
    """
    First the condition, then the text; conditions and the limit may stand anywhere.
    """
    heard = spoken("wait", "work", "--until", "regex:up", "-u", "b", "-t", "500ms", wait=SEEN)

    assert heard.told == (0, "OK work matched regex:up\nup at 80\n")
    assert heard.asked == [
        (
            "wait",
            {
                "id": "work",
                "until": ["regex:up", "b"],
                "fail_on": None,
                "timeout_ms": 500,
                "files": False,
            },
        )
    ]


def test_trial_18_a_wait_in_json_is_small() -> None:
    """
    No screen: `k screen` has it. A guess is called one.
    """
    said = json.loads(spoken("wait", "-j", "work", "-u", "x", wait={**SEEN, "guess": True}).out)

    assert said == {
        "session": "work",
        "status": "matched",
        "until": "regex:up",
        "match": "up at 80",
        "cursor": 7,
        "guess": True,
    }


def test_trial_18_a_failing_condition_fails_the_wait() -> None:
    """
    Status 1, and `failed` says that it was not the end of the time.
    """
    failed: dict[str, Any] = {**SEEN, "matched": "error", "match": "error", "failed": True}
    heard = spoken("wait", "work", "-u", "x", "--fail-on=error", wait=failed)

    assert heard.told == (1, "ERR work failed error\n")
    assert heard.asked[0][1]["fail_on"] == ["error"]


@pytest.mark.parametrize(
    ("error", "word", "status"),
    [(WaitTimeout, "timeout", 124), (SessionEnded, "exited", 1)],
)
def test_trial_18_a_wait_in_vain_shows_how_the_screen_ends(
    error: type[WaitTimeout | SessionEnded], word: str, status: int
) -> None:
    """
    The last lines are on standard output, the reason on standard error; in JSON both.
    """
    raised = error("it did not come", observation=SCREEN)

    plain = spoken("wait", "work", "-u", "x", wait=raised)
    said = spoken("wait", "work", "-u", "x", "-j", wait=raised)

    assert plain.told == (status, "b\nc\nd\ne\nf\n")
    assert "it did not come" in plain.err
    assert said.status == status
    assert json.loads(said.out) == {
        "session": "work",
        "status": word,
        "output": "it did not come",
        "screen": "b\nc\nd\ne\nf",
    }


def test_trial_18_a_wait_without_a_condition_is_refused() -> None:
    """
    The usage names the conditions; a wrong one is refused by the op, with its reason.
    """
    assert spoken("wait", "work").out.startswith("usage: k wait")
    assert "idle:2s" in spoken("wait", "work").out
    wrong = spoken("wait", "work", "-u", "regex:(", wait=BadRequest("bad pattern"))
    assert wrong.told == (1, "ERR bad pattern\n")


def test_trial_18_list_is_ls() -> None:
    """
    Both words of the two commands work.
    """
    assert spoken("list").told == spoken("ls").told
    assert spoken("list", "-j").told == spoken("ls", "-j").told


# -- agent mode


def test_trial_19_a_refusal_is_bounded_too() -> None:
    """
    What a program said that ended at once may be long; K_MAX holds for it as well.
    """
    said = {"text": "why " * 10_000}
    answers: dict[str, Any] = {"list": [], "new": {}, "kill": {}, "read": said}
    answers["ready"] = SessionEnded("x")

    heard = spoken("new", "x", k_max="500", **answers)

    assert heard.status == 1
    assert heard.out.startswith("ERR x exited at once")
    assert len(heard.out) <= 500


PAGE = {"text": "page", "next": 4, "more": False, "lost": 0}


def test_trial_19_a_bounded_reply_begins_after_the_answer() -> None:
    """
    An answer is bounded as a run is; its excerpt begins where what is new begins.
    """
    answers: dict[str, Any] = {"answer": cell(truncated=True, since=4), "excerpt": CUT}
    heard = spoken("answer", "-j", "work", "x", "-m", "1000", **answers)

    assert json.loads(heard.out)["left_out"] == 7
    assert heard.asked[1][0] == "excerpt"
    assert heard.asked[1][1]["since"] == 4
    assert spoken("answer", "work", "x", k_max="1000", **answers).out == "a\nz\n"
    assert "-m takes a number of bytes" in spoken("answer", "work", "x", "-m", "y").out


def test_trial_19_the_steps_of_a_batch_share_the_bound() -> None:
    """
    The bytes are for the whole call, whether K_MAX or `-m` gives them; `-m 0` is no bound.
    """
    answers: dict[str, Any] = {"run": cell(truncated=True), "excerpt": CUT, "output": PAGE}

    shares = spoken("batch", "-m", "3000", "work", "a", "b", "c", **answers)
    alone = spoken("batch", "work", "a", k_max="3000", **answers)
    whole = spoken("batch", "-m", "0", "work", "a", k_max="3000", **answers)

    assert [fields["fit"] < 1000 for op, fields in shares.asked if op == "excerpt"] == [True] * 3
    assert [fields["fit"] > 2000 for op, fields in alone.asked if op == "excerpt"] == [True]
    assert "excerpt" not in whole.ops


def test_trial_19_a_cell_that_runs_on_has_a_cursor() -> None:
    """
    In agent mode `run -u` says where `peek --since` goes on, after what the run says anyway.
    """
    up = cell(Status.RUNNING, matched="up", cursor=9)

    bounded = json.loads(spoken("run", "-j", "-m", "999", "-u", "up", "work", "x", run=up).out)
    plain = json.loads(spoken("run", "-j", "-u", "up", "work", "x", run=up).out)

    assert list(bounded) == ["cell_id", "status", "output", "matched", "cursor"]
    assert list(plain) == ["cell_id", "status", "output", "matched"]


def test_trial_19_the_program_at_the_keyboard_is_named_in_a_bounded_answer() -> None:
    """
    `now` and its hint stay, and what was cut is reported after them.
    """
    left = cell(truncated=True, now="pdb", hint="q leaves it")
    said = json.loads(spoken("run", "-j", "-m", "999", "work", "x", run=left, excerpt=CUT).out)

    assert list(said)[3:] == ["now", "hint", "left_out", "path"]


@pytest.mark.parametrize("flags", [[], ["-j"]])
def test_trial_19_a_wait_is_bounded(flags: list[str]) -> None:
    """
    The line that made a condition true may have no end, and so may the lines of a screen.
    """
    long = "up " * 10_000
    met = {**SEEN, "match": long, "line": long + "now"}
    unmet = WaitTimeout("it did not come", observation={"screen": {"text": long}})

    for answer in (met, unmet):
        heard = spoken("wait", *flags, "-m", "900", "work", "-u", "x", wait=answer)
        assert len(heard.out.encode()) <= 900
        assert "left out" in heard.out.replace("_", " ")
        assert len(spoken("wait", *flags, "work", "-u", "x", wait=answer).out) > 10_000


@pytest.mark.parametrize("flags", [["-s"], ["-s", "-j"]])
def test_trial_19_the_rows_that_keys_changed_are_bounded(flags: list[str]) -> None:
    """
    A screen of many rows is cut as any other text or object.
    """
    rows = [{"row": row, "text": f"row {row} " * 10} for row in range(200)]
    pressed = {"cursor": 1, "keys": 1, "screen": {**AFTER, "rows": rows}}

    heard = spoken("keys", *flags, "work", "a", k_max="1000", keys=pressed)

    assert len(heard.out.encode()) <= 1000
    assert "left out" in heard.out.replace("_", " ")


def test_trial_19_advice_is_bounded_too() -> None:
    """
    The command of a session may be as long as a system allows; advice about it is not.
    """
    long = {**WORK, "argv": ["sh", "-c", "x" * 100_000]}

    assert len(spoken("new", "work", k_max="500", list=[long]).err.encode()) <= 500
    assert len(spoken("new", "work", list=[long]).err) > 100_000


def test_trial_19_a_bounded_refusal_in_json_is_json() -> None:
    """
    The object is cut in its text, not at its end.
    """
    answers: dict[str, Any] = {"list": [], "new": {}, "kill": {}, "read": {"text": "why " * 10_000}}
    answers["ready"] = SessionEnded("x")

    heard = spoken("new", "-j", "x", k_max="500", **answers)

    assert heard.status == 1
    assert len(heard.out) <= 500
    assert json.loads(heard.out)["status"] == "error"
