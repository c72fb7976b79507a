"""Answers that are bounded and complete: `k -m`, K_MAX, `peek --since`, `--max-tokens`."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from support.agent import Agent, eventually
from support.k import K
from support.person import human

LINES = 100_000
NUMBERS = "".join(f"{number}\n" for number in range(1, LINES + 1))
BOUND = 2000


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, outside of agent mode."""
    return K(shared)


@pytest.fixture(scope="module")
def bounded(shared: Agent) -> K:
    """The command in an agent's environment."""
    return K(shared, K_MAX=str(BOUND))


@pytest.fixture(scope="module")
def bash(k: K) -> str:
    """A session with a shell."""
    return k.new("bash")


def assert_ends_of_numbers(text: str) -> int:
    """Check that *text* is both ends of the numbers; return how many lines it says are missing."""
    lines = text.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("[..."))
    before, after = lines[:at], lines[at + 1 :]
    assert before == NUMBERS.splitlines()[: len(before)]
    assert after == NUMBERS.splitlines()[-len(after) :]
    assert before
    missing = int(lines[at].split()[1])
    assert missing == LINES - len(before) - len(after)
    return missing


def test_trial_19_k_max_bounds_every_run(bounded: K, bash: str) -> None:
    """
    With K_MAX an answer has its beginning, its end, the number of lines between, and the file.
    """
    done = bounded.run("run", "-j", bash, f"seq {LINES}")
    said = json.loads(done.stdout)

    assert len(done.stdout.encode()) <= BOUND
    assert list(said) == ["cell_id", "status", "output", "left_out", "path"]
    assert said["left_out"] == assert_ends_of_numbers(said["output"])
    assert Path(said["path"]).read_text() == NUMBERS.removesuffix("\n")


def test_trial_19_plain_text_is_bounded_as_well(k: K, bash: str) -> None:
    """
    `-m` does the same for one call, also in plain words; the line between names the file.
    """
    text = k.run("run", "-m", "600", bash, f"seq {LINES}").stdout

    assert len(text.encode()) <= 600
    assert_ends_of_numbers(text)
    path = text.partition("all of it: ")[2].partition(" ...]")[0]
    assert Path(path).read_text() == NUMBERS.removesuffix("\n")


def test_trial_19_outside_of_agent_mode_nothing_is_bounded(k: K, bounded: K, bash: str) -> None:
    """
    Without K_MAX, and with `-m 0`, all is said as ever; so is in agent mode what fits.
    """
    whole = {"status": "done", "output": NUMBERS.removesuffix("\n")}

    assert k.cell(bash, f"seq {LINES}") == whole
    unbounded = bounded.json("run", "-m", "0", "-j", bash, f"seq {LINES}")
    assert unbounded == {"cell_id": unbounded["cell_id"], **whole}
    assert bounded.cell(bash, "echo short") == {"status": "done", "output": "short"}


def test_trial_19_a_timeout_carries_the_output_so_far(bounded: K, k: K) -> None:
    """
    In agent mode a timeout has what was written in `so_far`, and `poll` the cell's code.
    """
    name = k.new("timeout")
    os.mkfifo(k.agent.home / "gate-19")
    code = "echo part; cat gate-19; (exit 3)"

    first = bounded.json("run", "-j", "-t", "1", name, code)
    cell = first["cell_id"]
    facts = {"cell_id": cell, "status": "timeout", "output": ""}
    assert first == {**facts, "so_far": "part", "cursor": 5}
    assert bounded.json("poll", name) == {**facts, "code": code, "so_far": "part", "cursor": 5}
    again = bounded.json("poll", name)
    assert again["output"] == "use k int or k kill"
    assert (again["so_far"], again["code"]) == ("part", code)
    assert k.json("poll", name) == {**facts, "output": "use k int or k kill"}
    (k.agent.home / "gate-19").write_text("opened\n")

    done = bounded.collect(name, cell)
    assert list(done.items()) == [
        ("cell_id", cell),
        ("status", "done"),
        ("output", "part\nopened"),
        ("exit_code", 3),
        ("code", code),
    ]


def test_trial_19_in_plain_words_a_timeout_has_its_output(bounded: K, k: K) -> None:
    """
    In agent mode the output so far is on standard output, the advice on standard error.
    """
    name = k.new("plain-timeout")
    os.mkfifo(k.agent.home / "gate-plain")

    done = bounded.run("run", "-t", "1", name, "echo part; cat gate-plain")

    assert done.stdout == "part\n"
    assert "timed out" in done.stderr
    k.run("int", name)


def test_trial_19_a_program_that_ended_has_said_why(bounded: K, k: K) -> None:
    """
    In agent mode also an error carries what was written before it.
    """
    name = k.new("ends")

    said = bounded.cell(name, "echo reason; exec sh -c 'exit 4'")

    assert said == {"status": "error", "output": "exited", "exit_code": 4, "so_far": "reason"}


