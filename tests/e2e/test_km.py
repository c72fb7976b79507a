"""`km`: events of cells as JSON lines (contract 1.11, rows 51 and 52, and what we added)."""

from __future__ import annotations

import json
import re
import signal

import pytest

from support.agent import Agent, slay
from support.followers import SLEEPER, await_end, await_up, fired, follower, monitor
from support.k import K

TS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00"


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


def masked(line: str) -> str:
    """Return a line with its moment and cell made the same."""
    return re.sub(r'"[0-9a-f]{12}"', '"C"', re.sub(f'"{TS}"', '"T"', line))


# -- the contract


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help(k: K, words: list[str]) -> None:
    """
    `km` without words, or asked for help, prints it on standard output.
    """
    done = k.run(*words, program="km")

    assert done.returncode == 0
    assert done.stdout.startswith("km -- ")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["a b", "a..b", "", "nl\n"])
def test_a_bad_name_is_refused_on_standard_error(k: K, name: str) -> None:
    """
    A name that no session can have is an error in `km`'s own words.
    """
    done = k.run(name, program="km")

    assert done.returncode == 1
    assert (done.stdout, done.stderr) == ("", f"km: invalid session name: {name!r}\n")


@pytest.mark.parametrize("word", ["extra", "0123456789AB", "0123456789a", "--nope"])
def test_an_unknown_word_is_refused(k: K, word: str) -> None:
    """
    Behind the session only a cell of 12 hex digits and `-1` have a meaning.
    """
    done = k.run("whatever", word, program="km")

    assert done.returncode == 1
    assert (done.stdout, done.stderr) == ("", f"unknown arg: {word}\n")


def test_no_session_is_an_event(k: K) -> None:
    """
    A session that is not there is told as an error event, with status 1.
    """
    done = k.run("nobody", program="km")

    assert done.returncode == 1
    assert masked(done.stdout) == (
        '{"session": "nobody", "status": "error", "message": "no session \'nobody\'", "ts": "T"}\n'
    )


def test_events_byte_for_byte(k: K) -> None:
    """
    Keys, their order and separators are those of the contract, and `ts` has microseconds.
    """
    k.new("bytes")
    with monitor(k, "bytes") as events:
        k.json("fire", "bytes", "echo x")
        first, second = events.line(), events.line()
        k.run("notify", "bytes", "zwölf", "Uhr")
        note = events.line()
        k.kill("bytes")
        last = events.line()
        assert events.line() == ""

    assert masked(first) == '{"cell_id": "C", "session": "bytes", "status": "fired", "ts": "T"}\n'
    assert masked(second) == '{"cell_id": "C", "session": "bytes", "status": "done", "ts": "T"}\n'
    assert re.fullmatch(
        r'\{"session": "bytes", "status": "notify", "from": "[^"@]+@k:\d+", '
        r'"message": "zwölf Uhr", "ts": "T"\}\n',
        masked(note),
    )
    assert masked(last) == '{"session": "bytes", "status": "closed", "ts": "T"}\n'


def test_once_returns_after_the_first_end(k: K) -> None:
    """
    `-1` ends with status 0 after the first cell that ends, wherever the words stand.
    """
    k.new("once")
    with monitor(k, "once", "-1") as events:
        k.output("once", "echo x")

        assert events.statuses() == ["fired", "done"]
    assert events.process.returncode == 0


def test_a_cell_filters_cells_but_not_notes(k: K) -> None:
    """
    With a cell, the events of other cells are left out; notes are for everybody.
    """
    k.new("filter")
    cell = fired(k, "filter", SLEEPER)
    with monitor(k, "filter", "-1", cell) as events:
        k.run("notify", "filter", "a note")
        k.run("int", "filter")
        seen = [json.loads(line) for line in events.rest()]

    assert [event["status"] for event in seen] == ["notify", "interrupted"]
    assert seen[-1]["cell_id"] == cell


def test_a_cell_of_others_is_not_told(k: K) -> None:
    """
    Who follows one cell hears nothing of the next.
    """
    k.new("others")
    old = fired(k, "others", "echo old")
    await_end(k, "others", old)
    with monitor(k, "others", old) as events:
        assert events.event()["cell_id"] == old
        k.output("others", "echo new")
        k.run("notify", "others", "behind it")

        assert events.event()["status"] == "notify"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_ends_it_well(k: K, number: signal.Signals) -> None:
    """
    SIGINT and SIGTERM are how a monitor is told to stop: status 0.
    """
    k.session("bash")
    with monitor(k, "bash") as events:
        events.process.send_signal(number)

        assert events.statuses() == []
    assert events.process.returncode == 0


