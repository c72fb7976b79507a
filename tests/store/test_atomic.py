import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_pty.store.atomic import replace

# No disk has to be full for this: the kernel refuses to let a file grow beyond the limit.
NO_ROOM = """
import resource, signal, sys
from agent_pty.store.atomic import replace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    replace(sys.argv[1], b"n" * 5000, durable=sys.argv[2] == "durable")
except OSError as error:
    print(error.strerror)
"""

SHORT_WRITES = """
import signal
from agent_pty.store.atomic import write_all
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
write_all(1, bytes(range(256)) * 2000)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.parametrize("durable", [True, False])
def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path, *, durable: bool) -> None:
    """
    Afterwards the file has exactly the new bytes, and nothing else is left beside it.
    """
    path = tmp_path / "state"
    path.write_bytes(b"a much longer old content")

    replace(str(path), b"new", durable=durable)

    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["state"]


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """
    Nobody else may read the file, even if the umask would let them.
    """
    path = tmp_path / "state"
    umask = os.umask(0)

    try:
        replace(str(path), b"secret")
    finally:
        os.umask(umask)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("durable", ["durable", "quick"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, durable: str) -> None:
    """
    A write that fails half-way is an error, the old content stands and no half file is left.
    """
    path = tmp_path / "state"
    path.write_bytes(b"old")

    run = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(path), durable],
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout == "File too large\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state"]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """
    A symbolic link where the temporary file should be is an error, not a way to another file.
    """
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "state.new").symlink_to(victim)

    with pytest.raises(OSError, match="symbolic links"):
        replace(str(tmp_path / "state"), b"new")

    assert victim.read_bytes() == b"precious"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """
    Ten replacements cost no descriptor.
    """
    before = len(os.listdir("/proc/self/fd"))

    for number in range(10):
        replace(str(tmp_path / "state"), b"%d" % number)

    assert len(os.listdir("/proc/self/fd")) == before


def test_write_all_goes_on_after_a_short_write() -> None:
    """
    A write that takes only some of the bytes is followed by one for the rest.
    """
    # More than a pipe holds, and a signal cuts every write short: the kernel takes pieces.
    data = bytes(range(256)) * 2000
    writer = subprocess.Popen([sys.executable, "-c", SHORT_WRITES], stdout=subprocess.PIPE)
    assert writer.stdout is not None

    with writer:
        taken = writer.stdout.read()

    assert writer.returncode == 0
    assert taken == data
