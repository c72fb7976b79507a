"""`docs/files.md` names every file that is written, and nothing that is not.

One user goes through many features, and the home is looked at after each step.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.client.start import listens
from agent_pty.core.layout import layout
from agent_pty.store.journal_files import path_of
from support.agent import Agent, eventually, slay
from support.file_table import FileTable, Watched, file_table
from support.git import Repository
from support.http import serving
from support.k import K
from support.model import LONG, Model
from support.person import human
from support.spool import spool_of

BASH = ("/bin/bash", "--norc", "--noprofile")


class Story:
    """A user in a home that is not there yet, and everything that was seen in it."""

    def __init__(self, place: Path) -> None:
        self.user = Agent(place)
        home, self.other_logs = place / "state", place / "logs"
        self.user.env["AGENT_PTY_HOME"] = str(home)
        self.seen = Watched(home, [self.other_logs])
        self.k = K(self.user)

    def files(self, pattern: str) -> list[Path]:
        """Return what is in the directories of sessions."""
        return list(Path(self.user.layout.sessions).glob(pattern))

    def tell(self) -> None:
        """Do one thing after the other, and look after each."""
        for step in (
            self.look_first,
            self.begin,
            self.run_cells,
            self.run_a_file,
            self.attach,
            self.prove,
            self.use_tools,
            self.fork,
            self.serve,
            self.use_a_name_again,
            self.use_other_logs,
            self.tear_a_journal,
            self.damage_the_index,
            self.meet_another_version,
            self.lose_a_session,
        ):
            step()
            self.seen.look()
        self.user.cli("stop")
        self.seen.look()

    def look_first(self) -> None:
        """Ask for the key and for the state of the machine before there is a home."""
        self.user.cli("key")
        self.user.cli("doctor")

    def begin(self) -> None:
        """Start a session, type, and change its size."""
        self.user.cli("new", "--name", "work", "--key", "n1", "--repo", "/tmp", "--", *BASH)
        self.user.ask("wait", id="work", until="prompt", timeout_ms=LONG)
        self.user.cli("send", "work", "echo typed-$((1+1))", "--key", "s1")
        self.user.ask("wait", id="work", until="typed-2", timeout_ms=LONG)
        self.user.ask("wait", id="work", until="prompt", timeout_ms=LONG)
        self.user.cli("send", "work", "git push -f")  # refused, and asked for
        self.user.cli("resize", "work", "--rows", "30", "--cols", "90")
        eventually(Path(self.user.layout.session_index).exists)

    def run_cells(self) -> None:
        """Run a cell, one that goes on meanwhile, and one with a long output."""
        go = self.user.home / "go"
        os.mkfifo(go)
        self.k.output("work", "echo hello")
        fired = self.k.json("fire", "work", f"read x <{go}; echo ended")
        self.seen.look()
        go.write_text("now\n")
        eventually(lambda: bool(self.files("*/cells/*.json")))
        self.seen.look()
        self.k.collect("work", fired["cell_id"])
        self.user.ask("run", id="work", code="seq 30000", timeout_ms=LONG)

    def run_a_file(self) -> None:
        """Run code of several lines in a program that takes no paste."""
        self.k.new("py", sys.executable)
        assert self.k.output("py", "for i in range(3):\n    print(i)\n") == "0\n1\n2"

    def attach(self) -> None:
        """Look at a session as a person does."""
        with human(self.user, "attach", "work", "--read-only") as person:
            person.until(lambda: person.raw)
            person.type(b"\x03")
            assert person.leaves() == 0

    def prove(self) -> None:
        """Write a proof."""
        assert self.user.cli("proof", "work").returncode == 0

    def use_tools(self) -> None:
        """Use the tools of models, by Python and by MCP."""
        code = "from agent_pty import tools; tools.call('pty_exec', {'command': 'true'})"
        subprocess.run([sys.executable, "-c", code], env=self.user.env, check=True)
        model = Model(self.user)
        model.call("pty_exec", command="seq", args=["30000"])
        model.call("pty_stop", id=model.start("cat"))
        self.seen.look()
        model.leave()

    def fork(self) -> None:
        """Fork a session with its files, in a repository and elsewhere."""
        place = self.user.home / "forked"
        for name in ("plain", "repository"):
            (place / name).mkdir(parents=True)
            (place / name / "file").write_text("x\n")
            self.user.cli("new", "--name", name, "--repo", str(place / name), "--", "/bin/cat")
        Repository(place / "repository", self.user.home).init()
        for name in ("plain", "repository"):
            done = self.user.cli("fork", name, "--new-name", f"{name}-b", "--copy-worktree")
            assert done.returncode == 0, done.stderr

    def serve(self) -> None:
        """Serve HTTP."""
        with serving(self.user) as http:
            assert http.ask("list").status == 200
            self.seen.look()

    def use_a_name_again(self) -> None:
        """End a session, and start another one with its name."""
        self.user.cli("kill", "py")
        eventually(Path(self.user.layout.checkpoints).exists)
        self.k.new("py", sys.executable)
        self.user.cli("key", "rotate")
        self.user.cli("kill", "py")

    def use_other_logs(self) -> None:
        """Start a daemon beside the first one, which has a log directory of its own."""
        logs = str(self.other_logs)
        beside = layout(self.user.env, cwd="/", log_dir=logs).socket
        server = self.user.start("serve", "--log-dir", logs)
        eventually(lambda: listens(beside))
        made = self.user.cli("new", "--socket", beside, "--name", "beside", "--", "/bin/cat")
        assert made.returncode == 0, made.stderr
        self.seen.look()
        self.user.cli("stop", "--socket", beside)
        server.communicate()

    def tear_a_journal(self) -> None:
        """Have a writer die in the middle of a line."""
        with open(path_of(self.user.layout.log_dir, "work"), "ab") as journal:
            journal.write(b'{"id":"')
        slay(self.user.pid_of("work"))
        self.user.ask("screen", id="work")

    def damage_the_index(self) -> None:
        """Have an index that nobody can read."""
        self.user.cli("stop", "--keep")
        Path(self.user.layout.session_index).write_text("half of it")
        self.user.cli("restart", "--keep")

    def meet_another_version(self) -> None:
        """Have a session whose spool is of a version that nobody knows."""
        spool = spool_of(self.user.pid_of("keeper"))
        slay(self.user.pid_of("daemon"), self.user.pid_of("work"))
        with open(spool, "r+b") as memory:
            memory.write((99).to_bytes(8, "little"))
        self.user.ask("screen", id="work")

    def lose_a_session(self) -> None:
        """Have all three die that have a session."""
        slay(*(self.user.pid_of(one) for one in ("daemon", "keeper", "work")))
        assert self.user.info("work")["state"] == "lost"


@pytest.fixture(scope="module")
def seen() -> Iterator[Watched]:
    """What the story leaves in its home, step by step, with umask 0."""
    # Not tmp_path: a socket's path may have 107 bytes.
    place = Path(tempfile.mkdtemp(prefix="ap-"))
    umask = os.umask(0)
    story = Story(place)
    try:
        story.tell()
        yield story.seen
    finally:
        os.umask(umask)
        story.user.reap()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def table() -> FileTable:
    """What the page says."""
    return file_table()


def test_every_file_that_is_written_is_in_the_table(seen: Watched, table: FileTable) -> None:
    """
    A new file needs a row in `docs/files.md`: content, redaction, lifetime, lock, version.
    """
    assert sorted(path for path in seen.files if not table.rows_of(path)) == []


def test_every_row_of_the_table_is_written(seen: Watched, table: FileTable) -> None:
    """
    A row without a file goes, or says by `only` when there is one.
    """
    found = [row for path in seen.files for row in table.rows_of(path)]

    assert [row.paths for row in table.rows if not row.rare and row not in found] == []


def test_nothing_stays_that_the_table_says_is_removed(seen: Watched, table: FileTable) -> None:
    """
    After `stop` there are only files that no row removes with a session or a process.
    """
    removed = [path for path in seen.present if not any(row.stays for row in table.rows_of(path))]

    assert sorted(removed) == []


def test_nothing_goes_that_the_table_says_is_kept(seen: Watched, table: FileTable) -> None:
    """
    A file that nobody removes is there to the end.
    """
    kept = [path for path in seen.files if all(row.kept for row in table.rows_of(path))]

    assert len(kept) > 10
    assert set(kept) - seen.present == set()


def test_fs_08_files_are_for_their_owner_alone_whatever_the_umask(seen: Watched) -> None:
    """
    With umask 0 every file has mode 0600 and every directory 0700, from the first command on.
    """
    assert seen.open_to_others == {}


def test_every_directory_has_files_of_the_table(seen: Watched) -> None:
    """
    No directory is made for nothing; those of a look at a work tree fill and go in a moment.
    """
    parents = {str(parent) for path in seen.files for parent in Path(path).parents}
    empty = seen.directories - parents

    assert {one for one in empty if "run/looks" not in one} == set()
