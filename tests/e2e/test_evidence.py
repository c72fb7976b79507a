"""What is recorded of sessions: before it happens, by whom, without secrets, through crashes."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually, slay
from support.journal import file_of, payloads, recorded, typed
from support.k import K

LONG = 30_000
SECRET = "hunter2-FAKE-pw"


def test_what_happens_in_a_session_is_recorded(shared: Agent) -> None:
    """
    Start, input with who typed it, outcomes, cells, signals, sizes and the end, in their order.
    """
    shared.new("told")
    shared.ask("run", id="told", code="echo hello")
    shared.ask("send", id="told", text="echo again")
    shared.ask("resize", id="told", rows=30, cols=90)
    shared.ask("signal", id="told", signal="WINCH")
    shared.ask("kill", id="told")

    events = recorded(shared, "told")

    kinds = [one["kind"]["payload"].get("type", "observation") for one in events]
    assert kinds[0] == "exec"
    assert kinds[-3:] == ["kill", "recording", "exited"]
    assert {"cell_started", "cell_finished", "resize", "signal", "outcome"} <= set(kinds)
    intents = [one for one in events if one["kind"]["payload"].get("type") == "send_keys"]
    outcomes = {one["of"]: one["result"] for one in payloads(shared, "told", "outcome")}
    assert outcomes == {one["sequence"]: "delivered" for one in intents}
    assert all(one["principal"]["kind"] == "agent" for one in intents)
    assert "echo again\r" in typed(shared, "told")
    assert list(events[1])[:6] == [
        *("id", "session_id", "timestamp", "kind", "git_snapshot", "sequence")
    ]
    assert list(events[1])[-2:] == ["previous_hash", "event_hash"]
    assert "previous_hash" not in events[0]


def test_replay_on_the_command_line(agent: Agent) -> None:
    """
    A line for each event, as the seed prints it, also of a session of an earlier daemon.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="one")
    agent.cli("stop")

    lines = agent.cli("replay", "work").stdout.splitlines()
    events = json.loads(agent.cli("replay", "work", "--json").stdout)

    assert len(lines) == len(events) > 3
    assert lines[0].endswith(" UTC work exec cat in /tmp")
    assert lines[1].endswith(" gate line modelled guard none")
    assert " send 4 bytes" in lines[2]
    unknown = agent.cli("replay", "nobody")
    assert (unknown.returncode, "unknown session nobody" in unknown.stderr) == (1, True)


def verified(agent: Agent, *words: str) -> tuple[int, Any]:
    """Return the exit status of `verify`, and what it says."""
    done = agent.cli("verify", *words, "--json")
    return done.returncode, json.loads(done.stdout)


def test_verify_knows_what_is_signed(agent: Agent) -> None:
    """
    A session that runs is verified to its last checkpoint, one that was stopped to its end.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="one")

    running = verified(agent, "work")
    eventually(lambda: verified(agent, "work")[1]["signed_count"] > 0)
    agent.cli("stop")
    stopped = verified(agent, "work")

    assert (running[0], running[1]["result"]) == (3, "verified_to_checkpoint")
    assert (stopped[0], stopped[1]["result"]) == (0, "verified")
    assert stopped[1]["event_count"] == stopped[1]["signed_count"]
    assert agent.cli("verify", "--all").returncode == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b'"argv":["cat"]', b'"argv":["dog"]'), "event 1: its hash"),
        (lambda data: data[: data.rindex(b"\n", 0, -1) + 1], "it is missing"),
        (lambda _data: b"", "its journal is gone"),
    ],
    ids=["LOG-02 changed", "LOG-05 cut", "emptied"],
)
def test_must_hold_5_verify_names_what_was_changed(
    agent: Agent, change: Callable[[bytes], bytes], said: str
) -> None:
    """
    The first bad event is named, and the exit status says so.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="one")
    agent.cli("stop")
    path = file_of(agent, "work")
    path.write_bytes(change(path.read_bytes()))

    status, result = verified(agent, "--all")

    assert status == 1
    assert any(said in one.get("first_error", "") for one in result if one["result"] == "failed")


def test_a_deleted_journal_shows(agent: Agent) -> None:
    """
    The chain of checkpoints knows every session that there was.
    """
    agent.new("work", "cat")
    agent.cli("stop")
    file_of(agent, "work").unlink()

    status, result = verified(agent, "--all")

    assert (status, result[0]["first_error"]) == (1, "its journal is gone")


