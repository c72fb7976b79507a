"""Waits with a real daemon, rows WAI-* of the reliability contract and more.

A wait that must not be met by something is given that as its first condition and the end of
the program's work as its second: the answer tells which came true, so no test has to wait for
a time to pass.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import AgentPtyError, SessionEnded, UnknownCell, WaitTimeout
from support.agent import Agent, eventually
from support.raw_socket import exchange, wire

TIMEOUT = 4
ENDED = 5
FAILED = 7

needs_vim = pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")


def wait(agent: Agent, name: str, *until: str, timeout_ms: int = 30_000, **more: Any) -> Any:
    """Wait for the first of several conditions."""
    return agent.ask("wait", id=name, until=list(until), timeout_ms=timeout_ms, **more)


def run(agent: Agent, name: str, line: str) -> int:
    """Type a line and return the cursor from which its effect can be read."""
    return int(agent.ask("send", id=name, text=line)["cursor"])


def neighbours(agent: Agent, prefix: str) -> tuple[str, str]:
    """Return two sessions that live in the same host."""
    names = [f"{prefix}{number}" for number in range((os.cpu_count() or 1) + 1)]
    first: dict[int, str] = {}
    for name in names:
        agent.new(name)
        host = agent.info(name)["host_pid"]
        if host in first:
            return first[host], name
        first[host] = name
    raise AssertionError("more hosts than cores")


def test_trial_11_a_pattern_for_one_line_ends_a_wait(shared: Agent) -> None:
    """
    `--fail-on 'regex:^error'` is not missed because other lines precede the error.
    """
    shared.new("per-line")
    run(shared, "per-line", "echo first; echo error: zed; echo last-$((1+1))")

    done = shared.cli("wait", "per-line", "--until", "last-2", "--fail-on", "regex:^error.*d$")

    assert done.returncode == FAILED
    assert "match at line borders" in " ".join(shared.cli("wait", "--help").stdout.split())


# -- the rows of the contract


def test_wai_01_a_pattern_that_blows_up_elsewhere_costs_nobody_anything(shared: Agent) -> None:
    """
    A nested repetition over 50 kB does not match, says so, and a neighbour is answered meanwhile.
    """
    victim, neighbour = neighbours(shared, "wai01-")
    flood = "head -c 50000 /dev/zero | tr '\\0' a; echo; echo flood-$((1+1))"
    run(shared, victim, flood)
    wait(shared, victim, "flood-2")
    evil = "regex:^(a+)+!$"

    with pytest.raises(WaitTimeout):
        wait(shared, victim, evil, timeout_ms=0)

    with shared.begin("wait", id=victim, until=evil, timeout_ms=60_000):
        run(shared, victim, flood)
        run(shared, neighbour, "echo calm-$((1+1))")
        assert wait(shared, neighbour, "calm-2")["matched"] == "calm-2"
        assert wait(shared, victim, "flood-2")["matched"] == "flood-2"


@pytest.mark.parametrize(
    "condition",
    ["regex:(", "regex:", "screen:", "regex:" + "x" * 100_000, "regex:(?<=a)b", "regex:(a)\\1", ""],
    ids=["invalid", "empty", "empty-screen", "100-kB", "lookbehind", "backreference", "nothing"],
)
def test_wai_02_a_bad_pattern_is_an_error_at_once(shared: Agent, condition: str) -> None:
    """
    A pattern that cannot be compiled is refused before the wait begins, in a short message.
    """
    name = shared.ask("new", repo="/tmp", argv=["/bin/cat"])["id"]

    with pytest.raises(AgentPtyError) as caught:
        wait(shared, name, condition)

    assert caught.value.code == "bad_request"
    assert len(str(caught.value)) < 500


def test_wai_02_a_pattern_for_everything_is_bounded(shared: Agent) -> None:
    """
    `(?s).*` matches at once, and what it matched is cut to a bounded length.
    """
    shared.new("wai02-all")
    run(shared, "wai02-all", "seq 30000; echo end-$((1+1))")
    wait(shared, "wai02-all", "end-2")

    seen = wait(shared, "wai02-all", "regex:(?s).*", timeout_ms=0)

    assert len(seen["match"]) <= 12_000


def test_wai_03_text_from_before_the_last_input_does_not_count(shared: Agent) -> None:
    """
    What stood on the screen before the last input meets no wait; what came after it does.
    """
    shared.new("wai03")
    run(shared, "wai03", "echo early-$((1+1))")
    wait(shared, "wai03", "early-2")
    wait(shared, "wai03", "prompt")
    run(shared, "wai03", "echo late-$((1+1))")

    assert wait(shared, "wai03", "early-2", "late-2")["matched"] == "late-2"
    assert wait(shared, "wai03", "late-2", timeout_ms=0)["matched"] == "late-2"
    with pytest.raises(WaitTimeout):
        wait(shared, "wai03", "early-2", timeout_ms=0)


def test_wai_03_no_wake_is_lost_between_send_and_wait(shared: Agent) -> None:
    """
    In 200 trials the wait is met, whether it comes before, with or after the output.
    """
    shared.new("race")
    with shared.connect_if_running() as typist, shared.connect_if_running() as watcher:
        for trial in range(200):
            text, wanted = f"echo lap-$((1000+{trial}))", f"lap-{1000 + trial}"
            if trial % 2:
                with shared.begin("wait", id="race", until=wanted) as answer:
                    typist.ask("send", id="race", text=text)
                    seen = answer()["data"]["data"]
            else:
                typist.ask("send", id="race", text=text)
                seen = watcher.ask("wait", id="race", until=wanted)

            assert seen["matched"] == wanted


@pytest.mark.parametrize("kind", ["", "regex:", "screen:"])
@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("colour", "printf 'nee\\033[31mdle\\033[0m-%s\\n' $((1+1))"),
        ("wrap", "printf '%076d%s-%s\\n' 0 needle $((1+1))"),
        ("redraw", "printf 'needXX-%s\\rneedle\\n' $((1+1))"),
    ],
)
def test_wai_04_a_match_is_on_what_a_person_reads(
    shared: Agent, kind: str, how: str, line: str
) -> None:
    """
    Colour codes, the edge of the screen and a redrawn line do not part the text of a match.
    """
    name = f"wai04-{how}-{kind.strip(':')}"
    shared.new(name)
    run(shared, name, line)

    seen = wait(shared, name, f"{kind}needle-2")

    assert seen["match"] == "needle-2"


_SPINNER = """
import sys, time
for frame in range(20):
    sys.stdout.write(sys.argv[1].replace("TIME", f"{time.monotonic():.3f}"))
    sys.stdout.flush()
    time.sleep(0.05)
