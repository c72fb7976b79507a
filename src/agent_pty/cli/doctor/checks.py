"""The checks of this machine and of this home.

A `Look` returns what it found, or raises; a `Trouble` names what is wrong and the remedy.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import socket as sockets
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_pty.cli.command import Invocation
from agent_pty.cli.doctor.records_check import records
from agent_pty.client.shell import default_shell
from agent_pty.core.layout import Layout, expanded
from agent_pty.errors import AgentPtyError
from agent_pty.keeper import guard_probe, seccomp

Look = Callable[[Invocation], str]

_PROGRAM_SECONDS = 5.0
_SHELLS = ("bash", "zsh", "fish", "dash", "sh")
_PTY = "/proc/sys/kernel/pty"
_PTY_SHARE = 0.9
_FEWEST_FILES = 256
_LEAST_SPACE = 64 * 1024 * 1024
# The kernel's limit for a path in a socket address, less the final NUL.
_LONGEST_PATH = 107 if sys.platform == "linux" else 103
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Trouble(Exception):
    """Something is wrong; the text says what, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    detail: str


def examine(name: str, look: Look, call: Invocation) -> Check:
    """Run one check; whatever it raises is a failed check."""
    try:
        return Check(name=name, ok=True, detail=look(call))
    except Exception as error:  # noqa: BLE001  one broken check must not hide the others
        return Check(name=name, ok=False, detail=reason(error))


def reason(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, (Trouble, AgentPtyError, OSError, subprocess.SubprocessError)):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return " ".join(text.split())


# -- the machine


def git(_call: Invocation) -> str:
    """Check that git is installed."""
    if shutil.which("git") is None:
        raise Trouble("not on PATH: install git")
    return _said(["git", "--version"])


def _said(argv: Sequence[str]) -> str:
    """Run a program and return the first line it prints."""
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PROGRAM_SECONDS,
        check=False,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        complaint = done.stderr.strip().partition("\n")[0]
        raise Trouble(f"{shlex.join(argv)} ended with {done.returncode}: {complaint}")
    return done.stdout.strip().partition("\n")[0]


def shell(call: Invocation) -> str:
    """Run the shell that sessions get."""
    path = expanded(call.options.shell or default_shell(), os.environ)
    try:
        _said([path, "-c", "exit 0"])
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}: give another with --shell") from error
    return path


def emulator(_call: Invocation) -> str:
    """Draw a word and read it back."""
    from agent_pty.emulator import Emulator  # noqa: PLC0415  that it loads is part of the check

    terminal = Emulator(rows=1, cols=8)
    terminal.feed(b"ok")
    text = terminal.text().strip()
    terminal.close()
    if text != "ok":
        raise Trouble(f"drew {text!r} for 'ok': install agent-pty again")
    return "renders"


def pty(_call: Invocation) -> str:
    """Open a terminal and close it."""
    for fd in os.openpty():
        os.close(fd)
    try:
        used, most = _number(f"{_PTY}/nr"), _number(f"{_PTY}/max")
    except OSError:
        return "opens"  # only Linux counts them
    text = f"{used} of {most} in use"
    if used > most * _PTY_SHARE:
        return f"{text}; warning: end sessions or raise kernel.pty.max"
    return text


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())


def files(_call: Invocation) -> str:
    """Check the limit of open files; the keeper raises its own to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"soft {_limit(soft)}, hard {_limit(hard)}"
    if hard != resource.RLIM_INFINITY and hard < _FEWEST_FILES:
        raise Trouble(f"{text}: raise it with `ulimit -n` to {_FEWEST_FILES} or more")
    return text


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def shells(_call: Invocation) -> str:
    """List the shells that are installed."""
    found = [name for name in _SHELLS if shutil.which(name)]
    if not found:
        raise Trouble(f"none of {', '.join(_SHELLS)} is on PATH: install one")
    return " ".join(found)


def tmux(_call: Invocation) -> str:
    """Look for tmux, which is optional."""
    if shutil.which("tmux") is None:
        return "not installed (only needed for --backend tmux)"
    try:
        return _said(["tmux", "-V"])
    except (Trouble, OSError, subprocess.SubprocessError) as error:
        return f"does not run: {reason(error)} (only needed for --backend tmux)"


def tools(_call: Invocation) -> str:
    """Count what the six tools cost a model at every turn: their definitions, as MCP has them."""
    from agent_pty.words.tools.definition import definitions  # noqa: PLC0415  imports msgspec

    size = len(json.dumps(definitions("mcp")).encode())
    return f"six, {size} bytes of schema"


# -- the home


def log_dir(call: Invocation) -> str:
    """Check that evidence can be written."""
    return _writable(call.layout.log_dir)


def socket_parent(call: Invocation) -> str:
    """Check that the directory of the socket can be written."""
    return _writable(os.path.dirname(call.layout.socket))


def _writable(directory: str) -> str:
    """Make a directory if it is not there, write a file and remove it."""
    # A mode given to makedirs holds for the last directory only.
    umask = os.umask(0o077)
    try:
        os.makedirs(directory, exist_ok=True)
    finally:
        os.umask(umask)
    probe = f"{directory}/.agent-pty-doctor-{os.getpid()}"
    fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, b"agent-pty doctor\n")
    finally:
        os.close(fd)
        os.unlink(probe)
    return directory


def home(call: Invocation) -> str:
    """Check who owns the home, who may enter it, and whether files can be written there."""
    path = call.layout.home
    _takes_files(_existing(path))
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return _creatable(path)
    if not stat.S_ISDIR(found.st_mode):
        raise Trouble(f"{path} is no directory: move it away, or set AGENT_PTY_HOME")
    if found.st_uid != os.getuid():
        raise Trouble(f"{path} belongs to uid {found.st_uid}, not to you: set AGENT_PTY_HOME")
    if found.st_mode & stat.S_IRWXU != stat.S_IRWXU or found.st_mode & _OTHERS:
        raise Trouble(_chmod(path, found.st_mode, 0o700))
    return _writable(path)


def _creatable(path: str) -> str:
    parent = _existing(path)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise Trouble(f"{path} cannot be made, {parent} is not writable: set AGENT_PTY_HOME")
    return f"{path} is not there yet: the first command makes it"


def _takes_files(path: str) -> None:
    system = os.statvfs(path)
    if system.f_flag & os.ST_RDONLY:
        raise Trouble(f"{path} is read-only: remount it, or set AGENT_PTY_HOME to another place")
    # Some file systems do not count their inodes and report that they have none.
    if system.f_bavail == 0 or (system.f_files and system.f_favail == 0):
        raise Trouble(f"the file system of {path} is full: make room, or set AGENT_PTY_HOME")


def _existing(path: str) -> str:
    """Return *path*, or the nearest directory above it that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _chmod(path: str, mode: int, right: int) -> str:
    return f"{path} has mode {stat.S_IMODE(mode):04o}: chmod {right:o} {shlex.quote(path)}"


