"""`screen`: look, in every form."""

from __future__ import annotations

import base64
import json
from typing import Any

from agent_pty.cli.command import Command, Invocation, argument, pretty, write
from agent_pty.cli.session import NAME, TOKENS, fitted_text
from agent_pty.errors import Usage


def _screen(call: Invocation) -> int:
    o = call.options
    if o.since is not None:
        return _show_changes(call)
    if o.find is not None:
        return _show_places(call)
    if o.png or o.svg:
        return _save_pictures(call)
    form = "json" if call.json else o.format
    if form in ("ansi", "html") or o.scrollback:
        return _show_rendered(call, form)
    screen = call.ask("screen", id=o.name)
    text = (
        screen["text"]
        if form != "text"
        else fitted_text(call, screen["text"], keep="tail", name=o.name)
    )
    write(pretty(screen) if form == "json" else _as(form, text))
    return 0


def _as(form: str, text: str) -> str:
    if form != "markdown":
        return text
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}\n"


def _longest_ticks(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def _show_rendered(call: Invocation, form: str) -> int:
    o = call.options
    wanted = form if form in ("ansi", "html") else "text"
    rendered = call.ask("render", id=o.name, format=wanted, scrollback=o.scrollback)
    if call.json:
        write(pretty(rendered))
        return 0
    text = rendered["content"]
    write(
        _as(form, fitted_text(call, text, keep="tail", name=o.name)) if wanted == "text" else text
    )
    return 0


def _show_changes(call: Invocation) -> int:
    changes = call.ask("changes", id=call.options.name, since=call.options.since)
    if call.json:
        # One line: this is for agents who pay for every token.
        write(_compact(changes))
        return 0
    lines = [f"{row['row']}: {row['text']}" for row in changes["rows"]]
    head = "unchanged" if changes["unchanged"] else f"hash {changes['hash']}"
    write("\n".join([head, *lines]) + "\n")
    return 0


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def _show_places(call: Invocation) -> int:
    places = call.ask("find", id=call.options.name, text=call.options.find)
    text = "\n".join(f"{place['row']},{place['col']}" for place in places)
    write(pretty(places) if call.json else text + "\n" * bool(text))
    return 0 if places else 1


def _save_pictures(call: Invocation) -> int:
    saved = []
    for form, path in (("png", call.options.png), ("svg", call.options.svg)):
        if path:
            content = call.ask("render", id=call.options.name, format=form)["content"]
            data = base64.b64decode(content) if form == "png" else content.encode()
            _save(path, data)
            saved.append(path)
    return call.show({"saved": saved}, "\n".join(f"saved {path}" for path in saved))


def _save(path: str, data: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise Usage(f"cannot write {path}: {error.strerror}") from error


COMMANDS: tuple[Command, ...] = (
    Command(
        name="screen",
        op="screen",
        run=_screen,
        arguments=(
            NAME,
            argument(
                "--format", choices=["text", "markdown", "json", "ansi", "html"], default="text"
            ),
            argument("--scrollback", type=int, default=0, metavar="N", help="rows above it too"),
            argument("--since", metavar="HASH", help="only the rows changed since that screen"),
            argument("--find", metavar="TEXT", help="print ROW,COL of every place of TEXT"),
            argument("--png", metavar="FILE", help="save a picture"),
            argument("--svg", metavar="FILE", help="save a picture"),
            TOKENS,
        ),
        examples=[
            "agent-pty screen work",
            "agent-pty screen work --format json",
            "agent-pty screen work --since 5f1c0a9be4d27a83 --json",
            "agent-pty screen work --png work.png",
        ],
    ),
)
