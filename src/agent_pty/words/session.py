"""The words about sessions: `new`, `kill`, `ls`, `status`, `notify`, `exec`."""

from __future__ import annotations

import os
import shlex
from collections.abc import AsyncIterator
from typing import Any

from agent_pty.errors import AgentPtyError, SessionEnded, SessionExists, UnknownSession
from agent_pty.words.cell import resolved
from agent_pty.words.option import milliseconds, parsed
from agent_pty.words.speaker import Refusal, Speaker, checked, jsoned

_ROWS, _COLS = 40, 120
_READY_MS = 20_000
_TIMED_OUT, _INTERRUPTED = 124, 130
_EXEC = "k exec [-j] [-t N] -- argv..."
# With any of these a command needs a shell to be understood.
_SHELL_SIGNS = frozenset("|&;<>()$`\\\"'*?[]#~=%{}!\n")


async def new(speaker: Speaker, words: list[str]) -> int:
    """Start a session and return when its prompt is ready."""
    name, rest = checked(words[0]), words[1:]
    frame, shown = _frame([word for word in rest if _is_option(word)], speaker.cwd)
    if await _alive(speaker, name):
        await speaker.said.line(f"OK {name} (alive)")
        return 0
    command = " ".join(word for word in rest if not _is_option(word)) or "bash"
    try:
        await _create(speaker, name, command, frame)
    except SessionExists:  # somebody else was faster
        await speaker.said.line(f"OK {name} (alive)")
        return 0
    except AgentPtyError as error:
        raise Refusal(f"ERR {error}") from None
    await speaker.said.line(f"OK {name}" + (f" prompt={shown!r}" if shown is not None else ""))
    return 0


async def _create(speaker: Speaker, name: str, command: str, frame: str | None) -> None:
    await speaker.ops.ask(
        "new",
        id=name,
        repo=speaker.cwd,
        argv=_argv(command),
        rows=_ROWS,
        cols=_COLS,
        frame=frame,
    )
    try:
        await speaker.ops.ask("ready", id=name, timeout_ms=_READY_MS)
    except SessionEnded as ended:
        raise Refusal(await _obituary(speaker, name, ended)) from None
    except AgentPtyError as error:  # it runs, but shows no prompt: that is for the caller to know
        await speaker.said.err(f"k: {name}: {error}")


async def _obituary(speaker: Speaker, name: str, ended: SessionEnded) -> str:
    """Say how a program that ended at once did so, and leave nothing of it."""
    said = (await speaker.ops.ask("read", id=name, tail=5))["text"].strip()
    await speaker.ops.ask("kill", id=name)
    code = ended.details.get("exit_code")
    return f"ERR {name} exited at once (exit code {code})" + (f": {said}" if said else "")


def _argv(command: str) -> list[str]:
    """Return the program of a command line; one that only a shell understands is given to sh."""
    if _SHELL_SIGNS & set(command):
        return ["/bin/sh", "-c", command]
    return shlex.split(command) or ["bash"]


def _is_option(word: str) -> bool:
    return word.startswith(("--prompt=", "--frame=", "--exact=", "--hook="))


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


async def _alive(speaker: Speaker, name: str) -> bool:
    """Whether the session runs; one whose program has ended makes room for a new one."""
    found = await find(speaker, name)
    if found is not None and not found["active"]:
        await speaker.ops.ask("kill", id=name)
        return False
    return found is not None


async def find(speaker: Speaker, name: str) -> dict[str, Any] | None:
    """Return a session by its exact name."""
    sessions: list[dict[str, Any]] = await speaker.ops.ask("list")
    return next((one for one in sessions if one["id"] == name), None)


async def living(speaker: Speaker, name: str) -> dict[str, Any]:
    """Return a session that runs, or refuse."""
    found = await find(speaker, name)
    if found is None or not found["active"]:
        raise Refusal(f"ERR no session '{name}'")
    return found


async def kill(speaker: Speaker, words: list[str]) -> int:
    """End a session; a name that nobody has is no reason to fail, but nothing was killed."""
    given = parsed(words, usage="k kill <session>", flags=("-j",))
    if not given.words:
        raise Refusal("usage: k kill <session>")
    name = checked(given.words[0])
    try:
        killed = await speaker.ops.ask("kill", id=name)
    except UnknownSession:
        missing = {"status": "error", "output": f"no session '{name}'"}
        shown = jsoned(missing) if "-j" in given.flags else f"ERR no session '{name}'"
        await speaker.said.line(shown)
        return 0
    for one in killed["survivors"]:
        await speaker.said.err(f"k: process {one['pid']} survived: {one['command']}")
    done = {"session": name, "status": "killed"}
    await speaker.said.line(jsoned(done) if "-j" in given.flags else f"OK killed {name}")
    return 0


