"""What every kind of session does, whatever holds its terminal.

The same tests run on PTYs of ours, on PTYs of ours that the daemon itself reads, and on tmux panes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import ApprovalRequired, SessionEnded, SpawnFailed
from support.agent import Agent, alive, ended, eventually, slay
from support.person import Human

LONG = 60_000
BACKENDS = ("pty", "pty without isolation", "tmux")
# Every byte, as a program gets it that reads the terminal in raw mode.
EVERY_BYTE = bytes(range(256))
COUNTING = "i=0; while :; do echo $((i++)); sleep 0.02; done"


class Bench:
    """A user whose sessions have one kind of terminal."""

    def __init__(self, agent: Agent, backend: str) -> None:
        self.agent = agent
        self.backend = backend.partition(" ")[0]
        self.isolated = backend != "pty without isolation"

    def new(self, name: str, *argv: str, **fields: Any) -> dict[str, Any]:
        """Start a session; without a program a shell, at its prompt."""
        return self.agent.new(name, *argv, backend=self.backend, **fields)

    def ask(self, op: str, **fields: Any) -> Any:
        """Ask an op."""
        return self.agent.ask(op, **fields)

    def run(self, code: str, name: str = "work", **fields: Any) -> dict[str, Any]:
        """Run a cell."""
        cell: dict[str, Any] = self.ask("run", id=name, code=code, **fields)
        return cell

    def wait(self, until: str, name: str = "work") -> dict[str, Any]:
        """Wait for a condition."""
        seen: dict[str, Any] = self.ask("wait", id=name, until=until, timeout_ms=LONG)
        return seen

    def victims(self, *roles: str) -> list[int]:
        """Return the pids to kill; without isolation the daemon is the host."""
        return sorted({self.agent.pid_of(role) for role in roles})


@pytest.fixture(params=BACKENDS)
def bench(request: pytest.FixtureRequest, agent: Agent) -> Iterator[Bench]:
    """A user for each backend."""
    if request.param == "tmux" and shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    if request.param == "pty without isolation":
        agent.env["AGENT_PTY_ISOLATION"] = "off"
    yield Bench(agent, request.param)
    if request.param == "tmux" and shutil.which("tmux"):
        subprocess.run(
            ["tmux", "-S", agent.layout.tmux_socket, "kill-server"],
            capture_output=True,
            check=False,
        )


# -- start


def test_a_session_is_listed_with_its_backend(bench: Bench) -> None:
    """
    `list` says what holds the terminal, and where in tmux it is.
    """
    made = bench.new("work")

    listed = bench.agent.info("work")

    assert listed["backend"] == bench.backend
    assert listed["active"]
    assert listed["pid"] == made["pid"]
    assert (listed["tmux_session"] is not None) == (bench.backend == "tmux")


def test_a_program_has_the_callers_environment_and_its_directory(
    bench: Bench, tmp_path: Path
) -> None:
    """
    Variables of the caller and of the request are there, those of another terminal are not.
    """
    env = {**bench.agent.env, "COLOUR": "blue", "TMUX": "/nowhere,1,0"}
    words = "echo $COLOUR-$SHAPE-$TERM-${TMUX:-none}; pwd -P; exec cat"
    bench.ask(
        "new",
        id="work",
        repo=str(tmp_path),
        argv=["/bin/sh", "-c", words],
        env={"SHAPE": "round"},
        environment=env,
        backend=bench.backend,
    )

    bench.wait(str(tmp_path))

    assert "blue-round-xterm-256color-none" in bench.agent.transcript("work")


def test_a_program_that_cannot_be_started_leaves_nothing(bench: Bench) -> None:
    """
    The error names the program, or the directory, and no session stays.
    """
    with pytest.raises(SpawnFailed, match="spawn shell /no/such: No such file"):
        bench.new("work", "/no/such")
    with pytest.raises(SpawnFailed, match="cannot start in /no/such"):
        bench.ask("new", id="work", repo="/no/such", backend=bench.backend)

    assert bench.ask("list") == []


# -- input


def test_every_byte_arrives_literally(bench: Bench, tmp_path: Path) -> None:
    """
    A program in raw mode reads exactly the bytes that were typed, key names and all.
    """
    words = ["Enter", "C-c", "-t other", "#{pane_id}", "a;b\\;", "$(x) `y` %1 ~", "\\015"]
    text = "".join(words) + "äöü€😀"
    expected = text.encode() + b"\x1b[A\x03\x00\x7f"
    got = tmp_path / "got"
    bench.new("work", "/bin/sh", "-c", f"stty raw -echo; echo up; head -c {len(expected)} > {got}")
    bench.wait("up")

    bench.ask("send", id="work", text=text, enter=False)
    bench.ask("keys", id="work", keys=["up", "ctrl-c", "ctrl-space", "backspace"])
    bench.wait("exit")

    assert got.read_bytes() == expected


def test_a_large_text_arrives_whole_and_in_order(bench: Bench, tmp_path: Path) -> None:
    """
    A quarter of a megabyte by one send is the same at the other end.
    """
    text = "".join(f"{number:07d};" for number in range(32 * 1024))
    got = tmp_path / "got"
    bench.new("work", "/bin/sh", "-c", f"stty raw -echo; echo up; head -c {len(text)} > {got}")
    bench.wait("up")

    bench.ask("send", id="work", text=text, enter=False)
    bench.wait("exit")

    assert got.read_text() == text


def test_ctrl_c_stops_the_program_in_the_foreground(bench: Bench) -> None:
    """
    The program ends, the shell stays.
    """
    bench.new("work")
    bench.ask("send", id="work", text="sh -c 'echo up-$((1+1)); exec sleep 60'")
    bench.wait("up-2")

    bench.ask("keys", id="work", keys=["ctrl-c"])

    assert bench.run("echo status-$?")["output"] == "status-130"


def test_pol_08_the_gate_judges_what_is_typed(bench: Bench) -> None:
    """
    What needs an approval is refused before a byte is typed, also if it comes in two pieces.
    """
    bench.new("work")

    with pytest.raises(ApprovalRequired):
        bench.ask("send", id="work", text="terraform apply")
    bench.ask("send", id="work", text="terraform ap", enter=False)
    with pytest.raises(ApprovalRequired):
        bench.ask("send", id="work", text="ply")

    assert "apply" not in bench.agent.transcript("work")


# -- output


def test_output_is_exact(bench: Bench, tmp_path: Path) -> None:
    """
    Two megabytes come through whole and in order, up to the last byte before the exit.
    """
    lines = [
        f"{number:08d} {hashlib.sha256(b'%d' % number).hexdigest()}" for number in range(50_000)
    ]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines) + "\n")
    bench.new("work", "/bin/cat", str(file))

    bench.wait("exit")

    assert bench.agent.transcript("work").splitlines() == lines


def test_bytes_that_are_no_text_reach_the_screen_and_harm_nothing(bench: Bench) -> None:
    """
    A program may write anything; what follows is read as before.
    """
    bench.new("work")
    octal = "".join(f"\\{byte:03o}" for byte in EVERY_BYTE if byte not in (0x0E, 0x1B, 0x90))

    bench.run(f"printf '{octal}'; printf '\\033[!p\\033c'")

    assert bench.run("echo still-$((40+2))")["output"].endswith("still-42")


def test_the_terminal_answers_where_its_cursor_is(bench: Bench) -> None:
    """
    A program that queries its terminal gets one answer, whoever gives it.
    """
    bench.new("work")
    query = "stty -echo raw; printf '\\033[6n'; IFS= read -rd R x; stty echo -raw; echo ${#x}"

    assert int(bench.run(f"{query}; echo")["output"].split()[-1]) in range(5, 9)
    assert bench.run("echo quiet")["output"] == "quiet"


# -- screen


def test_the_screen_shows_a_full_screen_program(bench: Bench) -> None:
    """
    Positions, the alternate screen, the title and the cursor are as the program set them.
    """
    bench.new("work")
    bench.ask(
        "send",
        id="work",
        text="printf '\\033]2;my title\\a\\033[?1049h\\033[2J\\033[5;10Hhere\\033[3;4H'; read x",
    )
    bench.wait("here")

    screen = bench.ask("screen", id="work")

    assert screen["text"].splitlines()[4] == " " * 9 + "here"
    assert (screen["cursor"]["row"], screen["cursor"]["col"]) == (2, 3)
    assert screen["title"] == "my title"


def test_a_resize_reaches_program_and_screen(bench: Bench) -> None:
    """
    The program is told of the new size, and the screen has it.
    """
    bench.new("work")

    bench.ask("resize", id="work", rows=33, cols=111)

    eventually(lambda: bench.run("stty size")["output"] == "33 111")
    listed = bench.agent.info("work")
    assert (listed["rows"], listed["cols"]) == (33, 111)


# -- waits and cells


def test_waits_find_text_silence_and_the_prompt(bench: Bench) -> None:
    """
    What appears after the input counts, its echo does not.
    """
    bench.new("work")
    bench.ask("send", id="work", text="sleep 0.2; echo word-$((6*7))")

    assert "word-42" in bench.wait("word-42")["matched"]
    bench.wait("prompt")
    bench.wait("idle:100ms")


def test_cells_in_bash_have_output_and_exit_code(bench: Bench) -> None:
    """
    The output is what the command wrote, the end is known by marks.
    """
    bench.new("work")

    cell = bench.run("printf 'one\\ntwo\\n'; (exit 7)")

    assert (cell["output"], cell["exit_code"], cell["frame"]) == ("one\ntwo", 7, "marks")
    assert bench.run("for i in 1 2 3; do\n  echo $i\ndone")["output"] == "1\n2\n3"


def test_cells_in_python_have_output(bench: Bench) -> None:
    """
    A REPL keeps its state between cells; an error has an exit code.
    """
    bench.new("work", "python3", "-q")
    bench.ask("ready", id="work")

    assert bench.run("x = 6 * 7")["exit_code"] == 0
    assert bench.run("print(x)")["output"] == "42"
    assert bench.run("1/0")["exit_code"] == 1


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_cells_in_other_shells_have_marks(bench: Bench, shell: str) -> None:
    """
    Both mark their commands as bash does.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    bench.new("work", shell)
    bench.ask("ready", id="work")

    cell = bench.run("echo here; sh -c 'exit 4'")

    assert (cell["output"], cell["exit_code"], cell["frame"]) == ("here", 4, "marks")


