"""A real sshd on loopback, with keys of its own, for whoever runs the tests."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from support.agent import eventually

# Not on the PATH of ordinary users.
_SSHD = "/usr/sbin/sshd"
_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
# bash reads the account's ~/.bashrc for a command that ssh starts, but not within another shell.
SetEnv SHLVL=2
ForceCommand exec env -i HOME={directory} TERM="$TERM" PATH={path} PS1='user@remote:\\w\\$ ' {shell}
"""


@contextlib.contextmanager
def sshd(directory: Path) -> Iterator[str]:
    """Give the command that logs in to a bash whose prompt is `user@remote:DIRECTORY$ `."""
    for program in (_SSHD, "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if os.geteuid() == 0:  # sshd of root wants it; the start script of the system creates it
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    for name in ("host_key", "key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
        subprocess.run(words, check=True)
    port = _free_port()
    shell = "bash --norc --noprofile -i"
    path = os.environ["PATH"]
    config = directory / "sshd_config"
    config.write_text(_CONFIG.format(port=port, directory=directory, path=path, shell=shell))
    log = directory / "sshd.log"
    server = subprocess.Popen([_SSHD, "-D", "-f", str(config), "-E", str(log)])
    try:
        eventually(lambda: _listens(port) or server.poll() is not None)
        yield _checked(_command(directory, port), log)
    finally:
        server.terminate()
        server.wait()


def _command(directory: Path, port: int) -> str:
    options = {
        "StrictHostKeyChecking": "no",
        "UserKnownHostsFile": "/dev/null",
        "LogLevel": "ERROR",
        "IdentitiesOnly": "yes",
        "IdentityFile": str(directory / "key"),
    }
    words = ["ssh", "-F", "none", "-p", str(port), "-l", pwd.getpwuid(os.geteuid()).pw_name]
    for name, value in options.items():
        words += ["-o", f"{name}={value}"]
    return shlex.join([*words, "127.0.0.1"])


def _checked(command: str, log: Path) -> str:
    """Return the command if it works.

    An ordinary user's sshd can give a terminal only where the kernel gives terminals to the group
    `tty`, as nearly every system has it.
    """
    words = [*shlex.split(command), "-tt"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as login:
        assert login.stdin is not None
        assert login.stdout is not None
        # What is typed before the shell is ready may be lost as it sets its terminal up.
        _read_to(login.stdout, (b"$ ", b"# "))
        with contextlib.suppress(BrokenPipeError):  # nobody was let in
            login.stdin.write(b"exit\n")
            login.stdin.flush()
        login.stdout.read()
    if login.returncode == 255:  # as ssh says that there is no connection
        pytest.skip(f"sshd lets nobody in here: {log.read_text()[-300:]}")
    return command


def _read_to(stream: IO[bytes], ends: tuple[bytes, ...]) -> None:
    """Read until one of *ends* or the end of the stream."""
    seen = b""
    while not seen.endswith(ends) and (more := os.read(stream.fileno(), 4096)):
        seen += more


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
