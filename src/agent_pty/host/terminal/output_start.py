"""How a host begins with a terminal's output: where the host before it stopped, or with nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.host.terminal.output import TerminalOutput
from agent_pty.keeper.spool import create_spool
from agent_pty.ops.model import Spec
from agent_pty.store.aside import set_aside
from agent_pty.store.ring import Ring, RingLost, is_unused

_TEXT_KEPT = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The output, the replies that a dead host still owed, and whether there was one."""

    output: TerminalOutput
    owed: bytes = b""
    recovered: bool = False


def start_output(layout: Layout, spec: Spec, spool: int | None) -> Start:
    """Continue or begin a session's output in *spool*, which the caller keeps.

    A keeper of the previous build gives no spool. A session that the previous build began has a
    file instead, `raw`, and keeps it.
    """
    directory = layout.session(spec.instance)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    size: dict[str, Any] = {
        "rows": spec.rows,
        "cols": spec.cols,
        "keep": _TEXT_KEPT,
        "nonce": spec.nonce,
    }
    # Before anything of ours is there: a session in tmux has outlived all our processes.
    continues = spec.tmux is not None and os.path.exists(layout.spec(spec.instance))
    try:
        ring = _found(f"{directory}/raw", spool)
        if ring is not None:
            with _closed_on_failure(ring):
                output, owed = TerminalOutput.recover(directory, ring, **size)
            return Start(output=output, owed=owed, recovered=True)
        if continues:
            ring = _new_ring(spool)
            with _closed_on_failure(ring):
                output = TerminalOutput.continued(directory, ring, **size)
            return Start(output=output, recovered=True)
    except (RingLost, ValueError) as error:
        aside = set_aside(directory, layout.aside)
        log.line(
            f"host: {spec.name} starts with an empty screen and spool: {error}; "
            f"its files are kept in {aside}"
        )
        os.makedirs(directory, mode=0o700)
    ring = _new_ring(spool)
    with _closed_on_failure(ring):
        return Start(output=TerminalOutput.create(directory, ring, **size))


def _found(file: str, spool: int | None) -> Ring | None:
    """Return what a host before us wrote; None if there was none."""
    if os.path.exists(file):
        return Ring.of_file(file)
    if spool is None or is_unused(spool):
        return None
    return Ring(spool)


def _new_ring(spool: int | None) -> Ring:
    if spool is not None:
        return Ring(spool, create=True)
    own = create_spool()
    try:
        return Ring(own, create=True)
    finally:
        os.close(own)


@contextlib.contextmanager
def _closed_on_failure(ring: Ring) -> Iterator[None]:
    try:
        yield
    except BaseException:
        ring.close()
        raise
