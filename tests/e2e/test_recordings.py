"""Recordings of real sessions: past screens, also after deaths and the end, without secrets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually, slay
from support.journal import payloads

LONG = 30_000
GITHUB = "ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"


def directory(agent: Agent, instance: str) -> Path:
    """Return where the recording of a session is."""
    return Path(agent.layout.log_dir) / "recordings" / instance


def event_of(agent: Agent, name: str, code: str) -> int:
    """Return the number of the event with which the cell of some code began."""
    for one in agent.ask("replay", id=name):
        if one["kind"]["payload"].get("code") == code:
            return int(one["sequence"])
    raise AssertionError(code)


def all_text(where: Path) -> str:
    """Return everything that segments have."""
    return "".join(
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        for path in sorted(where.iterdir())
    )


def test_a_past_screen_is_shown_by_event_and_by_time(agent: Agent) -> None:
    """
    By the number of an event, a time as `replay` prints it, and how long ago; also of a dead one.
    """
    instance = agent.new("work")["instance"]
    for word in ("one", "two"):
        agent.ask("run", id="work", code=f"echo {word}")
    second = event_of(agent, "work", "echo two")
    line = agent.cli("replay", "work").stdout.splitlines()[second - 1]
    printed = line.partition(" UTC")[0] + " UTC"

    by_event = agent.ask("screen_at", id="work", at=str(second))
    by_time = agent.cli("screen", "work", "--at", printed)
    now = agent.cli("screen", "work", "--at", "0s")
    agent.cli("stop")
    dead = json.loads(agent.cli("screen", "work", "--at", str(second), "--json").stdout)

    assert "one" in by_event["text"]
    assert "two" not in by_event["text"]
    assert by_event["instance"] == instance
    assert by_time.stdout == by_event["text"]
    assert "two" in now.stdout
    assert dead["text"] == by_event["text"]


@pytest.mark.parametrize("victim", ["work", "daemon"], ids=["host", "daemon"])
def test_deaths_leave_no_hole(agent: Agent, victim: str) -> None:
    """
    What was shown before, during and after the death of a host is in the recording.
    """
    instance = agent.new("work")["instance"]
    agent.ask("run", id="work", code="echo before-$((1+1))")
    agent.ask("send", id="work", text="echo during-$((1+2)); printf unfinished", enter=True)
    agent.ask("wait", id="work", until="unfinished", timeout_ms=LONG)

    slay(agent.pid_of(victim))
    agent.ask("run", id="work", code="echo after-$((1+3))")
    screen = agent.cli("screen", "work", "--at", "0s").stdout
    agent.ask("kill", id="work")

    for word in ("before-2", "during-3", "after-4"):
        assert word in screen
        assert word in all_text(directory(agent, instance))
    agent.cli("stop")
    checked = agent.cli("verify", "work", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["result"]) == (0, "verified")


def test_red_01_no_secret_that_is_shown_is_recorded(agent: Agent) -> None:
    """
    A token that a program prints is covered; the past screen keeps its shape.
    """
    instance = agent.new("work")["instance"]
    agent.ask("run", id="work", code=f"printf '%s%s end\\n' {GITHUB[:10]} {GITHUB[10:]}")

    past = agent.ask("screen_at", id="work", at="0s")["text"]
    agent.ask("kill", id="work")

    shown = next(line for line in past.splitlines() if line.endswith(" end"))
    assert len(shown) == len(f"{GITHUB} end")
    assert "Fake" not in shown
    assert GITHUB not in all_text(directory(agent, instance))
    assert any(one.get("sha256") for one in payloads(agent, "work", "recording"))


def test_a_changed_recording_fails_to_verify(agent: Agent) -> None:
    """
    `verify` names the segment that is not what was recorded, and one that is gone.
    """
    instance = agent.new("work")["instance"]
    agent.ask("run", id="work", code="echo hello")
    agent.cli("stop")
    (segment,) = directory(agent, instance).iterdir()
    whole = segment.read_bytes()

    good = agent.cli("verify", "work")
    segment.write_bytes(gzip.compress(gzip.decompress(whole).replace(b"hello", b"jello")))
    changed = agent.cli("verify", "work")
    segment.unlink()
    gone = agent.cli("verify", "work")

    assert good.returncode == 0
    assert (changed.returncode, gone.returncode) == (1, 1)
    assert "recording: segment 1: it is not what was recorded" in changed.stdout
    assert "recording: segment 1 is gone" in gone.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "yesterday"], "invalid moment 'yesterday': write an event's number (12)"),
        (["--at", "999"], "there is no event 999"),
        (["--at", "400d"], "the recording begins later: at "),
        (["--at", "0s", "--scrollback", "5"], "--scrollback is not for --at"),
        (["--instance", "abc"], "--instance is for --at"),
    ],
    ids=["no moment", "no event", "too early", "scrollback", "instance"],
)
def test_a_moment_that_there_is_not(shared: Agent, words: list[str], said: str) -> None:
    """
    The answer names what was given and what can be.
    """
    if "moments" not in {one["id"] for one in shared.ask("list")}:
        shared.new("moments")

    done = shared.cli("screen", "moments", *words)

    assert done.returncode != 0
    assert said in done.stderr


def test_without_a_budget_nothing_is_recorded(agent: Agent) -> None:
    """
    `recording.budget = "0"`: the journal goes on, a past screen says why there is none.
    """
    Path(agent.layout.home).mkdir(parents=True, exist_ok=True)
    Path(agent.layout.config).write_text('[recording]\nbudget = "0"\n')
    agent.new("work")
    agent.ask("run", id="work", code="echo hello")

    done = agent.cli("screen", "work", "--at", "0s")

    assert "session work has no recording" in done.stderr
    assert not (Path(agent.layout.log_dir) / "recordings").exists()
    assert payloads(agent, "work", "cell_finished")


def test_input_is_recorded_if_asked_for(agent: Agent) -> None:
    """
    `recording.input = true`: what is typed is there, too, without its secrets.
    """
    Path(agent.layout.home).mkdir(parents=True, exist_ok=True)
    Path(agent.layout.config).write_text("[recording]\ninput = true\n")
    instance = agent.new("work", "cat")["instance"]
    agent.ask("send", id="work", text="PASSWORD=abcdef12")
    agent.ask("wait", id="work", until="PASSWORD", timeout_ms=LONG)
    agent.ask("kill", id="work")

    events = [json.loads(line) for line in all_text(directory(agent, instance)).splitlines()[1:]]

    assert [one[2] for one in events if one[1] == "i"] == ["PASSWORD=[REDACTED]\r"]


def test_status_says_what_is_not_recorded(agent: Agent) -> None:
    """
    Somebody takes the directory away: `status` names the session and why, until it is back.
    """
    instance = agent.new("work")["instance"]
    agent.ask("run", id="work", code="echo hello")
    place = directory(agent, instance)
    place.rename(place.with_name("away"))

    agent.ask("run", id="work", code="echo lost")
    facts: dict[str, Any] = agent.ask("status")["evidence"]["not_recorded"]

    assert list(facts) == ["work"]
    assert "No such file" in facts["work"]

    def goes_on() -> bool:
        agent.ask("run", id="work", code="echo again")
        return not agent.ask("status")["evidence"]["not_recorded"]

    eventually(goes_on)
    assert payloads(agent, "work", "recording_gap")
