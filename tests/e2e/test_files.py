"""Names, files and who may reach them: rows FS-* and NET-18 to NET-20 of the contract."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, alive
from support.raw_socket import exchange, wire

NOBODY = 65534
ROOT = os.getuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="only root can act as another user")

BAD_NAMES = {
    "empty": "",
    "dot": ".",
    "dot dot": "..",
    "parent": "../x",
    "slash": "a/b",
    "absolute": "/etc/passwd",
    "NUL": "a\0b",
    "300 characters": "a" * 300,
    "65 characters": "a" * 65,
    "option": "-rf",
    "blank": "a b",
    "emoji": "\N{ROCKET}",
    "accent": "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    "line feed": "a\nb",
    "line feed at the end": "a\n",
    "percent": "%2e%2e",
    "inner dots": "a..b",
    "hidden": ".profile",
    "colon": "a:1",
    "quote": "a'b",
    "glob": "a*",
    "tilde": "~",
}
GOOD_NAMES = ["a", "A", "0", "a.b", "a_b", "a-b", "CON", "a.", "x" * 64, "v1.2-rc_3"]


def run(agent: Agent, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line with another umask, user or environment."""
    return subprocess.run(
        [sys.executable, "-m", "agent_pty.cli.main", *words],
        **{"env": agent.env, "capture_output": True, "text": True, "timeout": 60, **how},
        check=False,
    )


