"""Use less, top and fzf."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_LINES = 400
_FOUND = "line 250: the pump failed"
_NAMES = "alpha\nbeta\ngamma\ndelta\nepsilon\n"
_CHOOSE = "fzf < names.txt > choice.txt"


def _prepare(folder: Folder) -> None:
    lines = (f"line {n}: all is well" for n in range(1, _LINES + 1))
    text = "\n".join(lines).replace("line 250: all is well", _FOUND)
    folder.write("pump.log", text + "\n")
    folder.write("names.txt", _NAMES)


def _check(folder: Folder, report: str) -> None:
    assert _FOUND in report
    assert "line 400" in report
    assert "COMMAND" in report
    assert folder.read("choice.txt") == "gamma\n"


def _ours(agent: KAgent) -> str:
    agent.new("tui", rows=24, cols=80)
    agent.k("run", "tui", "less pump.log").need("line 1:")
    report = agent.k("keys", "-s", "tui", "text:/failed", "enter").need(_FOUND)
    report += agent.k("keys", "-s", "tui", "G").need("line 400")
    agent.k("keys", "-s", "tui", "q")
    report += agent.k("run", "tui", "top").need("COMMAND")
    agent.k("int", "tui").need("OK")
    # What top has left would come again after fzf.
    agent.k("run", "tui", f"clear; {_CHOOSE}").need("gamma")
    agent.k("keys", "-s", "tui", "text:gam").need("gamma")
    agent.k("keys", "-s", "tui", "enter").need("ready>")
    agent.k("kill", "tui")
    return report


def _pty(agent: PtyAgent) -> str:
    less, _ = agent.start("less", "pump.log", until="line 1:")
    report = agent.send(less, "/failed", until=_FOUND).need(_FOUND)
    report += agent.press(less, text="G", until="line 400").need("line 400")
    agent.press(less, text="q", until="exit").need("exited")
    top, shown = agent.start("top", until="COMMAND")
    agent.press(top, text="q", until="exit").need("exited")
    fzf, _ = agent.start("bash", "-c", _CHOOSE, until="gamma")
    agent.press(fzf, text="gam", until="1/5").need("gamma")
    agent.press(fzf, "Enter", until="exit").need("exited")
    return report + shown


def _tmux(agent: TmuxAgent) -> str:
    agent.new("tui")
    agent.run("tui", "less pump.log", "line 1:")
    report = agent.press("tui", "/failed", "Enter", sign=_FOUND)
    report += agent.press("tui", "G", sign="line 400")
    agent.press("tui", "q", sign=SHELL)
    report += agent.run("tui", "top", "COMMAND")
    agent.press("tui", "q", sign=SHELL)
    agent.run("tui", _CHOOSE, "gamma")
    agent.press("tui", "gam", sign="1/5")
    agent.press("tui", "Enter", sign=SHELL)
    agent.end()
    return report


def _agent_tty(agent: AgentTtyAgent) -> str:
    return _tmux(agent.tmux)


TASK = Task(
    name="full-screen programs",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
    needs=("less", "top", "fzf"),
)
