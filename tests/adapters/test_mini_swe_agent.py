"""The environment for mini-swe-agent: its real agent, with the scripted model of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty import Client
from support.agent import Agent, alive, ended

Make = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Importing the package writes into the user's directory and prints a greeting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MSWEA_GLOBAL_CONFIG_DIR", str(tmp_path_factory.mktemp("mini")))
        patch.setenv("MSWEA_SILENT_STARTUP", "1")
        yield


@pytest.fixture
def environment(client: Client, shared: Agent) -> Iterator[Make]:
    """Make environments as mini-swe-agent does, from a configuration; end them."""
    from minisweagent.environments import get_environment  # noqa: PLC0415  after _own_settings

    assert client
    made: list[Any] = []

    def make(**config: Any) -> Any:
        name = "agent_pty.adapters.mini_swe_agent.AgentPtyEnvironment"
        found = get_environment({"environment_class": name, "home": str(shared.home), **config})
        made.append(found)
        return found

    yield make
    for one in made:
        one.cleanup()


def worked(env: Any, *commands: str) -> tuple[dict[str, Any], list[str]]:
    """Let the package's own agent do what a script says; return its end and what it observed."""
    from minisweagent.agents.default import DefaultAgent  # noqa: PLC0415
    from minisweagent.models.test_models import DeterministicModel, make_output  # noqa: PLC0415

    outputs = [make_output("", [{"command": one}], cost=0.0) for one in commands]
    scripted: Any = DeterministicModel  # its constructor has no types
    templates: dict[str, Any] = {
        "system_template": "on {{system}}",
        "instance_template": "{{task}} in {{cwd}}",
    }
    agent = DefaultAgent(scripted(outputs=outputs), env, **templates)
    end = agent.run("work")
    return end, [one["content"] for one in agent.messages if one["role"] == "user"][1:]


def run(env: Any, command: str, **more: Any) -> tuple[str, int, str]:
    """Execute one action; return output, exit code and remark."""
    seen = env.execute({"command": command}, **more)
    return seen["output"], seen["returncode"], seen["exception_info"]


def test_the_agent_sees_output_and_exit_code_and_submits(environment: Make) -> None:
    """
    Real commands run in one shell: what an action sets, the next one has; the last one submits.
    """
    submits = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo the patch; echo of two lines"

    end, observed = worked(
        environment(),
        "cd /usr/lib && export COLOUR=red && shout() { echo loud-$1; }",
        'echo "$COLOUR in $PWD"; shout $((1 + 1)); (exit 3)',
        submits,
    )

    assert "<returncode>0</returncode>" in observed[0]
    assert "<returncode>3</returncode>" in observed[1]
    assert "red in /usr/lib\nloud-2" in observed[1]
    assert end["exit_status"] == "Submitted"
    assert end["submission"] == "the patch\nof two lines"


def test_a_background_job_lives_on(environment: Make, tmp_path: Path) -> None:
    """
    A server that one action starts is there for the next one, and ends with the environment.
    """
    env = environment(cwd=str(tmp_path))
    pid = int(run(env, "cat <(sleep 1000) >/dev/null & echo $! > pid; cat pid")[0].split()[-1])

    assert run(env, "kill -0 $(cat pid)")[1] == 0
    env.cleanup()

    ended(pid)
    assert not alive(pid)


def test_directory_and_environment_are_as_configured(environment: Make, tmp_path: Path) -> None:
    """
    The shell starts in `cwd` with `env`; an action's own directory is where it goes on.
    """
    (tmp_path / "a b").mkdir()
    env = environment(cwd=str(tmp_path), env={"FROM_CONFIG": "yes"})

    assert run(env, 'echo "$FROM_CONFIG $PWD"') == (f"yes {tmp_path}", 0, "")
    assert run(env, "pwd", cwd=str(tmp_path / "a b")) == (f"{tmp_path}/a b", 0, "")
    assert run(env, "pwd") == (f"{tmp_path}/a b", 0, "")
    assert run(env, "pwd", cwd=str(tmp_path / "none"))[1] == 1


def test_a_command_that_takes_too_long_is_interrupted(environment: Make) -> None:
    """
    The model is told so; the shell is as it was.
    """
    env = environment(timeout=100)
    run(env, "KEPT=1")

    _, code, why = run(env, "sleep 1000", timeout=1)

    assert (code, "within 1 s; it was interrupted" in why) == (-1, True)
    assert run(env, "echo $KEPT") == ("1", 0, "")


