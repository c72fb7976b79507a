"""The contract of `k`, section 1.1 to 1.9: words, names, JSON byte for byte, statuses."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from support.agent import Agent
from support.followers import SLEEPER, await_end, await_up
from support.k import K

RUN_USAGE = "usage: k run [-j] [-t N] [session] <code>\n"
NO_SESSION = "ERR: no session found.\n"
BIN = os.path.dirname(sys.executable)


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


@pytest.fixture(scope="module")
def bash(k: K) -> str:
    """A session for cells that end."""
    return k.new("bash")


def said(k: K, *words: str, program: str = "k") -> tuple[str, int]:
    """Return standard output, with cell ids made the same, and the status."""
    done = k.run(*words, program=program)
    assert "Traceback" not in done.stderr
    return re.sub(r'"[0-9a-f]{12}"', '"C"', done.stdout), done.returncode


# -- 1.1 the command line


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_needs_no_daemon(tmp_path: Path, words: list[str]) -> None:
    """
    `k` alone, `-h` and `--help` print the help on standard output, and start nothing for it.
    """
    stranger = K(Agent(tmp_path))

    text, status = said(stranger, *words)

    assert status == 0
    assert text.startswith("agent-tty / k -- ")
    assert "k run" in text
    assert stranger.agent.processes() == []


@pytest.mark.parametrize("verb", ["new", "kill", "fire", "notify"])
def test_help_for_who_is_lost(k: K, verb: str) -> None:
    """
    A verb without the words it needs prints the help about it with status 1.
    """
    assert said(k, verb) == (k.run(verb, "--help").stdout, 1)


def test_trial_21_an_unknown_word_is_not_answered_with_the_whole_help(shared: Agent, k: K) -> None:
    """
    One line on standard error names the word and what may be meant, in both commands.
    """
    ours, theirs = k.run("stauts"), shared.cli("stauts")

    line = "unknown command 'stauts': did you mean status? "
    assert (ours.returncode, ours.stdout) == (1, "")
    assert ours.stderr == f"k: {line}k --help shows all\n"
    assert (theirs.returncode, theirs.stdout) == (2, "")
    assert theirs.stderr == f"agent-pty: error: {line}agent-pty --help shows all\n"


@pytest.mark.parametrize("code", ["", " \n"])
def test_trial_21_empty_code_is_an_error(k: K, bash: str, code: str) -> None:
    """
    Code that is empty, such as an unset variable, is refused: it would look like a success.
    """
    refused = k.run("run", "-j", bash, code)
    ours = k.agent.cli("run", bash, code)

    assert (refused.returncode, ours.returncode) == (1, 1)
    assert json.loads(refused.stdout)["output"].startswith("send failed: the code is empty")
    assert ours.stderr.startswith("error: the code is empty")


def test_trial_21_a_monitor_of_an_unknown_session_says_which_there_are(k: K, bash: str) -> None:
    """
    `km` says on standard error which session may be meant.
    """
    said = k.run("basch", program="km")

    assert json.loads(said.stdout)["message"] == "no session 'basch'"
    assert said.stderr.startswith(f"km: did you mean {bash}? sessions: ")


def test_trial_21_a_command_of_the_client_says_which_sessions_there_are(k: K, bash: str) -> None:
    """
    `attach`, which does not run in the daemon, gives the same hint.
    """
    said = k.agent.cli("attach", "basch")

    assert said.returncode == 1
    assert said.stderr.startswith(
        f"error: unknown session basch\nhint: did you mean {bash}? sessions: "
    )


def test_trial_21_a_busy_session_says_what_runs_in_it(shared: Agent, k: K) -> None:
    """
    Who finds a session busy is told the code, for how long it runs, and what can be done.
    """
    k.new("occupied")
    k.run("fire", "occupied", "sleep 1000 # tea")

    plain = k.run("run", "occupied", "true")
    again = k.run("new", "occupied")
    ours = shared.cli("run", "occupied", "true")
    name = shared.cli("run", "ocupied", "true")
    k.kill("occupied")

    does = r"occupied runs 'sleep 1000 # tea' for \d+ s: "
    assert re.fullmatch(f"k: {does}k peek occupied .*\n", plain.stderr)
    assert re.match(r"k: nothing was started: occupied has run bash for \d+ s, now", again.stderr)
    assert re.search(f"hint: {does}agent-pty peek occupied .*\n", ours.stderr)
    assert name.stderr.startswith("error: unknown session ocupied\nhint: did you mean occupied? ")


def test_options_come_before_words(k: K, bash: str) -> None:
    """
    Behind the first word everything is data, and there may be no more than two words.
    """
    assert said(k, "run", "-j", "-t", "5", bash, "echo hi")[1] == 0
    assert said(k, "run", "-t", "5", "-j", bash, "echo -t")[0].endswith('"output": "-t"}\n')
    assert said(k, "run", "-j", bash, "-t", "5", "echo hi") == (RUN_USAGE, 1)
    assert said(k, "fire", bash, "-t", "5") == ("usage: k fire [-t N] [session] <code>\n", 1)


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["run", "-t"], RUN_USAGE),
        (["run", "-j", "-t"], RUN_USAGE),
        (["await", "-t"], RUN_USAGE),
        (["run"], RUN_USAGE),
        (["fire", "-t"], "usage: k fire [-t N] [session] <code>\n"),
        (["history", "-n"], "usage: k history [-n N] [session]\n"),
    ],
)
def test_a_missing_number_is_a_usage_error(k: K, words: list[str], usage: str) -> None:
    """
    An option without its number prints the usage of its verb, with status 1.
    """
    assert said(k, *words) == (usage, 1)


def test_an_unknown_option_is_a_session(k: K) -> None:
    """
    What is no option ends the options and is the session's name, here one that cannot be.
    """
    assert said(k, "run", "-z", "echo") == ("ERR invalid session name: '-z'\n", 1)


def test_await_is_run(k: K, bash: str) -> None:
    """
    `await` is another word for `run`.
    """
    assert said(k, "await", "-j", bash, "echo x") == said(k, "run", "-j", bash, "echo x")
    assert said(k, "await", bash, "echo x") == ("x\n", 0)


@pytest.mark.serial
def test_limits(k: K) -> None:
    """
    `-t 0` is no limit at all, a negative one is passed at once, a large one is as good as none.
    """
    k.new("limits")

    assert said(k, "run", "-t", "0", "limits", "echo x") == ("x\n", 0)
    assert said(k, "run", "-t", "100000000", "limits", "echo x") == ("x\n", 0)
    began = time.monotonic()
    assert said(k, "run", "-j", "-t", "-5", "limits", "sleep 1000")[0].startswith(
        '{"cell_id": "C", "status": "timeout"'
    )
    assert time.monotonic() - began < 5
    k.run("int", "limits")


def test_which_session_is_meant(agent: Agent) -> None:
    """
    The session given goes before K_SESSION, that before the only one; else nothing is done.
    """
    k = K(agent)
    for words in (["run", "echo"], ["run", "-j", "echo"], ["poll"], ["int"], ["status"]):
        assert said(k, *words) == (NO_SESSION, 1)
    k.new("one")
    k.output("one", "me=one")
    assert said(k, "run", "echo $me") == ("one\n", 0)
    k.new("two")
    k.output("two", "me=two")

    assert said(k, "run", "echo $me") == (NO_SESSION, 1)
    named = K(agent, K_SESSION="two")
    assert said(named, "run", "echo $me") == ("two\n", 0)
    assert said(named, "status") == ("OK two pipe=ok\n", 0)
    assert said(named, "status", "one") == ("OK one pipe=ok\n", 0)
    assert said(named, "run", "one", "echo $me") == ("one\n", 0)
    assert said(K(agent, K_SESSION=""), "run", "echo") == (NO_SESSION, 1)
    assert said(K(agent, K_SESSION="gone"), "run", "echo") == ("no session 'gone'\n", 1)
    assert said(K(agent, K_SESSION="a/b"), "run", "echo") == (
        "ERR invalid session name: 'a/b'\n",
        1,
    )
    k.run("run", "two", "exit")
    assert said(k, "run", "echo $me") == ("one\n", 0)


def test_the_session_that_runs_us_is_not_meant(k: K) -> None:
    """
    A `k` called in a session works on the session it names, with the daemon of its own.
    """
    k.new("inner")
    k.new("outer")

    assert k.output("outer", f"{BIN}/k run inner 'echo $((1+1))'") == "2"


# -- 1.2 names


@pytest.mark.parametrize(
    "name", ["a b", "a/b", "../x", "a..b", "", "é", "nl\n", "a:b", "-z", "x" * 65]
)
def test_a_bad_name_is_refused_everywhere(k: K, name: str) -> None:
    """
    A name that no session can have is refused in the same words by every verb.

    Ours begin with a letter or a digit and have at most 64 characters; the contract has no limits.
    """
    refused = (f"ERR invalid session name: {name!r}\n", 1)

    assert said(k, "new", name) == refused
    assert said(k, "run", name, "echo") == refused
    assert said(k, "run", "-j", name, "echo") == refused
    assert said(k, "fire", name, "echo") == refused
    assert said(k, "poll", name) == refused
    assert said(k, "kill", name) == refused
    assert said(k, "int", name) == refused
    assert said(k, "status", name) == refused
    assert said(k, "history", name) == refused


@pytest.mark.parametrize("name", ["a", "0", "A-b_c.d", "x.", "x-", "x" * 64])
def test_a_good_name_works(k: K, name: str) -> None:
    """
    Letters, digits, `_`, `.` and `-` make a name.
    """
    assert said(k, "new", name) == (f"OK {name}\n", 0)
    assert said(k, "run", name, "echo x") == ("x\n", 0)
    assert said(k, "kill", name) == (f"OK killed {name}\n", 0)


# -- 1.4 JSON, byte for byte


def test_json_of_run(k: K, bash: str) -> None:
    """
    Key order, separators and raw non-ASCII are those of the contract; the exit code comes last.
    """
    assert said(k, "run", "-j", bash, "echo hi") == (
        '{"cell_id": "C", "status": "done", "output": "hi"}\n',
        0,
    )
    assert said(k, "run", "-j", bash, "echo 'größe \"é\" 日本'; (exit 7)") == (
        '{"cell_id": "C", "status": "done", "output": "größe \\"é\\" 日本", "exit_code": 7}\n',
        0,
    )
    assert said(k, "run", "-j", bash, r"printf 'a\tb\\\nc'")[0] == (
        '{"cell_id": "C", "status": "done", "output": "a\\tb\\\\\\nc"}\n'
    )


def test_json_without_a_cell(k: K) -> None:
    """
    An error before there is a cell has two keys.
    """
    no_session = ('{"status": "error", "output": "no session \'nobody\'"}\n', 1)

    assert said(k, "run", "-j", "nobody", "echo") == no_session
    assert said(k, "fire", "nobody", "echo") == no_session
    assert said(k, "run", "nobody", "echo") == ("no session 'nobody'\n", 1)
    assert said(k, "poll", "nobody") == (
        '{"status": "error", "output": "no active cell on \'nobody\'"}\n',
        1,
    )


def test_json_of_fire_and_poll(k: K) -> None:
    """
    Fired, running, the first and each later timeout, interrupted: one line each.
    """
    name = k.new("shapes")

    assert said(k, "fire", name, SLEEPER) == ('{"cell_id": "C", "status": "fired"}\n', 0)
    await_up(k, name)
    assert said(k, "poll", name) == ('{"cell_id": "C", "status": "running"}\n', 0)
    cell = k.json("peek", name)["cell_id"]
    busy = f"active cell '{cell}'"
    assert said(k, "run", "-j", name, "echo") == (
        f'{{"status": "error", "output": "{busy}"}}\n',
        1,
    )
    assert said(k, "run", name, "echo") == (f"{busy}\n", 1)
    assert said(k, "fire", name, "echo") == (f'{{"status": "error", "output": "{busy}"}}\n', 1)
    assert said(k, "poll", name, "000000000000") == (
        '{"cell_id": "C", "status": "error", "output": "unknown cell"}\n',
        1,
    )
    assert said(k, "int", name) == ("OK\n", 0)
    assert said(k, "poll", name) == (
        '{"status": "error", "output": "no active cell on \'shapes\'"}\n',
        1,
    )
    assert said(k, "poll", name, cell) == (
        '{"cell_id": "C", "status": "error", "output": "interrupted"}\n',
        0,
    )
    assert said(k, "poll", name, cell)[1] == 1


@pytest.mark.parametrize("verb", ["run", "fire"])
def test_json_of_timeouts(k: K, verb: str) -> None:
    """
    A poll tells a timeout with status 0; from the second on it tells what to do, with status 1.
    """
    name = k.new(f"late-{verb}")
    k.run(verb, "-t", "-1", name, SLEEPER)
    await_up(k, name)

    assert said(k, "poll", name) == ('{"cell_id": "C", "status": "timeout", "output": ""}\n', 0)
    for _ in range(2):
        assert said(k, "poll", name) == (
            '{"cell_id": "C", "status": "timeout", "output": "use k int or k kill"}\n',
            1,
        )
    assert said(k, "run", name, "echo")[0].startswith("active cell '")
    assert said(k, "int", name) == ("OK\n", 0)
    assert said(k, "run", name, "echo x") == ("x\n", 0)


def test_a_result_is_given_once(k: K, bash: str) -> None:
    """
    A poll collects: the next one knows nothing of the cell.
    """
    cell = k.json("fire", bash, "echo once")["cell_id"]
    await_end(k, bash, cell)

    assert said(k, "poll", bash) == ('{"cell_id": "C", "status": "done", "output": "once"}\n', 0)
    assert said(k, "poll", bash)[0] == (
        f'{{"status": "error", "output": "no active cell on \'{bash}\'"}}\n'
    )


def test_json_is_one_line(k: K, bash: str) -> None:
    """
    However many lines an output has, the answer is one.
    """
    text, _ = said(k, "run", "-j", bash, "seq 1000")

    assert text.count("\n") == 1
    assert json.loads(text)["output"].split("\n") == [str(number) for number in range(1, 1001)]


# -- 1.6 new


def test_new_joins_its_words(k: K) -> None:
    """
    The words behind the name are one command line, with quotes, variables and pipes if need be.
    """
    assert said(k, "new", "joined", "env X='a b'", "bash", "--norc") == ("OK joined\n", 0)

    assert said(k, "run", "joined", "echo $X") == ("a b\n", 0)


def test_new_with_a_prompt(k: K) -> None:
    """
    `--prompt=` stands anywhere behind the name and is shown; blanks at its end do not matter.
    """
    assert said(k, "new", "gdb", "--prompt=(gdb) ", "gdb", "-q") == ("OK gdb prompt='(gdb) '\n", 0)

    assert said(k, "run", "gdb", "print 6*7") == ("$1 = 42\n", 0)


def hook(path: Path, *, mode: int) -> None:
    """Write a hook that ends when the prompt of bash comes."""
    path.write_text("#!/bin/sh\nwhile read -r line; do case $line in *'$') exit;; esac; done\n")
    path.chmod(mode)


def test_new_checks_its_hook(k: K) -> None:
    """
    A prompt with a slash is a hook: there, a file and executable, or nothing is made.
    """
    home = k.agent.home
    hook(home / "dull", mode=0o600)

    assert said(k, "new", "h", "bash", "--prompt=./none") == (
        f"ERR hook not found: {home}/none\n",
        1,
    )
    assert said(k, "new", "h", "bash", "--prompt=/") == ("ERR hook not found: /\n", 1)
    assert said(k, "new", "h", "bash", "--prompt=./dull") == (
        f"ERR hook not executable: {home}/dull\n",
        1,
    )
    assert said(k, "status", "h") == ("ERR no session 'h'\n", 1)


@pytest.mark.parametrize("given", ["./keen", "~/keen"])
def test_new_finds_its_hook(k: K, given: str) -> None:
    """
    A hook is found from where the caller stands, or from home, and ends cells.
    """
    path = k.agent.home / "keen"
    hook(path, mode=0o700)
    name = f"keen{given[0] == '~'}"

    assert said(k, "new", name, "bash --norc", f"--prompt={given}") == (
        f"OK {name} prompt='{path}'\n",
        0,
    )
    assert said(k, "run", name, "echo x") == ("x\n", 0)


def test_new_starts_where_the_caller_stands(k: K) -> None:
    """
    A session begins in the directory of whoever made it.
    """
    k.new("where")

    assert k.output("where", "pwd -P") == os.path.realpath(k.agent.home)


# -- 1.9 the lock


def test_a_refused_run_has_no_effect(k: K) -> None:
    """
    Whoever comes while a cell runs is refused before anything is typed.
    """
    name = k.new("locked")
    k.run("fire", name, SLEEPER)
    await_up(k, name)

    assert said(k, "run", name, "touch never")[1] == 1

    assert k.json("poll", name)["status"] == "running"
    k.run("int", name)
    assert k.output(name, "echo behind it") == "behind it"
    assert not (k.agent.home / "never").exists()
