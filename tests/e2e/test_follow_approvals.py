"""`agent-pty approvals --follow`: what waits, then requests and decisions as they come."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, eventually, slay
from support.followers import Follower

RM = "rm -rf build"


@pytest.fixture
def work(agent: Agent) -> Agent:
    """A user with a shell called `work`."""
    agent.new("work")
    return agent


@contextlib.contextmanager
def following(agent: Agent, *words: str) -> Iterator[Follower]:
    """Start the command; it ends with the test."""
    with agent.start("approvals", "--follow", *words) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


def refused(agent: Agent, op: str = "send", **fields: Any) -> str:
    """Ask for something that needs an approval; return the request."""
    asked = {"id": "work", "text": RM} if op == "send" else fields
    with agent.begin(op, **asked) as answer:
        request: str = answer()["details"]["request"]
    return request


def test_each_request_and_decision_is_a_line(work: Agent) -> None:
    """
    Those that wait come first, once; the command stands there so that nothing in it hides.
    """
    first = refused(work)
    with following(work) as told:
        waiting = told.line()
        second = refused(work, "new", repo="/tmp", argv=["rm", "-rf", "/tmp/\u202ex\n"])
        asked = told.line()
        work.ask("approve", request=second)
        approved = told.line()
        work.ask("deny", request=first)
        denied = told.line()

    assert f"work         request {first}: an agent needs an approval (rm -rf) in /" in waiting
    assert waiting.endswith(f": {RM}\n")
    assert f"start        request {second}: an agent needs an approval (rm -rf) in /tmp: " in asked
    assert "/tmp/\\u202ex\\n" in asked
    assert "! 1 character was escaped" in asked
    assert approved.endswith(f"request {second}: approved by a person (rm -rf)\n")
    assert denied.endswith(f"request {first}: denied by a person (rm -rf)\n")


def test_programs_get_an_event_for_each(work: Agent) -> None:
    """
    With --json every line is an event, also for what waits already.
    """
    first = refused(work)
    with following(work, "--json") as told:
        waiting = told.event()
        second = refused(work, "exec", repo="/tmp", argv=["rm", "-rf", "/tmp/nothing"])
        asked = told.event()
        work.ask("approve", request=first)
        decided = told.event()

    shown = {"event": "approval_requested", "request": first, "rule": "rm -rf", "command": RM}
    assert waiting.items() >= shown.items()
    assert (waiting["id"], asked["id"]) == ("work", "start")
    assert (asked["event"], asked["request"]) == ("approval_requested", second)
    assert asked["cwd"] == "/tmp"
    assert (decided["event"], decided["request"]) == ("approval_decided", first)
    assert decided["approved"] is True
    assert decided["by"]["kind"] == "human"


def test_one_session_can_be_followed(work: Agent) -> None:
    """
    What other sessions ask for is left out.
    """
    work.new("other")
    with following(work, "work", "--json") as told:
        mine = refused(work)
        assert told.event()["request"] == mine
        with pytest.raises(Exception, match="rm -rf requires approval"):
            work.ask("send", id="other", text=RM)
        work.ask("deny", request=mine)

        assert told.event()["event"] == "approval_decided"


def test_what_permission_asks_about_is_told(work: Agent) -> None:
    """
    It is a request like any other.
    """
    with following(work, "--json") as told:
        request = refused(work, "permit", what="terminal_stop", argv=["bash"], id="work")

        event = told.event()
    assert (event["request"], event["id"], event["rule"]) == (request, "work", "terminal_stop")


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["people", "programs"])
def test_ctrl_c_ends_it(work: Agent, words: tuple[str, ...]) -> None:
    """
    With the status of every command that is interrupted, and without a word.
    """
    refused(work)
    with following(work, *words) as told:
        told.line()

        told.process.send_signal(signal.SIGINT)

        assert told.rest() == []
        assert told.process.returncode == 130
        assert told.process.stderr is not None
        assert told.process.stderr.read() == ""


def test_the_death_of_the_daemon_is_not_noticed(work: Agent, tmp_path: Path) -> None:
    """
    Nothing is told twice, and nothing is left out.
    """
    first = refused(work)
    with following(work, "--json") as told:
        assert told.event()["request"] == first
        slay(work.pid_of("daemon"))
        eventually(lambda: work.ask("list") != [])

        second = refused(work, "new", repo=str(tmp_path), argv=["rm", "-rf", "x"])

        assert told.event()["request"] == second
        work.ask("approve", request=first)
        assert json.loads(told.line())["request"] == first


def test_an_unknown_session_is_an_error(work: Agent) -> None:
    """
    Nothing would ever be told of it.
    """
    done = work.cli("approvals", "nobody", "--follow")

    assert done.returncode == 1
    assert "unknown session nobody" in done.stderr


def test_without_follow_one_answer_is_printed(work: Agent) -> None:
    """
    As text, or with --json as one array.
    """
    nothing = work.cli("approvals").stdout
    request = refused(work)

    assert nothing == "no request waits for an approval\n"
    assert work.cli("approvals").stdout.startswith(f"{request}  rm -rf  in session work\n")
    assert [one["id"] for one in json.loads(work.cli("approvals", "--json").stdout)] == [request]