def test_a_person_can_attach(bench: Bench) -> None:
    """
    They see what is there, type, and the session goes on after them.
    """
    bench.new("work")
    bench.run("echo before-$((1+1))")
    human = Human(bench.agent, "attach", "work")
    try:
        human.sees("before-2")
        human.type(b"echo typed-$((2+2))\r")
        human.sees("typed-4")
        human.type(b"\x1d")
        human.process.wait(30)
    finally:
        human.close()

    assert bench.run("echo after")["output"] == "after"


# -- the end


@pytest.mark.parametrize(
    ("ending", "code", "signal"), [("exit 7", 7, None), ("kill -9 $$", None, 9)]
)
def test_the_end_of_the_program_is_known(
    bench: Bench, ending: str, code: int | None, signal: int | None
) -> None:
    """
    Exit code or signal; afterwards nothing can be typed, and the text can be read.
    """
    bench.new("work")
    bench.ask("send", id="work", text=f"echo last-$((1+1)); {ending}")

    bench.wait("exit")

    listed = bench.agent.info("work")
    assert (listed["state"], listed["exit_code"], listed["signal"]) == ("exited", code, signal)
    assert "last-2" in bench.agent.transcript("work")
    with pytest.raises(SessionEnded):
        bench.ask("send", id="work", text="x")


