"""Answer the questions of an installer, one of which hides the answer."""

from __future__ import annotations

from bench.tasks.by_agent_tty import AgentTtyAgent
from bench.tasks.by_k import KAgent
from bench.tasks.by_pty import PtyAgent
from bench.tasks.by_tmux import SHELL, TmuxAgent
from bench.tasks.task import Folder, Task

_INSTALL = """#!/bin/bash
read -rp 'Project name: ' name
read -rp 'Port [8080]: ' port
read -rsp 'Admin password: ' password; echo
read -rp 'Write config.ini? [y/n] ' write
[ "$write" = y ] || exit 1
printf 'name=%s\\nport=%s\\nsecret=%s\\n' "$name" "${port:-8080}" "${#password}" > config.ini
echo 'Checking the port, this takes a moment'
sleep 4
read -rp 'Start it at boot? [y/n] ' boot
echo "boot=$boot" >> config.ini
echo 'Installed.'
"""
_RUN = "./install.sh"
_SECRET = "open-sesame"  # noqa: S105  the installer is ours
# Question after question, and what to answer.
_TALK = (
    ("Project name:", "harbour"),
    ("Port", "9090"),
    ("password:", _SECRET),
    ("Write config.ini?", "y"),
    ("at boot?", "n"),
)
_END = "Installed."
# What shows after each answer.
_FOLLOWING = (*(question for question, _ in _TALK[1:]), _END)


def _prepare(folder: Folder) -> None:
    folder.write("install.sh", _INSTALL)


def _check(folder: Folder, report: str) -> None:
    assert folder.read("config.ini") == f"name=harbour\nport=9090\nsecret={len(_SECRET)}\nboot=n\n"
    assert _END in report


def _ours(agent: KAgent) -> str:
    agent.new("setup")
    seen = agent.k("run", "setup", _RUN)
    for (question, answer), following in zip(_TALK, _FOLLOWING, strict=True):
        seen.need(question)
        seen = agent.k("answer", "setup", answer)
        if "asks for a secret" in seen.text:
            agent.person_enters("setup", answer)
            seen = agent.k("wait", "setup", "--until", following)
    agent.k("kill", "setup")
    return seen.text


def _pty(agent: PtyAgent) -> str:
    """A model must not type a secret: it is refused, and asks its user."""
    setup, shown = agent.start(_RUN, until=_TALK[0][0])
    questions = [*(question for question, _ in _TALK[1:]), "exit"]
    for (_, answer), following in zip(_TALK, questions, strict=True):
        seen = agent.send(setup, answer, until=following)
        if "must not type" in seen.text:
            agent.person_types(setup, answer)
            seen = agent.read(setup, until=following)
        shown = seen.text
    return shown


def _tmux(agent: TmuxAgent) -> str:
    agent.new("setup")
    signs = [*(question for question, _ in _TALK[1:]), SHELL]
    agent.run("setup", _RUN, _TALK[0][0])
    seen = ""
    for (_, answer), sign in zip(_TALK, signs, strict=True):
        seen = agent.run("setup", answer, sign)
    agent.end()
    return seen


def _agent_tty(agent: AgentTtyAgent) -> str:
    """Its cells press Enter five times, which would answer every question."""
    return _tmux(agent.tmux)


TASK = Task(
    name="prompts",
    prepare=_prepare,
    check=_check,
    ours=_ours,
    pty=_pty,
    agent_tty=_agent_tty,
    tmux=_tmux,
)
