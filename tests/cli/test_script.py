"""The script: what it sends, what it does with what comes back, and how it is started.

The test plays the daemon, except where starting one is the subject.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty import __version__, script
from agent_pty.cli import full
from agent_pty.client.connection import connect
from agent_pty.core.layout import layout
from agent_pty.errors import DaemonError
from agent_pty.ops.words import Words
from agent_pty.words.agent_pty import CLIENT_COMMANDS, subcommands
from support.agent import Agent

K = full.functions()
SECONDS = 30.0
OK = b'{"ok":true,"data":null,"error":null}\n'
DONE = b"\x03\x00\x00\x00\x010"
GONE = b"k: the daemon went away; whether it acted is unknown\n"
PRINTED_MODULES = (
    "import posix, sys\n"
    "leave = posix._exit\n"
    "def tell(status):\n"
    "    posix.write(2, '\\n'.join(sys.modules).encode())\n"
    "    leave(status)\n"
    "posix._exit = tell\n"
    "del sys.argv[0]\n"
    "__file__ = sys.argv[0]\n"
    "exec(compile(open(sys.argv[0], 'rb').read(), sys.argv[0], 'exec'))\n"
)


def frame(kind: int, payload: bytes) -> bytes:
    """Return one frame of the stream."""
    return bytes([kind]) + len(payload).to_bytes(4, "big") + payload


class Daemon:
    """The other end of the wire, in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(SECONDS)
        self._listener.bind(str(home / "agent-pty.sock"))
        self._listener.listen()
        self._started: list[subprocess.Popen[bytes]] = []
        self._connections: list[socket.socket] = []

    def start(self, *argv: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Run a program beside the test, with the socket of this daemon."""
        env = {**os.environ, "AGENT_PTY_HOME": str(self.home), **options.pop("env", {})}
        env.pop("AGENT_PTY_SOCKET", None)
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        started = subprocess.Popen(argv, env=env, **{**streams, **options})
        self._started.append(started)
        return started

    def accept_only(self) -> socket.socket:
        """Return the next connection, with nothing read."""
        connection, _ = self._listener.accept()
        connection.settimeout(SECONDS)
        self._connections.append(connection)
        return connection

    def accept(self) -> tuple[socket.socket, dict[str, Any]]:
        """Return the next connection and the request that came on it."""
        connection = self.accept_only()
        line = bytearray()
        while not line.endswith(b"\n"):
            line += connection.recv(1)
        return connection, json.loads(line)

    def answer(self, called: subprocess.Popen[bytes], *parts: bytes) -> tuple[int, bytes, bytes]:
        """Send these bytes, hang up, and return how the caller ended."""
        connection, _ = self.accept()
        with connection:
            connection.sendall(b"".join(parts))
        return ended(called)

    def stop_listening(self) -> None:
        """Refuse whoever connects from now on."""
        self._listener.close()

    def close(self) -> None:
        """Stop listening, and end whoever should have ended by itself."""
        for end in (self._listener, *self._connections):
            end.close()
        for one in self._started:
            one.kill()
            one.communicate()


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Return so many bytes."""
    data = b""
    while len(data) < count:
        data += connection.recv(count - len(data))
    return data


def ended(called: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    """Wait, and return status, output and errors."""
    out, err = called.communicate(timeout=SECONDS)
    return called.returncode, out, err


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A daemon that says what the test says."""
    # Not tmp_path: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ap-") as home:
        one = Daemon(Path(home))
        yield one
        one.close()


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment with blanks in its name that has the package, and our script in `bin`."""
    root = tmp_path / "a virtual environment"
    (root / "bin").mkdir(parents=True)
    (root / "bin/python").symlink_to(sys.executable)
    (root / "lib").symlink_to(Path(sys.prefix) / "lib")
    if (Path(sys.prefix) / "pyvenv.cfg").exists():
        shutil.copy(Path(sys.prefix) / "pyvenv.cfg", root)
    for name in ("k", "km", "agent-tty", "agent-pty"):
        shutil.copy(script.PATH, root / "bin" / name)
    return root / "bin"


# -- what is sent


def test_the_request_has_exactly_these_fields(daemon: Daemon, venv: Path, tmp_path: Path) -> None:
    """
    The words, the directory, the session, who called and by which build; bytes are characters.
    """
    where = tmp_path / 'a "directory"\n'
    where.mkdir()
    daemon.start(venv / "k", "run", "-j", "echo hi", cwd=where, env={"K_SESSION": "wörk"})

    _, request = daemon.accept()

    assert len(request.pop("key")) == 16
    assert request == {
        "op": "words",
        "program": "k",
        "argv": ["run", "-j", "echo hi"],
        "cwd": str(where),
        "session": "wörk".encode().decode("latin-1"),
        "parent": Path(f"/proc/{os.getpid()}/comm").read_text().strip(),
        "terminals": [False, False, False],
        "octets": True,
        "build": script.digest(),
        "v": 1,
    }


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX", "nowhere.ISO-8859-1"])
def test_words_arrive_as_they_were_typed(daemon: Daemon, venv: Path, locale: str) -> None:
    """
    Quotes, newlines, controls, emoji and bytes that are no text survive in every locale.
    """
    words = ["", " ", "\"'`$\\", "a\nb\r\tc", "\x01\x1b[0m\x7f", "naïve 🦀 e\u0301\u2028", "-x"]
    env = {"LC_ALL": locale}
    daemon.start(venv / "k", *words, b"\xff\xfe latin \xe9", env=env)

    _, request = daemon.accept()

    asked = msgspec.convert({**request, "op": None}, Words)
    arrived = [os.fsencode(asked.text(word)) for word in asked.argv]
    assert arrived == [*(word.encode() for word in words), b"\xff\xfe latin \xe9"]


@given(st.binary())
def test_any_bytes_become_one_json_string(value: bytes) -> None:
    """
    The escaping by hand is read back by a real parser as the same bytes, on one ASCII line.
    """
    quoted = K.quoted(value)

    assert json.loads(quoted).encode("latin-1") == value
    assert quoted.isascii()
    assert "\n" not in quoted


@pytest.mark.parametrize(("value", "sent"), [(None, None), ("", ""), ('a"b', 'a"b')])
def test_a_missing_session_is_null(
    daemon: Daemon, venv: Path, value: str | None, sent: str | None
) -> None:
    """
    An unset K_SESSION and an empty one are different things; the daemon decides what they mean.
    """
    unset = [] if value is not None else ["-u", "K_SESSION"]
    daemon.start("env", *unset, venv / "k", env={"K_SESSION": value or ""})

    assert daemon.accept()[1]["session"] == sent


@pytest.mark.parametrize(
    ("name", "program"), [("k", "k"), ("km", "km"), ("agent-tty", "agent-tty"), ("kk", "k")]
)
def test_the_name_it_was_called_by_is_the_program(
    daemon: Daemon, venv: Path, tmp_path: Path, name: str, program: str
) -> None:
    """
    A link's own name counts, not that of the file it leads to; unknown names are `k`.
    """
    (tmp_path / name).symlink_to(venv / "agent-tty")
    daemon.start(tmp_path / name)

    assert daemon.accept()[1]["program"] == program


def test_a_directory_that_was_removed_is_the_root(daemon: Daemon, venv: Path) -> None:
    """
    Without a current directory there is still an answer to be had.
    """
    daemon.start(
        "sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; "$0"', venv / "k", cwd=daemon.home
    )

    assert daemon.accept()[1]["cwd"] == "/"


# -- what comes back


@pytest.mark.parametrize("status", [0, 1, 6, 130, 255])
def test_output_errors_and_status_are_the_daemons(daemon: Daemon, venv: Path, status: int) -> None:
    """
    Each stream gets its bytes, whatever they are; the status is the one in the last frame.
    """
    called = daemon.start(venv / "k")

    parts = [frame(1, b"a\xff\n"), frame(2, b"oh\n"), frame(1, b""), frame(1, b"\0b")]
    said = daemon.answer(called, OK, *parts, frame(3, str(status).encode()))

    assert said == (status, b"a\xff\n\0b", b"oh\n")


class Chunks:
    """A socket from which the bytes come in these pieces."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = iter(chunks)

    def settimeout(self, _: float | None) -> None:
        """Everything is there already."""

    def recv(self, _: int) -> bytes:
        """Return the next piece, and nothing at the end."""
        return next(self._chunks, b"")


def answered(*chunks: bytes) -> int | None:
    """Let the script read an answer; None if it says that the daemon has gone."""
    wire = Chunks(*chunks)
    try:
        talk = K.Conversation(wire, "k")
        _, rest = K.first_line(talk, "k")
        status: int = talk.relay(rest)
    except K.Gone:
        return None
    return status


STREAM = OK + frame(1, b"one\n") + frame(2, b"two\n") + frame(1, b"") + frame(3, b"42")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 11, 40])
def test_frames_may_be_split_anywhere(size: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """
    Envelope, headers and payloads come in pieces that have nothing to do with their borders.
    """
    pieces = (STREAM[at : at + size] for at in range(0, len(STREAM), size))

    assert answered(*pieces) == 42
    assert capfdbinary.readouterr() == (b"one\n", b"two\n")


@pytest.mark.usefixtures("capfdbinary")
def test_every_cut_is_noticed() -> None:
    """
    Wherever the stream breaks off, it is not taken for an answer.
    """
    found = {answered(STREAM[:at]) for at in range(len(STREAM))}

    assert found == {None}


def test_an_unknown_kind_is_skipped(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """
    A later daemon may send more than we know.
    """
    assert answered(OK, frame(9, b"later"), frame(0, b"!"), frame(1, b"now"), DONE) == 0
    assert capfdbinary.readouterr() == (b"now", b"")


@pytest.mark.parametrize("said", [b"", OK, OK + frame(1, b"half")[:-2], OK + frame(3, b"x")])
def test_a_daemon_that_vanishes_leaves_the_outcome_unknown(
    daemon: Daemon, venv: Path, said: bytes
) -> None:
    """
    Without a status nobody knows whether it acted, and the exit status says so.
    """
    called = daemon.start(venv / "k")
    connection, _ = daemon.accept()
    daemon.stop_listening()
    with connection:
        connection.sendall(said)

    status, _, err = ended(called)

    assert (status, err) == (6, GONE)


def test_the_next_daemon_continues_where_one_died(daemon: Daemon, venv: Path) -> None:
    """
    The request comes again with its key and what was printed; nothing is printed twice.
    """
    called = daemon.start(venv / "k", "run", "x")
    first, asked = daemon.accept()
    with first:
        first.sendall(OK + frame(1, b"hel") + frame(2, b"!"))

    second, again = daemon.accept()
    with second:
        second.sendall(OK + frame(1, b"lo") + DONE)

    assert ended(called) == (0, b"hello", b"!")
    assert again == {**asked, "printed": [3, 1]}


def test_a_bookmark_settles_what_was_printed(daemon: Daemon, venv: Path) -> None:
    """
    The next daemon is given the last bookmark, and counts what was printed after it.
    """
    called = daemon.start(venv / "km", "s")
    first, _ = daemon.accept()
    with first:
        first.sendall(OK + frame(1, b"one\n") + frame(7, b'{"at":7}') + frame(1, b"tw"))

    second, again = daemon.accept()
    with second:
        second.sendall(OK + frame(1, b"o\n") + DONE)

    assert ended(called) == (0, b"one\ntwo\n", b"")
    assert (again["bookmark"], again["printed"]) == ('{"at":7}', [2, 0])


def test_standard_input_is_sent_again(daemon: Daemon, venv: Path) -> None:
    """
    It can be read only once, but two daemons may ask for it.
    """
    called = daemon.start(venv / "agent-pty", "send", "s", "-", stdin=subprocess.PIPE)
    assert called.stdin is not None
    called.stdin.write(b"typed")
    called.stdin.close()
    called.stdin = None
    wanted = b"\x02\x00\x00\x00\x05typed\x03\x00\x00\x00\x00"
    for _ in range(2):
        connection, _ = daemon.accept()
        with connection:
            connection.sendall(OK + frame(4, b"stdin"))
            assert read_exactly(connection, len(wanted)) == wanted
    connection, _ = daemon.accept()
    with connection:
        connection.sendall(OK + DONE)

    assert ended(called) == (0, b"", b"")


def test_a_daemon_that_always_hangs_up_is_given_up(daemon: Daemon, venv: Path) -> None:
    """
    A process that accepts and says nothing, ten times over, is no daemon that died.
    """
    called = daemon.start(venv / "k", "ls")
    for _ in range(11):
        daemon.accept()[0].close()

    assert ended(called) == (6, b"", GONE)


def test_a_reset_is_an_end_too(daemon: Daemon, venv: Path) -> None:
    """
    A daemon that is killed with our words unread resets the connection.
    """
    called = daemon.start(venv / "k", "x" * 100_000)
    connection = daemon.accept_only()
    connection.recv(1)
    daemon.stop_listening()
    connection.close()

    assert ended(called) == (6, b"", GONE)


def test_a_refusal_is_told_in_its_own_words(daemon: Daemon, venv: Path) -> None:
    """
    The message of a failure goes to standard error; the rest of the envelope is for programs.
    """
    envelope: dict[str, Any] = {
        "ok": False,
        "data": None,
        "error": 'no "ü"\n\\',
        "code": "x",
        "details": {},
    }
    line = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    said = daemon.answer(daemon.start(venv / "k"), line)

    assert said == (1, b"", 'k: no "ü"\n\\\n'.encode())


@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])), st.booleans())
def test_a_message_is_unescaped(message: str, ascii_only: bool) -> None:  # noqa: FBT001  drawn
    """
    What a real encoder escapes comes back as it was.
    """
    fields = {"ok": False, "error": message, "code": "x"}

    assert K.error_in(json.dumps(fields, separators=(",", ":"), ensure_ascii=ascii_only)) == message


def test_an_envelope_without_a_message_is_shown_whole() -> None:
    """
    Whatever listens there, one sees what it said.
    """
    assert K.error_in("HTTP/1.1 400 Bad Request") == "HTTP/1.1 400 Bad Request"


# -- what the daemon asks of the caller


def asked(daemon: Daemon, called: subprocess.Popen[bytes], *parts: bytes) -> bytes:
    """Ask the script for something; return everything it sends until the answer is complete."""
    connection, _ = daemon.accept()
    connection.sendall(OK + b"".join(parts))
    data = b""
    while not data.endswith(END) and b"\x04" not in data[:1]:
        data += connection.recv(1 << 16)
    connection.sendall(DONE)
    assert ended(called)[0] == 0
    return data


def carried(data: bytes) -> bytes:
    """Return what a series of DATA frames carries."""
    content = b""
    while data[0] == 2:
        size = int.from_bytes(data[1:5], "big")
        content, data = content + data[5 : 5 + size], data[5 + size :]
    assert data == END
    return content


END = b"\x03\x00\x00\x00\x00"


def test_standard_input_is_sent_when_it_is_asked_for(daemon: Daemon, venv: Path) -> None:
    """
    All of it, whatever it is, and not before.
    """
    content = bytes(range(256)) * 1000
    (daemon.home / "in").write_bytes(content)
    with (daemon.home / "in").open("rb") as stdin:
        called = daemon.start(venv / "agent-pty", "send", "work", "-", stdin=stdin)

    assert carried(asked(daemon, called, frame(4, b"stdin"))) == content


def test_the_environment_is_sent_as_it_is(daemon: Daemon, venv: Path) -> None:
    """
    Names and values are bytes.
    """
    called = daemon.start(venv / "k", "new", "x", env={"ODD": os.fsdecode(b"\xff\n=")})

    sent = carried(asked(daemon, called, frame(4, b"env")))

    assert b"ODD=\xff\n=" in sent.split(b"\0")


def test_a_file_is_read_where_the_caller_is(daemon: Daemon, venv: Path) -> None:
    """
    A relative path begins at the caller's directory; one that cannot be read says why.
    """
    (daemon.home / "f").write_bytes(b"content\xff")

    here = daemon.start(venv / "agent-pty", "paste", "x", cwd=daemon.home)
    read = carried(asked(daemon, here, frame(4, b"file\0f")))
    there = daemon.start(venv / "agent-pty", "paste", "x", cwd="/")
    failed = asked(daemon, there, frame(4, b"file\0f"))

    assert read == b"content\xff"
    assert failed == frame(4, b"cannot read f: No such file or directory")


def test_a_file_is_written_for_the_caller(daemon: Daemon, venv: Path) -> None:
    """
    A picture is larger than one piece; the permissions are the caller's own.
    """
    content = bytes(range(256)) * 2000
    called = daemon.start(
        "sh", "-c", 'umask 077; exec "$0" screen x', venv / "agent-pty", cwd=daemon.home
    )

    asked(daemon, called, frame(5, b"out.png\0" + content))

    assert (daemon.home / "out.png").read_bytes() == content
    assert (daemon.home / "out.png").stat().st_mode & 0o777 == 0o600


def test_ctrl_c_while_it_reads_standard_input_ends_it(daemon: Daemon, venv: Path) -> None:
    """
    The daemon waits for the rest, so nobody else could answer it.
    """
    called = daemon.start(venv / "agent-pty", "send", "x", "-", stdin=subprocess.PIPE)
    connection, _ = daemon.accept()
    connection.sendall(OK + frame(4, b"stdin"))
    assert called.stdin is not None
    called.stdin.write(b"x")
    called.stdin.flush()
    assert connection.recv(6) == frame(2, b"x")

    called.send_signal(signal.SIGINT)

    assert ended(called)[0] == 130
    assert connection.recv(1) == b""


def test_a_daemon_may_leave_it_to_the_full_client(daemon: Daemon, venv: Path) -> None:
    """
    It does so for the script of another build; the words are carried out all the same.
    """
    called = daemon.start(venv / "k", "ls")
    connection, _ = daemon.accept()
    connection.sendall(OK + frame(6, b""))
    daemon.accept_only().close()  # it looks whether a daemon is there
    connection, request = daemon.accept()
    connection.sendall(OK + frame(1, b"from the full client") + DONE)

    assert (request["argv"], request["build"]) == (["ls"], "full")
    assert ended(called)[:2] == (0, b"from the full client")


def test_a_daemon_that_does_not_answer_is_named(daemon: Daemon, venv: Path) -> None:
    """
    After two seconds it is said that it may hang, and the script goes on waiting for some time.
    """
    called = daemon.start(venv / "k", "ls")
    connection, _ = daemon.accept()
    assert called.stderr is not None
    said = called.stderr.readline()

    connection.sendall(OK + DONE)

    assert said == b"k: the daemon does not answer; it may hang: see agent-pty doctor\n"
    assert ended(called)[0] == 0


def test_a_daemon_that_never_answers_is_given_up(daemon: Daemon, venv: Path) -> None:
    """
    Nobody waits for ever; whether it acted is not known.
    """
    text = (venv / "k").read_text()
    assert "EXPECTED, PATIENCE = 2, 10" in text
    (venv / "k").write_text(
        text.replace("EXPECTED, PATIENCE = 2, 10", "EXPECTED, PATIENCE = 0.1, 0.3")
    )
    called = daemon.start(venv / "k", "ls")
    daemon.accept()

    status, _, err = ended(called)

    assert status == 6
    assert err.endswith(b"k: the daemon hangs; whether it acted is unknown\n")


def test_trial_14_a_daemon_that_stops_in_the_middle_is_given_up(daemon: Daemon, venv: Path) -> None:
    """
    A daemon that works on a request says so every few seconds; one that does not has stopped.
    """
    text = (venv / "k").read_text()
    assert "WORKING = 15, 30" in text
    (venv / "k").write_text(text.replace("WORKING = 15, 30", "WORKING = 0.1, 0.3"))
    called = daemon.start(venv / "k", "run", "x")
    connection, _ = daemon.accept()
    connection.sendall(OK + frame(1, b"begun"))

    status, out, err = ended(called)

    assert (status, out) == (6, b"begun")
    assert err.startswith(b"k: the daemon does not answer")
    assert err.endswith(b"k: the daemon hangs; whether it acted is unknown\n")


def test_the_script_knows_what_is_for_the_full_client() -> None:
    """
    The commands that need no daemon, or the caller's terminal, are the same on both sides.
    """
    local = {one.name for one in subcommands().values() if one.command.local}

    assert {*CLIENT_COMMANDS, *local} == K.CLIENT
    assert K.for_client("agent-pty", [])
    assert K.for_client("agent-pty", ["list", "--socket=/x"])
    assert K.for_client("agent-pty", ["send", "--help"])
    assert not K.for_client("agent-pty", ["new", "--", "x", "--help"])
    assert not K.for_client("k", ["--help"])


def test_the_digest_is_that_of_the_file() -> None:
    """
    Script and daemon compute it in the same way.
    """
    assert K.digest() == script.digest()


# -- streams of the caller


def test_much_output_is_complete_and_costs_no_memory(daemon: Daemon, venv: Path) -> None:
    """
    Output is written as it comes: 32 MB pass through a process of half that size.
    """
    block = bytes(range(256)) * 1024
    with (daemon.home / "out").open("wb") as out:
        called = daemon.start(venv / "k", stdout=out)
    connection, _ = daemon.accept()
    connection.sendall(OK)
    for _ in range(128):
        connection.sendall(frame(1, block))
    connection.sendall(frame(2, b"!"))
    assert called.stderr is not None
    assert called.stderr.read(1) == b"!"

    # Not ru_maxrss: a child that was forked has that of its parent.
    status = Path(f"/proc/{called.pid}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    connection.sendall(DONE)

    assert ended(called)[0] == 0
    assert (daemon.home / "out").read_bytes() == block * 128
    assert peak < 16 * 1024


def test_a_reader_that_is_not_waited_for_gets_everything(daemon: Daemon, venv: Path) -> None:
    """
    A pipe that somebody made non-blocking is full at times; nothing is lost by that.
    """
    block = bytes(range(256)) * 4096
    read, write = os.pipe()
    os.set_blocking(write, False)
    called = daemon.start(venv / "k", stdout=write)
    os.close(write)
    connection, _ = daemon.accept()
    sender = threading.Thread(target=connection.sendall, args=[OK + frame(1, block) + DONE])
    sender.start()

    with open(read, "rb") as out:
        assert out.read() == block
    sender.join()
    assert ended(called)[0] == 0


def test_nobody_reads_on(daemon: Daemon, venv: Path) -> None:
    """
    When the reader has gone (`k watch | head`), we go quietly, and the daemon sees it.
    """
    read, write = os.pipe()
    os.close(read)
    called = daemon.start(venv / "k", stdout=write)
    os.close(write)
    connection, _ = daemon.accept()

    connection.sendall(OK + frame(1, b"to nobody"))

    assert ended(called)[::2] == (141, b"")
    assert connection.recv(1) == b""


def test_a_full_disk_is_told(daemon: Daemon, venv: Path) -> None:
    """
    Output that could not be written is a failure, whatever the daemon thinks.
    """
    with open("/dev/full", "wb") as full:
        called = daemon.start(venv / "k", stdout=full)

    said = daemon.answer(called, OK, frame(1, b"x"), DONE)

    assert said[::2] == (1, b"k: cannot write: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_become_the_socket(
    daemon: Daemon, venv: Path, closed: str
) -> None:
    """
    The kernel gives the lowest free number: the socket must not get that of standard output.
    """
    called = daemon.start("sh", "-c", f'exec "$0" ls {closed}', venv / "k")
    connection, _ = daemon.accept()
    connection.sendall(OK + frame(1, b"x") + frame(2, b"y") + frame(3, b"5"))

    assert connection.recv(1) == b""
    assert ended(called)[0] == 5


# -- signals


def at_work(daemon: Daemon, *argv: Any) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start `k` and return when it has printed something, so that signals find it at work."""
    called = daemon.start(*argv)
    connection, _ = daemon.accept()
    connection.sendall(OK + frame(1, b"!"))
    assert called.stdout is not None
    assert called.stdout.read(1) == b"!"
    return called, connection


def test_ctrl_c_is_passed_on(daemon: Daemon, venv: Path) -> None:
    """
    The daemon learns of a Ctrl-C, and what it has to say about it is printed.
    """
    called, connection = at_work(daemon, venv / "k")

    called.send_signal(signal.SIGINT)

    assert connection.recv(9) == frame(1, b"")
    connection.sendall(frame(1, b"interrupted\n") + frame(3, b"1"))
    assert ended(called) == (1, b"interrupted\n", b"")


def test_a_second_ctrl_c_ends_it_at_once(daemon: Daemon, venv: Path) -> None:
    """
    Who presses it twice wants to leave, whatever the daemon does.
    """
    called, connection = at_work(daemon, venv / "k")

    called.send_signal(signal.SIGINT)
    assert connection.recv(9) == frame(1, b"")
    called.send_signal(signal.SIGINT)

    assert ended(called) == (130, b"", b"")


def test_an_ignored_ctrl_c_stays_ignored(daemon: Daemon, venv: Path) -> None:
    """
    A job in the background does not get the Ctrl-C that is meant for another.
    """
    called, connection = at_work(daemon, "sh", "-c", 'trap "" INT; exec "$0"', venv / "k")

    called.send_signal(signal.SIGINT)
    connection.sendall(DONE)

    assert ended(called)[0] == 0
    assert connection.recv(1) == b""


def test_sigterm_ends_it(daemon: Daemon, venv: Path) -> None:
    """
    It dies as asked, and the daemon sees that nobody is there.
    """
    called, connection = at_work(daemon, venv / "k")

    called.terminate()

    assert ended(called)[0] == -signal.SIGTERM
    assert connection.recv(1) == b""


# -- where the daemon is


def test_the_socket_is_where_the_layout_says() -> None:
    """
    The script's own rule and core.layout agree in every environment.
    """
    paths = [
        None,
        "",
        "/",
        "/x",
        "/x//",
        "~",
        "~/",
        "~/x/",
        "~user/x",
        "x",
        "./x/",
        "é\udcff",
        "//",
    ]
    homes = [None, "", "/", "/home/a", "/home/a/", "rel"]
    for home, own, given_socket, cwd in itertools.product(homes, paths, paths, ["/", "/w d"]):
        named = {"HOME": home, "AGENT_PTY_HOME": own, "AGENT_PTY_SOCKET": given_socket}
        env = {name: value for name, value in named.items() if value is not None}
        try:
            expected = os.fsencode(layout(env, cwd=cwd).socket)
        except DaemonError:
            expected = b""

        raw = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        assert K.address(raw, os.fsencode(cwd)) == expected, (env, cwd)


# -- how it is started


def test_it_loads_next_to_nothing(daemon: Daemon) -> None:
    """
    Beside what every interpreter has, one module: each other would cost at every step of an agent.
    """
    bare = [sys.executable, "-I", "-S", "-c"]
    tell = "import sys; print(*sys.modules, sep='\\n')"
    always = subprocess.run([*bare, tell], capture_output=True, check=True, text=True).stdout

    said = daemon.answer(daemon.start(*bare, PRINTED_MODULES, script.PATH, "poll"), OK, DONE)

    loaded = set(said[2].decode().split())
    assert loaded - set(always.split()) == {"_socket"}
    assert loaded.isdisjoint({"os", "re", "json", "site", "socket", "signal"})


def test_it_runs_however_it_is_called(daemon: Daemon, venv: Path, tmp_path: Path) -> None:
    """
    By path, from the directory, through links, by sh, and as a Python script by any interpreter.
    """
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to(venv / "k")
    ways: list[tuple[list[Any], Path]] = [
        ([venv / "k"], tmp_path),
        (["./k"], venv),
        ([tmp_path / "first"], tmp_path),
        (["sh", "k"], venv),
        ([sys.executable, venv / "k"], tmp_path),
        ([sys.executable, "k"], venv),
        ([sys.executable, script.PATH], tmp_path),
        (["env", f"PATH={venv}", "k"], tmp_path),
    ]
    for argv, cwd in ways:
        said = daemon.answer(daemon.start(*argv, "ls", cwd=cwd), OK, frame(1, b"here"), DONE)

        assert said == (0, b"here", b""), argv


@pytest.mark.parametrize(
    ("beside", "on_path", "chosen"),
    [
        (["python", "python3"], ["python3"], "python -I -S"),
        (["python3"], ["python3"], "python3 -I -S"),
        ([], ["python3"], "python3 -E -P -S"),
    ],
)
def test_the_interpreter_beside_it_is_taken(
    tmp_path: Path, beside: list[str], on_path: list[str], chosen: str
) -> None:
    """
    `python`, then `python3` of its own environment; else the one on PATH, with user packages.
    """
    bins = {"own bin": beside, "path": on_path}
    for folder, names in bins.items():
        (tmp_path / folder).mkdir()
        for name in names:
            stub = tmp_path / folder / name
            stub.write_text('#!/bin/sh\necho "$0 $1 $2 $3"\n')
            stub.chmod(0o755)
    shutil.copy(script.PATH, tmp_path / "own bin/k")
    (tmp_path / "k").symlink_to("own bin/k")
    env = {"PATH": f"{tmp_path}/path:/usr/bin:/bin"}

    said = subprocess.run([tmp_path / "k"], env=env, capture_output=True, check=True, text=True)

    folder = "own bin" if beside else "path"
    assert said.stdout.startswith(f"{tmp_path}/{folder}/{chosen}")


def test_its_bytecode_is_kept_beside_the_file(daemon: Daemon, venv: Path, tmp_path: Path) -> None:
    """
    It is compiled when it has changed, not at every call; a link gets no litter.
    """
    (tmp_path / "k").symlink_to(venv / "k")

    daemon.answer(daemon.start(tmp_path / "k"), OK, DONE)
    (kept,) = (venv / "__pycache__").iterdir()
    changed = (venv / "k").read_text().replace('"op":"words"', '"op":"changed"')
    (venv / "k").write_text(changed)
    daemon.start(venv / "k")

    assert kept.name.startswith("k")
    assert not (tmp_path / "__pycache__").exists()
    assert daemon.accept()[1]["op"] == "changed"


def test_it_runs_where_no_bytecode_can_be_kept(daemon: Daemon, venv: Path) -> None:
    """
    A directory that cannot be written to costs time, not the answer.
    """
    (venv / "__pycache__").write_text("in the way")

    assert daemon.answer(daemon.start(venv / "k"), OK, DONE) == (0, b"", b"")


@pytest.mark.parametrize("name", ["k", "km", "agent-tty", "agent-pty"])
def test_what_is_installed_is_this_script(name: str) -> None:
    """
    The copy in `bin` is of today; if not, `make setup`.
    """
    installed = Path(sys.executable).with_name(name)

    assert installed.read_bytes() == Path(script.PATH).read_bytes()
    assert os.access(installed, os.X_OK)


# -- without a daemon


def test_the_first_call_starts_a_daemon(agent: Agent, venv: Path) -> None:
    """
    Whether a daemon ran before makes no difference to the answer.
    """
    words: list[Any] = [venv / "k", "history", "-n", '"no\nnumber"']

    first, second = (
        subprocess.run(words, env=agent.env, capture_output=True, timeout=60, check=False)
        for _ in range(2)
    )

    assert (first.returncode, first.stdout, first.stderr) == (
        second.returncode,
        second.stdout,
        second.stderr,
    )
    assert first.stdout + first.stderr != b""
    connect(agent.layout, start=False).close()


@pytest.mark.parametrize("way", ["script", "other interpreter"])
@pytest.mark.parametrize("name", ["k", "km"])
def test_the_version_starts_nothing(agent: Agent, venv: Path, name: str, way: str) -> None:
    """
    Asking for the version leaves no daemon behind, and the interpreter with the package is found.
    """
    argv: list[Any] = [venv / name] if way == "script" else ["/usr/bin/env", "python3", venv / name]

    said = subprocess.run([*argv, "--version"], env=agent.env, capture_output=True, check=False)

    assert (said.returncode, said.stdout) == (0, f"{name} {__version__} (agent-pty)\n".encode())
    assert list(agent.home.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_starts_nothing(agent: Agent, venv: Path, words: list[str]) -> None:
    """
    The help text is there without a daemon, for each of the two programs its own.
    """
    said = [
        subprocess.run([venv / name, *words], env=agent.env, capture_output=True, check=True).stdout
        for name in ("k", "km", "agent-tty")
    ]

    assert b"usage" in said[0].lower()
    assert said[0] == said[2] != said[1]
    assert list(agent.home.iterdir()) == []


def test_a_home_that_cannot_be_used_is_told_in_one_line(venv: Path, tmp_path: Path) -> None:
    """
    What keeps a daemon from starting is said like every other failure of `k`.
    """
    (tmp_path / "file").touch()
    homes = [{"AGENT_PTY_HOME": str(tmp_path / "file")}, {"AGENT_PTY_HOME": "~/x"}]

    said = [
        subprocess.run([venv / "k", "ls"], env=env, capture_output=True, check=False, text=True)
        for env in homes
    ]

    assert [one.returncode for one in said] == [1, 1]
    assert said[0].stderr == f"k: cannot use {tmp_path}/file: File exists\n"
    assert said[1].stderr.startswith("k: HOME is not set")