def permissions(call: Invocation) -> str:
    """Check that other users can neither reach nor replace our files."""
    faults = [*_open_to_others(call.layout), *_unsafe_parent(call.layout)]
    if faults:
        raise Trouble("; ".join(faults))
    return "private"


def _open_to_others(where: Layout) -> Iterator[str]:
    for path, right in ((where.home, 0o700), (where.run, 0o700), (where.socket, 0o600)):
        mode = _mode(path)
        if mode & _OTHERS and (stat.S_ISDIR(mode) or stat.S_ISSOCK(mode)):
            yield _chmod(path, mode, right)


def _mode(path: str) -> int:
    """Return the mode of a file, 0 if there is none."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _unsafe_parent(where: Layout) -> Iterator[str]:
    parent = os.path.dirname(where.socket)
    mode = _mode(parent)
    if mode and os.stat(parent).st_uid not in (os.getuid(), 0):
        yield f"{parent} belongs to somebody else: choose another place with --socket"
    # Every command corrects the mode of the home before it uses it.
    if parent != where.home and mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
        yield f"a socket in {parent} can be replaced by others: chmod go-w {shlex.quote(parent)}"


def socket(call: Invocation) -> str:
    """Check the path of the socket, and what exists there."""
    where = call.layout
    for path in (where.socket, where.keeper_socket):
        length = len(os.fsencode(path))
        if length > _LONGEST_PATH:
            raise Trouble(
                f"{path} has {length} bytes, a socket's path at most {_LONGEST_PATH}: "
                "choose a shorter --socket or AGENT_PTY_HOME"
            )
    if os.path.islink(where.socket):
        return _linked_socket(where.socket)
    mode = _mode(where.socket)
    if mode == 0:
        return f"{where.socket} is free"
    if not stat.S_ISSOCK(mode):
        raise Trouble(f"{where.socket} is no socket: move it away, or choose another with --socket")
    if listening(where.socket):
        return f"{where.socket} is in use"
    return f"{where.socket} is stale: nobody listens, the next daemon replaces it"


def _linked_socket(path: str) -> str:
    """Check a socket that is reached through a symbolic link, which a daemon never replaces."""
    target = os.path.realpath(path)
    if not listening(path):
        raise Trouble(
            f"{path} is a symbolic link to {target}, where nobody listens: no daemon can start, "
            "remove the link, or choose another path with --socket"
        )
    return f"{path} is in use, by a symbolic link to {target}"


def listening(path: str) -> bool:
    """Whether a process accepts connections at *path*; raise if that cannot be found out."""
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return False
        except BlockingIOError:
            return True  # so many clients wait that the queue is full
    return True


def guard(_call: Invocation) -> str:
    """Try whether `new --guard` can work; that it cannot is no fault."""
    try:
        no_new_privs = guard_probe.probe()
    except seccomp.Unavailable as error:
        return f"not available: {error.strerror}"
    return "works; sudo will not work inside" if no_new_privs else "works"


def disk(call: Invocation) -> str:
    """Check how much free space the home has."""
    path = _existing(call.layout.home)
    system = os.statvfs(path)
    free = system.f_bavail * system.f_frsize
    text = f"{free // (1024 * 1024)} MB free"
    if free < _LEAST_SPACE:
        raise Trouble(f"{text} at {path}: make room, or set AGENT_PTY_HOME")
    return text


# The four checks of the contract first, in its order.
LOOKS: tuple[tuple[str, Look], ...] = (
    ("git", git),
    ("shell", shell),
    ("log_dir", log_dir),
    ("socket_parent", socket_parent),
    ("home", home),
    ("permissions", permissions),
    ("socket", socket),
    ("emulator", emulator),
    ("pty", pty),
    ("files", files),
    ("disk", disk),
    ("guard", guard),
    ("records", records),
    ("shells", shells),
    ("tmux", tmux),
    ("tools", tools),
)