def test_a_lost_key_is_replaced_and_that_is_said(agent: Agent) -> None:
    """
    What both keys signed is verified, with a word about the one that is gone.
    """
    agent.new("first", "cat")
    agent.cli("stop")
    lost = json.loads(agent.cli("key", "--json").stdout)["id"]
    (Path(agent.layout.keys) / "signing.pem").unlink()
    agent.new("second", "cat")
    agent.cli("stop")

    done = agent.cli("verify", "--all")

    assert done.returncode == 0
    assert f"the signing key {lost} was lost and replaced" in done.stderr
    assert f"{lost}, which signed them, is gone" in Path(agent.layout.log).read_text()


def test_log_38_verify_elsewhere_with_the_public_key_alone(agent: Agent, tmp_path: Path) -> None:
    """
    Three files are enough: the journal, the checkpoints and the public key. Another key fails.
    """
    agent.new("work", "cat")
    agent.cli("stop")
    names = {"work.jsonl": file_of(agent, "work"), "points": Path(agent.layout.checkpoints)}
    for name, path in names.items():
        (tmp_path / name).write_bytes(path.read_bytes())
    (tmp_path / "pub").write_text(agent.cli("key", "export-public").stdout)
    agent.cli("key", "rotate")
    (tmp_path / "other").write_text(agent.cli("key", "export-public").stdout)
    words = [str(tmp_path / "work.jsonl"), "--checkpoints", str(tmp_path / "points"), "--key"]

    right = agent.cli("verify", *words, str(tmp_path / "pub"))
    wrong = agent.cli("verify", *words, str(tmp_path / "other"))

    assert right.returncode == 0
    assert (wrong.returncode, "unknown key" in wrong.stdout) == (1, True)
    assert agent.cli("verify", "work").returncode == 0  # signed before the rotation


def test_log_13_the_key_is_nowhere_but_in_its_file(agent: Agent) -> None:
    """
    It is not in the log directory, and nobody but its owner may read it.
    """
    agent.new("work", "cat")
    agent.cli("stop")

    private = Path(agent.layout.keys) / "signing.pem"

    assert private.stat().st_mode & 0o777 == 0o600
    assert not str(private).startswith(agent.layout.log_dir)
    secret = private.read_text().splitlines()[1]
    for path in Path(agent.layout.log_dir).rglob("*"):
        assert path.is_dir() or secret not in path.read_text(errors="replace")


@pytest.mark.parametrize(
    "pieces",
    [
        [f"export API_TOKEN={SECRET}\r"],
        ["export API_TO", f"KEN={SECRET[:7]}", SECRET[7:], "\r"],
        [*f"PASSWORD={SECRET}", "\r"],
    ],
    ids=["whole", "in pieces", "key by key"],
)
def test_red_04_secrets_are_not_recorded(shared: Agent, pieces: list[str]) -> None:
    """
    However a secret is typed, no event has it, nor do two events together.
    """
    name = shared.ask("new", repo="/tmp", argv=["cat"])["id"]
    for piece in pieces:
        shared.ask("send", id=name, text=piece, enter=False, raw=True)

    text = "".join(typed(shared, name))

    assert SECRET not in text
    assert SECRET[7:] not in text
    assert "[REDACTED]" in text
    assert sum(one["held"] for one in payloads(shared, name, "send_keys")) == sum(
        len(piece) for piece in pieces[:-1]
    )


def test_red_10_values_of_the_environment_are_not_recorded(shared: Agent) -> None:
    """
    What the session's environment calls a secret is one wherever it is typed.
    """
    shared.ask("new", id="known", repo="/tmp", argv=["cat"], env={"DB_PASSWORD": "swordfish"})
    shared.ask("send", id="known", text="the word is swordfish, they say")

    assert typed(shared, "known") == ["the word is [REDACTED:known_value], they say\r"]
    assert "swordfish" not in file_of(shared, "known").read_text()


def test_red_07_a_key_that_is_typed_while_its_host_dies_is_not_recorded(agent: Agent) -> None:
    """
    The line after the host's death belongs to the key, as those before it do.
    """
    agent.new("work", "cat")
    body = "MIIEpAIBAAKCAQEA" + "q7Zx" * 12
    for line in ("-----BEGIN PRIVATE KEY-----", body):
        agent.ask("send", id="work", text=line)
    slay(agent.pid_of("work"))

    for line in (body, "q7Zx==", "-----END PRIVATE KEY-----", "after"):
        agent.ask("send", id="work", text=line)

    text = "".join(typed(agent, "work"))
    assert "q7Zx" not in text
    assert text.endswith("-----END PRIVATE KEY-----\rafter\r")


