"""The same options and words in `k` and `agent-pty`, and several things in one call."""

from __future__ import annotations

import json

import pytest

from support.agent import Agent
from support.k import K

CELL_KEYS = ["cell_id", "status", "output"]


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, with one daemon for this file."""
    return K(shared)


# -- options


@pytest.mark.parametrize(
    "options",
    [["-je", "-t", "5m"], ["-j", "-e", "--timeout", "5m"], ["--json", "-et", "500s"]],
)
@pytest.mark.parametrize("program", ["k", "agent-pty"])
def test_trial_23_options_mean_the_same_in_both_commands(
    k: K, program: str, options: list[str]
) -> None:
    """
    `-t` and `--timeout` take durations, `-j` is `--json`, and `-je` is both flags, in both.
    """
    session = k.session("bash")

    done = k.run("run", *options, session, "echo hi; (exit 3)", program=program)

    said = json.loads(done.stdout)
    assert (said["output"], said["exit_code"], done.returncode) == ("hi", 3, 3), done.stderr


@pytest.mark.parametrize("program", ["k", "agent-pty"])
def test_trial_23_exec_takes_the_same_options(k: K, program: str) -> None:
    """
    `exec -je -t 1m` says JSON and exits as the program did, in both commands.
    """
    done = k.run("exec", "-je", "-t", "1m", "--", "sh", "-c", "echo hi; exit 3", program=program)

    said = json.loads(done.stdout)
    assert (said["output"].strip(), said["exit_code"], done.returncode) == ("hi", 3, 3)


@pytest.mark.parametrize("command", ["list", "status"])
def test_trial_23_j_is_short_for_json_everywhere(k: K, command: str) -> None:
    """
    Every command of `agent-pty` takes `-j`.
    """
    short, long = (k.run(command, flag, program="agent-pty") for flag in ("-j", "--json"))

    assert short.returncode == 0, short.stderr
    assert type(json.loads(short.stdout)) is type(json.loads(long.stdout))


# -- new


@pytest.mark.parametrize("place", ["before", "after"])
def test_trial_23_k_new_takes_directory_environment_and_size(k: K, place: str) -> None:
    """
    They have the names that `agent-pty new` gives them, and stand before or after the session.
    """
    (k.agent.home / "sub dir").mkdir(exist_ok=True)
    where = ["--repo=sub dir"] if place == "before" else ["--repo", f"{k.agent.home}/sub dir"]
    options = [*where, "--env", "A=b c", "--env", "EMPTY=", "--rows", "30", "--cols=100"]
    name = f"sized-{place}"

    done = k.run("new", *([*options, name] if place == "before" else [name, *options]))

    assert done.stdout == f"OK {name}\n", done
    said = k.output(name, 'pwd; echo "$A" "${EMPTY-unset}"; stty size')
    assert said.splitlines() == [f"{k.agent.home}/sub dir", "b c ", "30 100"]


def test_trial_23_k_new_takes_a_program_as_it_is(k: K) -> None:
    """
    After `--` no shell sees the words; a blank, a quote or an option of ours stays what it is.
    """
    words = ["a b", "$HOME", "'", "--rows", "--prompt=x"]
    code = "import sys, code; code.interact(banner=repr(sys.argv[1:]))"

    done = k.run("new", "argv", "--", "python3", "-c", code, *words)

    assert done.returncode == 0, done
    assert repr(words) in k.run("read", "argv").stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--repo", "/tmp"], ""),
        (["x", "--rows"], "--rows needs a value"),
        (["x", "--rows", "many"], "--rows takes a whole number, not 'many'"),
        (["x", "--env", "A"], "--env takes NAME=VALUE, not 'A'"),
        (["x", "--"], "-- must be followed by a program"),
    ],
)
def test_trial_23_a_wrong_option_of_k_new_is_named(k: K, words: list[str], reason: str) -> None:
    """
    The usage comes first, then what is wrong; nothing is started.
    """
    done = k.run("new", *words)

    usage, *said = done.stdout.splitlines()
    assert usage.startswith("usage: k new ")
    assert ("\n".join(said), done.returncode) == (reason, 1)


def test_trial_23_k_new_says_json(k: K) -> None:
    """
    With `-j` the answer is one object: created, alive, or the error.
    """
    created, alive = k.json("new", "-j", "said"), k.json("new", "--json", "said")
    failed = k.json("new", "-j", "nosuch", "--", "/no/such/program")

    assert created == {"session": "said", "status": "created"}
    assert alive == {"session": "said", "status": "alive"}
    assert failed["status"] == "error"
    assert failed["output"].startswith("spawn shell /no/such/program: ")


def test_trial_23_a_word_that_is_no_program_may_be_a_name(shared: Agent) -> None:
    """
    `agent-pty new foo` fails, because foo is no program, and shows how to name a session so.
    """
    done = shared.cli("new", "nosuchprogram")
    named = shared.cli("new", "--name", "x", "--", "nosuchprogram")

    assert "agent-pty new --name nosuchprogram" in done.stderr
    assert "--name" not in named.stderr
    assert done.returncode == named.returncode == 1


# -- kill


def test_trial_23_k_kill_takes_several_names(k: K) -> None:
    """
    Each session is reported on a line of its own; an unknown one is no reason to stop.
    """
    for name in ("ka", "kb"):
        k.new(name)

    done = k.run("kill", "ka", "nobody", "kb", "ka")

    assert done.stdout == "OK killed ka\nERR no session 'nobody'\nOK killed kb\n"
    assert done.returncode == 0
    assert not {"ka", "kb"} & {one["id"] for one in k.agent.ask("list")}


def test_trial_23_agent_pty_kill_takes_several_names(k: K) -> None:
    """
    What can be ended is ended; the status and standard error say what could not.
    """
    for name in ("ka", "kb"):
        k.new(name)

    done = k.agent.cli("kill", "ka", "nobody", "kb")

    assert (done.stdout, done.returncode) == ("killed ka\nkilled kb\n", 1)
    assert "unknown session nobody" in done.stderr
    assert not {"ka", "kb"} & {one["id"] for one in k.agent.ask("list")}


def test_trial_23_agent_pty_kill_says_json_for_each(k: K) -> None:
    """
    With several names the answer is a list, in the order of the names.
    """
    k.new("ka")

    done = k.agent.cli("kill", "-j", "nobody", "ka")

    missing, killed = json.loads(done.stdout)
    assert (missing["id"], missing["code"]) == ("nobody", "unknown_session")
    assert (killed["id"], killed["survivors"]) == ("ka", [])


@pytest.mark.parametrize("program", ["k", "agent-pty"])
def test_trial_23_kill_all_ends_every_session(agent: Agent, program: str) -> None:
    """
    `kill --all` leaves none, and none is no error.
    """
    k = K(agent)
    names = [k.new(name) for name in ("a", "b", "c")]

    first, second = (k.run("kill", "--all", program=program) for _ in range(2))

    ok = "OK " if program == "k" else ""
    assert first.stdout == "".join(f"{ok}killed {name}\n" for name in names), first
    assert (second.stdout, second.returncode) == ("no sessions\n", 0)
    assert agent.ask("list") == []


@pytest.mark.parametrize("words", [[], ["--all", "x"]])
def test_trial_23_kill_needs_names_or_all(shared: Agent, words: list[str]) -> None:
    """
    Neither nothing nor both: it must be clear what is ended.
    """
    done = shared.cli("kill", *words)

    assert done.returncode == 2
    assert "give the names of sessions, or --all" in done.stderr


# -- batch


def test_trial_23_batch_prints_each_steps_result(k: K) -> None:
    """
    Text is printed as it is, after its facts; other answers as JSON, one line each.
    """
    session = k.session("bash")
    steps = [
        {"op": "run", "code": "echo one; echo two"},
        {"op": "run", "code": "(exit 3)"},
        {"op": "resize", "rows": 30, "cols": 100},
    ]

    done = k.agent.cli("batch", session, json.dumps(steps))

    lines = done.stdout.splitlines()
    assert lines[:3] == ["step 0 (run): status=done exit_code=0", "one", "two"]
    assert lines[3] == "step 1 (run): status=done exit_code=3"
    assert lines[4].startswith('step 2 (resize): {"rows": 30, "cols": 100')
    assert (lines[5:], done.returncode) == (["3 step(s) done"], 0)


def test_trial_23_batch_prints_the_steps_before_a_failure(k: K) -> None:
    """
    What was done before the step that failed is not lost.
    """
    session = k.session("bash")
    steps = [{"op": "run", "code": "echo one"}, {"op": "frobnicate"}, {"op": "screen"}]

    done = k.agent.cli("batch", session, json.dumps(steps))

    assert done.stdout == "step 0 (run): status=done exit_code=0\none\n"
    assert done.stderr.startswith("error: step 1 (frobnicate): ")
    assert done.returncode == 1


def test_trial_23_k_batch_runs_several_cells(k: K) -> None:
    """
    The output of each cell is printed in turn; they share the state of the session.
    """
    session = k.session("bash")

    done = k.run("batch", session, "x=1; echo one", "x=$((x + 1))", "echo $x")

    assert (done.stdout, done.stderr, done.returncode) == ("one\n\n2\n", "", 0)


@pytest.mark.parametrize(("options", "status"), [(["-j"], 1), (["-je", "-t", "1m"], 3)])
def test_trial_23_k_batch_stops_at_the_first_failure(k: K, options: list[str], status: int) -> None:
    """
    With `-j` there is one object for each cell that ran, with the keys of `k run`.
    """
    session = k.session("bash")

    done = k.run("batch", *options, session, "echo one", "echo two; (exit 3)", "touch three")

    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (list(first), list(second)) == (CELL_KEYS, [*CELL_KEYS, "exit_code"])
    assert (first["output"], second["output"], second["exit_code"]) == ("one", "two", 3)
    assert done.stderr == "k: step 2 of 3 failed with status 3; 1 not run\n"
    assert done.returncode == status
    assert not (k.agent.home / "three").exists()


def test_trial_23_k_batch_stops_at_a_question_and_at_a_limit(k: K) -> None:
    """
    A cell that waits or takes too long has not succeeded: the next one is not typed into it.
    """
    session = k.session("bash")

    asked = k.run("batch", "-je", session, "read -p 'name? ' name", "echo no")
    k.run("int", session)
    late = k.run("batch", "-je", "-t", "300ms", session, "sleep 60", "echo no")
    k.run("int", session)

    assert (json.loads(asked.stdout)["status"], asked.returncode) == ("waiting", 125)
    assert (json.loads(late.stdout)["status"], late.returncode) == ("timeout", 124)


@pytest.mark.parametrize("words", [["bash"], ["-j", "-t"], ["nosuch", "echo hi"]])
def test_trial_23_k_batch_needs_a_session_and_code(k: K, words: list[str]) -> None:
    """
    One word is never taken for code, and a mistyped session runs nothing.
    """
    done = k.run("batch", *words)

    expected = (
        "no session 'nosuch'" if len(words) == 2 and words[0] == "nosuch" else "usage: k batch"
    )
    assert done.stdout.startswith(expected)
    assert done.returncode == 1
