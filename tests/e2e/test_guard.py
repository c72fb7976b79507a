"""The guard of a session: what its processes really execute is judged before they do."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import AGENT_PTY, Agent, eventually
from support.guarded_agent import GuardedAgent
from support.journal import payloads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")
PYTHON = os.path.realpath(sys.executable)


@pytest.fixture
def guarded(shared: Agent, tmp_path: Path) -> Iterator[GuardedAgent]:
    """A user whose sessions begin in a directory of their own; afterwards there are none."""
    (tmp_path / "victim").mkdir()
    yield GuardedAgent(shared, tmp_path)
    (tmp_path / "policy.json").write_text("{}")
    shared.ask("policy_reload", path=str(tmp_path / "policy.json"))
    for session in shared.ask("list"):
        shared.ask("kill", id=session["id"])


def facts(agent: Agent, name: str) -> list[tuple[str, str]]:
    """Return the guarded execs that were recorded: what was executed, and what became of it."""
    found = payloads(agent, name, "guarded_exec")
    return [(" ".join(one["argv"]), one["result"]) for one in found]


MAKEFILE = "all:\n\t@rm -rf victim\n"
ENCODED = base64.b64encode(b"rm -rf victim").decode()
DISGUISES = {
    "substitution": ("s.sh", "$(echo r)m -rf victim"),
    "decoded": ("s.sh", f"echo {ENCODED} | base64 -d | sh"),
    "python": ("s.sh", f'{PYTHON} -c \'import os; os.system("r" + "m -rf victim")\''),
    "make": ("s.sh", "make -s"),
    "find": ("s.sh", "find . -maxdepth 1 -name victim -exec rm -rf {} +"),
    "xargs": ("s.sh", "echo victim | xargs rm -rf"),
    "perl": ("s.sh", 'perl -e \'exec("rm", "-rf", "victim")\''),
    "renamed": ("s.sh", "bash -c 'exec -a ls rm -rf victim'"),
    "linked": ("s.sh", "ln -s /bin/rm ./harmless; ./harmless -rf victim"),
    "descriptor": ("s.sh", "exec 9</bin/rm; /proc/self/fd/9 -rf victim"),
    "background": ("s.sh", "(rm -rf victim &) ; wait"),
    "setsid": ("s.sh", "setsid --wait rm -rf victim"),
}


@pytest.mark.parametrize("disguise", list(DISGUISES))
def test_whatever_the_disguise_it_is_held_by_its_real_arguments(
    guarded: GuardedAgent, disguise: str
) -> None:
    """
    No line shows what runs, but the exec does: it is held, and what it would delete is there.
    """
    (guarded.workspace / "Makefile").write_text(MAKEFILE)
    line = guarded.script(*DISGUISES[disguise])
    name = f"d-{disguise}"
    guarded.new(name)

    with guarded.agent.begin("run", id=name, code=line, timeout_ms=60_000) as answer:
        held = guarded.held()

        assert held[0]["rule"] == "rm -rf"
        assert held[0]["gate"] == "guard"
        assert held[0]["command"].endswith("victim")
        assert (guarded.workspace / "victim").is_dir()
        answer()
    guarded.deny(held[0]["id"])
    guarded.finished(name)
    assert (guarded.workspace / "victim").is_dir()


def test_the_record_says_which_fences_stand(guarded: GuardedAgent) -> None:
    """
    The first events of a session name the guard, so that a proof can.
    """
    guarded.new("stands", "builds")

    assert [one["guard"] for one in payloads(guarded.agent, "stands", "gate")] == ["builds"]


def test_what_is_approved_goes_on_and_what_is_denied_fails(guarded: GuardedAgent) -> None:
    """
    A held program waits; with a yes it runs, with a no its exec fails with EPERM.
    """
    guarded.new("both")
    line = guarded.script("s.sh", "rm -rf victim; echo one-$?; rm -rf victim; echo two-$?")

    report = guarded.run("both", line)
    assert (report["status"], report["for"]) == ("waiting", "approval")
    assert "rm -rf victim" in report["hint"]
    assert guarded.agent.ask("doing", id="both")["what"] == "approval"
    (first,) = guarded.held()
    guarded.approve(first["id"])
    eventually(lambda: [one["id"] for one in guarded.agent.ask("approvals")] != [first["id"]])
    (second,) = guarded.held()
    guarded.deny(second["id"])

    output = guarded.finished("both")["output"]
    assert "one-0" in output
    assert "two-126" in output
    assert facts(guarded.agent, "both") == [
        ("rm -rf victim", "held"),
        ("rm -rf victim", "approved"),
        ("rm -rf victim", "held"),
        ("rm -rf victim", "refused"),
    ]
    asked = [one["request"] for one in payloads(guarded.agent, "both", "guarded_exec")]
    assert asked == [first["id"]] * 2 + [second["id"]] * 2


def test_an_approved_program_may_do_the_same_in_its_turn(guarded: GuardedAgent) -> None:
    """
    What `env` was approved for covers the rm it becomes, whichever directory of PATH has it.
    """
    guarded.new("turn")
    (guarded.workspace / "s.sh").write_text("env rm -rf victim; echo end-$?")

    # The session's own shell executes `env`, so that is judged as if it were typed.
    assert guarded.run("turn", ". ./s.sh")["for"] == "approval"
    (held,) = guarded.held()
    assert held["command"] == "env rm -rf victim"
    guarded.approve(held["id"])

    assert "end-0" in guarded.finished("turn")["output"]
    assert not (guarded.workspace / "victim").exists()
    assert ("rm -rf victim", "covered") in facts(guarded.agent, "turn")


def test_an_approved_line_covers_what_it_executes(guarded: GuardedAgent) -> None:
    """
    A line that was approved is not held a second time; the next one is.
    """
    guarded.new("line")
    token = guarded.agent.cli("approve", "line", "rm -rf victim").stdout.strip()
    done = guarded.agent.cli("send", "line", "rm -rf victim", f"--approval={token}")
    assert done.returncode == 0, done.stderr
    guarded.agent.ask("wait", id="line", until="prompt", timeout_ms=30_000)
    assert not (guarded.workspace / "victim").exists()

    report = guarded.run("line", guarded.script("s.sh", "rm -rf other"))

    assert report["for"] == "approval"
    assert facts(guarded.agent, "line") == [
        ("rm -rf victim", "covered"),
        ("rm -rf other", "held"),
    ]


def test_interrupt_frees_a_held_program(guarded: GuardedAgent) -> None:
    """
    Ctrl-C ends what waits for an approval, and its request is withdrawn.
    """
    guarded.new("int")
    guarded.run("int", guarded.script("s.sh", "trap '' INT; rm -rf victim; echo end-$?"))
    guarded.held()

    assert guarded.agent.cli("interrupt", "int").returncode == 0

    assert guarded.agent.ask("approvals") == []
    assert guarded.run("int", "echo again")["output"].endswith("again")
    assert (guarded.workspace / "victim").is_dir()


def test_ctrl_c_as_a_key_frees_a_held_program(guarded: GuardedAgent) -> None:
    """
    A key that interrupts does so, whoever presses it and however it is sent.
    """
    guarded.new("key")
    guarded.run("key", guarded.script("s.sh", "rm -rf victim; echo end-$?"))
    guarded.held()

    guarded.agent.ask("keys", id="key", keys=["C-c"])

    guarded.agent.ask("wait", id="key", until="prompt", timeout_ms=30_000)
    eventually(lambda: guarded.agent.ask("approvals") == [])
    assert (guarded.workspace / "victim").is_dir()


def test_stop_and_continue_ask_once(guarded: GuardedAgent) -> None:
    """
    Ctrl-Z and fg do not repeat the question: a signal does not make an exec happen twice.
    """
    guarded.new("stop")
    guarded.run("stop", guarded.script("s.sh", "rm -rf victim; echo end-$?"))
    (held,) = guarded.held()

    for number in ("SIGTSTP", "SIGCONT", "SIGWINCH", "SIGSTOP", "SIGCONT"):
        guarded.agent.ask("signal", id="stop", signal=number, all=True)
    guarded.approve(held["id"])

    eventually(lambda: not (guarded.workspace / "victim").exists())
    assert [result for _, result in facts(guarded.agent, "stop")] == ["held", "approved"]


def test_kill_ends_what_is_held(guarded: GuardedAgent) -> None:
    """
    A session with held programs dies as fast as any other, and nothing waits for an operator.
    """
    guarded.new("kill")
    guarded.run("kill", guarded.script("s.sh", "trap '' TERM HUP INT; rm -rf victim; sleep 60"))
    guarded.held()

    killed = guarded.agent.ask("kill", id="kill")

    assert killed["survivors"] == []
    assert guarded.agent.ask("approvals") == []
    assert (guarded.workspace / "victim").is_dir()


def test_a_rule_that_denies_needs_nobody(guarded: GuardedAgent) -> None:
    """
    What a file denies fails at once with EPERM; what it allows is not held.
    """
    rules = [
        {"label": "no nc", "argv": ["nc", "**"], "action": "deny"},
        {"label": "mine", "argv": ["rm", "-rf", "victim"], "action": "allow"},
    ]
    policy = guarded.workspace / "policy.json"
    policy.write_text(json.dumps({"rules": rules}))
    guarded.agent.ask("policy_reload", path=str(policy))
    guarded.new("deny")
    (guarded.workspace / "nc").write_text("#!/bin/sh\necho ran")
    (guarded.workspace / "nc").chmod(0o755)

    report = guarded.run("deny", guarded.script("s.sh", "./nc x; echo st-$?; rm -rf victim"))

    assert "st-126" in report["output"]
    assert not (guarded.workspace / "victim").exists()
    assert facts(guarded.agent, "deny") == [("./nc x", "denied")]


def test_two_hundred_execs_at_once(guarded: GuardedAgent) -> None:
    """
    Many programs at the same time are all judged, none is lost, and they are counted.
    """
    guarded.new("many")
    script = "i=0; while [ $i -lt 200 ]; do /bin/true & i=$((i+1)); done; wait; echo all"

    report = guarded.run("many", guarded.script("s.sh", script))

    assert report["output"].endswith("all")
    counted = payloads(guarded.agent, "many", "guarded_programs")
    total = sum(
        count for one in counted for path, count in one["programs"].items() if "true" in path
    )
    assert total == 200


def test_the_policy_file_asks_for_the_guard(guarded: GuardedAgent) -> None:
    """
    With `"guard"` in the file every new session has it, and nobody can ask for less.
    """
    policy = guarded.workspace / "policy.json"
    policy.write_text(json.dumps({"guard": "strict"}))
    guarded.agent.ask("policy_reload", path=str(policy))

    plain = guarded.agent.cli("new", "--name", "p1", "--repo", str(guarded.workspace), "--json")
    less = guarded.new("p2", "builds")

    assert json.loads(plain.stdout)["guard"]["mode"] == "strict"
    assert less["guard"]["mode"] == "strict"


def test_no_daemon_is_started_inside(guarded: GuardedAgent) -> None:
    """
    A daemon inside would itself be judged, and could guard nothing: that is said instead.
    """
    guarded.new("inside")
    home = guarded.workspace / "inner"
    home.mkdir()

    line = f"env -u AGENT_PTY_SOCKET AGENT_PTY_HOME={home} {AGENT_PTY} new --name x"
    report = guarded.run("inside", line)

    assert "inside a guarded session" in report["output"]
    assert report["exit_code"] == 1
    assert not (home / "run" / "keeper.sock").exists()


def test_its_own_daemon_can_be_asked_from_inside(guarded: GuardedAgent) -> None:
    """
    The daemon that has the session answers there as anywhere.
    """
    guarded.new("asks")

    report = guarded.run("asks", f"{AGENT_PTY} list --json | grep -c asks")

    assert report["exit_code"] == 0


def test_a_guard_that_cannot_stand_is_an_error(guarded: GuardedAgent) -> None:
    """
    Inside another guarded program nothing can be guarded: `new --guard` says so, nothing starts.
    """
    probe = "from agent_pty.keeper.guard_probe import probe\ntry: print(probe())\n"
    probe += "except OSError as error: print('no:', error.strerror)"
    (guarded.workspace / "p.py").write_text(probe)
    guarded.new("probe")

    report = guarded.run("probe", f"{sys.executable} p.py")

    assert "no: another program asks already" in report["output"]


@pytest.fixture
def ordinary() -> Iterator[Agent]:
    """A user without any privilege: none of root's capabilities."""
    setpriv = shutil.which("setpriv")
    if setpriv is None or os.getuid() != 0:
        pytest.skip("needs root and setpriv")
    user = Agent(Path(tempfile.mkdtemp(prefix="ap-")))
    bare = [setpriv, "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    subprocess.run(
        [*bare, AGENT_PTY, "read", "none"], env=user.env, check=False, capture_output=True
    )
    yield user
    user.cli("stop")
    user.reap()


def test_an_ordinary_user_gives_up_new_privileges(ordinary: Agent, tmp_path: Path) -> None:
    """
    Without privileges the kernel wants no_new_privs: the guard stands, and sudo does not work.
    """
    guarded = GuardedAgent(ordinary, tmp_path)
    (tmp_path / "victim").mkdir()

    made = guarded.new("user")
    report = guarded.run(
        "user", guarded.script("s.sh", "grep NoNewPrivs /proc/self/status; rm -rf victim")
    )

    assert made["guard"]["no_new_privs"] is True
    assert made["guard"]["note"] == "sudo will not work inside"
    assert "NoNewPrivs: 1" in " ".join(report["output"].split())
    assert report["for"] == "approval"
    (held,) = guarded.held()
    guarded.approve(held["id"])
    eventually(lambda: not (tmp_path / "victim").exists())


def test_doctor_says_whether_it_works(shared: Agent) -> None:
    """
    `doctor` tries the guard and names what is missing.
    """
    report: dict[str, Any] = json.loads(shared.cli("doctor", "--json").stdout)

    (guard,) = [one for one in report["checks"] if one["name"] == "guard"]
    assert guard["ok"] is True
    assert guard["detail"].startswith("works")
