"""Where tasks are done: for each tool a home of its own, for each task an empty directory."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench import install
from bench.ours import Ours, ours
from bench.place import Place
from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import pty_agent
from bench.tasks.by_tmux import TmuxAgent
from bench.tasks.task import Folder, Task
from bench.tasks.tool import Tally, Tool

# A short prompt for all: a longer one would only make the screens of tmux larger.
_START_UP = "PS1='ready> '\nHISTFILE=\nPATH={path}\n"
# tmux starts login shells, for which the system sets another PATH.
_LOGIN = ". ~/.bashrc\n"
_GIT = "[user]\nname = bench\nemail = bench@localhost\n"
# What `SKILL.md` tells an agent to set.
_AGENT_MODE = {"K_MAX": "8000"}


class Missing(Exception):
    """A program that a task needs is not here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One tool, ready to be used."""

    name: str
    place: Place
    script: Callable[[Task, Tool], str]
    # Ends what a script that failed has left; the environment is that of its task.
    clear: Callable[[dict[str, str]], None]

    def perform(self, task: Task) -> Tally:
        """Do a task in an empty directory, see that it was done, and return what it cost."""
        missing = [name for name in task.needs if shutil.which(name) is None]
        if missing:
            raise Missing(f"not installed: {', '.join(missing)}")
        folder = Folder(self.place.folder())
        task.prepare(folder)
        # A server of tmux for each task: one that is about to end would take the next session.
        env = {**self.place.env, "TMUX_TMPDIR": self.place.folder()}
        tool = Tool(folder.path, env)
        try:
            report = self.script(task, tool)
            tally = tool.tally()
        finally:
            self.clear(env)
        task.check(folder, report)
        return tally


def _home(place: Place, **variables: str) -> Place:
    """Make a home with a start-up file; the programs of our environment are found first."""
    path = place.folder()
    programs = os.pathsep.join([os.path.dirname(sys.executable), place.env["PATH"]])
    Folder(path).write(".bashrc", _START_UP.format(path=programs))
    Folder(path).write(".bash_profile", _LOGIN)
    Folder(path).write(".gitconfig", _GIT)
    own = {"HOME": path, "PATH": programs, "SHELL": "/bin/bash", "TMUX_TMPDIR": path}
    return Place(path, {**place.env, **own, **variables})


@contextlib.contextmanager
def by_k(place: Place) -> Iterator[Way]:
    """Our `k`, with a daemon of its own."""
    with ours(_home(place)) as us:
        yield Way(
            name="ours",
            place=Place(us.place.path, {**us.env, **_AGENT_MODE}),
            script=lambda task, tool: task.ours(KAgent(tool, us.programs)),
            clear=lambda _env: _end_ours(us),
        )


@contextlib.contextmanager
def by_pty(place: Place) -> Iterator[Way]:
    """Our six tools over MCP, with a daemon of their own."""
    with ours(_home(place)) as us:

        def script(task: Task, tool: Tool) -> str:
            with pty_agent(tool, us) as agent:
                return task.pty(agent)

        yield Way(
            name="pty_*",
            place=Place(us.place.path, us.env),
            script=script,
            # Each task stops what it has started; others may run at the same time.
            clear=lambda _env: None,
        )


def _end_ours(us: Ours) -> None:
    with us.connect() as connection:
        for session in connection.ask("list"):
            connection.ask("kill", id=session["id"])


def by_tmux(place: Place) -> Way:
    """Plain tmux."""
    return Way(
        name="tmux",
        place=_home(place),
        script=lambda task, tool: task.tmux(TmuxAgent(tool)),
        clear=_end_server,
    )


def by_agent_tty(place: Place) -> Way:
    """The original `k`, which must be installed beside us."""
    return Way(
        name="agent-tty",
        place=_home(place),
        script=lambda task, tool: task.agent_tty(AgentTtyAgent(tool)),
        clear=_end_agent_tty,
    )


def _end_agent_tty(env: dict[str, str]) -> None:
    # `kill` also removes the files of a session.
    for path in glob.glob(f"/tmp/k_cells/*-{os.getpid()}"):  # noqa: S108  its only place
        argv = [install.program("k"), "kill", os.path.basename(path)]
        subprocess.run(argv, env=env, capture_output=True, check=False)
    _end_server(env)


def _end_server(env: dict[str, str]) -> None:
    subprocess.run(["tmux", "kill-server"], env=env, capture_output=True, check=False)
