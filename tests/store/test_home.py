import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_pty.core.layout import Layout
from agent_pty.errors import DaemonError
from agent_pty.store.home import prepare

PREPARE = """
import os, sys
from agent_pty.core.layout import Layout
from agent_pty.store.home import prepare
os.umask(int(sys.argv[1], 8))
prepare(Layout(home=sys.argv[2], socket=sys.argv[2] + "/s.sock", log_dir=sys.argv[2] + "/runs"))
"""

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


def layout(home: Path, *, socket: str | None = None) -> Layout:
    """Return a home with its socket inside, or elsewhere."""
    return Layout(home=str(home), socket=socket or f"{home}/s.sock", log_dir=f"{home}/runs")


def mode(path: Path | str) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_every_directory_is_private(tmp_path: Path, umask: str) -> None:
    """
    Whatever the umask, nobody else can enter any directory of a new home.
    """
    home = tmp_path / "home"

    subprocess.run([sys.executable, "-c", PREPARE, umask, str(home)], check=True)

    made = [home, home / "run", home / "run" / "sessions", home / "runs"]
    assert {path.name: oct(mode(path)) for path in made} == {
        "home": "0o700",
        "run": "0o700",
        "sessions": "0o700",
        "runs": "0o700",
    }


def test_an_open_home_of_ours_is_closed(tmp_path: Path) -> None:
    """
    A directory that others may enter is mended, since it is ours.
    """
    home = tmp_path / "home"
    (home / "run").mkdir(parents=True)
    home.chmod(0o777)
    (home / "run").chmod(0o755)

    prepare(layout(home))

    assert (mode(home), mode(home / "run")) == (0o700, 0o700)


def test_preparing_twice_changes_nothing(tmp_path: Path) -> None:
    """
    A home with files in it is used as it is.
    """
    home = tmp_path / "home"
    prepare(layout(home))
    (home / "runs" / "work.jsonl").write_text("kept")

    prepare(layout(home))

    assert (home / "runs" / "work.jsonl").read_text() == "kept"


@as_root
def test_a_home_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """
    A home that belongs to another user is not used, and the message names the owner.
    """
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)

    with pytest.raises(DaemonError, match="belongs to uid 65534, not to you"):
        prepare(layout(home))

    assert os.listdir(home) == []


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """
    The message names the path and what the system says.
    """
    home = tmp_path / "home"
    home.write_text("")

    with pytest.raises(DaemonError, match=f"cannot use {home}: "):
        prepare(layout(home))


def test_a_socket_where_anybody_may_write_is_refused(tmp_path: Path) -> None:
    """
    In a directory that others may write, they could put a socket of their own in place of ours.
    """
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)

    with pytest.raises(DaemonError, match=f"chmod go-w {shared}"):
        prepare(layout(tmp_path / "home", socket=f"{shared}/s.sock"))


def test_a_socket_in_a_sticky_directory_is_accepted(tmp_path: Path) -> None:
    """
    Where only the owner may remove a file, as in /tmp, a socket is safe.
    """
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)

    prepare(layout(tmp_path / "home", socket=f"{shared}/s.sock"))

    assert mode(shared) == 0o1777


@as_root
def test_a_socket_in_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """
    The owner of a directory may do there what he likes, whatever its mode.
    """
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    foreign.chmod(0o755)
    os.chown(foreign, 65534, 65534)

    with pytest.raises(DaemonError, match="belongs to uid 65534"):
        prepare(layout(tmp_path / "home", socket=f"{foreign}/s.sock"))


def test_a_missing_directory_for_the_socket_is_made(tmp_path: Path) -> None:
    """
    It is made private, like the home.
    """
    parent = tmp_path / "sockets"

    prepare(layout(tmp_path / "home", socket=f"{parent}/s.sock"))

    assert mode(parent) == 0o700
