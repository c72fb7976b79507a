"""Every op, declared once. CLI, transports and reference pages derive from this table."""

from __future__ import annotations

from agent_pty.errors import UnknownOp
from agent_pty.ops import (
    answer,
    attach,
    batch,
    cell,
    doing,
    excerpt,
    execute,
    http,
    keys,
    lifecycle,
    mcp,
    mouse,
    new,
    read,
    registry,
    replay,
    resize,
    screen,
    send,
    signal,
    wait,
    watch,
    words,
)
from agent_pty.ops.op import Op

TABLE: dict[str, Op] = {
    op.name: op
    for op in (
        new.OP,
        send.OP,
        keys.KEYS,
        keys.PASTE,
        mouse.CLICK,
        mouse.WHEEL,
        mouse.DRAG,
        batch.OP,
        execute.OP,
        cell.RUN,
        answer.OP,
        cell.FIRE,
        cell.POLL,
        cell.PEEK,
        cell.OUTPUT,
        excerpt.OP,
        cell.READY,
        cell.FACT,
        cell.NOTIFY,
        cell.HISTORY,
        screen.SCREEN,
        screen.CHANGES,
        screen.FIND,
        screen.RENDER,
        read.OP,
        wait.OP,
        wait.MANY,
        doing.OP,
        attach.OP,
        watch.OP,
        words.OP,
        http.OP,
        mcp.OP,
        registry.LIST,
        replay.OP,
        registry.KILL,
        registry.RENAME,
        signal.INTERRUPT,
        signal.SIGNAL,
        resize.OP,
        lifecycle.STATUS,
        lifecycle.SHUTDOWN,
    )
}


def find(name: str) -> Op:
    """Return the op called *name*."""
    if name not in TABLE:
        shown = name[:64]
        raise UnknownOp(f"unknown op {shown!r}: one of {', '.join(sorted(TABLE))}", op=shown)
    return TABLE[name]
