"""Recover from eight mistakes; after each one, write its number into a file."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PROMPT, PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_TYPO = "ehco 1 >> done.txt"
_QUOTE = "echo 'it is 2"
_ALL = "".join(f"{number}\n" for number in range(1, 9))


def _right(number: int) -> str:
    return f"echo {number} >> done.txt"


def _prepare(folder: Folder) -> None:
    folder.write("done.txt", "")


def _check(folder: Folder, report: str) -> None:
    del report
    assert folder.read("done.txt") == _ALL


def _ours(agent: KAgent) -> str:
    agent.new("w", rows=24, cols=80)
    agent.k("run", "w", _TYPO).need("not found")
    agent.k("run", "w", _right(1))
    agent.k("run", "w", _QUOTE).need("incomplete")
    agent.k("run", "w", _right(2))
    agent.k("run", "w", "cat").need("waiting")  # a program that reads
    agent.k("int", "w").need("OK")
    agent.k("run", "w", _right(3))
    agent.k("run", "w", "vim").need("escape : q ! enter")  # an editor
    agent.k("keys", "w", "escape", ":", "q", "!", "enter")
    agent.k("run", "w", _right(4))
    agent.k("run", "-m", "300", "-t", "2", "w", "yes")  # no end
    agent.k("int", "w").need("OK")
    agent.k("run", "w", _right(5))
    agent.k("run", "w", "python3").need("python3")  # another program at the keyboard
    agent.k("run", "w", "exit()")
    agent.k("run", "w", _right(6))
    agent.k("run", "w", "exit").need("exited")
    agent.new("w")
    agent.k("run", "w", _right(7))
    agent.k("run", "v", _right(8)).need("no session 'v'")
    agent.k("run", "w", _right(8))
    agent.k("kill", "w")
    return ""


def _pty(agent: PtyAgent) -> str:
    shell, _ = agent.start("bash", until=PROMPT)

    def right(number: int) -> None:
        agent.send(shell, _right(number), until=PROMPT)

    agent.send(shell, _TYPO, until=PROMPT).need("not found")
    right(1)
    agent.send(shell, _QUOTE, until="> ").need("> ")
    agent.press(shell, "C-c", until=PROMPT)
    right(2)
    agent.send(shell, "cat", wait_ms=1000).need("running")
    agent.press(shell, "C-c", until=PROMPT)
    right(3)
    agent.send(shell, "vim", until="~").need("~")
    # The line with the prompt before vim shows again, before the shell has printed the next.
    if PROMPT not in agent.send(shell, ":q!", until=PROMPT).text:
        agent.read(shell, until=PROMPT)
    right(4)
    agent.send(shell, "yes", wait_ms=1000)
    agent.press(shell, "C-c", until=PROMPT)
    right(5)
    agent.send(shell, "python3", until=">>>").need(">>>")
    agent.send(shell, "exit()", until=PROMPT)
    right(6)
    agent.send(shell, "exit", until="exit").need("exited")
    shell, _ = agent.start("bash", until=PROMPT)
    right(7)
    agent.send("q9", _right(8)).need("q9")
    right(8)
    agent.stop(shell)
    return ""


def _agent_tty(agent: AgentTtyAgent) -> str:
    agent.new("w", "bash")
    agent.run("w", _TYPO)
    agent.run("w", _right(1))
    agent.cell("w", _QUOTE, "-t", "5")
    agent.stop("w")
    agent.run("w", _right(2))
    agent.cell("w", "cat", "-t", "5")
    agent.stop("w")
    agent.run("w", _right(3))
    agent.cell("w", "vim", "-t", "5")  # Ctrl-C does not end it; only a new session helps
    agent.end("w")
    agent.new("w", "bash")
    agent.run("w", _right(4))
    agent.cell("w", "yes", "-t", "2")
    agent.stop("w")
    agent.run("w", _right(5))
    agent.run("w", "python3")
    agent.run("w", "exit()")
    agent.run("w", _right(6))
    agent.cell("w", "exit", "-t", "5")
    agent.stop("w")
    agent.new("w", "bash")
    agent.run("w", _right(7))
    assert "no session" in agent.cell("v", _right(8))["output"]
    agent.run("w", _right(8))
    agent.end("w")
    return ""


def _tmux(agent: TmuxAgent) -> str:
    agent.new("w")
    agent.run("w", _TYPO)
    agent.run("w", _right(1))
    agent.run("w", _QUOTE, r"\n>\Z")
    agent.press("w", "C-c", sign=SHELL)
    agent.run("w", _right(2))
    agent.run("w", "cat", r"cat\Z")
    agent.press("w", "C-c", sign=SHELL)
    agent.run("w", _right(3))
    agent.run("w", "vim", "~")
    agent.press("w", "Escape", ":q!", "Enter", sign=SHELL)
    agent.run("w", _right(4))
    agent.run("w", "yes", "y\ny\n")
    agent.press("w", "C-c", sign=SHELL)
    agent.run("w", _right(5))
    agent.run("w", "python3", r">>>\Z")
    agent.press("w", "exit()", "Enter", sign=SHELL)
    agent.run("w", _right(6))
    agent.run("w", "exit", "no server|can't find|error connecting")
    agent.new("w")
    agent.run("w", _right(7))
    agent.type("v", _right(8), "Enter").need("can't find")
    agent.run("w", _right(8))
    agent.end()
    return ""


TASK = Task(
    name="eight mistakes",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
    needs=("vim",),
)
