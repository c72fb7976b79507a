"""`make e2e`: the whole product in real tmux panes, and what the script says when that fails."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agent import AGENT_PTY, running, slay

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "scripts/e2e-tmux.sh")
DRIVER = str(ROOT / "scripts/e2e/driver.sh")
BIN = os.path.dirname(AGENT_PTY)
NEEDED = ("tmux", "curl", "git", "script", "ps")
MISSING = [name for name in NEEDED if shutil.which(name) is None]

needs_programs = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
# The script's own limit is 300 s; a quiet machine needs a tenth of it.
pytestmark = pytest.mark.timeout(400)

STEPS = (
    *("daemon-and-list", "failing-build", "policy-denial", "approval", "semantic-screen"),
    *("interactive-read", "attach", "python-repl", "loop-and-idle", "colour-and-overwrite"),
    *("worktree-forks", "proofs", "many-at-once", "http", "mcp", "tmux-session"),
    *("replay-after-restart", "traces"),
)
ALWAYS_LEFT = (
    *("report.md", "driver.typescript", "tmux-driver-pane.txt", "tmux-daemon-pane.txt"),
    *("tmux-http-pane.txt", "tmux-observer-pane.txt", "agent-pty-logs/base.jsonl"),
    "agent-pty-logs/traces.jsonl",
)


def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script to its end."""
    return subprocess.run(
        ["bash", SCRIPT, *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def in_terminal(line: str) -> str:
    """Run a command line in a terminal and return what it shows."""
    words = ["script", "-qec", line, "/dev/null"]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout


def written(path: Path) -> str:
    """Return the text of a file; what a terminal showed need not be UTF-8."""
    return path.read_text(encoding="utf-8", errors="replace")


def results(report: str) -> dict[str, str]:
    """Return what the table of a report says of each step, in its order."""
    rows = re.findall(r"^\| \d+ \| (\S+) \| (.+) \|$", report, re.MULTILINE)
    return dict(rows)


def absent(directory: Path, names: tuple[str, ...]) -> list[str]:
    """Name the artifacts that are not there or empty."""
    found = [name for name in names if (directory / name).is_file()]
    return [name for name in names if name not in found or not (directory / name).stat().st_size]


def left_by(report: str) -> list[str]:
    """Name what a run left behind: processes with its mark, and its directory."""
    (work,) = set(re.findall(r"/tmp/ape-\w{6}\b", report))
    mark = f"AGENT_PTY_E2E_RUN={work}".encode()
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    processes = [pid for pid in pids if mark in environment(pid).split(b"\0")]
    return processes + [work] * os.path.exists(work)


def environment(pid: str) -> bytes:
    """Return the environment of a process; one that is gone has none."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def driver_of(commands: Path) -> int:
    """Return the pid of the driver that finds its commands there: it leads its kernel session."""
    mark = f"{commands}:".encode()
    drivers = [pid for pid in running("bash", DRIVER) if mark in environment(str(pid))]
    (leader,) = [pid for pid in drivers if os.getsid(pid) == pid]
    return leader


def plant(directory: Path, agent_pty: str) -> Path:
    """Make a directory of commands whose agent-pty is this shell script."""
    directory.mkdir()
    (directory / "agent-pty").write_text(f"#!/bin/sh\n{agent_pty}\n")
    (directory / "agent-pty").chmod(0o755)
    (directory / "k").symlink_to(Path(BIN, "k"))
    return directory


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One whole run: its artifacts, and what it printed."""
    artifacts = tmp_path_factory.mktemp("e2e") / "left here"
    done = run("--ci", "--artifacts", str(artifacts), "--bin", BIN)
    assert done.returncode == 0, done.stdout + done.stderr
    return artifacts, done.stdout


@needs_programs
def test_seed_07_every_step_of_the_story_passes(story: tuple[Path, str]) -> None:
    """
    The report names each step as passed, with its commands; one plain line was printed for each.
    """
    artifacts, printed = story

    report = written(artifacts / "report.md")
    assert results(report) == dict.fromkeys(STEPS, "passed")
    assert re.findall(r"^## \d+ (\S+): passed$", report, re.MULTILINE) == list(STEPS)
    assert "    $ agent-pty send base 'terraform apply'\n    error: terraform apply" in report
    lines = printed.splitlines()
    assert [line.split()[2] for line in lines[:-1]] == list(STEPS)
    assert lines[-1] == f"e2e: {len(STEPS)} steps passed; report: {artifacts}/report.md"
    assert "\x1b" not in printed + report


@needs_programs
def test_the_story_leaves_its_artifacts(story: tuple[Path, str]) -> None:
    """
    Every artifact of the contract is there; panes and typescript show what happened in them.
    """
    artifacts, _ = story
    proofs = [f"proofs/{name}.proof.{kind}" for name in ("base", "mcp") for kind in ("md", "html")]

    assert absent(artifacts, (*ALWAYS_LEFT, *proofs)) == []
    assert "steps passed" not in written(artifacts / "tmux-driver-pane.txt")
    assert "== 18/18 traces" in written(artifacts / "tmux-driver-pane.txt")
    assert "== 18/18 traces" in written(artifacts / "driver.typescript")
    assert "agent-pty listening on" in written(artifacts / "tmux-daemon-pane.txt")
    assert "listening on http://127.0.0.1:" in written(artifacts / "tmux-http-pane.txt")
    assert "[detached: base]" in written(artifacts / "tmux-observer-pane.txt")


@needs_programs
def test_the_story_leaves_nothing_else(story: tuple[Path, str]) -> None:
    """
    No process that it started lives on, and its directory is gone.
    """
    artifacts, _ = story

    assert left_by(written(artifacts / "report.md")) == []


@needs_programs
def test_a_proof_that_the_story_left_can_be_verified(story: tuple[Path, str]) -> None:
    """
    The public key is beside the proofs; neither the home nor a daemon of that run is needed.
    """
    artifacts, _ = story
    words = ["verify", str(artifacts / "proofs"), "--key", str(artifacts / "proofs/agent-pty.pub")]

    done = subprocess.run([AGENT_PTY, *words], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "base.proof: verified" in done.stdout


@needs_programs
def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    """
    With an agent-pty that cannot replay, step 3 fails: status 1, artifacts, and nothing runs on.
    """
    broken = f'case $1 in replay) echo "no replay" >&2; exit 9;; *) exec {AGENT_PTY} "$@";; esac'
    commands = plant(tmp_path / "bin", broken)

    done = run("--ci", "--artifacts", str(tmp_path / "left"), "--bin", str(commands))

    report = written(tmp_path / "left/report.md")
    assert done.returncode == 1
    assert "e2e: step 3 policy-denial failed: exit status 9, not 0" in done.stderr
    assert absent(tmp_path / "left", ALWAYS_LEFT[:4] + ALWAYS_LEFT[6:]) == []
    assert list(results(report).values()) == ["passed"] * 2 + ["failed"] + ["not run"] * 15
    assert "Result: **failed**: step 3 policy-denial failed: exit status 9, not 0" in report
    assert "    no replay\n    (exit status 9)\n" in report
    assert left_by(report) == []


@contextlib.contextmanager
def begun(artifacts: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the script, with commands of its own, and give it after its first step."""
    commands = plant(artifacts / "bin", f'exec {AGENT_PTY} "$@"')
    words = ["bash", SCRIPT, "--ci", "--artifacts", str(artifacts), "--bin", str(commands)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline().split()[2] == "daemon-and-list"
        yield run


@needs_programs
def test_ctrl_c_ends_what_was_started(tmp_path: Path) -> None:
    """
    Interrupted in the middle, the script ends daemons and panes and still leaves a report.
    """
    with begun(tmp_path) as interrupted:
        interrupted.send_signal(signal.SIGINT)
        interrupted.communicate()

    report = written(tmp_path / "report.md")
    assert interrupted.returncode == 130
    assert "Result: **interrupted**" in report
    assert results(report)["daemon-and-list"] == "passed"
    assert results(report)["traces"] == "not run"
    assert absent(tmp_path, ALWAYS_LEFT[:4]) == []
    assert left_by(report) == []


@needs_programs
def test_a_driver_that_dies_is_no_success(tmp_path: Path) -> None:
    """
    Steps that nobody carried out have not passed, even if none of them has failed.
    """
    with begun(tmp_path) as orphaned:
        slay(driver_of(tmp_path / "bin"))
        _, said = orphaned.communicate()

    report = written(tmp_path / "report.md")
    assert orphaned.returncode == 1
    assert re.search(r"^e2e: step \d+ \S+ failed: the driver ended", said, re.MULTILINE)
    assert "failed" in results(report).values()
    assert results(report)["traces"] == "not run"
    assert left_by(report) == []


@needs_programs
def test_only_a_person_sees_colours(tmp_path: Path) -> None:
    """
    At a terminal results are coloured and the way to look on is named; with `--ci` neither is.
    """
    served = 'case $1 in serve) echo "agent-pty listening on $3";; *) exit 9;; esac'
    commands = plant(tmp_path / "bin", served)
    words = shlex.join(["bash", SCRIPT, "--artifacts", str(tmp_path), "--bin", str(commands)])

    shown = [in_terminal(words), in_terminal(f"{words} --ci")]

    assert ["\x1b[31mFAILED\x1b[0m" in text for text in shown] == [True, False]
    assert ["tmux -S /tmp/ape-" in text for text in shown] == [True, False]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--colour",), "e2e: unknown argument: --colour\n"),
        (("--ci", "there"), "e2e: unknown argument: there\n"),
        (("--artifacts",), "e2e: --artifacts: a directory is missing\n"),
        (("--bin", "/nowhere"), "e2e: --bin: no directory: /nowhere\n"),
    ],
)
def test_wrong_usage_is_named(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """
    Status 2, one line that names the mistake, and nothing was begun.
    """
    done = (
        run(*words, "--artifacts", str(tmp_path / "none")) if words[0] == "--bin" else run(*words)
    )

    assert done.returncode == 2
    assert done.stderr.startswith(said)
    assert not (tmp_path / "none").exists()


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    """
    Without tmux and curl there is one line with what to install.
    """
    for name in ("bash", "dirname", "git", "script", "ps", "timeout", "python3"):
        (tmp_path / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")

    done = run("--ci", env={"PATH": str(tmp_path)})

    assert done.returncode == 2
    assert done.stderr.startswith("e2e: missing: tmux curl; install them, on Debian as root: ")
    assert done.stderr.splitlines()[0].endswith("apt-get install tmux curl")


def test_the_help_has_examples() -> None:
    """
    `--help` needs nothing and exits with 0.
    """
    done = run("--help")

    assert done.returncode == 0
    assert "examples:\n  scripts/e2e-tmux.sh --ci --artifacts" in done.stdout