def test_kill_ends_the_whole_tree_and_frees_the_name(bench: Bench) -> None:
    """
    Also what has left the terminal is ended, and the name can be used again.
    """
    shell = bench.new("work")["pid"]
    output = bench.run("sleep 600 & setsid sleep 601 & echo $! $(pgrep -f 'sleep 60[01]' -P $$)")
    bench.run("setsid -f sleep 602")
    pids = {shell, *map(int, re.findall(r"\b\d{3,}\b", output["output"]))}

    killed = bench.agent.cli("kill", "work")

    assert killed.returncode == 0, killed.stderr
    for pid in pids:
        ended(pid)
    assert bench.new("work")["pid"] != shell


# -- deaths


DEATHS = {
    "host": ("work",),
    "daemon": ("daemon",),
    "keeper": ("keeper",),
    "daemon and host": ("daemon", "work"),
    "daemon and keeper": ("daemon", "keeper"),
}


@pytest.mark.parametrize("roles", DEATHS.values(), ids=DEATHS.keys())
def test_a_death_loses_no_number(bench: Bench, roles: tuple[str, ...]) -> None:
    """
    The same shell counts on; no number is missing or there twice.
    """
    if not bench.isolated and "keeper" in roles and len(roles) > 1:
        pytest.skip("daemon and host are one process here: with the keeper all three die")
    shell = bench.new("work")["pid"]
    bench.ask("send", id="work", text=COUNTING)
    bench.wait("regex:(?m)^20$")

    slay(*bench.victims(*roles))
    bench.agent.cli("list")
    bench.wait("regex:(?m)^120$")

    assert alive(shell)
    assert bench.agent.info("work")["pid"] == shell
    counted = [int(one) for one in re.findall(r"(?m)^(\d+)$", bench.agent.transcript("work"))]
    assert counted == list(range(len(counted)))


def test_the_last_words_of_many_programs_are_complete(bench: Bench) -> None:
    """
    A program that writes much and exits at once loses nothing, however often.
    """
    words = "seq 1 3000; printf the-end"

    for number in range(8):
        bench.new(f"s{number}", "/bin/sh", "-c", words)
        bench.wait("exit", f"s{number}")

    for number in range(8):
        text = bench.agent.transcript(f"s{number}")
        assert text.splitlines()[-2:] == ["3000", "the-end"]
        assert text.count("\n") == 3000