def mode(path: str | Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(os.lstat(path).st_mode)


# -- names


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_fs_01_a_bad_name_is_refused_everywhere(shared: Agent, name: str) -> None:
    """
    Names that are not plain have one code wherever a name is made, and make no file.
    """
    if "subject" not in {one["id"] for one in shared.ask("list")}:
        shared.new("subject", "/bin/cat")
    before = sorted(os.listdir(shared.layout.sessions))
    requests: list[dict[str, Any]] = [
        {"op": "new", "id": name, "repo": "/tmp", "argv": ["/bin/cat"]},
        {"op": "rename", "id": "subject", "name": name},
        {"op": "screen", "id": name},
        {"op": "kill", "id": name},
    ]

    codes = [exchange(shared, json.dumps(one).encode())["code"] for one in requests]

    assert codes == ["bad_request"] * 4
    assert sorted(os.listdir(shared.layout.sessions)) == before


def test_fs_01_plain_names_are_accepted(shared: Agent) -> None:
    """
    Letters, digits, dot, underscore and hyphen make a name, up to 64 of them.
    """
    made = [shared.new(name, "/bin/cat")["id"] for name in GOOD_NAMES]

    assert made == GOOD_NAMES
    for name in GOOD_NAMES:
        shared.ask("kill", id=name)


def test_fs_02_no_two_sessions_share_a_file(agent: Agent) -> None:
    """
    Names that differ in one character, or in case, have each their own text and their own files.
    """
    names = ["a.b", "a_b", "a-b", "A", "a"]
    for name in names:
        agent.new(name, "/bin/sh", "-c", f"echo I am {name}; exec cat")
        agent.ask("wait", id=name, until=f"I am {name}")

    listed = agent.ask("list")
    texts = {name: agent.transcript(name) for name in names}

    assert texts == {name: f"I am {name}\n" for name in names}
    assert len({one["log_path"] for one in listed}) == len(names)
    assert len(os.listdir(agent.layout.sessions)) == len(names)


def test_fs_02_a_reused_name_does_not_inherit(agent: Agent) -> None:
    """
    A new session with the name of a dead one begins with an empty screen and text.
    """
    agent.new("again", "/bin/sh", "-c", "echo the first; exec cat")
    agent.ask("wait", id="again", until="the first")
    agent.ask("kill", id="again")

    agent.new("again", "/bin/cat")

    assert agent.transcript("again") == ""
    assert agent.ask("screen", id="again")["text"] == ""


# -- where a session starts


@pytest.mark.parametrize("kind", ["missing", "file", "below a file", "unreadable", "dangling"])
def test_fs_04_a_bad_directory_makes_no_session(agent: Agent, tmp_path: Path, kind: str) -> None:
    """
    A directory that cannot be entered is an error with its name, and nothing is half made.
    """
    if kind == "unreadable" and ROOT:
        pytest.skip("root may enter every directory")
    place = bad_place(tmp_path, kind)
    agent.new("good", "/bin/cat")
    terminals = descriptors(agent, "keeper")

    said = agent.cli("new", "--name", "bad", "--repo", str(place), "--", "/bin/cat")

    assert said.returncode == 1
    assert said.stderr.startswith(f"error: cannot start in {place}: ")
    assert [one["id"] for one in agent.ask("list")] == ["good"]
    assert len(os.listdir(agent.layout.sessions)) == 1
    assert descriptors(agent, "keeper") == terminals
    assert "/bin/cat" not in [one["shell"] for one in agent.ask("list") if one["id"] == "bad"]


def bad_place(tmp_path: Path, kind: str) -> Path:
    """Return a path that is no directory one can be in."""
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("")
    if kind == "below a file":
        place.write_text("")
        place /= "below"
    if kind == "unreadable":
        place.mkdir(mode=0)
    if kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    return place


def descriptors(agent: Agent, role: str) -> list[str]:
    """Return the terminals that a process of ours holds."""
    pid = agent.pid_of(role)
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return sorted(link for link in links if link.startswith("/dev/p"))


# -- who may write


def test_fs_05_a_home_that_others_may_write_is_mended_with_a_warning(agent: Agent) -> None:
    """
    Directories open to others are closed before they are used, and the user is told.
    """
    agent.home.chmod(0o777)

    said = agent.cli("list")

    assert said.returncode == 0
    assert said.stderr == (
        f"warning: {agent.home} was writable by others, now it is not: look what is in it\n"
    )
    assert mode(agent.home) == 0o700
    assert agent.cli("list").stderr == ""


@as_root
def test_fs_05_a_home_of_somebody_else_is_refused(agent: Agent) -> None:
    """
    A home that belongs to another user is not used.
    """
    os.chown(agent.home, NOBODY, NOBODY)

    said = agent.cli("list")

    assert said.returncode == 1
    assert said.stderr == (
        f"error: {agent.home} belongs to uid {NOBODY}, not to you: choose another home\n"
    )
    assert agent.processes() == []


@pytest.mark.parametrize("damage", ["empty", "half", "nonsense"])
def test_fs_06_a_damaged_index_is_kept_aside_and_made_anew(agent: Agent, damage: str) -> None:
    """
    A planted half of an index stops nothing: it is put aside, the log says so, a new one is made.
    """
    agent.new("survivor", "/bin/cat")
    agent.cli("stop", "--keep")
    index = Path(agent.layout.session_index)
    whole = index.read_text()
    planted = {"empty": "", "half": whole[: len(whole) // 2], "nonsense": "\0\xff"}[damage]
    index.write_text(planted)

    listed = agent.cli("list").stdout
    agent.cli("stop", "--keep")

    assert listed.startswith("survivor active=true")
    assert Path(f"{index}.damaged").read_text() == planted
    assert f"{index} is damaged" in Path(agent.layout.log).read_text()
    assert [one["id"] for one in json.loads(index.read_text())] == ["survivor"]
    agent.cli("list")


def test_fs_06_a_whole_index_is_not_called_damaged(agent: Agent) -> None:
    """
    An index of an earlier daemon is read without a complaint.
    """
    agent.new("survivor", "/bin/cat")
    agent.cli("restart", "--keep")

    assert agent.info("survivor")["active"] is True
    assert Path(agent.layout.log).read_text() == ""


def test_fs_08_nothing_is_open_to_others_whatever_the_umask(agent: Agent) -> None:
    """
    With umask 0 every file is 0600, every directory 0700, every socket 0600.
    """
    deep = agent.home / "not" / "there" / "yet"
    agent.env["AGENT_PTY_HOME"] = str(deep)
    run(agent, "new", "--name", "busy", "--repo", "/tmp", "--key", "k", "--", "/bin/sh", umask=0)
    run(agent, "send", "busy", "seq 100000; echo end-$((1+1))", "--key", "k", umask=0)
    run(agent, "wait", "busy", "--until", "end-2", umask=0)
    run(agent, "resize", "busy", "--rows", "30", "--cols", "90", umask=0)
    run(agent, "restart", "--keep", umask=0)

    found = {path: mode(path) for path in agent.home.rglob("*") if not path.is_dir()}
    directories = {path: mode(path) for path in agent.home.rglob("*") if path.is_dir()}

    assert len(found) > 10
    assert {path: bits for path, bits in found.items() if bits != 0o600} == {}
    assert {path: bits for path, bits in directories.items() if bits != 0o700} == {}
    assert mode(agent.layout.socket) == 0o600
    run(agent, "stop")


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_programs_have_the_umask_of_their_user(agent: Agent, umask: int) -> None:
    """
    What is private to us is no rule for the programs: they get the umask we were started with.
    """
    words = ["new", "--name", "umask", "--", "/bin/sh", "-c", "umask"]

    run(agent, *words, umask=umask)
    agent.ask("wait", id="umask", until="exit")

    assert agent.transcript("umask") == f"{umask:04o}\n"


# -- where a home cannot be


def test_fs_09_without_home_the_error_says_what_to_set(agent: Agent) -> None:
    """
    Without HOME and AGENT_PTY_HOME nobody guesses a place.
    """
    for name in ("HOME", "AGENT_PTY_HOME"):
        agent.env.pop(name, None)
    message = "HOME is not set: set AGENT_PTY_HOME to a directory of your own"

    said, status = run(agent, "list"), run(agent, "status", "--json")

    assert (said.returncode, said.stderr) == (1, f"error: {message}\n")
    assert (status.returncode, json.loads(status.stdout)["error"]) == (0, message)
    agent.env["AGENT_PTY_HOME"] = str(agent.home)


def test_fs_09_a_home_that_cannot_be_made_is_named(agent: Agent) -> None:
    """
    A home below a file cannot be made; the error names it, and `status` still answers.
    """
    (agent.home / "file").write_text("")
    place = f"{agent.home}/file/home"
    agent.env["AGENT_PTY_HOME"] = place

    said, status = run(agent, "list"), run(agent, "status")

    assert said.returncode == 1
    assert said.stderr.startswith(f"error: cannot use {place}: ")
    assert status.returncode == 0
    assert (agent.home / "file").read_text() == ""


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_fs_09_a_home_that_cannot_be_written_is_named(agent: Agent) -> None:
    """
    A read-only home is an error, not a traceback.
    """
    agent.home.chmod(0o500)

    said = run(agent, "list")

    assert (said.returncode, said.stderr) == (1, f"error: {agent.home} is not writable\n")
    agent.home.chmod(0o700)


def test_fs_09_a_path_too_long_for_a_socket_is_named(agent: Agent) -> None:
    """
    The kernel's limit for a socket is told before anything is started.
    """
    agent.env["AGENT_PTY_HOME"] = f"{agent.home}/{'long' * 30}"

    said = run(agent, "list")

    assert said.returncode == 1
    assert "the path of a socket has at most 107 bytes" in said.stderr
    assert list(agent.home.iterdir()) == []


# -- who may connect


def test_net_18_a_socket_where_anybody_could_put_another_is_refused(agent: Agent) -> None:
    """
    A socket's directory that others may write, without a sticky bit, is no place for one.
    """
    place = agent.home / "open"
    place.mkdir()
    place.chmod(0o777)

    said = agent.cli("list", "--socket", f"{place}/s")
    served = agent.cli("serve", "--socket", f"{place}/s")

    assert (said.returncode, served.returncode) == (1, 1)
    message = f"error: {place} is writable by others: a socket there is not safe"
    assert said.stderr.startswith(message)
    assert served.stderr.startswith(message)
    assert list(place.iterdir()) == []
    assert agent.processes() == []


@as_root
def test_net_18_a_directory_of_somebody_else_is_refused(agent: Agent) -> None:
    """
    A socket is not put into a directory of another user.
    """
    place = agent.home / "theirs"
    place.mkdir(mode=0o755)
    os.chown(place, NOBODY, NOBODY)

    said = agent.cli("list", "--socket", f"{place}/s")

    assert said.returncode == 1
    assert said.stderr == f"error: {place} belongs to uid {NOBODY}: a socket there is not safe\n"


def test_net_19_the_socket_is_private_from_the_first_moment(agent: Agent) -> None:
    """
    A daemon started with umask 0 has a socket of 0600 in a directory of 0700.
    """
    run(agent, "read", "nobody", umask=0)

    assert mode(agent.layout.socket) == 0o600
    assert mode(agent.home) == 0o700
    assert {mode(path) for path in Path(agent.layout.run).glob("*.sock")} == {0o600}


_AS_NOBODY = """
import os, socket, sys
from agent_pty.core.frame import Frame, Kind, encoded

requests = {
    "agent-pty.sock": b'{"op":"list"}\\n',
    "keeper.sock": encoded(Frame(kind=Kind.EVENT, body=b'{"do":"hello","role":"client","seq":1}')),
    "h1.sock": encoded(Frame(kind=Kind.REQUEST, number=1, body=b'{"control":"describe"}\\n')),
}
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
            client.sendall(requests[os.path.basename(path)])
            print(client.recv(100))
        except OSError as error:
            print(type(error).__name__)
"""


def as_nobody(*sockets: str) -> list[str]:
    """Ask at some sockets as another user and return what came back from each."""
    said = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, *sockets],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return said.stdout.splitlines()


@as_root
def test_net_20_another_user_is_refused_even_if_the_modes_were_loosened(agent: Agent) -> None:
    """
    Who has another uid gets no answer from daemon, keeper or host, whatever the files allow.
    """
    agent.new("private", "/bin/cat")
    layout = agent.layout
    sockets = [layout.socket, layout.keeper_socket, layout.host_socket("h1")]

    with loosened(agent.home):
        answers = as_nobody(*sockets)

    assert len(answers) == len(sockets)
    assert set(answers) <= {"b''", "ConnectionResetError", "BrokenPipeError"}
    assert alive(agent.info("private")["pid"])


@as_root
def test_net_20_without_loosened_modes_the_kernel_refuses(agent: Agent) -> None:
    """
    The modes alone keep another user out.
    """
    agent.new("private", "/bin/cat")
    layout = agent.layout

    answers = as_nobody(layout.socket, layout.keeper_socket, layout.host_socket("h1"))

    assert answers == ["PermissionError"] * 3


@contextmanager
def loosened(home: Path) -> Iterator[None]:
    """Open a home to everybody for a while."""
    paths = [home, *home.rglob("*")]
    modes = {path: mode(path) for path in paths}
    for path in paths:
        path.chmod(0o777)
    try:
        yield
    finally:
        for path, bits in modes.items():
            path.chmod(bits)


def test_the_log_says_nothing_when_nothing_is_wrong(agent: Agent) -> None:
    """
    A session that lives and ends leaves no line in the daemon's log.
    """
    agent.new("quiet")
    agent.ask("send", id="quiet", text="exit 0")
    agent.ask("wait", id="quiet", until="exit")
    with wire(agent) as connection:
        connection.post("list")
        connection.answer()

    assert Path(agent.layout.log).read_text() == ""


def test_a_home_can_be_removed_while_nothing_runs(agent: Agent) -> None:
    """
    All that is remembered is in the home: without it, everything begins anew.
    """
    agent.new("gone", "/bin/cat")
    agent.cli("stop")
    shutil.rmtree(agent.home)

    said = agent.cli("list")

    assert (said.returncode, said.stdout) == (0, "")
