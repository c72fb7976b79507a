"""Edit one file in vim and one in nano."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_COLOURS = "".join(f"{number} red or green\n" for number in range(1, 13))
_NOTES = "alpha\nbeta\ndelta\n"
_SHOW = "tail -n 3 colours.txt notes.txt"


def _prepare(folder: Folder) -> None:
    folder.write("colours.txt", _COLOURS)
    folder.write("notes.txt", _NOTES)


def _check(folder: Folder, report: str) -> None:
    assert folder.read("colours.txt") == _COLOURS.replace("red", "blue") + "the end\n"
    assert folder.read("notes.txt") == "alpha\nbeta\ngamma\ndelta\n"
    assert "the end" in report
    assert "gamma" in report


def _ours(agent: KAgent) -> str:
    agent.new("ed", rows=24, cols=80)
    agent.k("run", "ed", "vim colours.txt").need("12L")
    agent.k("keys", "-s", "ed", "text::%s/red/blue/", "enter").need("12 substitutions")
    agent.k("keys", "-s", "ed", "G", "o", "text:the end", "escape").need("the end")
    agent.k("keys", "-s", "ed", "text::wq", "enter").need("ready>")
    agent.k("run", "ed", "nano notes.txt").need("Read 3 lines")
    agent.k("keys", "-s", "ed", "ctrl-w", "text:beta", "enter")
    agent.k("keys", "-s", "ed", "end", "enter", "text:gamma").need("gamma")
    agent.k("keys", "-s", "ed", "ctrl-o", "enter").need("Wrote 4 lines")
    agent.k("keys", "-s", "ed", "ctrl-x")
    report = agent.k("run", "ed", _SHOW).text
    agent.k("kill", "ed")
    return report


def _pty(agent: PtyAgent) -> str:
    vim, _ = agent.start("vim", "colours.txt", until="12L")
    agent.send(vim, ":%s/red/blue/", until="12 substitutions").need("12 substitutions")
    agent.press(vim, "Escape", text="Gothe end").need("the end")
    agent.send(vim, ":wq", until="exit").need("exited")
    nano, _ = agent.start("nano", "notes.txt", until="Read 3 lines")
    # Ctrl-W finds the line, Ctrl-E goes to its end.
    agent.press(nano, text=r"\x17beta\r\x05\rgamma").need("gamma")
    agent.press(nano, "C-o", "Enter", until="Wrote 4 lines").need("Wrote 4 lines")
    agent.press(nano, "C-x", until="exit").need("exited")
    return agent.exec(*_SHOW.split()).text


def _tmux(agent: TmuxAgent) -> str:
    agent.new("ed")
    agent.run("ed", "vim colours.txt", r"12L")
    agent.press("ed", ":%s/red/blue/", "Enter", sign="12 substitutions")
    agent.press("ed", "G", "o", "the end", "Escape", sign="the end")
    agent.press("ed", ":wq", "Enter", sign=SHELL)
    agent.run("ed", "nano notes.txt", "Read 3 lines")
    agent.press("ed", "C-w", "beta", "Enter", sign="beta")
    agent.press("ed", "End", "Enter", "gamma", sign="gamma")
    agent.press("ed", "C-o", "Enter", sign="Wrote 4 lines")
    agent.press("ed", "C-x", sign=SHELL)
    report = agent.run("ed", _SHOW)
    agent.end()
    return report


def _agent_tty(agent: AgentTtyAgent) -> str:
    return _tmux(agent.tmux)


TASK = Task(
    name="edit in vim and nano",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
    needs=("vim", "nano"),
)
