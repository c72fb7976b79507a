"""Past sessions: they stay in the index, can be removed with proof, and idle ones are ended."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent_pty.store.past_sessions import PastSessions
from support.agent import Agent, eventually, slay
from support.small_disk import small_disk

LONG = 30_000
MANY = 1000


def past(agent: Agent) -> list[dict[str, Any]]:
    """Return the past sessions that `list --all` has."""
    found: list[dict[str, Any]] = agent.ask("list", all=True)
    return [one for one in found if "exported" in one]


def written(agent: Agent) -> list[dict[str, Any]]:
    """Return what `sessions.json` has; nothing while there is none."""
    path = Path(agent.layout.session_index)
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def kinds(agent: Agent, name: str) -> list[str]:
    """Return the types of the events of a session."""
    return [one["kind"]["payload"]["type"] for one in agent.ask("replay", id=name)]


def ended_session(agent: Agent, name: str) -> dict[str, Any]:
    """Make a session, use it and end it."""
    made = agent.new(name, "cat")
    agent.ask("send", id=name, text="hello")
    agent.ask("kill", id=name)
    return made


def verified(agent: Agent, *words: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit status of `verify --all`, and what it says."""
    done = agent.cli("verify", "--all", "--json", *words)
    return done.returncode, json.loads(done.stdout)


def all_signed(agent: Agent) -> None:
    """Wait until every journal of a session that has ended is signed to its end."""
    ended = {one["instance"] for one in past(agent)}

    def signed() -> bool:
        results = verified(agent)[1]
        good = {
            one["name"].rpartition("(")[2][:-1] for one in results if one["result"] == "verified"
        }
        return ended <= good

    eventually(signed)


def gc(agent: Agent, *words: str) -> tuple[int, dict[str, Any]]:
    """Return the exit status of `gc`, and its answer."""
    done = agent.cli("gc", "--json", *words)
    return done.returncode, json.loads(done.stdout)


# -- the index


def test_a_killed_session_stays_in_the_index(agent: Agent) -> None:
    """
    With its instance, its end, and the path at which its journal is now; `list` has it no more.
    """
    first = ended_session(agent, "work")
    second = agent.new("work", "cat")

    (one,) = past(agent)

    assert (one["id"], one["instance"], one["active"]) == ("work", first["instance"], False)
    assert (one["state"], one["ended_at"] is not None) == ("exited", True)
    assert one["log_path"].endswith(f"/work.{first['instance']}.jsonl")
    assert Path(one["log_path"]).exists()
    assert [one["instance"] for one in agent.ask("list")] == [second["instance"]]
    eventually(lambda: [one["active"] for one in written(agent)] == [False, True])
    assert written(agent)[0] == one


def test_past_sessions_survive_stop_and_the_next_daemon(agent: Agent) -> None:
    """
    Ended by stop, killed, exited: all of them are there for the next daemon, and in the file.
    """
    ended_session(agent, "killed")
    agent.new("stopped", "cat")
    agent.new("exited", "sh", "-c", "exit 3")
    agent.ask("wait", id="exited", until="exit", timeout_ms=LONG)
    agent.cli("stop")

    stopped = written(agent)
    listed = agent.cli("list", "--all").stdout.splitlines()

    assert [one["id"] for one in stopped] == ["exited", "killed", "stopped"]
    assert not any(one["active"] for one in stopped)
    assert [one["exit_code"] for one in stopped if one["id"] == "exited"] == [3]
    assert [line.split()[0] for line in listed] == ["exited", "killed", "stopped"]
    assert all(" instance=" in line and " ended=" in line for line in listed)
    assert agent.cli("list").stdout == ""


def test_lif_01_a_lost_session_is_a_past_one_when_it_is_killed(agent: Agent) -> None:
    """
    Keeper, host and daemon died; its record stays, and it says that it was lost.
    """
    agent.new("work", "cat")
    slay(agent.pid_of("keeper"), agent.pid_of("work"), agent.pid_of("daemon"))
    eventually(lambda: agent.info("work")["state"] == "lost")
    agent.ask("kill", id="work")

    (one,) = past(agent)

    assert (one["state"], one["active"]) == ("lost", False)
    assert one["ended_at"] is not None
    assert "terminal" in one["diagnosis"]


