"""`agent-pty top` in a real terminal: one of our own sessions, driven by our own hands."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import pytest

from agent_pty.cli.main import commands
from support.agent import Agent, eventually, slay

TOP = (sys.executable, "-m", "agent_pty.cli.main", "top")
HELP = "q quit"


def saying(agent: Agent, name: str, text: str, **fields: Any) -> None:
    """Start a session that shows *text* and then echoes what is typed."""
    agent.new(name, "/bin/sh", "-c", f"printf '{text}\\n'; exec cat", **fields)
    agent.ask("wait", id=name, until="regex:.", timeout_ms=30_000)


def press(agent: Agent, *keys: str) -> None:
    """Press keys in `top`."""
    agent.ask("keys", id="top", keys=list(keys))


def sees(agent: Agent, pattern: str) -> str:
    """Wait until `top` draws a line like this; return its screen."""
    seen = agent.ask("wait", id="top", until=f"screen:{pattern}", timeout_ms=30_000)
    return str(seen["screen"]["text"])


@pytest.fixture
def desk(agent: Agent) -> Agent:
    """Two sessions, and `top` in a third."""
    saying(agent, "alpha", "words of alpha")
    saying(agent, "beta", "words of beta")
    agent.new("top", *TOP)
    sees(agent, "> ?alpha .*words of alpha")
    return agent


def test_it_lists_and_previews(desk: Agent) -> None:
    """
    Each session has a row, the first is chosen, and below is what it shows.
    """
    screen = desk.ask("screen", id="top")
    lines = screen["text"].split("\n")

    assert lines[0] == "agent-pty: 3 sessions, 3 running"
    assert lines[1].split()[:4] == ["NAME", "STATE", "QUIET", "CPU%"]
    assert [line[:6] for line in lines[2:5]] == [">alpha", " beta ", " top  "]
    assert str(desk.info("alpha")["pid"]) in lines[2]
    assert lines[5].startswith("── alpha · waiting · /tmp ──")
    assert lines[6] == "words of alpha"
    assert lines[23].endswith(HELP)
    assert screen["alternate_screen"]
    assert not screen["cursor"]["visible"]


def test_the_choice_moves_and_the_preview_with_it(desk: Agent) -> None:
    """
    Down and up choose another session; its text is shown, not the other's.
    """
    press(desk, "down")
    assert sees(desk, "> ?beta ").split("\n")[6] == "words of beta"

    press(desk, "k")
    assert sees(desk, "> ?alpha ").split("\n")[6] == "words of alpha"


def test_what_happens_is_shown_without_a_key(desk: Agent) -> None:
    """
    New sessions, output, exits and other names appear by themselves.
    """
    saying(desk, "gamma", "words of gamma")
    sees(desk, "gamma .*words of gamma")

    desk.ask("send", id="alpha", text="more-of-alpha")
    sees(desk, "(?m)^more-of-alpha")

    desk.new("full", "/bin/sh", "-c", "printf '\\033[?1049hone'; read x; printf '\\033[2Jtwo'; cat")
    sees(desk, "full .*one")
    desk.ask("send", id="full", text="")
    sees(desk, "full .*two")

    desk.ask("rename", id="gamma", name="delta")
    sees(desk, "delta .*words of gamma")

    desk.new("short", "/bin/sh", "-c", "exit 3")
    sees(desk, "short +exit 3 ")


def test_trial_25_it_shows_what_sessions_do(agent: Agent) -> None:
    """
    A prompt is idle, a program that works is busy, one that asks waits, also for a secret.
    """
    for name in ("at-prompt", "at-work", "asks", "asks-secretly"):
        agent.new(name)
    agent.ask("send", id="at-work", text="sh -c 'while :; do sleep 1; done'")
    agent.ask("send", id="asks", text="read -p 'name? ' it")
    agent.ask("send", id="asks-secretly", text="read -s -p 'secret? ' it")
    agent.ask("wait", id="asks", until="name?", timeout_ms=30_000)
    agent.ask("wait", id="asks-secretly", until="secret?", timeout_ms=30_000)
    agent.ask("fire", id="at-prompt", code="cd /usr; echo in-u''sr")
    agent.ask("wait", id="at-prompt", until="in-usr", timeout_ms=30_000)

    def shown() -> dict[str, list[Any]]:
        found = json.loads(agent.cli("top", "--json").stdout)
        return {one["id"]: [one["doing"], one.get("command"), one["cwd"]] for one in found}

    eventually(lambda: shown()["at-work"][0] == "busy" and shown()["at-prompt"][0] == "idle")
    eventually(lambda: shown()["asks-secretly"][0] == "secret")
    assert shown() == {
        "asks": ["waiting", None, "/tmp"],
        "asks-secretly": ["secret", None, "/tmp"],
        "at-prompt": ["idle", None, "/usr"],
        "at-work": ["busy", "sh -c while :; do sleep 1; done", "/tmp"],
    }
    assert list(shown()) == ["asks", "asks-secretly", "at-prompt", "at-work"]


def test_trial_25_once_sorts_as_asked(desk: Agent) -> None:
    """
    `--sort` orders the printed table and `--json`; an unknown key is named with the known ones.
    """
    rows = json.loads(desk.cli("top", "--json", "--sort", "memory").stdout)
    wrong = desk.cli("top", "--once", "--sort", "colour")

    sizes = [one["memory_bytes"] for one in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert wrong.returncode == 2
    assert "memory" in wrong.stderr


def test_kill_asks_and_kills(desk: Agent) -> None:
    """
    `n` changes nothing; `y` ends the session and the row goes away.
    """
    press(desk, "down", "x")
    sees(desk, "kill beta with all its processes")
    press(desk, "n")
    sees(desk, HELP)
    assert desk.info("beta")["active"]

    press(desk, "x", "y")

    sees(desk, "killed beta")
    text = sees(desk, "2 sessions, 2 running")
    assert "words of beta" not in text
    assert [one["id"] for one in desk.ask("list")] == ["alpha", "top"]


def test_interrupt_interrupts(desk: Agent) -> None:
    """
    `i` is a Ctrl-C in the chosen session.
    """
    press(desk, "i")

    sees(desk, "alpha +signal 2 ")


def test_a_filter_narrows_the_table(desk: Agent) -> None:
    """
    Only names with the text typed after a slash are left.
    """
    press(desk, "/", "e", "t", "enter")

    text = sees(desk, "1 with 'et'")

    assert "> beta" in text or ">beta" in text
    assert "alpha" not in text


def test_enter_attaches_and_the_detach_key_comes_back(desk: Agent) -> None:
    """
    Between the two the terminal belongs to the session, keys and all.
    """
    numbers = "".join(f"line {number}\\n" for number in range(60))
    saying(desk, "aaa", numbers)
    sees(desk, "aaa .*line 59")
    press(desk, "home", "enter")
    sees(desk, "line 40")  # further up than the preview shows
    desk.ask("send", id="top", text="typed-by-hand")
    desk.ask("wait", id="aaa", until="typed-by-hand", since=0, timeout_ms=30_000)
    attached = desk.ask("screen", id="top")

    press(desk, "ctrl-]")
    sees(desk, "detached: aaa")
    back = desk.ask("screen", id="top")

    assert attached["alternate_screen"]  # what was on the person's screen comes back
    assert attached["cursor"]["visible"]
    assert "QUIET" not in attached["text"]
    assert back["alternate_screen"]
    assert back["text"].startswith("agent-pty: 4 sessions")
    press(desk, "down")
    sees(desk, "> ?alpha ")


def test_attached_people_are_counted(desk: Agent) -> None:
    """
    A row tells how many look at its session.
    """
    with desk.connect_if_running() as somebody:
        somebody.stream("attach", id="beta")
        sees(desk, r"beta .* h\d\+1 ")

    sees(desk, r"beta .* h\d   ")


def test_it_does_not_attach_to_itself_or_to_what_has_ended(desk: Agent) -> None:
    """
    Both would be a loop or a flash; a line says why not.
    """
    press(desk, "end", "enter")
    sees(desk, "cannot attach to top: top runs in it")

    desk.new("zero", "/bin/sh", "-c", "exit 0")
    sees(desk, "zero +exit 0 ")
    press(desk, "end", "enter")
    sees(desk, "cannot attach to zero: it is exited")


def test_it_follows_the_size_of_the_window(desk: Agent) -> None:
    """
    A wide window has the preview beside the table, a small one still has both.
    """
    desk.ask("resize", id="top", rows=30, cols=170)
    wide = sees(desk, "alpha .*│words of alpha").split("\n")

    desk.ask("resize", id="top", rows=10, cols=40)
    small = sees(desk, "(?m)^── alpha").split("\n")

    assert wide[29].endswith(HELP)
    assert small[2].startswith(">alpha waiting")
    assert "words of alpha" in small


def test_it_survives_the_daemon(desk: Agent) -> None:
    """
    When the daemon is killed and the next call starts another, the table goes on.
    """
    slay(desk.pid_of("daemon"))
    saying(desk, "later", "words of later")

    sees(desk, "later .*words of later")


LEFT = {"q": 0, "ctrl-c": 0, signal.SIGTERM: 128 + 15, signal.SIGHUP: 128 + 1}


@pytest.mark.parametrize("way", LEFT)
def test_leaving_restores_the_terminal(agent: Agent, way: str | signal.Signals) -> None:
    """
    Whether by key or by signal: the screen from before, the cursor, and a line that echoes.
    """
    agent.new("top")
    agent.ask(
        "send", id="top", text=f"echo before-$((1+1)); stty -g; {' '.join(TOP)}; echo left-$?"
    )
    sees(agent, HELP)

    if isinstance(way, signal.Signals):
        seen = agent.ask("wait", id="top", until=f"screen:{HELP}", timeout_ms=30_000)
        found = seen["process_snapshot"]["processes"]
        slay(next(one["pid"] for one in found if one["command"].endswith(" top")), by=way)
    else:
        press(agent, way)
    # Not earlier: what is typed while the terminal is given back is discarded.
    sees(agent, f"left-{LEFT[way]}")
    agent.ask("send", id="top", text="stty -g; echo after-$?")
    agent.ask("wait", id="top", until="after-0", timeout_ms=30_000)

    screen = agent.ask("screen", id="top")
    lines = screen["text"].split("\n")
    settings = [line for line in lines if line.count(":") > 20]
    assert not screen["alternate_screen"]
    assert screen["cursor"]["visible"]
    assert "before-2" in lines
    assert len(settings) == 2
    assert settings[0] == settings[1]
    assert HELP not in screen["text"]


# -- without a full screen


def test_once_prints_a_table(desk: Agent) -> None:
    """
    `--once` writes plain lines of at most 80 columns.
    """
    done = desk.cli("top", "--once")
    lines = done.stdout.split("\n")

    assert done.returncode == 0
    assert lines[0].startswith("NAME  STATE ")
    assert lines[1].startswith("alpha waiting ")
    assert lines[1].endswith("words of alpha")
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout


def test_json_is_one_array(desk: Agent) -> None:
    """
    `--json` gives every session with what it costs.
    """
    alpha, _, top = json.loads(desk.cli("top", "--json").stdout)

    assert (alpha["id"], alpha["state"], alpha["last_line"]) == (
        "alpha",
        "running",
        "words of alpha",
    )
    assert alpha["memory_bytes"] > 100_000
    assert alpha["cpu_percent"] >= 0
    assert top["memory_bytes"] > alpha["memory_bytes"]


def test_escapes_in_titles_are_shown_not_obeyed(agent: Agent) -> None:
    """
    A title is what somebody wrote; it reaches no terminal as it is.
    """
    agent.new("bare", "cat", title="\x1b]0;evil\x07")

    assert "\\x1b]0;evil\\x07" in agent.cli("top", "--once").stdout


def test_without_a_terminal_it_says_what_to_use(agent: Agent) -> None:
    """
    A pipe gets no full screen and no hang.
    """
    done = agent.cli("top")

    assert done.returncode == 2
    assert done.stderr == "error: top needs a terminal: use --once or --json\n"


def test_help_names_the_keys() -> None:
    """
    The help page lists every key a person needs.
    """
    text = commands()["top"].summary

    assert all(word in text for word in ("j/k", "enter", "ctrl-]", "x kills", "/ filters"))