async def ls(speaker: Speaker, words: list[str]) -> int:
    """List our sessions, name first."""
    given = parsed(words, usage="k ls", flags=("-j",))
    sessions = await speaker.ops.ask("list")
    if "-j" in given.flags:
        await speaker.said.line(jsoned([_shown(one) for one in sessions]))
    elif not sessions:
        await speaker.said.line("no sessions")
    else:
        width = max(len(one["id"]) for one in sessions)
        for one in sessions:
            program = shlex.join(one["argv"])
            await speaker.said.line(f"{one['id']:<{width}}  {_state(one):<9} {program}".rstrip())
    return 0


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    return {"name": one["id"], "state": _state(one), "command": shlex.join(one["argv"])}


def _state(one: dict[str, Any]) -> str:
    if one["active"]:
        return "running"
    return f"exited {one['exit_code']}" if one["exit_code"] is not None else str(one["state"])


async def status(speaker: Speaker, words: list[str]) -> int:
    """Say that a session is well; nothing is typed into it."""
    given = parsed(words, usage="k status [session]", flags=("-j",))
    name = await resolved(speaker, given.words[0] if given.words else None)
    found = await living(speaker, name)
    shown = jsoned(_shown(found)) if "-j" in given.flags else f"OK {name} pipe=ok"
    await speaker.said.line(shown)
    return 0


async def notify(speaker: Speaker, words: list[str]) -> int:
    """Leave a note; the first of several words may be the session."""
    given = parsed(words, usage="k notify [session] <message>", flags=("-j",))
    words = given.words
    if not words:
        raise Refusal("usage: k notify [session] <message>")
    named = len(words) > 1 and await find(speaker, words[0]) is not None
    name = checked(words[0]) if named else await resolved(speaker, None)
    message = " ".join(words[1:] if named else words)
    await living(speaker, name)
    await speaker.ops.ask("notify", id=name, message=message, who=speaker.who)
    done = {"session": name, "status": "notified", "message": message}
    await speaker.said.line(jsoned(done) if "-j" in given.flags else f"OK notified: {message}")
    return 0


async def execute(speaker: Speaker, words: list[str]) -> int:
    """Run one program in a terminal of its own and say what it wrote; exit as it did."""
    given = parsed(words, usage=_EXEC, flags=("-j",), numbers=("-t",))
    argv = given.words[1:] if given.words[:1] == ["--"] else given.words
    if not argv:
        raise Refusal(f"usage: {_EXEC}")
    limit = max(0, milliseconds(given, 30))
    asking = speaker.ops.ask(
        "exec", argv=argv, repo=speaker.cwd, timeout_ms=limit, rows=_ROWS, cols=_COLS
    )
    try:
        done = await speaker.interrupted.guard(asking, _give_up)
    except _GivenUp:
        return _INTERRUPTED
    except AgentPtyError as error:
        failed = {"status": "error", "output": str(error)}
        await speaker.said.line(jsoned(failed) if "-j" in given.flags else str(error))
        return 1
    return await _say_executed(speaker, done, json="-j" in given.flags)


class _GivenUp(Exception):
    """The caller does not want to wait any longer; what was asked for ends with that."""


async def _give_up() -> None:
    raise _GivenUp


async def _say_executed(speaker: Speaker, done: dict[str, Any], *, json: bool) -> int:
    code = (128 + done["signal"]) if done["signal"] else done["exit_code"]
    kept = done["truncated"] and not done["running"]
    pages = _pages(speaker, done["session"]) if kept else _one(done["output"])
    if json:
        extras = {"session": done["session"]} if done["running"] else {}
        await _say_json(speaker, done, pages, extras | ({"exit_code": code} if code else {}))
    else:
        await _say_plain(speaker, pages)
    if kept:  # only for its output
        await speaker.ops.ask("kill", id=done["session"])
    if done["running"]:
        await speaker.said.err(f"k: timed out; it goes on as session {done['session']}")
        return _TIMED_OUT
    return code or 0


async def _pages(speaker: Speaker, session: str) -> AsyncIterator[str]:
    since, more = 0, True
    while more:
        page = await speaker.ops.ask("read", id=session, since=since)
        yield page["text"]
        since, more = page["cursor"], page["more"]


async def _one(text: str) -> AsyncIterator[str]:
    yield text


async def _say_json(
    speaker: Speaker, done: dict[str, Any], pages: AsyncIterator[str], extras: dict[str, Any]
) -> None:
    """Say an object whose output may be large; its last line end is no part of it."""
    status = "timeout" if done["running"] else "done"
    await speaker.said.out(f'{{"status": "{status}", "output": "')
    held = ""
    async for page in pages:
        text = held + page
        held = "\n" if text.endswith("\n") else ""
        await speaker.said.out(jsoned(text.removesuffix("\n"))[1:-1])
    await speaker.said.line('"' + (", " + jsoned(extras)[1:-1] if extras else "") + "}")


async def _say_plain(speaker: Speaker, pages: AsyncIterator[str]) -> None:
    last = "\n"
    async for text in pages:
        await speaker.said.out(text)
        last = text[-1:] or last
    if last != "\n":
        await speaker.said.line("")