def test_list_all_as_json_is_one_array(agent: Agent) -> None:
    """
    Living sessions first, as `list` has them, then the past ones by name.
    """
    for name in ("b", "a"):
        ended_session(agent, name)
    agent.new("c", "cat")

    shown = json.loads(agent.cli("list", "--all", "--json").stdout)

    assert [one["id"] for one in shown] == ["c", "a", "b"]
    assert [one["active"] for one in shown] == [True, False, False]
    agent.cli("stop")
    assert json.loads(agent.cli("list", "--all", "--json").stdout)[0]["id"] == "a"


def test_thousands_of_past_sessions_are_listed(agent: Agent) -> None:
    """
    More than fit into one answer: each once, by name, as lines and as one array.
    """
    ended_session(agent, "s0000")
    agent.cli("stop")
    known = PastSessions(agent.layout.past_sessions)
    (first,) = known.read().values()
    names = [f"s{number:04}" for number in range(MANY)]
    known.add(replace(first, id=name, instance=f"i{name}") for name in names[1:])

    lines = agent.cli("list", "--all").stdout.splitlines()
    array = json.loads(agent.cli("list", "--all", "--json").stdout)

    assert [line.split()[0] for line in lines] == names
    assert [one["id"] for one in array] == names
    assert len(agent.ask("list", all=True)) < MANY
    wrong = agent.cli("list", "--all", "--after", "x")
    assert wrong.returncode == 2  # it is for programs


@pytest.mark.parametrize("keep", [0.0, 0.5], ids=["empty", "half"])
def test_fs_06_a_damaged_index_is_recovered_from_the_journals(agent: Agent, keep: float) -> None:
    """
    Both files are spoilt; the next daemon sets them aside, warns, and knows every session.
    """
    first = ended_session(agent, "work")
    second = ended_session(agent, "work")
    agent.cli("stop")
    for path in map(Path, (agent.layout.session_index, agent.layout.past_sessions)):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * keep)])

    found = {one["instance"]: one for one in past(agent)}

    assert found.keys() == {first["instance"], second["instance"]}
    assert all(one["id"] == "work" and one["state"] == "exited" for one in found.values())
    assert all(Path(one["log_path"]).exists() for one in found.values())
    log = Path(agent.layout.log).read_text()
    assert "warning: " in log
    assert "taken from their journals" in log
    eventually(lambda: len(written(agent)) == 2)
    assert "warning" in agent.cli("doctor").stdout.partition("- records: ")[2].splitlines()[0]


def test_red_10_no_secret_is_in_the_index(agent: Agent) -> None:
    """
    Arguments, title and values that the environment calls secrets; of variables, the names alone.
    """
    argv = ["sh", "-c", "echo swordfish; cat", "--password", "hunter2-FAKE"]
    title = "API_TOKEN=abcdef"
    agent.ask("new", id="a", repo="/tmp", argv=argv, title=title, env={"DB_PASSWORD": "swordfish"})
    agent.ask("kill", id="a")
    agent.cli("stop")

    text = "".join(
        Path(path).read_text() for path in (agent.layout.session_index, agent.layout.past_sessions)
    )

    assert '"DB_PASSWORD"' in text
    for secret in ("swordfish", "hunter2-FAKE", "abcdef"):
        assert secret not in text
    assert "hunter2-FAKE" not in (Path(agent.layout.log_dir) / "a.jsonl").read_text()


def test_a_session_of_a_moment_is_signed(agent: Agent) -> None:
    """
    However short its life was, its record is signed to the end.
    """
    for number in range(3):
        agent.cli("exec", "--", "echo", str(number))

    all_signed(agent)

    status, results = verified(agent)
    assert (status, [one["result"] for one in results]) == (0, ["verified"] * 3)


# -- gc


def test_gc_explains_itself(agent: Agent) -> None:
    """
    Without age and size it is wrong usage, and names both.
    """
    done = agent.cli("gc")

    assert done.returncode == 2
    assert "--older-than 30d" in done.stderr
    assert "--larger-than 5GB" in done.stderr


def test_gc_keeps_what_was_not_exported(agent: Agent) -> None:
    """
    Exit status 3, the reason and the remedy; what is not due is not named.
    """
    ended_session(agent, "work")
    all_signed(agent)

    text = agent.cli("gc", "--older-than", "0s")
    nothing = agent.cli("gc", "--older-than", "30d")

    assert text.returncode == 3
    assert "it was not exported; --export DIR copies it first" in text.stdout
    assert (nothing.returncode, nothing.stdout) == (0, "0 removed (0 bytes), 0 kept\n")
    assert len(past(agent)) == 1


