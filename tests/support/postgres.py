"""A PostgreSQL server of our own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_BIN = max(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), default="")
# Where its programs are; empty if none is installed.
SERVER = os.path.dirname(_BIN or shutil.which("initdb") or "")


def _unprivileged() -> pwd.struct_passwd:
    """Return who runs the server: it refuses to run as root."""
    return pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Run a server; give the directory of its socket. Its user is `ann`."""
    # Not tmp_path: a socket's path may have 107 bytes, and the server is another user.
    home = tempfile.mkdtemp(prefix="ap-pg-")
    user = _unprivileged()
    uid, gid = user.pw_uid, user.pw_gid
    os.chown(home, uid, gid)
    data = f"{home}/data"
    make = [f"{SERVER}/initdb", "-D", data, "-A", "trust", "-U", "ann", "-E", "UTF8", "--no-sync"]
    subprocess.run(make, check=True, cwd="/", stdout=subprocess.DEVNULL, user=uid, group=gid)
    run = [f"{SERVER}/postgres", "-D", data, "-k", home, "-c", "listen_addresses=", "-F"]
    process = subprocess.Popen(run, cwd="/", stderr=subprocess.PIPE, text=True, user=uid, group=gid)
    try:
        assert process.stderr is not None
        assert any("ready to accept" in line for line in process.stderr)
        yield home
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
        shutil.rmtree(home)