input()
"""


@pytest.mark.parametrize(
    ("kind", "frame"),
    [("spinner", "\r|TIME\r/TIME"), ("clock", "\033[1;60HTIME\033[5;1H")],
)
def test_wai_06_a_redraw_is_output(shared: Agent, kind: str, frame: str) -> None:
    """
    A spinner and a clock are not idle: the wait ends half a second after the last frame.
    """
    shared.new(kind, sys.executable, "-c", _SPINNER, frame)

    seen = wait(shared, kind, "idle:500ms")
    answered = time.monotonic()

    last_frame = float(seen["screen"]["text"].split("/")[-1].split()[-1])
    assert answered - last_frame >= 0.5


def test_wai_06_a_timeout_ends_a_wait_that_a_spinner_keeps_open(shared: Agent) -> None:
    """
    A session that never falls quiet gives a timeout, with what was seen until then.
    """
    shared.new("endless", "/bin/sh", "-c", "while :; do printf '\\rframe'; done")

    with pytest.raises(WaitTimeout) as caught:
        wait(shared, "endless", "idle:1m", timeout_ms=200)

    assert "frame" in caught.value.details["observation"]["screen"]["text"]
    shared.ask("kill", id="endless")


def test_wai_07_exit_of_an_ended_session_is_immediate(shared: Agent) -> None:
    """
    A wait for the exit of a session that has ended answers at the first test, with its code.
    """
    shared.new("wai07", "/bin/sh", "-c", "exit 3")
    first = wait(shared, "wai07", "exit")

    again = wait(shared, "wai07", "exit", timeout_ms=0)

    assert first["exit_status"] == again["exit_status"] == 3
    assert again["matched"] == "exit"


def test_wai_08_zero_makes_one_test(shared: Agent) -> None:
    """
    A timeout of zero tests once: true is matched, false is a timeout.
    """
    shared.new("wai08")
    run(shared, "wai08", "echo here-$((1+1))")
    wait(shared, "wai08", "here-2")

    assert wait(shared, "wai08", "here-2", timeout_ms=0)["matched"] == "here-2"
    with pytest.raises(WaitTimeout):
        wait(shared, "wai08", "there-2", timeout_ms=0)


@pytest.mark.parametrize("timeout", ["-1", "1e18", "1000000000000000000", '"5"', "null", "true"])
def test_wai_08_other_timeouts_are_refused(shared: Agent, timeout: str) -> None:
    """
    A timeout that is negative, beyond a week or no integer is a bad request.
    """
    name = shared.ask("new", repo="/tmp", argv=["/bin/cat"])["id"]
    line = f'{{"op":"wait","id":"{name}","until":"x","timeout_ms":{timeout}}}'

    envelope = exchange(shared, line.encode())

    assert envelope["code"] == "bad_request"
    assert "timeout_ms" in envelope["error"]


@pytest.mark.parametrize("until", ["needle", "prompt", "idle:1m", "screen:needle"])
def test_wai_09_a_session_killed_during_a_wait_has_ended(shared: Agent, until: str) -> None:
    """
    Who waits for a session that is killed is told that it ended, not that time ran out.
    """
    name = f"wai09-{until.partition(':')[0]}"
    shared.new(name, "/bin/cat")

    with shared.begin("wait", id=name, until=until, timeout_ms=60_000) as answer:
        shared.ask("screen", id=name)
        shared.ask("kill", id=name)
        envelope = answer()

    assert envelope["code"] == "exited"
    assert envelope["details"]["signal"] in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL)


def test_wai_09_exit_is_met_by_a_kill(shared: Agent) -> None:
    """
    Who waits for the exit itself is answered by a kill.
    """
    shared.new("wai09-exit", "/bin/cat")

    with shared.begin("wait", id="wai09-exit", until="exit", timeout_ms=60_000) as answer:
        shared.ask("screen", id="wai09-exit")
        shared.ask("kill", id="wai09-exit")

        assert answer()["data"]["data"]["matched"] == "exit"


def test_net_14_waits_of_clients_that_left_are_cancelled(shared: Agent) -> None:
    """
    After 500 clients that began a long wait and hung up, no descriptor and no memory is kept.
    """
    shared.new("net14", "/bin/cat")
    daemon, host = shared.pid_of("daemon"), shared.pid_of("net14")
    files = descriptors(daemon, host)
    # The first round pays for what is allocated once.
    abandon(shared, "net14", 500)
    eventually(lambda: descriptors(daemon, host) <= files)
    memory = private_kb(host)

    abandon(shared, "net14", 500)
    eventually(lambda: descriptors(daemon, host) <= files)

    assert private_kb(host) - memory < 1024
    assert wait(shared, "net14", "idle:1ms")["matched"] == "idle:1ms"


def abandon(agent: Agent, name: str, clients: int) -> None:
    """Begin many waits, and hang up once the host has them all."""
    with contextlib.ExitStack() as stack:
        for number in range(clients):
            connection = stack.enter_context(wire(agent))
            connection.post("wait", id=name, until=f"never-{number}", timeout_ms=60_000)
        agent.ask("screen", id=name)


def descriptors(*pids: int) -> int:
    """Count the open files of some processes."""
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)


def private_kb(pid: int) -> int:
    """Return the memory of a process that nobody shares, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