def test_gc_removes_and_verify_knows(agent: Agent, tmp_path: Path) -> None:
    """
    Journal and index entry are gone, the copy verifies anywhere, and nothing is reported as lost.
    """
    made = ended_session(agent, "work")
    ended_session(agent, "work.x")
    agent.new("work", "cat")
    agent.cli("rename", "work", "busy")
    all_signed(agent)

    status, answer = gc(agent, "--older-than", "0s", "--export", str(tmp_path / "archive"))

    copy = tmp_path / "archive" / made["instance"]
    assert status == 0
    assert [one["id"] for one in answer["removed"]] == ["work", "work.x"]
    assert past(agent) == []
    assert kinds(agent, "busy")[0] == "exec"
    assert agent.cli("replay", "work").returncode == 1
    agent.cli("stop")
    found = {one["name"]: one for one in verified(agent)[1]}
    removed = found[f"work ({made['instance']})"]
    assert verified(agent)[0] == 0
    assert (removed["result"], removed["exported_to"]) == ("removed", str(copy))
    said = agent.cli("verify", "work")
    assert (said.returncode, "removed by gc on 20" in said.stdout) == (0, True)
    assert agent.cli("verify", str(copy)).returncode == 0
    elsewhere = {**agent.env, "AGENT_PTY_HOME": str(tmp_path), "HOME": str(tmp_path)}
    public = tmp_path / "key.pub"
    public.write_text(agent.cli("key", "export-public").stdout)
    agent.env.update(elsewhere)
    assert agent.cli("verify", str(copy)).returncode == 1  # whose key that is, nobody knows here
    assert agent.cli("verify", str(copy), "--key", str(public)).returncode == 0


def test_gc_is_for_operators(agent: Agent) -> None:
    """
    It runs without a daemon being there first, and says who asked for it.
    """
    ended_session(agent, "work")
    agent.cli("stop")

    status, answer = gc(agent, "--larger-than", "0", "--force")

    assert (status, [one["id"] for one in answer["removed"]]) == (0, ["work"])
    last = Path(agent.layout.checkpoints).read_text().splitlines()[-1]
    removed = json.loads(last)["removed"]
    assert (removed["forced"], removed["by"]["uid"]) == (True, os.getuid())


def test_gc_beside_sessions_that_start_and_end(agent: Agent) -> None:
    """
    Names are reused while gc removes: no journal of a living session is ever touched.
    """
    for _ in range(10):
        ended_session(agent, "work")
    done = threading.Event()

    def collect() -> None:
        while not done.is_set():
            gc(agent, "--larger-than", "0", "--force")

    with ThreadPoolExecutor(1) as beside:
        collecting = beside.submit(collect)
        try:
            for _ in range(10):
                agent.new("work", "cat")
                agent.ask("send", id="work", text="hello")
                assert kinds(agent, "work")[:3] == ["exec", "gate", "send_keys"]
                agent.ask("kill", id="work")
        finally:
            done.set()
        collecting.result()
    agent.cli("stop")

    assert verified(agent)[0] == 0


def test_kill_9_of_the_daemon_in_the_middle_of_a_gc(agent: Agent, tmp_path: Path) -> None:
    """
    Nothing is lost: every record is there or in the archive, and the next daemon completes the gc.
    """
    names = [f"s{number}" for number in range(40)]
    for name in names:
        agent.new(name, "cat")
    assert agent.cli("kill", "--all").returncode == 0
    all_signed(agent)
    archive = tmp_path / "archive"
    instances, daemon = {one["instance"] for one in past(agent)}, agent.pid_of("daemon")

    with agent.start("gc", "--older-than", "0s", "--export", str(archive), "--json") as running:
        eventually(lambda: archive.exists() and len(list(archive.iterdir())) > 3)
        slay(daemon)
        copied = {path.name for path in archive.iterdir() if not path.name.startswith(".")}
        left = {one["instance"] for one in past(agent)}
        answer, _ = running.communicate(timeout=60)
    status = running.returncode

    assert copied | left >= instances
    assert status == 0
    assert {one["instance"] for one in json.loads(answer)["removed"]} <= instances
    assert gc(agent, "--older-than", "0s", "--export", str(archive))[0] == 0
    assert past(agent) == []
    assert {path.name for path in archive.iterdir()} == instances
    assert all(
        agent.cli("verify", str(path)).returncode == 0 for path in list(archive.iterdir())[:5]
    )
    assert verified(agent)[0] == 0


