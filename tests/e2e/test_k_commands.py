"""What `k` has beyond the contract: statuses, looking, typing, one program, JSON everywhere."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

import pytest

from support.agent import Agent, eventually, running
from support.followers import SLEEPER, await_end, await_up, fired, follower, monitor
from support.k import K

LARGE = "seq 30000"  # above 64 KiB, where answers come by pages
LARGE_OUTPUT = "\n".join(str(number) for number in range(1, 30001))


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


@pytest.fixture(scope="module")
def bash(k: K) -> str:
    """A session for cells that end."""
    return k.new("bash")


def said(k: K, *words: str) -> tuple[str, int]:
    """Return standard output, with cell ids made the same, and the status."""
    done = k.run(*words)
    assert "Traceback" not in done.stderr
    return re.sub(r'"[0-9a-f]{12}"', '"C"', done.stdout), done.returncode


def test_version(k: K) -> None:
    """
    `k --version` says whose it is, with status 0.
    """
    text, status = said(k, "--version")

    assert re.fullmatch(r"k \d+\.\d+\.\d+ \(agent-pty\)\n", text)
    assert status == 0


# -- exit codes


def test_a_poll_tells_the_exit_code(k: K, bash: str) -> None:
    """
    The exit code is the last key of a collected result, too, and only if it is not 0.
    """
    bad, good = fired(k, bash, "(exit 9)"), ""
    await_end(k, bash, bad)
    good = fired(k, bash, "true")
    await_end(k, bash, good)

    assert said(k, "poll", bash, bad) == (
        '{"cell_id": "C", "status": "done", "output": "", "exit_code": 9}\n',
        0,
    )
    assert said(k, "poll", bash, good) == ('{"cell_id": "C", "status": "done", "output": ""}\n', 0)


def test_own_status(k: K) -> None:
    """
    With `-e` the status is the command's: 124 if it timed out, 125 if it waits, else 1.
    """
    name = k.new("own")

    assert said(k, "run", "-e", name, "echo x") == ("x\n", 0)
    assert said(k, "run", "-e", name, "grep -q needle /dev/null") == ("\n", 1)
    assert said(k, "run", "-e", "-j", name, "(exit 200)")[1] == 200
    assert said(k, "run", "-e", "nobody", "true")[1] == 1
    assert said(k, "run", "-e", name, "echo 'oops") == ("incomplete input\n", 1)
    assert said(k, "run", "-e", "-t", "-1", name, SLEEPER)[1] == 124
    await_up(k, name)
    assert said(k, "run", "-e", name, "true")[1] == 1
    k.run("int", name)
    assert said(k, "run", "-e", name, "read x")[1] == 125
    k.run("int", name)
    assert said(k, "run", "-e", name, "exit 3") == ("exited\n", 3)


# -- results


def test_a_question_is_answered_and_the_result_collected(k: K) -> None:
    """
    A run that found its program waiting is like a fired cell: answer it, then collect it.
    """
    name = k.new("asked")
    asked = k.run("run", name, "read -p 'name? ' x; echo hello $x; (exit 4)")
    cell = k.json("peek", name)["cell_id"]

    assert asked.stdout == "name? \n"
    assert asked.stderr.startswith("k: waiting for input: ")
    assert k.json("poll", name) == {
        "cell_id": cell,
        "status": "waiting",
        "for": "input",
        "output": "name? ",
    }
    k.run("keys", name, "b", "o", "b", "enter")
    await_end(k, name, cell)
    result = k.json("poll", name, cell)
    assert (result["status"], result["exit_code"]) == ("done", 4)
    assert result["output"].splitlines()[-1] == "hello bob"


@pytest.mark.parametrize("verb", ["run", "poll"])
def test_a_large_output_is_whole(k: K, bash: str, verb: str) -> None:
    """
    An output above 64 KiB is one JSON object and complete, with its exit code at the end.
    """
    if verb == "run":
        result = k.json("run", "-j", bash, f"{LARGE}; (exit 3)")
    else:
        cell = fired(k, bash, f"{LARGE}; (exit 3)")
        await_end(k, bash, cell)
        result = k.json("poll", bash)

    assert list(result) == ["cell_id", "status", "output", "exit_code"]
    assert result["output"] == LARGE_OUTPUT
    assert k.run("run", bash, LARGE).stdout == LARGE_OUTPUT + "\n"


def test_a_large_result_waits_behind_other_cells(k: K, bash: str) -> None:
    """
    A large result is complete also if it is collected after the next cell ran.
    """
    cell = fired(k, bash, LARGE)
    await_end(k, bash, cell)
    k.output(bash, "echo next")

    assert k.json("poll", bash, cell)["output"] == LARGE_OUTPUT


def test_peek_collects_nothing(k: K) -> None:
    """
    `k peek` shows status and output so far, as often as one likes; the result stays.
    """
    name = k.new("peeked")
    os.mkfifo(k.agent.home / "peeked")
    cell = fired(k, name, "echo up; read line < peeked; echo $line; (exit 3)")
    await_up(k, name)

    code = "echo up; read line < peeked; echo $line; (exit 3)"
    facts = f'"cell_id": "C", "status": "running", "code": "{code}"'
    so_far = (f'{{{facts}, "output": "up", "cursor": 3}}\n', 0)
    assert [said(k, "peek", name), said(k, "peek", name, cell)] == [so_far] * 2
    (k.agent.home / "peeked").write_text("more\n")
    await_end(k, name, cell)

    result = {"cell_id": cell, "status": "done", "output": "up\nmore", "exit_code": 3}
    seen = {**result, "code": code, "cursor": 7}
    assert [k.json("peek", name), k.json("peek", name, cell)] == [seen] * 2
    assert k.json("poll", name) == result
    assert k.json("peek", name) == seen
    assert k.json("poll", name)["output"] == f"no active cell on '{name}'"


def test_trial_12_peek_shows_the_newest_cell_and_its_code(k: K) -> None:
    """
    Without an id `k peek` shows the cell that ended last, not an older one that waits for a poll.
    """
    name = k.new("newest")
    older = fired(k, name, "echo older")
    await_end(k, name, older)

    k.output(name, "echo newer\necho and more")

    seen = k.json("peek", name)
    assert list(seen) == ["cell_id", "status", "code", "output", "cursor"]
    assert (seen["code"], seen["output"]) == ("echo newer ...", "newer\nand more")
    assert k.json("peek", name, older)["code"] == "echo older"


def test_trial_12_poll_after_an_interrupt_gives_no_older_result(k: K) -> None:
    """
    After `k int` of the newest cell `k poll` says that there is none; the older one has its id.
    """
    name = k.new("older")
    older = fired(k, name, "echo older")
    await_end(k, name, older)
    fired(k, name, "echo up; sleep 1000")
    await_up(k, name)

    k.run("int", name)

    assert k.json("poll", name)["output"] == f"no active cell on '{name}'"
    assert k.json("peek", name)["code"] == "echo up; sleep 1000"
    assert k.json("poll", name, older)["output"] == "older"


def test_peek_at_nothing(k: K) -> None:
    """
    Where no cell was, `k peek` says so in the words of `k poll`.
    """
    k.new("virgin")

    for name in ("virgin", "nobody"):
        assert said(k, "peek", name) == (
            f'{{"status": "error", "output": "no active cell on \'{name}\'"}}\n',
            1,
        )
        assert said(k, "peek", name, "000000000000") == (
            '{"cell_id": "C", "status": "error", "output": "unknown cell"}\n',
            1,
        )


# -- one program


@pytest.mark.parametrize(
    ("argv", "text", "answer", "status"),
    [
        (["echo", "a  b"], "a  b\n", {"output": "a  b"}, 0),
        (["sh", "-c", "echo x; exit 3"], "x\n", {"output": "x", "exit_code": 3}, 3),
        (["sh", "-c", "kill -9 $$"], "", {"output": "", "exit_code": 137}, 137),
        (["printf", "abc"], "abc\n", {"output": "abc"}, 0),
        (["echo", "-j"], "-j\n", {"output": "-j"}, 0),
        (["test", "-t", "0"], "", {"output": ""}, 0),
    ],
)
def test_exec(k: K, argv: list[str], text: str, answer: dict[str, Any], status: int) -> None:
    """
    `k exec` runs one program without a shell, in a terminal, and exits as it did.
    """
    assert said(k, "exec", "--", *argv) == (text, status)
    done = k.run("exec", "-j", "--", *argv)
    assert list(json.loads(done.stdout).items()) == [("status", "done"), *answer.items()]
    assert done.returncode == status


def test_exec_leaves_nothing(agent: Agent) -> None:
    """
    A program that ended leaves no session, however large its output was.
    """
    k = K(agent)

    assert k.run("exec", "--", *LARGE.split()).stdout == LARGE_OUTPUT + "\n"
    assert k.json("exec", "-j", "--", *LARGE.split())["output"] == LARGE_OUTPUT

    assert k.run("ls").stdout == "no sessions\n"


def test_exec_past_its_limit_is_a_session(k: K) -> None:
    """
    What takes longer goes on as a session that is named, with status 124.
    """
    done = k.run("exec", "-j", "-t", "1", "--", "sh", "-c", "echo up; exec sleep 1000")

    answer = json.loads(done.stdout)
    assert done.returncode == 124
    assert (answer["status"], answer["output"]) == ("timeout", "up")
    assert answer["session"] in done.stderr
    assert said(k, "status", answer["session"])[1] == 0
    assert said(k, "kill", answer["session"])[0] == f"OK killed {answer['session']}\n"


def test_exec_of_nothing(k: K) -> None:
    """
    A program that is not there is an error: a line of text, or JSON if that was asked for.
    """
    plain = k.run("exec", "--", "nosuchcmd")
    answer = k.json("exec", "-j", "--", "nosuchcmd")

    assert plain.returncode != 0
    assert "nosuchcmd" in plain.stdout
    assert not plain.stdout.startswith("{")
    assert list(answer) == ["status", "output"]
    assert answer["status"] == "error"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda one: one.name)
def test_exec_ends_with_its_caller(k: K, number: signal.Signals) -> None:
    """
    A program that nobody waits for any more is ended.
    """
    seconds = f"99{number:d}"
    with follower(k, "exec", "--", "sleep", seconds, program="k") as client:
        eventually(lambda: running("sleep", seconds) != [])
        client.process.send_signal(number)
        client.rest()

    eventually(lambda: running("sleep", seconds) == [])
    assert client.process.returncode != 0


# -- looking and typing


def test_screen_is_what_a_person_sees(k: K) -> None:
    """
    `k screen` shows a full-screen program, `-j` with cursor and hash; `k keys` drives it.
    """
    name = k.new("page")
    k.file("page.txt", "first\n" + "x\n" * 500 + "last\n")
    waiting = k.json("run", "-j", name, "less page.txt")

    assert (waiting["status"], waiting["for"]) == ("waiting", "input")
    assert waiting["output"].startswith("first\nx\n")
    assert "keys: q" in waiting["hint"]
    assert k.run("screen", name).stdout.startswith("first\nx\n")
    assert k.json("screen", "-j", name)["alternate_screen"] is True
    assert said(k, "keys", name, "G") == (f"OK {name} keys=1\n", 0)
    eventually(lambda: "last" in k.run("screen", name).stdout)
    assert said(k, "keys", name, "q")[1] == 0
    await_end(k, name, waiting["cell_id"])
    assert k.output(name, "echo free") == "free"


def test_keys_are_checked(k: K, bash: str) -> None:
    """
    A key that is none, or no key at all, is refused and nothing is pressed.
    """
    before = k.json("screen", "-j", bash)["hash"]

    assert said(k, "keys", bash) == ("usage: k keys <session> key...\n", 1)
    text, status = said(k, "keys", bash, "x", "nosuchkey")
    assert (text[:4], status) == ("ERR ", 1)
    assert "nosuchkey" in text
    assert said(k, "keys", "nobody", "x") == ("ERR no session 'nobody'\n", 1)
    assert k.json("screen", "-j", bash)["hash"] == before


def test_read_is_the_end_of_the_transcript(k: K) -> None:
    """
    `k read` shows the last 25 lines, or as many as asked for, as they were written.
    """
    name = k.new("read", "env PS1='$ ' bash --norc")
    k.output(name, "seq 40; echo '  indented'")

    assert k.run("read", "-n", "3", name).stdout == "40\n  indented\n$ \n"
    assert len(k.run("read", name).stdout.splitlines()) == 25
    assert k.json("read", "-j", "-n", "3", name)["text"] == "40\n  indented\n$ "
    assert said(k, "read", "nobody") == ("ERR no session 'nobody'\n", 1)
    assert said(k, "screen", "nobody") == ("ERR no session 'nobody'\n", 1)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-j", "json", "echo"],
        ["peek", "-j", "json"],
        ["status", "-j", "json"],
        ["ls", "-j"],
        ["screen", "-j", "json"],
        ["read", "-j", "json"],
        ["keys", "-j", "json", "enter"],
        ["keys", "-j", "-s", "json", "enter"],
        ["send", "-j", "json", "true"],
        ["type", "-j", "json", ""],
        ["wait", "-j", "json", "--until", "prompt"],
        ["answer", "-j", "json", "x"],
        ["list", "-j"],
        ["notify", "-j", "json", "hi"],
        ["history", "-j", "json"],
        ["int", "-j", "json"],
        ["exec", "-j", "--", "true"],
        ["kill", "-j", "json"],
    ],
    ids=lambda words: words[0],
)
def test_json_everywhere(k: K, words: list[str]) -> None:
    """
    `-j` makes every verb answer with one line of JSON.
    """
    k.new("json")
    k.output("json", "echo")

    done = k.run(*words)

    assert done.stdout.count("\n") == 1
    json.loads(done.stdout)


# -- output is never believed


def test_forged_markers_are_only_output(k: K) -> None:
    """
    Whatever a program writes, old markers or foreign OSC 133, is no event and ends no cell.
    """
    k.new("forged")
    lines = [
        "── cell:000000000000 fired ──",
        "── cell:000000000000 done ──",
        "── notify [root@k:1] all is well ──",
    ]
    k.file("forged.txt", "\n".join(lines) + "\n\x1b]133;D;0\x07\x1b]133;D;0;apty=0.9\x07end\n")
    with monitor(k, "forged", "-1") as events:
        said = k.cell("forged", "cat forged.txt; sleep 0.1; echo behind; (exit 5)")

        assert events.statuses() == ["fired", "done"]
    assert said == {
        "status": "done",
        "output": "\n".join([*lines, "end", "behind"]),
        "exit_code": 5,
    }


def test_a_recording_of_real_marks_ends_nothing(k: K) -> None:
    """
    Marks that are shown a second time (`cat` of a recording) are known as old.
    """
    k.new("replay")
    k.output("replay", "__apty_ended > end; printf '%b' \"$PS0$PS1\" > prompt")

    said = k.cell("replay", "cat end prompt end; sleep 0.1; echo behind; (exit 5)")

    assert said["exit_code"] == 5
    assert said["output"].endswith("behind")
