"""Subcommands on sessions: start, type, look, read, wait, end."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

from agent_pty.cli.command import Argument, Command, Invocation, argument, pretty, write
from agent_pty.core.budget import fitted
from agent_pty.core.duration import seconds
from agent_pty.core.layout import expanded
from agent_pty.errors import Usage

_FAIL_ON = 7

TOKENS = argument("--max-tokens", type=int, metavar="N", help="fit the text into a budget")
NAME = argument("name", help="the session")
KEY = argument("--key", metavar="K", help="idempotency key: the same again does nothing")


def fitted_text(call: Invocation, text: str, *, keep: Literal["head", "tail"], name: str) -> str:
    """Cut text to the budget asked for, with a pointer to the rest."""
    budget = call.options.max_tokens
    if budget is None:
        return text
    return fitted(
        text, budget, keep=keep, pointer=f"the rest: agent-pty read {name} --since CURSOR"
    )


def _new(call: Invocation) -> int:
    o = call.options
    created = call.ask(
        "new",
        id=o.name,
        repo=os.path.abspath(expanded(o.repo or ".", os.environ)),
        shell=expanded(o.shell, os.environ) if o.shell else None,
        argv=o.argv or None,
        rows=o.rows,
        cols=o.cols,
        env=dict(_assignment(text) for text in o.env),
        title=o.title,
        isolate=o.isolate,
        backend=o.backend,
        marks=not o.no_marks,
        frame=o.frame,
        key=o.key,
    )
    if o.ready:
        call.ask("ready", id=created["id"])
    return call.show(created, f"created session {created['id']}")


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Usage(f"--env {text!r}: write NAME=VALUE")
    return name, value


def _send(call: Invocation) -> int:
    o = call.options
    sent = call.ask(
        "send", id=o.name, text=given_text(o), enter=not o.no_enter, approval=o.approval, key=o.key
    )
    return call.show(sent, "sent")


def given_text(options: Any) -> str:
    """Return what to type: given, from a file, or from standard input."""
    if (options.text is None) == (options.file is None):
        raise Usage("give the text, or --file FILE, or `-` to read standard input")
    if options.text == "-":
        return sys.stdin.buffer.read().decode(errors="surrogateescape")
    if options.file is None:
        return str(options.text)
    try:
        with open(options.file, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"cannot read {options.file}: {error}") from error


def _read(call: Invocation) -> int:
    o = call.options
    one_page = call.json or o.tail is not None or o.max_bytes is not None
    with call.connect() as connection:
        since = o.since
        while True:
            page = connection.ask(
                "read", id=o.name, since=since, tail=o.tail, max_bytes=o.max_bytes, grep=o.grep
            )
            _show_page(call, page)
            since = page["cursor"]
            if one_page or not page["more"]:
                return 0


def _show_page(call: Invocation, page: dict[str, Any]) -> None:
    if call.json:
        write(pretty(page))
        return
    if page["gap"]:
        start, end = page["gap"]["start"], page["gap"]["end"]
        sys.stderr.write(f"gap: text from cursor {start} to {end} is no longer kept\n")
    write(fitted_text(call, page["text"], keep="tail", name=call.options.name))


def _wait(call: Invocation) -> int:
    o = call.options
    timeout = round(seconds(o.timeout, what="timeout") * 1000)
    if o.any and o.all:
        raise Usage("--any or --all, not both")
    if o.since is not None and len(o.names) > 1:
        raise Usage("--since is a cursor of one session: wait for one")
    common = {"until": o.until, "fail_on": o.fail_on, "timeout_ms": timeout}
    if len(o.names) > 1 or o.any or o.all:
        return _wait_many(call, {**common, "mode": "all" if o.all else "any"})
    seen = call.ask("wait", id=o.names[0], since=o.since, **common)
    text = fitted_text(call, seen["screen"]["text"], keep="tail", name=o.names[0])
    write(pretty(seen) if call.json else text)
    return _FAIL_ON if seen["failed"] else 0


def _wait_many(call: Invocation, fields: dict[str, Any]) -> int:
    answer = call.ask("wait_many", ids=call.options.names, **fields)
    if call.json:
        write(pretty(answer))
    else:
        for outcome in answer["outcomes"]:
            seen = outcome["observation"]
            write(
                f"{outcome['id']} {outcome['code']} {seen['matched'] if seen else ''}".rstrip()
                + "\n"
            )
    seen_all = [outcome["observation"] for outcome in answer["outcomes"]]
    return _FAIL_ON if any(seen and seen["failed"] for seen in seen_all) else 0


def _list(call: Invocation) -> int:
    sessions = call.ask("list")
    if call.json:
        write(pretty(sessions))
    for session in [] if call.json else sessions:
        write(_line(session))
    return 0


def _line(session: dict[str, Any]) -> str:
    pid = session["process_id"] or "-"
    active = str(session["active"]).lower()
    line = f"{session['id']} active={active} pid={pid} workspace={session['workspace']}"
    if session["state"] == "exited":
        how = f"signal:{session['signal']}" if session["signal"] else session["exit_code"]
        line += f" exit={'unknown' if how is None else how}"
    return line.encode("unicode_escape").decode() + "\n"


def _kill(call: Invocation) -> int:
    killed = call.ask("kill", id=call.options.name, key=call.options.key)
    call.show(killed, "killed")
    for survivor in killed["survivors"]:
        sys.stderr.write(f"survived: {survivor['pid']} {survivor['command']}\n")
    return 1 if killed["survivors"] else 0


def _interrupt(call: Invocation) -> int:
    done = call.ask("interrupt", id=call.options.name, key=call.options.key)
    return call.show(done, "interrupted")


def _signal(call: Invocation) -> int:
    o = call.options
    done = call.ask("signal", id=o.name, signal=o.signal, everyone=o.all, key=o.key)
    pids = " ".join(str(pid) for pid in done["pids"]) or "nobody"
    return call.show(done, f"signalled {done['signal']} to {pids}")


def _resize(call: Invocation) -> int:
    o = call.options
    done = call.ask("resize", id=o.name, rows=o.rows, cols=o.cols, key=o.key)
    return call.show(done, f"resized {o.name} to {done['rows']}x{done['cols']}")


def _rename(call: Invocation) -> int:
    o = call.options
    done = call.ask("rename", id=o.name, name=o.new_name, key=o.key)
    return call.show(done, f"renamed {o.name} to {done['id']}")


_NEW: tuple[Argument, ...] = (
    argument("--repo", metavar="DIR", help="directory to start in (default: here)"),
    argument("--name", metavar="NAME", help="name of the session (default: s1, s2, ...)"),
    argument("--shell", metavar="PATH", help="shell to start (default: bash, else /bin/sh)"),
    argument("--backend", choices=["pty", "tmux"], default="pty", help="default: pty"),
    argument("--rows", type=int, default=24, help="height (default: 24)"),
    argument("--cols", type=int, default=80, help="width (default: 80)"),
    argument("--env", action="append", default=[], metavar="K=V", help="may be repeated"),
    argument("--title", help="a label for people"),
    argument("--isolate", action="store_true", help="a host process of its own"),
    argument("--ready", action="store_true", help="return when its prompt is ready"),
    argument("--no-marks", action="store_true", help="start it without shell integration"),
    argument("--frame", metavar="F", help="exact:PROMPT, hook:/FILE or repeat"),
    KEY,
    argument("argv", nargs="*", help="after --: a program and its arguments, no shell"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        name="new",
        op="new",
        run=_new,
        arguments=_NEW,
        examples=[
            "agent-pty new --repo . --name work",
            "agent-pty new --name py --env DEBUG=1 -- python3 -q",
        ],
    ),
    Command(
        name="send",
        op="send",
        run=_send,
        arguments=(
            NAME,
            argument("text", nargs="?", help="what to type; `-` reads standard input"),
            argument("--file", metavar="FILE", help="type the content of a file"),
            argument("--no-enter", action="store_true", help="do not press Enter afterwards"),
            argument("--approval", metavar="TOKEN", help="one-time token from `approve`"),
            KEY,
        ),
        examples=['agent-pty send work "cargo test"', "git diff | agent-pty send work -"],
    ),
    Command(
        name="read",
        op="read",
        run=_read,
        arguments=(
            NAME,
            argument("--since", type=int, metavar="CURSOR", help="from an earlier answer's cursor"),
            argument("--tail", type=int, metavar="N", help="only the last N lines"),
            argument("--max-bytes", type=int, metavar="N", help="at most this much text"),
            argument("--grep", metavar="RE", help="only lines matching this RE2 pattern"),
            TOKENS,
        ),
        examples=["agent-pty read work --tail 20", "agent-pty read work --since 4096 --json"],
    ),
    Command(
        name="wait",
        op="wait",
        run=_wait,
        arguments=(
            argument("names", nargs="+", metavar="name", help="the session, or several"),
            argument(
                "--until",
                action="append",
                required=True,
                metavar="COND",
                help="text, regex:P, screen:P, prompt, idle:2s, cell:ID, exit; may be repeated",
            ),
            argument("--fail-on", action="append", default=[], metavar="COND", help="ends with 7"),
            argument(
                "--timeout", default="30s", metavar="DUR", help="500ms, 30s, 5m (default: 30s)"
            ),
            argument("--since", type=int, metavar="CURSOR", help="look at text from here on"),
            TOKENS,
            argument("--any", action="store_true", help="of several sessions, until one matches"),
            argument("--all", action="store_true", help="of several sessions, until all match"),
        ),
        examples=[
            'agent-pty wait work --until "finished in" --fail-on "regex:error\\[" --timeout 5m',
            "agent-pty wait a b --all --until prompt",
        ],
    ),
    Command(name="list", op="list", run=_list, examples=["agent-pty list --json"]),
    Command(
        name="kill",
        op="kill",
        run=_kill,
        arguments=(NAME, KEY),
        examples=["agent-pty kill work"],
    ),
    Command(
        name="interrupt",
        op="interrupt",
        run=_interrupt,
        arguments=(NAME, KEY),
        examples=["agent-pty interrupt work"],
    ),
    Command(
        name="signal",
        op="signal",
        run=_signal,
        arguments=(
            NAME,
            argument("signal", help="name or number: TERM, SIGHUP, 9"),
            argument("--all", action="store_true", help="every process, not the foreground only"),
            KEY,
        ),
        examples=["agent-pty signal work TERM"],
    ),
    Command(
        name="resize",
        op="resize",
        run=_resize,
        arguments=(
            NAME,
            argument("--rows", type=int, required=True),
            argument("--cols", type=int, required=True),
            KEY,
        ),
        examples=["agent-pty resize work --rows 40 --cols 120"],
    ),
    Command(
        name="rename",
        op="rename",
        run=_rename,
        arguments=(NAME, argument("new_name", help="its new name"), KEY),
        examples=["agent-pty rename s1 build"],
    ),
)