def test_ctrl_c_ends_a_gc_between_two_sessions(agent: Agent, tmp_path: Path) -> None:
    """
    What was removed is in the archive, what was not is still there.
    """
    for number in range(20):
        agent.new(f"s{number}", "cat")
    agent.cli("kill", "--all")
    all_signed(agent)
    archive = tmp_path / "archive"
    instances = {one["instance"] for one in past(agent)}

    with agent.start("gc", "--older-than", "0s", "--export", str(archive)) as running:
        eventually(lambda: archive.exists() and any(archive.iterdir()))
        running.send_signal(2)
        running.wait(timeout=60)

    left = {one["instance"] for one in past(agent)}
    copied = {path.name for path in archive.iterdir() if not path.name.startswith(".")}
    assert copied | left == instances
    assert running.returncode in (0, 130)


# -- sessions that nobody uses


def test_an_idle_session_is_ended_as_evidence(agent: Agent) -> None:
    """
    Its journal says why, its processes are gone, and `list` says how it ended.
    """
    agent.ask(
        "new", id="idle", repo="/tmp", argv=["sh", "-c", "sleep 1000 & cat"], idle_stop_ms=300
    )
    agent.ask("new", id="busy", repo="/tmp", argv=["cat"])

    agent.ask("wait", id="busy", until="idle:1ms", timeout_ms=LONG)
    eventually(lambda: agent.info("idle")["state"] == "exited")

    assert kinds(agent, "idle") == ["exec", "gate", "idle_stop", "kill", "recording", "exited"]
    (_, _, stop, kill, *_) = agent.ask("replay", id="idle")
    assert stop["kind"]["payload"]["limit_s"] == 0.3
    assert stop["kind"]["payload"]["idle_s"] >= 0.3
    assert (stop["principal"], kill["principal"]) == ({"kind": "system"}, {"kind": "system"})
    assert "nobody had used it for 0.3 s" in agent.info("idle")["diagnosis"]
    assert agent.info("busy")["state"] == "running"


def test_the_limit_can_be_configured_for_all(agent: Agent) -> None:
    """
    `[sessions] idle_stop` counts for sessions that do not say otherwise; a wait is a use.
    """
    (agent.home / "config.toml").write_text('[sessions]\nidle_stop = "300ms"\n')
    agent.ask("new", id="kept", repo="/tmp", argv=["cat"], idle_stop_ms=0)
    agent.ask("new", id="waited", repo="/tmp", argv=["cat"])
    agent.ask("new", id="idle", repo="/tmp", argv=["cat"])

    with agent.begin("wait", id="waited", until="never-comes", timeout_ms=LONG) as answer:
        eventually(lambda: agent.info("idle")["state"] == "exited")
        during = agent.info("waited")["state"]
        agent.ask("kill", id="waited")
        answer()

    assert during == "running"
    assert agent.info("kept")["state"] == "running"


def test_idle_stop_on_the_command_line(agent: Agent) -> None:
    """
    `new --idle-stop` takes hours, and refuses what is no time.
    """
    assert agent.cli("new", "--name", "a", "--idle-stop", "2h", "--", "cat").returncode == 0
    wrong = agent.cli("new", "--name", "b", "--idle-stop", "soon", "--", "cat")

    assert (wrong.returncode, "write 90s, 30m, 12h or 30d" in wrong.stderr) == (1, True)
    spec = json.loads(Path(agent.layout.spec(agent.info("a")["instance"])).read_text())
    assert spec["idle_stop"] == 7200.0


# -- doctor


def test_the_doctor_says_when_it_is_time_for_gc(agent: Agent) -> None:
    """
    A log directory above 5 GB is a warning with the command that helps, not a failure.
    """
    logs = Path(agent.layout.log_dir)
    logs.mkdir(parents=True)
    before = agent.cli("doctor")
    with (logs / "work.jsonl").open("wb") as file:
        file.truncate(6 * 10**9)  # it takes no space
    after = agent.cli("doctor")

    assert "agent-pty gc" not in records_line(before)
    assert "is larger than 5.0 GB: `agent-pty gc --older-than 30d" in records_line(after)
    assert before.returncode == after.returncode


def test_the_doctor_says_when_the_disk_is_nearly_full(agent: Agent) -> None:
    """
    From 90 % on, with the command that helps; sessions still work then.
    """
    with small_disk(4) as disk:
        logs = disk.path / "runs"
        before = agent.cli("doctor", "--log-dir", str(logs))
        disk.fill(leave=20)
        after = agent.cli("doctor", "--log-dir", str(logs))

    assert "full" not in records_line(before)
    assert "98% full: `agent-pty gc --older-than 30d" in records_line(after)


def records_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return what the doctor says of the log directory."""
    return next(line for line in done.stdout.splitlines() if line.startswith("- records: "))
