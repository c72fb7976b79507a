"""Start two servers, ask both, read what each logged, stop both."""

from __future__ import annotations

import re

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_SERVE = "python3 -u -m http.server --bind 127.0.0.1 0 -d {}"
_UP = r"port (\d+)"
_STOPPED = "exiting"
_LOGGED = "/index.html"


def _prepare(folder: Folder) -> None:
    folder.write("one/index.html", "alpha\n")
    folder.write("two/index.html", "beta\n")


def _check(folder: Folder, report: str) -> None:
    del folder
    assert "alpha" in report
    assert "beta" in report


def _port(text: str) -> str:
    found = re.search(_UP, text)
    assert found, text
    return found[1]


def _get(*ports: str) -> str:
    urls = (f"http://127.0.0.1:{port}/index.html" for port in ports)
    return " ".join(["curl", "-s", *urls])


def _ours(agent: KAgent) -> str:
    ports = []
    for session, folder in (("a", "one"), ("b", "two")):
        agent.new(session)
        said = agent.k("run", "-u", "regex:port .*", session, _SERVE.format(folder))
        ports.append(_port(said.text))
    report = agent.k("exec", "--", *_get(*ports).split()).text
    for session in ("a", "b"):
        agent.k("read", "-n", "1", session).need(_LOGGED)
        agent.k("int", session).need("OK")
    agent.k("kill", "a", "b")
    return report


def _pty(agent: PtyAgent) -> str:
    """The last lines of a program come with its end."""
    sessions, ports = [], []
    for folder in ("one", "two"):
        session, shown = agent.start(*_SERVE.format(folder).split(), until="regex:port .*")
        sessions.append(session)
        ports.append(_port(shown))
    report = agent.exec(*_get(*ports).split()).text
    for session in sessions:
        agent.stop(session).need(_LOGGED)
    return report


def _agent_tty(agent: AgentTtyAgent) -> str:
    ports = []
    for session, folder in (("a", "one"), ("b", "two")):
        agent.new(session, "bash")
        agent.fire(session, _SERVE.format(folder))
        ports.append(_port(agent.history(session, "port ")))
    agent.new("c", "bash")
    report = agent.run("c", _get(*ports))
    for session in ("a", "b"):
        agent.history(session, _LOGGED)
        agent.stop(session)
    agent.end("a", "b", "c")
    return report


def _tmux(agent: TmuxAgent) -> str:
    ports = []
    for session, folder in (("a", "one"), ("b", "two")):
        agent.new(session)
        ports.append(_port(agent.run(session, _SERVE.format(folder), _UP)))
    agent.new("c")
    report = agent.run("c", _get(*ports))
    for session in ("a", "b"):
        assert _LOGGED in agent.look(session)
        agent.press(session, "C-c", sign=SHELL)
    agent.end()
    return report


TASK = Task(
    name="two servers",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
    needs=("curl",),
)