# -- which condition came true


def test_the_answer_tells_which_condition_came_true(shared: Agent) -> None:
    """
    Of several conditions the one that came true is named, and with it the text that made it so.
    """
    shared.new("which")
    run(shared, "which", "echo pear-$((1+1))")

    seen = wait(shared, "which", "apple", "regex:p[a-z]+-[0-9]", "exit")

    assert seen["matched"] == "regex:p[a-z]+-[0-9]"
    assert seen["match"] == "pear-2"
    assert seen["failed"] is False


def test_fail_on_is_told_apart_from_success(shared: Agent) -> None:
    """
    A failing condition ends the wait too, says so, and gives the command line's status 7.
    """
    shared.new("doomed")
    run(shared, "doomed", "echo fatal-$((1+1))")

    seen = wait(shared, "doomed", "built", fail_on=["panic", "fatal-2"])
    said = shared.cli(
        "wait", "doomed", "--until", "built", "--fail-on", "panic", "--fail-on", "fatal-2"
    )

    assert (seen["matched"], seen["failed"]) == ("fatal-2", True)
    assert said.returncode == FAILED
    assert "fatal-2" in said.stdout


def test_failure_wins_when_both_are_true(shared: Agent) -> None:
    """
    If success and failure are both there, the wait has failed.
    """
    shared.new("both")
    run(shared, "both", "echo good-$((1+1)) bad-$((1+1))")
    wait(shared, "both", "bad-2")

    seen = wait(shared, "both", "good-2", fail_on=["bad-2"], timeout_ms=0)

    assert seen["failed"] is True


