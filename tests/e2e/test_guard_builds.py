"""`--guard builds`: build tools delete what they have made, unasked and recorded."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.guarded_agent import GuardedAgent
from support.journal import payloads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel asks on Linux only")
# What the scripts of autoconf do: many small programs, temporary files, traps that clean up.
CONFIGURE = """
ac_dir=$(mktemp -d ./confXXXXXX) || exit 1
trap 'rm -rf "$ac_dir" conftest*' 0
for tool in sh sed grep awk; do
  printf 'checking for %s... ' "$tool"
  if command -v "$tool" >/dev/null; then echo yes; else echo no; fi
done
for n in 1 2 3 4 5; do
  echo "int main(void){return $n;}" > conftest.c
  mkdir conftest.dir && rm -rf conftest.dir
  sed "s/return/return /" conftest.c > conftest.i
  rm -f -r conftest.i
done
echo configured > config.status
rm -rf "${TMPDIR:-/tmp}/agent-pty-configure-$$"
"""
MAKEFILE = """
BUILD = build
all: $(BUILD)/a.o
$(BUILD)/a.o:
\tmkdir -p $(BUILD)
\techo object > $@
clean:
\trm -rf $(BUILD)
\tfor d in one two; do rm -rf $$d; done
\tfind . -name '*.tmp' -exec rm -rf {} +
\techo cache | xargs rm -rf
outside:
\trm -rf ../outside
"""


@pytest.fixture
def guarded(shared: Agent) -> Iterator[GuardedAgent]:
    """A user with a workspace, and something beside it that nobody may delete."""
    # Not tmp_path: what is below /tmp may be deleted wherever the workspace is.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        for name in ("work", "outside/precious"):
            (Path(place) / name).mkdir(parents=True)
        yield GuardedAgent(shared, Path(place) / "work")
        for session in shared.ask("list"):
            shared.ask("kill", id=session["id"])


def results(guarded: GuardedAgent, name: str) -> list[str]:
    """Return what became of the execs that a rule is about."""
    return [one["result"] for one in payloads(guarded.agent, name, "guarded_exec")]


def test_guard_05_a_configure_script_runs_unheld(guarded: GuardedAgent) -> None:
    """
    It deletes its own directories and temporary files again and again; nobody is asked.
    """
    guarded.new("conf", "builds")
    (guarded.workspace / "configure").write_text(CONFIGURE)

    report = guarded.run("conf", "sh ./configure")

    assert report["exit_code"] == 0, report
    assert sorted(one.name for one in guarded.workspace.iterdir()) == ["config.status", "configure"]
    assert set(results(guarded, "conf")) == {"recorded"}


def test_guard_05_make_clean_runs_unheld(guarded: GuardedAgent) -> None:
    """
    A rule that deletes the directory of the build runs, whatever program carries it out.
    """
    guarded.new("make", "builds")
    (guarded.workspace / "Makefile").write_text(MAKEFILE)
    for name in ("one", "two", "x.tmp", "cache"):
        (guarded.workspace / name).mkdir()

    assert guarded.run("make", "make")["exit_code"] == 0
    report = guarded.run("make", "make clean")

    assert report["exit_code"] == 0, report
    assert [one.name for one in guarded.workspace.iterdir()] == ["Makefile"]
    assert set(results(guarded, "make")) == {"recorded"}


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_guard_05_npm_ci_runs_unheld(guarded: GuardedAgent, tmp_path: Path) -> None:
    """
    A small project with a dependency on the disk and scripts of its own is installed.
    """
    work, package = guarded.workspace, {"name": "dep", "version": "1.0.0"}
    (work / "dep").mkdir()
    (work / "dep/package.json").write_text(json.dumps(package))
    own = {
        "name": "app",
        "version": "1.0.0",
        "dependencies": {"dep": "file:dep"},
        "scripts": {"preinstall": "mkdir -p old && rm -rf old", "postinstall": "rm -rf .cache"},
    }
    (work / "package.json").write_text(json.dumps(own))
    environment = {"npm_config_cache": str(tmp_path / "npm"), "npm_config_offline": "true"}
    guarded.new("npm", "builds", env={**environment, "npm_config_audit": "false"})

    assert guarded.run("npm", "npm install --package-lock-only --silent")["exit_code"] == 0
    report = guarded.run("npm", "npm ci --silent")

    assert report["exit_code"] == 0, report
    assert (work / "node_modules/dep/package.json").exists()
    assert set(results(guarded, "npm")) <= {"recorded"}


def test_what_is_outside_is_held_all_the_same(guarded: GuardedAgent) -> None:
    """
    A rule of make that deletes beside the workspace waits for an operator.
    """
    guarded.new("out", "builds")
    (guarded.workspace / "Makefile").write_text(MAKEFILE)

    report = guarded.run("out", "make outside")

    assert report["for"] == "approval"
    (held,) = guarded.held()
    assert held["command"] == "rm -rf ../outside"
    guarded.deny(held["id"])
    guarded.finished("out")
    assert (guarded.workspace.parent / "outside/precious").is_dir()


def test_what_the_shell_itself_executes_is_judged_as_typed(guarded: GuardedAgent) -> None:
    """
    A script that the session's own shell reads is no build: its rm is held, also in a subshell.
    """
    guarded.new("own", "builds")
    (guarded.workspace / "d").mkdir()
    (guarded.workspace / "s.sh").write_text("(true; rm -rf d); bash -c 'rm -rf d'")

    assert guarded.run("own", ". ./s.sh")["for"] == "approval"
    (first,) = guarded.held()
    assert first["command"] == "rm -rf d"
    guarded.deny(first["id"])
    guarded.agent.ask("wait", id="own", until="regex:not permitted", timeout_ms=30_000)
    (second,) = guarded.held()
    assert second["command"] == "bash -c 'rm -rf d'"
    guarded.deny(second["id"])
    guarded.finished("own")
    assert (guarded.workspace / "d").is_dir()


def test_under_strict_the_same_build_is_held(guarded: GuardedAgent) -> None:
    """
    `strict` judges every exec, also that of make.
    """
    guarded.new("strict", "strict")
    (guarded.workspace / "Makefile").write_text(MAKEFILE)

    assert guarded.run("strict", "make clean")["for"] == "approval"