# -- the rows


def test_row_51_a_finished_cell_is_told_at_once(k: K) -> None:
    """
    `km S CELL -1` after the end returns at once, before and after the result was collected.
    """
    k.new("r51")
    cell = fired(k, "r51", "echo x")
    await_end(k, "r51", cell)

    uncollected = k.run("r51", cell, "-1", program="km")
    k.json("poll", "r51", cell)
    collected = k.run("r51", "-1", cell, program="km")

    for done in (uncollected, collected):
        assert done.returncode == 0
        assert masked(done.stdout) == (
            '{"cell_id": "C", "session": "r51", "status": "done", "ts": "T"}\n'
        )
        assert json.loads(done.stdout)["cell_id"] == cell


def test_row_51_fire_then_km_is_no_race(k: K) -> None:
    """
    Whether a short cell ends before or after `km` listens, it is told once.
    """
    k.new("race")
    for _ in range(10):
        cell = fired(k, "race", "echo x")

        done = k.run("race", cell, "-1", program="km")

        statuses = [json.loads(line)["status"] for line in done.stdout.splitlines()]
        assert [one for one in statuses if one != "fired"] == ["done"]


def test_row_51_after_the_host_died(agent: Agent) -> None:
    """
    A cell whose result survived its host is told at once, too.
    """
    k = K(agent)
    k.new("r51")
    cell = fired(k, "r51", "echo x")
    await_end(k, "r51", cell)
    slay(agent.pid_of("r51"))

    with follower(k, "r51", cell, "-1", program="km") as events:
        assert events.statuses() == ["done"]


def test_row_51_an_interrupted_cell_is_told_at_once(k: K) -> None:
    """
    Every end is an end: a cell that was interrupted before is told as such.
    """
    k.new("r51i")
    cell = fired(k, "r51i", "read x")
    k.run("int", "r51i")

    done = k.run("r51i", cell, "-1", program="km")

    assert json.loads(done.stdout)["status"] == "interrupted"


def test_row_52_timeout_then_done(k: K) -> None:
    """
    A limit that is passed is an event; the cell runs on, and its end is another.
    """
    k.new("r52t")
    with monitor(k, "r52t") as events:
        late = k.json("run", "-j", "-t", "-1", "r52t", "sleep 0.2")
        seen = [events.event()["status"] for _ in range(3)]

    assert late["status"] == "timeout"
    assert seen == ["fired", "timeout", "done"]


@pytest.mark.parametrize(
    ("limit", "code", "last"), [("-1", SLEEPER, "timeout"), ("20", "read x", "waiting")]
)
def test_row_52_once_ends_when_somebody_has_to_act(k: K, limit: str, code: str, last: str) -> None:
    """
    `-1` ends also when nothing more comes unless somebody acts.
    """
    name = k.new(f"r52a-{last}")
    with monitor(k, name, "-1") as events:
        k.run("run", "-t", limit, name, code)
        assert events.statuses() == ["fired", last]

    k.run("int", name)
    assert events.process.returncode == 0


def test_row_51_a_cell_that_waits_is_told_of_at_once(k: K) -> None:
    """
    Who asks late learns that the cell waits for a person, and for what.
    """
    name = k.new("r51w")
    cell = k.json("run", "-j", name, "read x")["cell_id"]

    told = k.json(name, cell, "-1", program="km")

    k.run("int", name)
    assert (told["status"], told["for"]) == ("waiting", "input")


def test_row_51_a_cell_past_its_limit_is_waited_for(k: K) -> None:
    """
    Of the limit the caller knows: what is waited for now is the end.
    """
    name = k.new("r51t")
    cell = k.json("run", "-j", "-t", "-1", name, "read x")["cell_id"]

    with monitor(k, name, cell, "-1") as events:
        k.run("keys", name, "enter")
        assert events.statuses()[-1] == "done"