def test_trial_19_peek_is_bounded_in_any_case(k: K) -> None:
    """
    What a program writes without end is peeked at in 8000 bytes, with the number of lines.
    """
    name = k.new("endless")
    k.json("fire", name, "yes")
    eventually(lambda: k.json("peek", name).get("left_out", 0) > LINES)

    text = k.run("peek", name).stdout
    seen = json.loads(text)

    assert len(text.encode()) <= 8000
    assert seen["output"].startswith("y\ny\n")
    assert seen["output"].endswith("\ny")
    with open(seen["path"], "rb") as file:
        assert file.read(4) == b"y\ny\n"
    k.run("int", name)


def test_trial_19_peek_goes_on_at_a_cursor(k: K) -> None:
    """
    `--since` shows only what follows a cursor, an unfinished line as a whole; twice the same.
    """
    name = k.new("follow")
    gate = k.agent.home / "gate-follow"
    os.mkfifo(gate)
    cell = k.json("fire", name, "echo one; printf 50%%; cat gate-follow; echo three")["cell_id"]
    eventually(lambda: k.json("peek", name).get("output") == "one\n50%")

    first = k.json("peek", name)
    since = str(first["cursor"])
    again = [k.json("peek", "--since", since, name) for _ in range(2)]
    gate.write_text("\r100%\ntwo\n")
    eventually(lambda: k.json("peek", name)["status"] == "done")
    rest = k.json("peek", "--since", since, name, cell)

    assert list(first)[-1] == "cursor"
    assert again == [{**first, "output": "50%"}] * 2
    assert rest["output"] == "100%\ntwo\nthree"
    last = str(rest["cursor"])
    assert k.json("peek", "--since", last, name, cell) == {**rest, "output": ""}
    assert json.loads(k.agent.cli("peek", name, "--since", since, "--json").stdout)["output"] == (
        "100%\ntwo\nthree"
    )


def test_trial_19_peek_by_id_is_the_same_after_a_poll(k: K, bash: str) -> None:
    """
    Who asks for a cell twice gets the same, whether or not its result was collected meanwhile.
    """
    cell = k.json("fire", bash, "echo kept")["cell_id"]
    eventually(lambda: k.json("peek", bash, cell)["status"] == "done")
    before = k.json("peek", bash, cell)
    k.json("poll", bash, cell)

    assert k.json("peek", bash, cell) == before


def test_trial_19_other_words_are_bounded_too(bounded: K, k: K, bash: str) -> None:
    """
    `read`, `history`, `screen`, `ls` and `exec` keep to the bound, as text and as JSON.
    """
    k.run("run", bash, f"seq {LINES}")
    lines = ("-m", "400", "-n", "400")
    for words in (
        ["read", *lines, bash],
        ["history", *lines, bash],
        ["screen", "-m", "400", bash],
        ["ls", "-m", "256"],
        ["exec", "-m", "400", "--", "seq", "1000"],
    ):
        text = bounded.run(*words).stdout
        said = bounded.run(words[0], "-j", *words[1:]).stdout

        assert len(text.encode()) <= 400, words
        assert text.strip(), words
        json.loads(said)
        assert len(said.encode()) <= 400, words


def test_trial_19_what_exec_left_out_can_be_read(bounded: K) -> None:
    """
    The command in a cut answer of `exec` prints exactly what is missing there.
    """
    done = bounded.json("exec", "-j", "-m", "400", "--", "seq", "1000")
    before, _, after = done["output"].partition("\n[... ")
    command = shlex.split(after.partition("; ")[2].partition(" ...]")[0])

    middle = bounded.agent.cli(*command[1:]).stdout

    assert command[0] == "agent-pty"
    assert done["left_out"] == middle.count("\n")
    end = after.partition("]\n")[2]
    assert f"{before}\n{middle}{end}".split() == [str(number) for number in range(1, 1001)]
    bounded.kill(done["session"])


@pytest.mark.parametrize("value", ["much", "-5", "10"])
def test_trial_19_a_bound_that_is_none_is_refused(k: K, bash: str, value: str) -> None:
    """
    A bound that is no number, or too small for a note, is refused with the value and the remedy.
    """
    wrong = K(k.agent, K_MAX=value).run("read", bash)

    assert wrong.returncode == 1
    assert "K_MAX" in wrong.stdout
    assert value in wrong.stdout
    assert "bytes" in wrong.stdout


# -- agent-pty


def test_trial_19_max_tokens_hold_with_json(shared: Agent) -> None:
    """
    A budget is for the whole object; the last line is in it, and the file with everything.
    """
    shared.new("json")

    text = shared.cli("run", "json", f"seq {LINES}", "--max-tokens", "100", "--json").stdout
    cell = json.loads(text)

    assert len(text.encode()) <= 300
    assert cell["output"].endswith(f"\n{LINES}")
    assert cell["left_out"] == assert_ends_of_numbers(cell["output"])
    assert Path(cell["path"]).read_text() == NUMBERS.removesuffix("\n")


