"""Subcommands that run code: `run`, `fire`, `poll`, `peek`, `exec`, and `skill`."""

from __future__ import annotations

import importlib.resources
import os
import sys
from typing import Any

from agent_pty.cli.command import Command, Invocation, argument
from agent_pty.cli.session import KEY, NAME, TOKENS
from agent_pty.core.budget import fitted
from agent_pty.core.duration import seconds
from agent_pty.core.layout import expanded
from agent_pty.errors import Usage

_TIMED_OUT = 4
_WAITS = 8
_CELL = argument("cell", nargs="?", help="the cell; default: the one that runs, or ended last")
_CODE = argument("code", help="what to run; - reads standard input")
_DOCUMENTS = ("SKILL.md", "EXAMPLES.md")


def _timeout(text: str) -> int:
    """Return milliseconds; 0 is no limit."""
    return round(seconds(text, what="timeout") * 1000)


def _code(call: Invocation) -> str:
    given = call.options.code
    if given != "-":
        return str(given)
    return sys.stdin.buffer.read().decode(errors="surrogateescape")


def _run(call: Invocation) -> int:
    o = call.options
    cell = call.ask("run", id=o.name, code=_code(call), timeout_ms=_timeout(o.timeout), key=o.key)
    return _tell(call, cell)


def _fire(call: Invocation) -> int:
    o = call.options
    cell = call.ask("fire", id=o.name, code=_code(call), timeout_ms=_timeout(o.timeout), key=o.key)
    return call.show(cell, cell["cell_id"])


def _poll(call: Invocation) -> int:
    o = call.options
    return _tell(call, call.ask("poll", id=o.name, cell=o.cell, key=o.key))


def _peek(call: Invocation) -> int:
    o = call.options
    cell = call.ask("peek", id=o.name, cell=o.cell)
    _show(call, cell)
    return 0


def _tell(call: Invocation, cell: dict[str, Any]) -> int:
    _show(call, cell)
    status = cell["status"]
    if status == "error":
        return cell["exit_code"] or 1
    by_status = {"timeout": _TIMED_OUT, "waiting": _WAITS}
    return by_status.get(status, cell["exit_code"] or 0)


def _show(call: Invocation, cell: dict[str, Any]) -> None:
    text = cell["output"] + "\n" if cell["output"] else ""
    if call.options.max_tokens is not None:
        rest = cell["path"] or f"agent-pty read {call.options.name}"
        text = fitted(text, call.options.max_tokens, keep="tail", pointer=f"the rest: {rest}")
    if call.json or text:
        call.show(cell, text.removesuffix("\n"))
    remark = _remark(cell)
    if remark and not call.json:
        sys.stderr.write(f"{remark}\n")


def _remark(cell: dict[str, Any]) -> str | None:
    """Say what the output alone does not."""
    who = f"cell {cell['cell_id']}"
    match cell["status"]:
        case "error":
            return f"{who}: {cell['error']}"
        case "timeout":
            return f"{who} has taken longer than its limit and runs on: poll, peek or interrupt it"
        case "waiting":
            return f"{who} waits for {cell['for']}: {cell['hint'] or 'answer it, or interrupt it'}"
        case "running":
            return f"{who} is running"
    return f"the whole output is in {cell['path']}" if cell["path"] else None


def _exec(call: Invocation) -> int:
    o = call.options
    done = call.ask(
        "exec",
        argv=o.argv,
        repo=os.path.abspath(expanded(o.repo or ".", os.environ)),
        timeout_ms=_timeout(o.timeout),
        id=o.name,
        key=o.key,
    )
    if call.json or done["output"]:
        call.show(done, done["output"].removesuffix("\n"))
    if done["running"]:
        sys.stderr.write(f"it goes on as session {done['session']}\n")
        return _TIMED_OUT
    if done["truncated"]:
        sys.stderr.write(f"all of it: agent-pty read {done['session']}\n")
    return 128 + done["signal"] if done["signal"] else done["exit_code"] or 0


def _skill(call: Invocation) -> int:
    wanted = _DOCUMENTS if call.options.all else _DOCUMENTS[:1]
    texts = {name: _document(name) for name in wanted}
    return call.show(texts, "\n".join(texts.values()).removesuffix("\n"))


def _document(name: str) -> str:
    found = importlib.resources.files("agent_pty") / "agents" / name
    try:
        return found.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise Usage(f"{name} is not installed beside agent_pty: {error}") from error


def _limit(default: str) -> Any:
    return argument("--timeout", default=default, metavar="T", help=f"{default}; 0: no limit")


COMMANDS = (
    Command(
        name="run",
        op="run",
        run=_run,
        arguments=(NAME, _CODE, _limit("30s"), TOKENS, KEY),
        examples=(
            "agent-pty run work 'make test'",
            "agent-pty run work 'npm ci' --timeout 10m --max-tokens 800",
            "agent-pty run py - --json",
        ),
    ),
    Command(
        name="fire",
        op="fire",
        run=_fire,
        arguments=(NAME, _CODE, _limit("5m"), KEY),
        examples=("agent-pty fire work 'make all'",),
    ),
    Command(
        name="poll",
        op="poll",
        run=_poll,
        arguments=(NAME, _CELL, TOKENS, KEY),
        examples=("agent-pty poll work", "agent-pty poll work 3f9a0c12de45 --json"),
    ),
    Command(
        name="peek",
        op="peek",
        run=_peek,
        arguments=(NAME, _CELL, TOKENS),
        examples=("agent-pty peek work --max-tokens 200",),
    ),
    Command(
        name="exec",
        op="exec",
        run=_exec,
        arguments=(
            argument("argv", nargs="+", help="program and arguments, behind --"),
            argument("--name", metavar="ID", help="name of the session if it goes on"),
            argument("--repo", metavar="DIR", help="where to run it (default: here)"),
            _limit("30s"),
            KEY,
        ),
        examples=("agent-pty exec -- git status", "agent-pty exec --timeout 2m -- make -j2"),
    ),
    Command(
        name="skill",
        text="Print how agents use this: when to use what. With --all, patterns too.",
        run=_skill,
        arguments=(argument("--all", action="store_true", help="EXAMPLES.md, too"),),
        examples=("agent-pty skill", "agent-pty skill --all"),
    ),
)