def test_no_condition_at_all_is_a_bad_request(shared: Agent) -> None:
    """
    A wait for nothing is refused at once; it would wait for its timeout.
    """
    shared.new("nothing", "/bin/cat")

    with pytest.raises(AgentPtyError) as caught:
        wait(shared, "nothing")

    assert caught.value.code == "bad_request"


def test_exit_statuses_are_distinct(shared: Agent) -> None:
    """
    0 is matched, 4 timed out, 5 ended, 7 failed, 1 no such session, 2 wrong usage.
    """
    shared.new("alive")
    run(shared, "alive", "echo ready-$((1+1))")
    wait(shared, "alive", "ready-2")
    shared.new("dead", "/bin/sh", "-c", "exit 9")
    wait(shared, "dead", "exit")

    statuses = {
        words: shared.cli("wait", *words.split()).returncode
        for words in (
            "alive --until ready-2",
            "alive --until never --timeout 0",
            "dead --until never",
            "alive --until never --fail-on ready-2",
            "nobody --until never",
            "alive",
        )
    }

    assert list(statuses.values()) == [0, TIMEOUT, ENDED, FAILED, 1, 2]


def test_a_timeout_says_what_was_waited_for(shared: Agent) -> None:
    """
    The message of a timeout has the condition as it was given; its details have what was seen.
    """
    shared.new("late")

    with pytest.raises(WaitTimeout) as caught:
        wait(shared, "late", "regex:ne+dle", timeout_ms=0)

    assert str(caught.value) == "timed out waiting for regex:ne+dle in session late"
    assert caught.value.details["observation"]["screen"]["text"] == "$"


def test_an_observation_has_the_exit_code(shared: Agent) -> None:
    """
    The answer to a wait for the exit carries code and last output.
    """
    shared.new("finale")
    run(shared, "finale", "echo curtain-$((1+1)); exit 42")

    seen = wait(shared, "finale", "exit")

    assert seen["exit_status"] == 42
    assert "curtain-2" in seen["stdout_tail"]
    assert seen["screen"]["state"] == "exited"


def test_a_signal_shows_as_shells_show_it(shared: Agent) -> None:
    """
    A program ended by signal n has the status 128 + n.
    """
    shared.new("shot", "/bin/sh", "-c", "kill -TERM $$")

    assert wait(shared, "shot", "exit")["exit_status"] == 128 + signal.SIGTERM


@pytest.mark.parametrize("kind", ["", "screen:"])
def test_text_before_the_end_wins_over_the_end(shared: Agent, kind: str) -> None:
    """
    A program that says the word and ends at once has said it.
    """
    program = ["/bin/sh", "-c", "stty -echo; echo up; read -r word; echo $word words"]
    for _ in range(10):
        name = shared.ask("new", repo="/tmp", argv=program)["id"]
        wait(shared, name, "up")

        with shared.begin("wait", id=name, until=f"{kind}last words") as answer:
            run(shared, name, "last")

            assert answer()["data"]["data"]["match"] == "last words"


