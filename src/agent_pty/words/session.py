"""The words about sessions: `new`, `kill`, `ls`, `status`, `notify`."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
from collections.abc import Mapping
from typing import Any

from agent_pty.core.layout import expanded
from agent_pty.core.output_paused import paused_remark
from agent_pty.core.safe import one_line
from agent_pty.core.short_json import shortened
from agent_pty.errors import AgentPtyError, SessionEnded, SessionExists, UnknownSession
from agent_pty.ops.op import PASSING
from agent_pty.words import advice
from agent_pty.words.bounded import bound, environment_bound, say, say_advice, say_list
from agent_pty.words.call import Call, Refusal, checked, jsoned
from agent_pty.words.cell import advise, resolved
from agent_pty.words.new_options import NewOptions, parsed_new
from agent_pty.words.option import parsed

ROWS, COLS = 40, 120
_READY_MS = 20_000
_KILL = "k kill <session>... | --all"
# With any of these a command needs a shell to be understood.
_SHELL_SIGNS = frozenset("|&;<>()$`\\\"'*?[]#~=%{}!\n")


async def new(call: Call, words: list[str]) -> int:
    """Start a session and return when its prompt is ready."""
    given = parsed_new(words)
    try:
        return await _new(call, given)
    except Refusal as refusal:
        if not given.json:
            raise
        failed = {"status": "error", "output": str(refusal).removeprefix("ERR ")}
        most = environment_bound(call)
        short = failed if most is None else shortened(failed, most - len("\n"), rest="")
        await call.output.line(jsoned(short))
        return 1


async def _new(call: Call, given: NewOptions) -> int:
    name = given.name
    frame, shown = _frame(given.frames, call.cwd)
    if await _alive(call, name):
        return await _say_alive(call, given)
    try:
        await _create(call, given, frame)
    except SessionExists:  # somebody else was faster
        return await _say_alive(call, given)
    except AgentPtyError as error:
        raise Refusal(f"ERR {error}") from None
    prompt = f" prompt={shown!r}" if shown is not None else ""
    await _say_new(call, given, "created", f"OK {name}{prompt}")
    return 0


async def _say_new(call: Call, given: NewOptions, status: str, plain: str) -> None:
    facts = {"session": given.name, "status": status}
    await call.output.line(jsoned(facts) if given.json else plain)


async def _say_alive(call: Call, given: NewOptions) -> int:
    name = given.name
    await _say_new(call, given, "alive", f"OK {name} (alive)")
    line = await advice.advice(call.ops, SessionExists(name), name, advice.K)
    if line is not None:
        await say_advice(call, f"nothing was started: {line}")
    return 0


async def _create(call: Call, given: NewOptions, frame: str | None) -> None:
    name, environment = given.name, await call.environment()
    await call.ops.ask(
        "new",
        id=name,
        repo=_directory(call.cwd, given.repo, environment or {}),
        argv=given.argv or _argv(" ".join(given.command) or "bash"),
        rows=given.rows,
        cols=given.cols,
        env=given.env,
        environment=environment,
        pager=given.pager,
        frame=frame,
    )
    try:
        await call.ops.ask("ready", id=name, timeout_ms=_READY_MS)
    except SessionEnded as ended:
        raise Refusal(await _obituary(call, name, ended)) from None
    except AgentPtyError as error:  # it runs, but shows no prompt: that is for the caller to know
        await call.output.err(f"k: {name}: {error}")


async def _obituary(call: Call, name: str, ended: SessionEnded) -> str:
    """Say how a program that ended at once did so, and leave nothing of it."""
    said = (await call.ops.ask("read", id=name, tail=5))["text"].strip()
    await call.ops.ask("kill", id=name)
    code = ended.details.get("exit_code")
    return f"ERR {name} exited at once (exit code {code})" + (f": {said}" if said else "")


def _argv(command: str) -> list[str]:
    """Return the program of a command line; one that only a shell understands is given to sh."""
    if _SHELL_SIGNS & set(command):
        return ["/bin/sh", "-c", command]
    return shlex.split(command) or ["bash"]


def _directory(cwd: str, given: str, environment: Mapping[str, str]) -> str:
    return os.path.normpath(os.path.join(cwd, expanded(given, environment)))


def _frame(options: list[str], cwd: str) -> tuple[str | None, str | None]:
    """Return how the end of a cell is told, and what of it is shown."""
    frame = shown = None
    for option in options:
        name, _, value = option.partition("=")
        hook = name == "--hook" or (name == "--prompt" and "/" in value)
        if hook:
            shown = _hook(value, cwd)
            frame = f"hook:{shown}"
        elif name == "--frame":
            frame = _named_frame(value)
        elif value.strip():
            shown, frame = value, f"exact:{value}"
    return frame, shown


def _named_frame(value: str) -> str | None:
    if value in ("ladder", "auto", ""):
        return None
    if value != "repeat":
        raise Refusal(f"ERR unknown frame {value!r}: repeat or ladder")
    return value


def _hook(given: str, cwd: str) -> str:
    path = os.path.normpath(os.path.join(cwd, os.path.expanduser(given)))
    if not os.path.isfile(path):
        raise Refusal(f"ERR hook not found: {path}")
    if not os.access(path, os.R_OK):
        raise Refusal(f"ERR hook not readable: {path}")
    if not os.access(path, os.X_OK):
        raise Refusal(f"ERR hook not executable: {path}")
    return path


async def _alive(call: Call, name: str) -> bool:
    """Whether the session runs; one whose program has ended makes room for a new one."""
    found = await find(call, name)
    if found is not None and not found["active"]:
        await call.ops.ask("kill", id=name)
        return False
    return found is not None


async def find(call: Call, name: str) -> dict[str, Any] | None:
    """Return a session by its exact name."""
    sessions: list[dict[str, Any]] = await call.ops.ask("list")
    return next((one for one in sessions if one["id"] == name), None)


async def living(call: Call, name: str) -> dict[str, Any]:
    """Return a session that runs, or refuse."""
    found = await find(call, name)
    if found is None or not found["active"]:
        error = UnknownSession(name) if found is None else SessionEnded("it has ended")
        line = await advice.advice(call.ops, error, name, advice.K)
        raise Refusal(f"ERR no session '{name}'", advice=line)
    return found


async def kill(call: Call, words: list[str]) -> int:
    """End sessions; a name that nobody has is no reason to fail, but nothing was killed."""
    given = parsed(words, usage=_KILL, flags=("-j", "--all"))
    everything = "--all" in given.flags
    if everything == bool(given.words):
        raise Refusal(f"usage: {_KILL}")
    names = [checked(word) for word in dict.fromkeys(given.words)]
    if everything:
        names = [one["id"] for one in await call.ops.ask("list")]
        if not names and "-j" not in given.flags:
            await call.output.line("no sessions")
    outcomes = await asyncio.gather(*(_outcome(call, name, own_key=everything) for name in names))
    for name, outcome in zip(names, outcomes, strict=True):
        if not isinstance(outcome, AgentPtyError):
            await _say_killed(call, name, outcome, json="-j" in given.flags)
    for outcome in outcomes:
        if isinstance(outcome, AgentPtyError):
            raise outcome
    return 0


async def _outcome(
    call: Call, name: str, *, own_key: bool
) -> dict[str, Any] | AgentPtyError | None:
    """Return what was ended, or why not; None if there is no such session.

    A `--all` that is sent again finds other sessions. So its requests have keys of their own, not
    those that follow from their number.
    """
    key = {"key": PASSING + secrets.token_hex(8)} if own_key else {}
    try:
        killed: dict[str, Any] = await call.ops.ask("kill", id=name, **key)
    except UnknownSession:
        return None
    except AgentPtyError as error:
        return error
    return killed


async def _say_killed(call: Call, name: str, killed: dict[str, Any] | None, *, json: bool) -> None:
    if killed is None:
        missing = {"status": "error", "output": f"no session '{name}'"}
        await call.output.line(jsoned(missing) if json else f"ERR no session '{name}'")
        await advise(call, UnknownSession(name), name)
        return
    for one in killed["survivors"]:
        await call.output.err(f"k: process {one['pid']} survived: {one_line(one['command'])}")
    for one in killed.get("possible_survivors", ()):
        await call.output.err(
            f"k: process {one['pid']} may have survived: {one_line(one['command'])}"
        )
    for one in killed.get("spared", ()):
        await call.output.err(f"k: process {one['pid']} was not ended: {one_line(one['command'])}")
    done = {"session": name, "status": "killed"}
    await call.output.line(jsoned(done) if json else f"OK killed {name}")


async def ls(call: Call, words: list[str]) -> int:
    """List our sessions, name first."""
    given = parsed(words, usage="k ls", flags=("-j",))
    sessions, most = await call.ops.ask("list"), bound(call, given)
    if "-j" in given.flags:
        entries = [_shown(one) for one in sessions]
        await say_list(call, entries, most=most, rest="agent-pty list --json")
    elif not sessions:
        await call.output.line("no sessions")
    else:
        width = max(len(one["id"]) for one in sessions)
        lines = [_line(one, width) for one in sessions]
        await say(call, "\n".join(lines), most=most, rest="agent-pty list")
    return 0


def _line(one: dict[str, Any], width: int) -> str:
    program, state = one_line(shlex.join(one["argv"])), _state(one)
    state = "output paused" if one.get("output_paused") else state
    return f"{one['id']:<{width}}  {state:<9} {program}".rstrip()


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    shown = {"name": one["id"], "state": _state(one), "command": shlex.join(one["argv"])}
    return {**shown, "output_paused": True} if one.get("output_paused") else shown


def _state(one: dict[str, Any]) -> str:
    if one["active"]:
        return "running"
    return f"exited {one['exit_code']}" if one["exit_code"] is not None else str(one["state"])


async def status(call: Call, words: list[str]) -> int:
    """Say that a session is well; nothing is typed into it."""
    given = parsed(words, usage="k status [session]", flags=("-j",))
    name = await resolved(call, given.words[0] if given.words else None)
    found = await living(call, name)
    shown = f"OK {name} pipe=ok"
    if found.get("output_paused"):
        shown += f" {paused_remark(name)}"
    await call.output.line(jsoned(_shown(found)) if "-j" in given.flags else shown)
    return 0


async def notify(call: Call, words: list[str]) -> int:
    """Leave a note; the first of several words may be the session."""
    given = parsed(words, usage="k notify [session] <message>", flags=("-j",))
    words = given.words
    if not words:
        raise Refusal("usage: k notify [session] <message>")
    named = len(words) > 1 and await find(call, words[0]) is not None
    name = checked(words[0]) if named else await resolved(call, None)
    message = " ".join(words[1:] if named else words)
    await living(call, name)
    await call.ops.ask("notify", id=name, message=message, who=call.who)
    done = {"session": name, "status": "notified", "message": message}
    plain = f"OK notified: {one_line(message)}"
    await call.output.line(jsoned(done) if "-j" in given.flags else plain)
    return 0
