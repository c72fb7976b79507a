"""Subcommands that type and point: `keys`, `paste`, `type`, `click`, `wheel`, `drag`, `batch`."""

from __future__ import annotations

import json
import sys

from agent_pty.cli.command import Command, Invocation, argument
from agent_pty.cli.session import KEY, NAME, given_text
from agent_pty.core.duration import seconds
from agent_pty.errors import Usage


def _keys(call: Invocation) -> int:
    o = call.options
    delay = round(seconds(o.delay, what="delay") * 1000) if o.delay else None
    pressed = call.ask("keys", id=o.name, keys=o.keys, repeat=o.repeat, delay_ms=delay, key=o.key)
    return call.show(pressed, f"pressed {pressed['keys']} key(s)")


def _paste(call: Invocation) -> int:
    o = call.options
    pasted = call.ask("paste", id=o.name, text=given_text(o), enter=o.enter, key=o.key)
    return call.show(pasted, "pasted" if pasted["bracketed"] else "pasted (not bracketed)")


def _type(call: Invocation) -> int:
    o = call.options
    sent = call.ask("send", id=o.name, text=given_text(o), enter=o.enter, key=o.key)
    return call.show(sent, "typed")


def _click(call: Invocation) -> int:
    o = call.options
    row, col = _cell(o.at) if o.at else (None, None)
    clicked = call.ask(
        "click",
        id=o.name,
        row=row,
        col=col,
        text=o.text,
        button=o.button,
        count=o.count,
        mods=o.mod,
        key=o.key,
    )
    return call.show(clicked, f"clicked {clicked['row']},{clicked['col']}")


def _wheel(call: Invocation) -> int:
    o = call.options
    row, col = _cell(o.at) if o.at else (0, 0)
    fields = {"direction": o.direction, "row": row, "col": col, "count": o.count, "key": o.key}
    return call.show(call.ask("wheel", id=o.name, **fields), f"wheel {o.direction} {o.count}")


def _drag(call: Invocation) -> int:
    o = call.options
    (row, col), (to_row, to_col) = _cell(o.start), _cell(o.end)
    dragged = call.ask("drag", id=o.name, row=row, col=col, to_row=to_row, to_col=to_col, key=o.key)
    return call.show(dragged, f"dragged to {to_row},{to_col}")


def _cell(text: str) -> tuple[int, int]:
    row, comma, col = text.partition(",")
    if not (comma and row.isdigit() and col.isdigit()):
        raise Usage(f"cell {text!r}: write ROW,COL counted from 0")
    return int(row), int(col)


def _batch(call: Invocation) -> int:
    o = call.options
    source = sys.stdin.read() if o.steps == "-" else o.steps
    try:
        steps = json.loads(source)
    except ValueError as error:
        raise Usage(f"steps are no JSON: {error}") from error
    if not isinstance(steps, list):
        raise Usage('steps must be a JSON array: [{"op": "send", "text": "make"}, ...]')
    done = call.ask("batch", id=o.name, steps=steps, key=o.key)
    return call.show(done, f"{len(done['results'])} step(s) done")


_AT = argument("--at", metavar="ROW,COL", help="cell, counted from 0")
_TEXT = (
    argument("text", nargs="?", help="the text; `-` reads standard input"),
    argument("--file", metavar="FILE", help="the content of a file"),
    argument("--enter", action="store_true", help="press Enter afterwards"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        name="keys",
        op="keys",
        run=_keys,
        arguments=(
            NAME,
            argument("keys", nargs="+", metavar="KEY", help="ctrl-c up f5 alt-x shift-tab enter a"),
            argument("--repeat", type=int, default=1, metavar="N", help="press all so often"),
            argument("--delay", metavar="DUR", help="pause between two keys, for instance 50ms"),
            KEY,
        ),
        examples=["agent-pty keys work ctrl-c", "agent-pty keys vim escape : w q enter"],
    ),
    Command(
        name="paste",
        op="paste",
        run=_paste,
        arguments=(NAME, *_TEXT, KEY),
        examples=["agent-pty paste work --file notes.txt", "pbpaste | agent-pty paste work -"],
    ),
    Command(
        name="type",
        text="Type text without pressing Enter; several lines are one paste.",
        run=_type,
        arguments=(NAME, *_TEXT, KEY),
        examples=["agent-pty type work 'git commit -m '", "agent-pty type vim --file poem.txt"],
    ),
    Command(
        name="click",
        op="click",
        run=_click,
        arguments=(
            NAME,
            argument("text", nargs="?", help="click in the middle of this text"),
            _AT,
            argument("--button", choices=["left", "middle", "right"], default="left"),
            argument("--count", type=int, default=1, metavar="N", help="2 is a double click"),
            argument("--mod", action="append", default=[], choices=["ctrl", "alt", "shift"]),
            KEY,
        ),
        examples=["agent-pty click tui OK", "agent-pty click tui --at 4,10 --button right"],
    ),
    Command(
        name="wheel",
        op="wheel",
        run=_wheel,
        arguments=(
            NAME,
            argument("direction", choices=["up", "down", "left", "right"]),
            _AT,
            argument("--count", type=int, default=1, metavar="N", help="notches"),
            KEY,
        ),
        examples=["agent-pty wheel tui down --count 3"],
    ),
    Command(
        name="drag",
        op="drag",
        run=_drag,
        arguments=(
            NAME,
            argument("start", metavar="ROW,COL"),
            argument("end", metavar="ROW,COL"),
            KEY,
        ),
        examples=["agent-pty drag tui 2,0 2,20"],
    ),
    Command(
        name="batch",
        op="batch",
        run=_batch,
        arguments=(NAME, argument("steps", help="JSON array of requests; `-` reads stdin"), KEY),
        examples=[
            """agent-pty batch work '[{"op":"send","text":"make"},{"op":"wait","until":"exit"}]'"""
        ],
    ),
)
