import os
import subprocess
import sys
from pathlib import Path

from agent_pty.keeper.birth import birth


def test_a_process_keeps_its_birth() -> None:
    """
    Asked twice, the answer is the same, and it is a time before now.
    """
    uptime = float(Path("/proc/uptime").read_text().split()[0])

    first = birth(os.getpid())

    assert first is not None
    assert first == birth(os.getpid())
    assert 0 < first / os.sysconf("SC_CLK_TCK") <= uptime


def test_a_later_process_is_born_later() -> None:
    """
    A child is not older than its parent.
    """
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        born = birth(child.pid)

    parent = birth(os.getpid())
    assert born is not None
    assert parent is not None
    assert born >= parent


def test_nobody_has_no_birth() -> None:
    """
    A pid that is gone, or never was, has none.
    """
    child = subprocess.Popen(["true"])
    child.wait()

    assert birth(child.pid) is None
    assert birth(1 << 30) is None


def test_a_name_with_parentheses_does_not_confuse(tmp_path: Path) -> None:
    """
    The kernel writes the program's name unescaped; it may look like the fields after it.
    """
    odd = tmp_path / ") R 1 (x"
    odd.symlink_to(sys.executable)
    script = "import sys; print('up', flush=True); sys.stdin.read()"

    with subprocess.Popen(
        [str(odd), "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        name = Path(f"/proc/{child.pid}/comm").read_text()
        born = birth(child.pid)

    assert name == ") R 1 (x\n"
    assert born is not None
    assert born >= (birth(os.getpid()) or 0)
