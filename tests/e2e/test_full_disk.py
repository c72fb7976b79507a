"""A disk that is full, with the log on it: every request is answered, and nothing is half done."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.errors import EvidenceUnavailable
from support.agent import Agent, slay
from support.k import K
from support.small_disk import SmallDisk, small_disk

MEGABYTES = 4
BASH = ("/bin/bash", "--norc", "--noprofile")
# Far more than is kept in memory, and than there is room for.
LINES = 400_000
WRITTEN = sum(len(str(number)) + 1 for number in range(1, LINES + 1)) - 1
# Blocks.
ROOM_FOR_A_SESSION = 30


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    """A disk of a few megabytes."""
    with small_disk(MEGABYTES) as mounted:
        yield mounted


@contextlib.contextmanager
def on_disk(disk: SmallDisk) -> Iterator[Agent]:
    """Give a user whose home is on that disk one session, `work`."""
    user = Agent(disk.path)
    user.new("work")
    try:
        yield user
    finally:
        user.cli("stop")
        user.reap()


@pytest.fixture
def user(disk: SmallDisk) -> Iterator[Agent]:
    """A user whose home is on that disk, with one session, `work`."""
    with on_disk(disk) as user:
        yield user


@pytest.fixture
def unrecorded(disk: SmallDisk) -> Iterator[Agent]:
    """The same one, who may also do what cannot be recorded; the room is for output alone."""
    settings = '[evidence]\nrequired = false\n[recording]\nbudget = "0"\n'
    (disk.path / "config.toml").write_text(settings)
    with on_disk(disk) as user:
        yield user


def names(user: Agent) -> list[str]:
    """Return what `list` names."""
    return [one["id"] for one in user.ask("list")]


COMMANDS = {
    "new": ("new", "--name", "other", "--repo", "/tmp", "--", "/bin/cat"),
    "new with a key": ("new", "--name", "other", "--key", "n1", "--repo", "/tmp", "--", "cat"),
    "exec": ("exec", "--name", "other", "--", "/bin/echo", "hello"),
    "rename": ("rename", "work", "other"),
    "send with a key": ("send", "work", "echo typed-$((1+1))", "--key", "s1"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_trial_03_a_full_disk_is_an_answer_and_nothing_is_left(
    user: Agent, disk: SmallDisk, command: tuple[str, ...]
) -> None:
    """
    A change that needs room fails with the reason; no name is taken, no program and no file stays.
    """
    before = user.ask("list"), sorted(os.listdir(user.layout.sessions))
    text = user.transcript("work")
    disk.fill()

    said = user.cli(*command)

    assert said.returncode == 1
    assert "No space left on device" in said.stderr
    assert "Traceback" not in said.stderr
    assert [one["id"] for one in user.ask("list")] == [one["id"] for one in before[0]]
    assert sorted(os.listdir(user.layout.sessions)) == before[1]
    assert user.transcript("work") == text


@pytest.mark.parametrize("option", [[], ["--isolate"]], ids=["shared host", "own host"])
def test_trial_03_a_disk_that_takes_no_more_files_is_full_too(
    user: Agent, disk: SmallDisk, option: list[str]
) -> None:
    """
    A session needs files, and perhaps a host, which needs a socket: the answer names the lack.
    """
    create = ("new", "--name", "other", *option, "--repo", "/tmp", "--", "/bin/cat")
    disk.fill_with_files()

    said = user.cli(*create)

    assert said.returncode == 1
    assert said.stderr.startswith("error: cannot ")
    assert said.stderr.endswith("No space left on device\n")
    assert names(user) == ["work"]
    disk.free()
    assert user.cli(*create).returncode == 0


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_trial_03_with_room_again_the_same_request_succeeds_without_a_restart(
    user: Agent, disk: SmallDisk, command: tuple[str, ...]
) -> None:
    """
    A request that failed for want of room leaves nothing in the way of its repetition.
    """
    daemon = user.pid_of("daemon")
    disk.fill()
    user.cli(*command)
    disk.free()

    said = user.cli(*command)

    assert (said.returncode, said.stderr) == (0, "")
    assert user.pid_of("daemon") == daemon


def test_trial_03_k_says_in_its_answer_what_could_not_be_kept(
    unrecorded: Agent, disk: SmallDisk
) -> None:
    """
    The object of a cell whose output did not fit has `lost`, and text says it where it is missing.
    """
    k = K(unrecorded)
    disk.fill()

    said = k.cell("work", f"seq {LINES}", limit=60)
    plain = k.run("run", "-t", "60", "work", f"seq {LINES}").stdout

    assert list(said) == ["status", "output", "lost"]
    assert said["output"].endswith(f"\n{LINES}")
    assert said["lost"] + len(said["output"]) == WRITTEN
    first, _, rest = plain.partition("\n")
    assert first == f"[... {WRITTEN - len(rest) + 1} bytes could not be kept ...]"
    assert rest.endswith(f"\n{LINES}\n")


def test_trial_03_agent_pty_says_in_its_answer_what_could_not_be_kept(
    unrecorded: Agent, disk: SmallDisk
) -> None:
    """
    `run` counts in `lost` what neither memory nor file has.
    """
    disk.fill()
    ran = unrecorded.ask("run", id="work", code=f"seq {LINES}", timeout_ms=60_000)
    disk.free()
    whole = unrecorded.ask("run", id="work", code="seq 30000", timeout_ms=60_000)

    assert ran["truncated"] is True
    assert ran["lost"] > 0
    assert ran["path"] is None
    assert "bytes left out" in ran["output"]
    assert whole["lost"] == 0
    assert Path(whole["path"]).read_text().endswith("\n30000")


def test_trial_03_exec_says_in_its_answer_what_could_not_be_kept(
    unrecorded: Agent, disk: SmallDisk
) -> None:
    """
    A program for which there was room, but not for its output: `gap`, and `lost` of `k exec`.
    """
    disk.fill(leave=ROOM_FOR_A_SESSION)
    program = ["/bin/sh", "-c", f"seq {LINES}"]

    ran = unrecorded.ask("exec", argv=program, repo="/tmp", timeout_ms=60_000)
    unrecorded.ask("kill", id=ran["session"])
    said = K(unrecorded).json("exec", "-j", "-t", "60", "--", *program)
    plain = K(unrecorded).run("exec", "-t", "60", "--", *program).stdout

    assert ran["gap"]["end"] > ran["gap"]["start"] == 0
    assert list(said) == ["status", "output", "lost"]
    assert said["lost"] + len(said["output"]) == WRITTEN
    first, _, rest = plain.partition("\n")
    assert first == f"[... {WRITTEN - len(rest) + 1} bytes could not be kept ...]"


def test_trial_03_a_small_output_is_kept_without_a_disk(
    unrecorded: Agent, disk: SmallDisk, tmp_path: Path
) -> None:
    """
    What fits into memory is not lost because the disk is full, not even that of a fired cell.
    """
    k = K(unrecorded)
    k.output("work", "echo before")
    os.mkfifo(tmp_path / "go")
    fired = k.json("fire", "work", f"read x <{tmp_path / 'go'}; seq 20000")
    disk.fill()

    (tmp_path / "go").write_text("on\n")
    collected = k.collect("work", fired["cell_id"])

    assert collected["output"].split() == [str(number) for number in range(1, 20001)]
    assert "before" in unrecorded.transcript("work")


def test_log_21_on_a_full_disk_nothing_is_typed_unrecorded(user: Agent, disk: SmallDisk) -> None:
    """
    Input is refused before a byte of it is typed, and reads go on.

    With room again everything works without a restart (LOG-22), and the journal says what is
    missing in it.
    """
    disk.fill()

    with contextlib.suppress(EvidenceUnavailable):
        while True:  # a block that was begun takes some more
            user.ask("send", id="work", text="true")
    with pytest.raises(EvidenceUnavailable, match="make room"):
        user.ask("send", id="work", text="echo un''recorded", enter=False)
    screen = user.ask("screen", id="work")["text"]
    user.ask("interrupt", id="work")
    user.ask("resize", id="work", rows=30, cols=90)
    disk.free()
    user.ask("send", id="work", text="echo re''corded")
    user.ask("wait", id="work", until="recorded", timeout_ms=30_000)

    assert "unrecorded" not in screen
    assert "unrecorded" not in user.transcript("work")
    events = user.ask("replay", id="work")
    kinds = [one["kind"]["payload"] for one in events]
    gap = next(one for one in kinds if one.get("type") == "gap")
    typed = [bytes(one["bytes"]) for one in kinds if one.get("type") == "send_keys"]
    assert typed[-1] == b"echo re''corded\r"
    assert gap["missing"]["resize"] == 1
    assert gap["missing"]["send_keys"] == 1
    assert user.cli("verify", "work").returncode in (0, 3)


def test_trial_03_a_host_that_dies_on_a_full_disk_is_replaced(user: Agent, disk: SmallDisk) -> None:
    """
    A session with keys moves to a new host although none of its files can be written anew.
    """
    send = ("send", "work", "echo first-$((1+1))", "--key", "k1")
    user.cli(*send)
    user.ask("wait", id="work", until="first-2")
    disk.fill()

    slay(user.pid_of("work"))

    repeated = user.cli(*send)
    assert (repeated.returncode, repeated.stderr) == (0, "")
    assert user.transcript("work").count("first-2") == 1
    assert K(user).output("work", "echo second-$((1+1))") == "second-2"


def test_trial_03_a_daemon_that_dies_on_a_full_disk_is_replaced(
    user: Agent, disk: SmallDisk
) -> None:
    """
    The next command finds every session, and a key that was used is still known.
    """
    create = ("new", "--name", "kept", "--key", "n1", "--repo", "/tmp", "--", "/bin/cat")
    user.cli(*create)
    disk.fill()

    slay(user.pid_of("daemon"))

    assert names(user) == ["kept", "work"]
    repeated = user.cli(*create)
    assert (repeated.returncode, repeated.stderr) == (0, "")


def test_trial_03_a_home_on_a_full_disk_is_an_error_of_one_line(disk: SmallDisk) -> None:
    """
    Where not even a home can be made, the first command says why and leaves no process.
    """
    user = Agent(disk.path)
    disk.fill()

    said = user.cli("list")

    assert said.returncode == 1
    assert said.stderr.startswith("error: ")
    assert said.stderr.count("\n") == 1
    assert "No space left on device" in said.stderr
    assert user.processes() == []