@pytest.mark.parametrize("verb", ["run", "fire"])
def test_row_52_interrupted(k: K, verb: str) -> None:
    """
    A cell that was stopped is told as interrupted, whoever waited for it.
    """
    name = k.new(f"r52i-{verb}")
    with monitor(k, name, "-1") as events, k.start(verb, name, SLEEPER):
        await_up(k, name)
        k.run("int", name)

        assert events.statuses() == ["fired", "interrupted"]
    assert events.process.returncode == 0


@pytest.mark.parametrize("verb", ["run", "fire"])
def test_row_52_waiting_says_for_what(k: K, verb: str) -> None:
    """
    A program that asks is an event with `for` before `ts`; the answer lets it end.
    """
    name = k.new(f"r52w-{verb}")
    with monitor(k, name) as events:
        k.run(verb, name, "read -rsp 'word: ' x")
        assert events.event()["status"] == "fired"
        asked = events.line()
        k.agent.ask("secret", id=name, value="x")

        assert events.event()["status"] == "done"
    assert masked(asked) == (
        f'{{"cell_id": "C", "session": "{name}", "status": "waiting", "for": "secret", '
        '"ts": "T"}\n'
    )


@pytest.mark.parametrize("verb", ["run", "fire"])
def test_row_52_exit_ends_cell_and_session(k: K, verb: str) -> None:
    """
    A program that ends gives `exited` for its cell and `closed` for its session, and `km` ends.
    """
    name = k.new(f"r52x-{verb}")
    with monitor(k, name) as events:
        k.run(verb, name, "exit 3")

        assert events.statuses() == ["fired", "exited", "closed"]
    assert events.process.returncode == 0


def test_row_52_kill_closes(k: K) -> None:
    """
    `k kill` ends the running cell and the session, for who watches as well.
    """
    k.new("r52k")
    with monitor(k, "r52k") as events:
        fired(k, "r52k", SLEEPER)
        await_up(k, "r52k")
        k.kill("r52k")

        assert events.statuses() == ["fired", "exited", "closed"]


def test_row_52_incomplete_input_is_an_end(k: K) -> None:
    """
    A command that was not whole ends its cell with `error`.
    """
    k.new("r52e")
    with monitor(k, "r52e", "-1") as events:
        k.run("run", "r52e", "echo 'oops")

        assert events.statuses() == ["fired", "error"]


def test_row_52_a_new_host_is_heard(agent: Agent) -> None:
    """
    Who follows a session hears its cells also after its host died.
    """
    k = K(agent)
    k.new("heir")
    with monitor(k, "heir") as events:
        slay(agent.pid_of("heir"))
        k.output("heir", "echo x")

        assert [events.event()["status"] for _ in range(2)] == ["fired", "done"]


def test_row_52_the_end_of_the_daemon_is_an_error(agent: Agent) -> None:
    """
    A monitor whose daemon was stopped ends and says so: no events can come until another starts.
    """
    k = K(agent)
    k.new("lost")
    with monitor(k, "lost") as events:
        agent.cli("stop", "--keep")

        assert events.statuses() == []
        assert events.process.returncode not in (0, None)
        assert events.process.stderr is not None
        assert "daemon" in events.process.stderr.read()


# -- what we added


def test_all_follows_every_session(k: K) -> None:
    """
    `km --all` tells cells of every session, also of one that is made later, and does not end.
    """
    k.new("all-1")
    with monitor(k, "--all", of="all-1") as events:
        k.output("all-1", "echo x")
        k.new("all-2")
        k.output("all-2", "echo x")
        k.kill("all-1")
        k.run("notify", "all-2", "still here")
        seen = [(one["session"], one["status"]) for one in (events.event() for _ in range(6))]

    assert seen == [
        ("all-1", "fired"),
        ("all-1", "done"),
        ("all-2", "fired"),
        ("all-2", "done"),
        ("all-1", "closed"),
        ("all-2", "notify"),
    ]


def test_all_takes_no_cell(k: K) -> None:
    """
    A cell belongs to a session: `--all` with one is a mistake.
    """
    done = k.run("--all", "0123456789ab", program="km")

    assert (done.returncode, done.stderr) == (1, "unknown arg: 0123456789ab\n")


def test_version(k: K) -> None:
    """
    `km --version` says whose it is.
    """
    assert re.fullmatch(
        r"km \d+\.\d+\.\d+ \(agent-pty\)\n", k.run("--version", program="km").stdout
    )