def test_an_ended_session_never_says_more(shared: Agent) -> None:
    """
    A wait for text that an ended session did not write is told that it ended, and how.
    """
    shared.new("silent", "/bin/sh", "-c", "exit 3")

    with pytest.raises(SessionEnded) as caught:
        wait(shared, "silent", "anything")

    assert caught.value.details["exit_code"] == 3


# -- several sessions


def test_any_returns_with_the_first(shared: Agent) -> None:
    """
    Of several sessions, `--any` ends with the first that matches and names it.
    """
    shared.new("any-quiet", "/bin/cat")
    shared.new("any-loud")
    run(shared, "any-loud", "echo loud-$((1+1))")

    said = shared.cli("wait", "any-quiet", "any-loud", "--any", "--until", "loud-2")

    assert said.returncode == 0
    assert said.stdout == "any-loud matched loud-2\n"


def test_all_waits_for_every_one(shared: Agent) -> None:
    """
    `--all` ends when each session has matched; one that is late is waited for.
    """
    shared.new("all-first")
    shared.new("all-last")
    run(shared, "all-first", "echo here-$((1+1))")
    names = ["all-first", "all-last"]

    with shared.begin("wait_many", ids=names, until="here-2", mode="all") as answer:
        wait(shared, "all-first", "here-2")
        run(shared, "all-last", "echo here-$((1+1))")
        outcomes = answer()["data"]["data"]["outcomes"]

    assert sorted(outcome["id"] for outcome in outcomes) == names
    assert {outcome["code"] for outcome in outcomes} == {"matched"}


def test_all_fails_with_the_first_that_cannot_match(shared: Agent) -> None:
    """
    When one session ends, all can no longer match: the wait ends with that one's fate.
    """
    shared.new("all-alive", "/bin/cat")
    shared.new("all-dead", "/bin/sh", "-c", "exit 3")
    wait(shared, "all-dead", "exit")

    said = shared.cli("wait", "all-alive", "all-dead", "--all", "--until", "never")

    assert said.returncode == ENDED
    assert said.stderr.startswith("error: all-dead: session all-dead has ended (exit code 3)")


def test_any_survives_one_that_cannot_match(shared: Agent) -> None:
    """
    When one session ends, any of the others may still match.
    """
    shared.new("any-dead", "/bin/sh", "-c", "exit 3")
    wait(shared, "any-dead", "exit")
    shared.new("any-alive")
    run(shared, "any-alive", "echo still-$((1+1))")

    answer = shared.ask("wait_many", ids=["any-dead", "any-alive"], until="still-2", mode="any")

    assert {one["id"]: one["code"] for one in answer["outcomes"]}["any-alive"] == "matched"


@pytest.mark.parametrize("mode", ["--any", "--all"])
def test_several_sessions_time_out_together(shared: Agent, mode: str) -> None:
    """
    If none matches in time, the status is that of a timeout.
    """
    shared.new(f"slow{mode}-a", "/bin/cat")
    shared.new(f"slow{mode}-b", "/bin/cat")

    said = shared.cli(
        "wait", f"slow{mode}-a", f"slow{mode}-b", mode, "--until", "x", "--timeout", "0"
    )

    assert said.returncode == TIMEOUT


def test_fail_on_over_several_sessions(shared: Agent) -> None:
    """
    A failing condition in one of several sessions gives status 7.
    """
    shared.new("many-good", "/bin/cat")
    shared.new("many-bad")
    run(shared, "many-bad", "echo oops-$((1+1))")

    said = shared.cli(
        "wait", "many-good", "many-bad", "--any", "--until", "fine", "--fail-on", "oops-2"
    )

    assert said.returncode == FAILED
    assert said.stdout == "many-bad matched oops-2\n"


# -- prompts, idleness, full-screen programs


