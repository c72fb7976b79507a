"""What a process is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_pty.process.program_name import program_name
from support.agent import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel says it on Linux only")


@contextmanager
def started(*words: str, executable: str | None = None) -> Iterator[int]:
    """Start a program that waits for its end of input; give its pid."""
    with subprocess.Popen(words, executable=executable, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        yield child.pid
        child.stdin.close()


def test_trial_13_a_link_is_not_the_name(tmp_path: Path) -> None:
    """
    A program that was started by a link has its own name.
    """
    link = tmp_path / "reader"
    link.symlink_to(shutil.which("cat") or "/bin/cat")
    program = os.path.basename(os.path.realpath(link))

    with started(str(link)) as pid:
        expected = "reader" if program in ("busybox", "coreutils") else program
        eventually(lambda: program_name(pid) == expected)


def test_trial_13_a_script_has_its_own_name(tmp_path: Path) -> None:
    """
    A script is called as its file, not as what interprets it.
    """
    script = tmp_path / "my-tool"
    script.write_text(f"#!{sys.executable}\nimport sys; sys.stdin.read()\n")
    script.chmod(0o755)

    with started(str(script)) as pid:
        eventually(lambda: program_name(pid) == "my-tool")


def test_trial_13_a_name_that_a_process_chose_is_its_name() -> None:
    """
    A process that has given itself a name, as npm and tmux do, keeps it.
    """
    code = "import sys; open('/proc/self/comm', 'w').write('npm init'); sys.stdin.read()"

    with started(sys.executable, "-c", code) as pid:
        eventually(lambda: program_name(pid) == "npm init")


def test_trial_13_what_a_program_is_told_to_be_called_is_not_its_name() -> None:
    """
    The first argument is for the program itself: a login shell is told `-bash`.
    """
    with started("-chosen", executable=shutil.which("bash")) as pid:
        eventually(lambda: program_name(pid) == "bash")


def test_trial_13_nobody_has_no_name() -> None:
    """
    A process that is gone has none.
    """
    with started("cat") as pid:
        pass

    assert program_name(pid) == ""
