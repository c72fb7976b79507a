"""`attach`: a session in the caller's own terminal."""

from __future__ import annotations

import contextlib
import sys

from agent_pty.cli.command import Invocation
from agent_pty.client.attach import Attachment, Left, follow
from agent_pty.client.terminal import size
from agent_pty.core.chord import chord
from agent_pty.core.duration import seconds
from agent_pty.errors import Usage


def attach(call: Invocation) -> int:
    """Show a session and type into it, until the person detaches or it ends."""
    o = call.options
    _follow_size(call)  # before attaching: the first picture is painted for this size
    attachment = Attachment(
        lambda start: call.connect(start=start),
        name=o.name,
        read_only=o.read_only,
        history_bytes=o.history_bytes,
        title=o.title,
        clipboard=o.clipboard,
        raw=o.raw,
    )
    with contextlib.closing(attachment):
        left = follow(
            attachment,
            stdin=None if o.read_only and not sys.stdin.isatty() else sys.stdin.fileno(),
            stdout=sys.stdout.fileno(),
            seconds=seconds(o.timeout, what="attach timeout") if o.timeout else None,
            detach=_control_byte(o.detach_key),
            typing=not o.read_only,
            on_resize=lambda: _follow_size(call),
        )
    if left is not Left.TIMED_OUT and sys.stderr.isatty():
        sys.stderr.write(f"\r\n[{left.value}: {o.name}]\r\n")
    if attachment.lost:
        sys.stderr.write(
            f"{attachment.lost} bytes that were typed while the daemon died may not have arrived\n"
        )
    return 0


def _follow_size(call: Invocation) -> None:
    """Give the session the size of this terminal; a viewer that only watches changes nothing."""
    found = size(sys.stdout.fileno())
    if found is not None and not call.options.read_only:
        call.ask("resize", id=call.options.name, rows=found[0], cols=found[1])


def _control_byte(text: str) -> bytes:
    wanted = chord(text)
    if wanted.mods != {"ctrl"} or len(wanted.key) != 1 or not "@" <= wanted.key.upper() <= "_":
        raise Usage(f"--detach-key {text!r}: use ctrl and one of a-z [ ] \\ ^ _")
    return bytes([ord(wanted.key.upper()) & 0x1F])