@pytest.mark.parametrize(
    "argv",
    [("/bin/bash", "--norc", "--noprofile"), ("/bin/dash",), (sys.executable, "-q")],
    ids=["bash", "dash", "python"],
)
def test_prompt_is_met_by_the_next_prompt(shared: Agent, argv: tuple[str, ...]) -> None:
    """
    The prompt that stood before a command does not count, the one after its output does.
    """
    name = f"prompt-{Path(argv[0]).name}"
    if not Path(argv[0]).exists():
        pytest.skip(f"{argv[0]} is not installed")
    shared.new(name, *argv)
    wait(shared, name, "prompt")
    python = argv[0] == sys.executable
    busy = "import time; time.sleep(0.3); print(6*7)" if python else "sleep 0.3; echo $((6*7))"
    run(shared, name, busy)

    seen = wait(shared, name, "prompt")

    assert "42" in seen["screen"]["text"].splitlines()


@pytest.mark.serial
def test_idle_is_counted_from_the_last_input(shared: Agent) -> None:
    """
    A quiet session is not idle right after it was typed into: its program had no chance yet.
    """
    shared.new("typed", "/bin/sh", "-c", "stty -echo; echo up; cat >/dev/null")
    wait(shared, "typed", "up")
    wait(shared, "typed", "idle:300ms")
    typed = time.monotonic()
    run(shared, "typed", "x")

    wait(shared, "typed", "idle:300ms")

    assert time.monotonic() - typed >= 0.3


@needs_vim
def test_a_full_screen_editor_is_waited_for_by_its_screen(shared: Agent, tmp_path: Path) -> None:
    """
    Text and `screen:` both find what vim draws, and only what it has drawn since the last key.
    """
    page = tmp_path / "page"
    page.write_text("".join(f"line {number} word{number * 7}\n" for number in range(200)))
    shared.new("vim", "vim", "-u", "NONE", "-N", "-n", "-i", "NONE", str(page))

    assert wait(shared, "vim", "word70")["screen"]["alternate_screen"] is True
    shared.ask("send", id="vim", text="150G", enter=False)
    assert wait(shared, "vim", "screen:word104[0-9]")["match"] == "word1043"
    with pytest.raises(WaitTimeout):
        wait(shared, "vim", "word70", timeout_ms=0)
    shared.ask("send", id="vim", text=":q!")
    assert wait(shared, "vim", "exit")["exit_status"] == 0


@needs_less
def test_a_pager_is_waited_for_by_its_screen(shared: Agent, tmp_path: Path) -> None:
    """
    The end of a file comes onto the screen of less with one key, and a wait sees it.
    """
    page = tmp_path / "page"
    page.write_text("".join(f"line {number} word{number * 7}\n" for number in range(200)))
    shared.new("less", "less", str(page), env={"LESS": "", "LESSOPEN": ""})
    wait(shared, "less", "word70")

    shared.ask("send", id="less", text="G", enter=False)

    assert wait(shared, "less", "word1393")["matched"] == "word1393"
    assert wait(shared, "less", "screen:word1393", timeout_ms=0)["match"] == "word1393"


def test_screen_does_not_see_what_has_scrolled_away(shared: Agent) -> None:
    """
    `screen:` looks at the screen alone; text also looks at what has left it.
    """
    shared.new("scroll")
    run(shared, "scroll", "echo top-$((1+1)); seq 100; echo bottom-$((1+1))")
    wait(shared, "scroll", "bottom-2")

    assert wait(shared, "scroll", "top-2", timeout_ms=0)["matched"] == "top-2"
    assert wait(shared, "scroll", "screen:bottom-2")["matched"] == "screen:bottom-2"
    with pytest.raises(WaitTimeout):
        wait(shared, "scroll", "screen:top-2", timeout_ms=0)


def test_screen_is_looked_at_when_plain_text_comes(shared: Agent) -> None:
    """
    `screen:` does not need a full-screen program: a line that is simply printed is on it too.
    """
    shared.new("plain")

    with shared.begin("wait", id="plain", until="screen:plain-2", timeout_ms=30_000) as answer:
        shared.ask("screen", id="plain")
        run(shared, "plain", "sleep 0.1; echo plain-$((1+1))")

        assert answer()["data"]["data"]["match"] == "plain-2"


