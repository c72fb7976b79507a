"""Follow a build: report its warning while it runs, and how it ended."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_BUILD = """#!/bin/bash
for n in $(seq 80); do
    echo "[$n/80] compiling module_$n.c"
    [ "$n" = 12 ] && echo "module_12.c:40: warning: unused variable 'count'"
    sleep 0.25
done
echo 'linked app' | tee app
echo '80 objects, 1 warning'
exit 3
"""
_RUN = "./build.sh"
_WARNING, _END = "unused variable 'count'", "80 objects, 1 warning"


def _prepare(folder: Folder) -> None:
    folder.write("build.sh", _BUILD)


def _check(folder: Folder, report: str) -> None:
    assert folder.read("app") == "linked app\n"
    assert _WARNING in report
    assert _END in report
    assert report.endswith("status 3")


def _ours(agent: KAgent) -> str:
    agent.new("make")
    begun = agent.k("run", "-u", "warning", "make", _RUN).need(_WARNING)
    agent.k("wait", "-t", "1m", "--until", "prompt", "make").need("matched prompt")
    ended = agent.json("poll", "-m", "400", "make")
    agent.k("kill", "make")
    return f"{begun}{ended['output']}\nstatus {ended['exit_code']}"


def _pty(agent: PtyAgent) -> str:
    make, begun = agent.start(_RUN, until="warning")
    ended = agent.read_to_end(make, tail=2).need("[exit: 3]")
    return f"{begun}{ended}\nstatus 3"


def _agent_tty(agent: AgentTtyAgent) -> str:
    """It reports no exit code, so that the shell must print it."""
    agent.new("make", "bash")
    cell = agent.fire("make", f"{_RUN}; echo status $?")
    begun = agent.history("make", _WARNING)
    agent.await_end("make", cell)
    ended = agent.poll("make")
    agent.end("make")
    return begun + ended


def _tmux(agent: TmuxAgent) -> str:
    agent.new("make")
    begun = agent.run("make", f"{_RUN}; echo status $?", _WARNING)
    ended = agent.until("make", SHELL)
    agent.end()
    return begun + ended.removesuffix("\nready>")


TASK = Task(
    name="follow a build",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
)
