"""`attach`: a session in the caller's own terminal."""

from __future__ import annotations

import contextlib
import os
import sys

from agent_pty.cli.command import Invocation, write
from agent_pty.client.attach import Attachment, follow
from agent_pty.client.leaving import Left
from agent_pty.client.terminal import size
from agent_pty.core.chord import chord
from agent_pty.core.duration import seconds
from agent_pty.errors import Usage


def attach(call: Invocation) -> int:
    """Show a session and type into it, until the person detaches or it ends."""
    o, stdin, stdout = call.options, _stdin(), sys.stdout.fileno()
    detach = _control_byte(o.detach_key)
    # Where the past must scroll by, and for a program that may write anything, no other screen.
    alternate = os.isatty(stdout) and o.history_bytes is None and not o.raw
    attachment = Attachment(
        lambda start: call.connect(start=start),
        name=o.name,
        # A viewer that only watches changes nothing.
        size=lambda: None if o.read_only else size(stdout),
        read_only=o.read_only,
        history_bytes=o.history_bytes,
        title=o.title,
        clipboard=o.clipboard,
        raw=o.raw,
        alternate=alternate,
        notice=notice(o.name, o.detach_key, read_only=o.read_only) if alternate else None,
    )
    with contextlib.closing(attachment):
        left = follow(
            attachment,
            stdin=stdin,
            stdout=stdout,
            seconds=seconds(o.timeout, what="attach timeout") if o.timeout else None,
            detach=detach,
            typing=not o.read_only,
            alternate=alternate,
        )
    if alternate and left is Left.ENDED and (text := attachment.last_screen()):
        write(f"{text}\n")
    if left is not Left.TIMED_OUT and sys.stderr.isatty():
        start = "" if alternate else "\r\n"  # the alternate screen leaves the cursor where it was
        sys.stderr.write(f"{start}[{left.value}: {o.name}]\r\n")
    if attachment.lost:
        sys.stderr.write(
            f"{attachment.lost} bytes that were typed while the daemon died may not have arrived\n"
        )
    return 0


def notice(name: str, key: str, *, read_only: bool = False) -> str:
    """Return the line that names the key."""
    if read_only:
        return f" watching {name}: {key} or ctrl-c leaves "
    return f" attached to {name}: {key} leaves "


def _stdin() -> int | None:
    """Return standard input; None if the caller has closed it."""
    return None if sys.stdin is None else sys.stdin.fileno()


def _control_byte(text: str) -> bytes:
    wanted = chord(text)
    if wanted.mods != {"ctrl"} or len(wanted.key) != 1 or not "@" <= wanted.key.upper() <= "_":
        raise Usage(f"--detach-key {text!r}: use ctrl and one of a-z [ ] \\ ^ _")
    return bytes([ord(wanted.key.upper()) & 0x1F])