def test_red_11_a_password_is_recorded_as_its_length(shared: Agent) -> None:
    """
    What a terminal does not show is not stored.
    """
    shared.new("quiet", "/bin/sh", "-c", "stty -echo; echo ask''ed; read x; cat")
    shared.ask("wait", id="quiet", until="asked", timeout_ms=LONG)
    shared.ask("send", id="quiet", text="swordfish")

    assert typed(shared, "quiet") == ["[no-echo input, 10 bytes]"]
    assert payloads(shared, "quiet", "secret_entered") == [{"type": "secret_entered", "bytes": 9}]


@pytest.mark.parametrize("length", [9, 20_000], ids=["short", "longer than is kept"])
def test_input_that_a_dead_host_held_back_is_recorded(agent: Agent, length: int) -> None:
    """
    A line of which only the beginning was typed when the host died is whole in the record.
    """
    agent.new("work", "/bin/sh", "-c", "stty -icanon; echo set; exec cat >/dev/null")
    agent.ask("wait", id="work", until="set", timeout_ms=LONG)
    agent.ask("send", id="work", text="x" * (length - 1) + "y", enter=False)

    slay(agent.pid_of("work"))
    agent.ask("send", id="work", text="z")

    (line,) = [one for one in typed(agent, "work") if one]
    kept = len(line.partition("]")[2] or line)
    assert line.endswith("xyz\r")
    assert kept == length + 2 or line.startswith(f"[{length + 2 - kept} bytes are not known]x")


def test_log_29_many_at_once(shared: Agent) -> None:
    """
    Every input of two hundred clients is recorded once, in the order in which it was typed.
    """
    shared.new("crowd", "/bin/sh", "-c", "stty -echo -icanon; echo set; exec cat")
    shared.ask("wait", id="crowd", until="set", timeout_ms=LONG)
    with ThreadPoolExecutor(20) as clients:
        numbers = [f"n{number:03}" for number in range(200)]
        list(clients.map(lambda one: shared.ask("send", id="crowd", text=one), numbers))
    eventually(lambda: all(one in shared.transcript("crowd") for one in numbers))

    texts = [one.strip() for one in typed(shared, "crowd")]

    assert sorted(texts) == numbers
    assert texts == [one for one in shared.transcript("crowd").split() if one in set(numbers)]


@pytest.mark.parametrize("victim", ["host", "daemon"])
def test_must_hold_2_what_was_acknowledged_survives(agent: Agent, victim: str) -> None:
    """
    After `kill -9` under load every acknowledged input is recorded once, and the chain is whole.
    """
    k = K(agent)
    agent.new("work")
    done = []
    for number in range(3):  # a session whose hosts die more often is given up
        done.append(f"echo mark{number}")
        k.output("work", done[-1])
        slay(agent.pid_of("work" if victim == "host" else "daemon"))
        eventually(lambda: k.output("work", "true") == "")

    text = "".join(typed(agent, "work"))

    assert [text.count(one + "\x1b") + text.count(one + "\r") for one in done] == [1] * len(done)
    assert verified(agent, "work")[1]["result"] != "failed"
    if victim == "host":
        assert len(payloads(agent, "work", "host_recovered")) == len(done)


def test_a_renamed_session_takes_its_record_along(shared: Agent) -> None:
    """
    The events are found under the new name; an earlier session of that name keeps its own.
    """
    first = shared.new("second")
    shared.ask("kill", id="second")
    shared.new("first")
    shared.ask("rename", id="first", name="second")

    assert payloads(shared, "second", "rename") == [{"type": "rename", "name": "second"}]
    older = recorded(shared, "second", instance=first["instance"])
    assert older[-1]["kind"]["payload"]["type"] == "exited"


@pytest.mark.parametrize("word", ["replay", "proof", "verify"])
def test_an_instance_that_never_was_is_named(shared: Agent, word: str) -> None:
    """
    The session is known: what is not known is its instance, and where the others stand is said.
    """
    name = f"named-{word}"
    shared.new(name, "cat")

    said = shared.cli(word, name, "--instance", "0123456789abcdef")

    assert said.returncode == 1
    assert f"unknown session {name}: it has no instance 0123456789abcdef" in said.stderr
    assert "agent-pty list --all shows" in said.stderr


def test_log_19_damage_is_shown_where_it_is(agent: Agent) -> None:
    """
    What can be read of a damaged journal is still shown, with the damage in its place.
    """
    agent.new("work", "cat")
    agent.ask("send", id="work", text="one")
    agent.cli("stop")
    path = file_of(agent, "work")
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"gar\x1bbage\n" + b"".join(others))

    lines = agent.cli("replay", "work").stdout.splitlines()

    assert lines[1] == r"damaged: gar\x1bbage"
    assert len(lines) == len(others) + 2
    assert agent.cli("verify", "work").returncode == 1