# -- echoes and cursors


def test_type_ahead_is_not_satisfied_by_either_echo(shared: Agent) -> None:
    """
    What is typed before the shell is up is echoed by kernel and shell: neither is an answer.
    """
    line = "echo needle | tr e E; echo over-$((1+1))"
    for trial in range(5):
        name = f"ahead{trial}"
        shared.new(name, "/bin/bash", "--norc", "--noprofile")
        run(shared, name, line)

        assert wait(shared, name, "needle", "over-2")["matched"] == "over-2"


def test_a_wait_under_way_is_not_met_by_the_echo_of_a_later_input(shared: Agent) -> None:
    """
    Who waits already when the line is typed does not take its echo for an answer either.
    """
    shared.new("early-bird")
    until = ["needle", "over-2"]

    with shared.begin("wait", id="early-bird", until=until) as answer:
        shared.ask("screen", id="early-bird")
        run(shared, "early-bird", "echo needle | tr e E; echo over-$((1+1))")
        seen = answer()["data"]["data"]

    assert seen["matched"] == "over-2"


def test_since_looks_from_its_cursor_on(shared: Agent) -> None:
    """
    `--since` finds text from before the last input, and nothing from before its cursor.
    """
    shared.new("since")
    start = run(shared, "since", "echo first-$((1+1))")
    wait(shared, "since", "first-2")
    later = wait(shared, "since", "prompt")["cursor"]
    run(shared, "since", "echo second-$((1+1))")
    wait(shared, "since", "second-2")
    wait(shared, "since", "prompt")

    found = shared.cli("wait", "since", "--until", "first-2", "--since", str(start))
    missed = shared.cli(
        "wait", "since", "--until", "first-2", "--since", str(later), "--timeout", "0"
    )

    assert (found.returncode, missed.returncode) == (0, TIMEOUT)
    assert wait(shared, "since", "second-2", since=later, timeout_ms=0)["match"] == "second-2"


def test_since_the_cursor_of_a_send_is_not_met_by_its_echo(shared: Agent) -> None:
    """
    The cursor that `send` answers with stands before the echo, which still is no answer.
    """
    shared.new("since-echo")
    cursor = run(shared, "since-echo", "echo needle | tr e E; echo over-$((1+1))")

    seen = wait(shared, "since-echo", "needle", "over-2", since=cursor)

    assert seen["matched"] == "over-2"


# -- cells


def fire(agent: Agent, name: str, code: str) -> str:
    """Start a cell in a session and return its id."""
    return str(agent.ask("fire", id=name, code=code)["cell_id"])


def test_a_cell_can_be_waited_for(shared: Agent) -> None:
    """
    Its end wakes the wait, however it ends; the output of a cell before it does not.
    """
    shared.new("cells")
    first = fire(shared, "cells", "read go; echo gone")
    assert wait(shared, "cells", f"cell:{first}")["match"] == "waiting"

    shared.ask("send", id="cells", text="on")
    assert wait(shared, "cells", f"cell:{first}")["match"] == "done"
    assert wait(shared, "cells", f"cell:{first}")["match"] == "done"  # also when it is long over

    second = fire(shared, "cells", "cat")
    shared.ask("interrupt", id="cells")
    seen = wait(shared, "cells", f"cell:{first}", fail_on=f"cell:{second}")
    assert (seen["match"], seen["failed"]) == ("interrupted", True)


def test_a_cell_that_was_collected_is_still_known(shared: Agent) -> None:
    """
    And one that never was is an error that names it.
    """
    shared.new("collected")
    cell = fire(shared, "collected", "true")
    assert wait(shared, "collected", f"cell:{cell}")["match"] == "done"
    shared.ask("poll", id="collected", cell=cell)

    assert wait(shared, "collected", f"cell:{cell}")["match"] == "done"
    with pytest.raises(UnknownCell, match="nobody"):
        wait(shared, "collected", "cell:nobody")