def test_a_command_that_waits_for_the_keyboard_is_interrupted(environment: Make) -> None:
    """
    Nobody will type; the model learns it before the time-out.
    """
    env = environment(timeout=100)

    output, code, why = run(env, "read -p 'Name? ' name")

    assert "Name?" in output
    assert code == -1
    assert "waits for the keyboard" in why
    assert run(env, "echo next") == ("next", 0, "")


def test_a_shell_that_cannot_be_interrupted_is_replaced(environment: Make) -> None:
    """
    It is ended, the remark says so, and the next action has a new shell.
    """
    env = environment(timeout=100)
    # The shell itself is busy, and ignores what asks it to stop.
    before = run(env, "trap '' INT TERM; echo $$")[0]

    _, code, why = run(env, "while :; do :; done", timeout=2)

    assert code == -1
    assert "it did not stop when interrupted; the shell and its variables are gone" in why
    after, code, why = run(env, "echo $$")
    assert (after != before, code, why) == (True, 0, "")


def test_a_program_that_stays_at_the_keyboard_is_named(environment: Make) -> None:
    """
    The next action is for it, until it is left: then it is for the shell again.
    """
    env = environment(timeout=100)

    _, code, why = run(env, "python3 -q")

    assert code == -1
    assert "python3 reads the keyboard now" in why
    assert run(env, "print(6 * 7)")[0] == "42"
    run(env, "exit()")
    assert run(env, "echo back") == ("back", 0, "")


def test_a_shell_that_ends_is_replaced(environment: Make, tmp_path: Path, client: Client) -> None:
    """
    The exit code is reported with a remark, and the next action has a new shell.
    """
    env = environment(cwd=str(tmp_path), session="replaced")
    run(env, "cd /; GONE=1")

    _, code, why = run(env, "exit 4")

    assert code == 4
    assert "the next command runs in a new one" in why
    assert run(env, 'echo "[$GONE]" "$PWD"') == (f"[] {tmp_path}", 0, "")
    assert [one.id for one in client.list()].count("replaced") == 1


def test_a_session_that_somebody_else_ended_is_replaced(environment: Make, client: Client) -> None:
    """
    The action that finds it gone was not run, and says so.
    """
    env = environment(session="taken")
    run(env, "true")
    client.session("taken").kill()

    _, code, why = run(env, "echo lost")

    assert code == -1
    assert why.startswith("not run: ")
    assert run(env, "echo back") == ("back", 0, "")


@pytest.mark.parametrize(
    ("command", "remark"), [("echo 'open", "incomplete input"), ("", "the code is empty")]
)
def test_what_has_no_exit_code_says_why(environment: Make, command: str, remark: str) -> None:
    """
    An unknown exit code is never 0.
    """
    _, code, why = run(environment(), command)

    assert code == -1
    assert remark in why


def test_a_long_patch_is_submitted_whole(environment: Make) -> None:
    """
    Output beyond what one report carries is not cut.
    """
    end, _ = worked(
        environment(), "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; seq -f 'line %g' 1 30000"
    )

    lines = end["submission"].splitlines()
    assert (len(lines), lines[0], lines[-1]) == (30000, "line 1", "line 30000")


def test_the_trajectory_names_the_environment(environment: Make) -> None:
    """
    What is saved says how to make it again; prompts may name system, directory and variables.
    """
    env = environment(cwd="/tmp", timeout=7)

    saved = env.serialize()["info"]["config"]
    assert saved["environment_type"] == "agent_pty.adapters.mini_swe_agent.AgentPtyEnvironment"
    assert saved["environment"]["timeout"] == 7
    known = env.get_template_vars(extra="more")
    assert (known["cwd"], known["system"], known["extra"]) == ("/tmp", os.uname().sysname, "more")


ENDS = """
from agent_pty.adapters.mini_swe_agent import AgentPtyEnvironment
for keep in (False, True):
    env = AgentPtyEnvironment(session=f"ends-{keep}", keep=keep)
    env.execute({"command": "true"})
    globals()[f"held_{keep}"] = env
"""


def test_the_end_of_the_program_ends_the_session(shared: Agent, client: Client) -> None:
    """
    A program that calls no `cleanup` leaves no session, unless it is to be kept.
    """
    subprocess.run(
        [sys.executable, "-c", ENDS],
        env={**shared.env, "MSWEA_GLOBAL_CONFIG_DIR": str(shared.home / "mini")},
        check=True,
        timeout=100,
    )

    assert [one.id for one in client.list() if one.id.startswith("ends-")] == ["ends-True"]
    client.session("ends-True").kill()
