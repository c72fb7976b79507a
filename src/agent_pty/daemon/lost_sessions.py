"""Sessions that no process has any more: keeper, host and daemon ended, their files are left."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import time
from collections.abc import Collection, Iterator

import msgspec
from msgspec import Struct

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.ops.model import Spec
from agent_pty.store import atomic


class Loss(Struct, frozen=True, kw_only=True):
    """When the loss of a session was noticed, and why it was lost."""

    at: str
    why: str


def now() -> str:
    """Return the present time as answers have it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unclaimed(layout: Layout, known: Collection[str]) -> Iterator[Spec]:
    """Yield what the files say of sessions that are not among the *known* instances."""
    for instance in sorted(os.listdir(layout.sessions)):
        if instance in known:
            continue
        try:
            with open(layout.spec(instance), "rb") as file:
                yield msgspec.json.decode(file.read(), type=Spec)
        except (OSError, msgspec.DecodeError) as error:
            # Its host ended before it had written the file, or it is from another version.
            log.line(f"daemon: nothing is known of session {instance}: {error}")


def loss_of(layout: Layout, spec: Spec) -> Loss:
    """Return why a session that nobody has is lost, as it was noted when that was noticed."""
    try:
        with open(layout.loss(spec.instance), "rb") as file:
            return msgspec.json.decode(file.read(), type=Loss)
    except (OSError, msgspec.DecodeError):
        why = "keeper, host and daemon ended, and with them its terminal"
        if _began_before_the_machine(spec):
            why += ", probably because the machine was restarted"
        return Loss(at=now(), why=why)


def is_noted(layout: Layout, instance: str) -> bool:
    """Whether an earlier daemon has noted the loss of a session."""
    return os.path.exists(layout.loss(instance))


def note_loss(layout: Layout, instance: str, loss: Loss) -> None:
    """Remember a loss for later daemons."""
    with contextlib.suppress(FileNotFoundError):  # the session had no files
        atomic.replace(layout.loss(instance), msgspec.json.encode(loss), durable=False)


def _began_before_the_machine(spec: Spec) -> bool:
    """Whether a session is older than the machine's last start, as far as the clock can tell."""
    if not hasattr(time, "CLOCK_BOOTTIME"):  # macOS
        return False
    began = dt.datetime.fromisoformat(spec.started_at).timestamp()
    return began < time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