def test_a_cell_ends_with_its_program(shared: Agent) -> None:
    """
    Then the wait is answered too, not refused.
    """
    shared.new("leaves")
    cell = fire(shared, "leaves", "read x; exit 3")
    wait(shared, "leaves", f"cell:{cell}")
    shared.ask("send", id="leaves", text="")

    assert wait(shared, "leaves", f"cell:{cell}")["match"] == "exited"


def test_a_wait_for_a_cell_that_runs_on_times_out(shared: Agent) -> None:
    """
    The message names the cell.
    """
    shared.new("endless")
    cell = fire(shared, "endless", "sleep 1000")

    with pytest.raises(WaitTimeout, match=cell):
        wait(shared, "endless", f"cell:{cell}", timeout_ms=0)


@pytest.mark.parametrize("marks", [True, False])
def test_trial_15_a_prompt_that_no_mark_confirms_is_called_a_guess(
    agent: Agent, *, marks: bool
) -> None:
    """
    A shell that marks its prompt is believed; a line that looks like a prompt is only a guess.
    """
    shell = ["/bin/bash", "--norc", "--noprofile"]
    agent.ask("new", id="work", repo="/tmp", argv=shell, marks=marks)

    first = agent.ask("wait", id="work", until="prompt")
    agent.ask("send", id="work", text="true")
    second = agent.ask("wait", id="work", until="prompt")
    text = agent.ask("wait", id="work", until=["regex:[$#]", "prompt"], since=0)
    said = agent.cli("wait", "work", "--until", "prompt")

    assert (first["guess"], second["guess"]) == (not marks, not marks)
    assert (text["matched"], text["guess"]) == ("regex:[$#]", False)
    remark = "the prompt of work is a guess: the program does not mark it\n"
    assert said.stderr == ("" if marks else remark)


def test_trial_15_a_wait_for_several_says_which_prompt_is_a_guess(agent: Agent) -> None:
    """
    Each outcome says it for its own session, also in text.
    """
    shell = ["/bin/bash", "--norc", "--noprofile"]
    for name, marks in (("marked", True), ("plain", False)):
        agent.ask("new", id=name, repo="/tmp", argv=shell, marks=marks)

    said = agent.cli("wait", "marked", "plain", "--all", "--until", "prompt")

    assert sorted(said.stdout.splitlines()) == [
        "marked matched prompt",
        "plain matched prompt (a guess)",
    ]


def test_trial_20_a_wait_begins_with_the_line_that_matched(shared: Agent) -> None:
    """
    The text of a wait begins with its condition and the matching line; then comes the screen.
    """
    shared.new("line")
    run(shared, "line", "echo no port; echo port $((8000+80)) is open; echo last")

    said = shared.cli("wait", "line", "--until", r"regex:^port \d+")
    brief = shared.cli("wait", "line", "--until", r"regex:^port \d+", "--brief")

    first, _, screen = said.stdout.partition("\n")
    assert first == r"matched regex:^port \d+: port 8080 is open"
    assert "no port\nport 8080 is open\n" in screen
    assert brief.stdout == first + "\n"


def test_trial_20_a_failed_wait_says_on_what(shared: Agent) -> None:
    """
    A condition that means failure is named as such; one that is no text has no line.
    """
    shared.new("fails")
    run(shared, "fails", "echo error-$((1+1)): disk; sleep 1000")

    failed = shared.cli("wait", "fails", "--until", "never", "--fail-on", "error-2", "--brief")
    idle = shared.cli("wait", "fails", "--until", "idle:10ms", "--brief")

    assert failed.stdout == "failed on error-2: error-2: disk\n"
    assert idle.stdout == "matched idle:10ms\n"


def test_trial_20_a_timeout_shows_the_condition_as_given_and_the_last_lines(shared: Agent) -> None:
    """
    A wait in vain prints the end of the screen, and a message with the text as it was given.
    """
    shared.new("vain")
    run(shared, "vain", "seq 100 120; sleep 1000")
    wait(shared, "vain", "120")

    said = shared.cli("wait", "vain", "--until", "done (ok?)", "--timeout", "0")

    assert said.returncode == TIMEOUT
    assert said.stderr == "error: timed out waiting for done (ok?) in session vain\n"
    assert said.stdout == "".join(f"{number}\n" for number in range(111, 121))
