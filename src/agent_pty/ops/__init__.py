"""Every op, declared once. CLI, transports and reference pages derive from this table."""

from __future__ import annotations

import difflib

from agent_pty.errors import UnknownOp
from agent_pty.ops import (
    answer,
    approval,
    attach,
    batch,
    cell,
    doing,
    excerpt,
    execute,
    fork,
    fork_diff,
    fork_merge,
    forks,
    gc,
    http,
    keys,
    lifecycle,
    mcp,
    mouse,
    new,
    past_screen,
    permit,
    policy,
    proof,
    read,
    registry,
    replay,
    resize,
    screen,
    secret,
    send,
    signal,
    tmux,
    trace_path,
    user_decision,
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
        past_screen.OP,
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
        approval.APPROVE,
        approval.DENY,
        approval.LIST,
        permit.OP,
        user_decision.OP,
        policy.SHOW,
        policy.RELOAD,
        secret.OP,
        replay.OP,
        proof.OP,
        registry.KILL,
        registry.RENAME,
        fork.OP,
        forks.LIST,
        fork_diff.OP,
        fork_merge.OP,
        forks.REMOVE,
        tmux.ADOPT,
        tmux.RELEASE,
        tmux.PANES,
        gc.OP,
        signal.INTERRUPT,
        signal.SIGNAL,
        resize.OP,
        lifecycle.STATUS,
        trace_path.OP,
        lifecycle.SHUTDOWN,
    )
}


def find(name: str) -> Op:
    """Return the op called *name*."""
    if name not in TABLE:
        raise _unknown(name[:64])
    return TABLE[name]


def _unknown(name: str) -> UnknownOp:
    """Name what may have been meant; the details have every op, because the list is long."""
    near = difflib.get_close_matches(name.lower(), TABLE, n=3)
    remedy = f"perhaps {' or '.join(near)}" if near else "docs/reference.md describes all of them"
    return UnknownOp(f"unknown op {name!r}: {remedy}", op=name, known=sorted(TABLE))