def test_trial_19_a_budget_names_real_cursors(shared: Agent) -> None:
    """
    The command in a cut answer of `read` prints exactly the text that is missing there.
    """
    shared.new("cursors")
    shared.ask("run", id="cursors", code="printf '50%%\\r100%%\\n'; seq 3000")
    whole = shared.transcript("cursors")

    text = shared.cli("read", "cursors", "--max-tokens", "100").stdout
    note = next(line for line in text.splitlines() if line.startswith("[..."))
    command = shlex.split(note.partition("; ")[2].removesuffix(" ...]"))
    middle = shared.cli(*command[1:]).stdout

    assert len(text.encode()) <= 300
    assert text.replace(f"{note}\n", middle) == whole
    page = json.loads(shared.cli("read", "cursors", "--max-tokens", "150", "--json").stdout)
    assert page["left_out"] > 2000
    assert len(page["text"]) < 450


def test_trial_19_screens_and_waits_keep_to_a_budget(shared: Agent) -> None:
    """
    With a budget the keys of a screen stay, its lists and texts are cut, and it says so.
    """
    shared.new("screens")
    shared.ask("run", id="screens", code=f"seq {LINES}")

    for words in (
        ("screen", "screens"),
        ("wait", "screens", "--until", "prompt"),
        ("wait", "screens", "--until", "never-seen", "--timeout", "0s"),
    ):
        text = shared.cli(*words, "--json", "--max-tokens", "500").stdout
        answer = json.loads(text)

        assert len(text.encode()) <= 1500, words
        assert answer["left_out"], words
        assert str(LINES) in text, words


def test_trial_19_json_is_one_compact_line_for_programs(shared: Agent) -> None:
    """
    Keys and nulls of the contract stay, our own empty fields go, and there is no blank to pay for.
    """
    shared.new("compact")

    listed = shared.cli("list", "--json").stdout
    cell = shared.cli("run", "compact", "true", "--json").stdout
    screen = shared.cli("screen", "compact", "--format", "json").stdout
    page = shared.cli("read", "compact", "--json").stdout

    for text in (listed, cell, screen, page):
        assert text.count("\n") == 1
        assert json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) in text
    session = next(one for one in json.loads(listed) if one["id"] == "compact")
    assert session["tmux_session"] is None
    assert "lost_at" not in session
    assert json.loads(cell)["output"] == ""
    assert not {"hint", "error", "path", "for", "lost"} & set(json.loads(cell))
    assert "spans" in json.loads(screen)
    assert not {"links", "clipboard", "title"} & set(json.loads(screen))
    assert "gap" not in json.loads(page)


def test_trial_19_json_is_indented_on_a_terminal(shared: Agent) -> None:
    """
    A person who reads JSON on a terminal gets it in lines.
    """
    shared.new("person")

    with human(shared, "list", "--json") as person, human(shared, "doctor", "--json") as other:
        person.gets(b'  {\r\n    "id": "')
        other.gets(b'{\r\n  "ok": ')


def test_trial_19_a_reply_is_bounded(bounded: K, k: K) -> None:
    """
    `k answer` in agent mode has both ends of what is new; the file has the whole output.
    """
    name = k.new("reply")
    assert bounded.json("run", "-j", name, f"read -p 'how many? ' x; seq {LINES}")["for"] == "input"

    done = bounded.run("answer", "-j", name, "many")
    said = json.loads(done.stdout)

    assert len(done.stdout.encode()) <= BOUND
    assert list(said) == ["cell_id", "status", "output", "left_out", "path"]
    assert said["left_out"] == assert_ends_of_numbers(said["output"])
    assert Path(said["path"]).read_text().endswith(NUMBERS.removesuffix("\n"))


def test_trial_19_a_server_goes_on_from_its_cursor(bounded: K, k: K) -> None:
    """
    What `run -u` of agent mode calls its cursor is where `peek --since` goes on.

    If the kernel delivers the end of the matching line later, that line comes again, as a whole.
    """
    name = k.new("server")
    os.mkfifo(k.agent.home / "gate-up")

    up = bounded.json("run", "-j", "-u", "ready", name, "echo old; echo ready; cat gate-up")
    (k.agent.home / "gate-up").write_text("served\n")
    assert bounded.collect(name, up["cell_id"])["output"] == "old\nready\nserved"

    new = bounded.json("peek", "--since", str(up["cursor"]), name, up["cell_id"])
    assert (up["status"], up["matched"]) == ("running", "ready")
    assert new["output"] in ("served", "ready\nserved")


def test_trial_19_a_batch_is_bounded(bounded: K, bash: str) -> None:
    """
    Its steps share the bytes, and each names the file with everything.
    """
    text = bounded.run("batch", "-j", bash, f"seq {LINES}", f"seq {LINES}").stdout

    assert len(text.encode()) <= BOUND
    for line in text.splitlines():
        assert_ends_of_numbers(json.loads(line)["output"])


def test_trial_19_a_reply_keeps_to_a_budget_of_tokens(shared: Agent, k: K) -> None:
    """
    `agent-pty answer --max-tokens` begins with what is new, too.
    """
    name = k.new("tokens")
    k.json("run", "-j", name, f"read -p 'how many? ' x; seq {LINES}")

    done = shared.cli("answer", name, "many", "--max-tokens", "300", "--json")

    assert len(done.stdout.encode()) <= 900
    assert_ends_of_numbers(json.loads(done.stdout)["output"])
