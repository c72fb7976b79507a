"""Subcommands that go on: `attach` and `watch`."""

from __future__ import annotations

import sys

from agent_pty.cli.command import Command, Invocation, argument, write
from agent_pty.client.attach import Left, follow
from agent_pty.client.terminal import size
from agent_pty.core.chord import chord
from agent_pty.core.duration import seconds
from agent_pty.errors import Usage

_CHUNK = 1 << 16


def _attach(call: Invocation) -> int:
    o = call.options
    _follow_size(call)  # before the first look: it is painted for a terminal of this size
    with call.connect() as connection:
        stream = connection.stream(
            "attach",
            id=o.name,
            read_only=o.read_only,
            history_bytes=o.history_bytes,
            title=o.title,
            clipboard=o.clipboard,
            raw=o.raw,
        )
        left = follow(
            stream,
            stdin=None if o.read_only and not sys.stdin.isatty() else sys.stdin.fileno(),
            stdout=sys.stdout.fileno(),
            seconds=seconds(o.timeout, what="attach timeout") if o.timeout else None,
            detach=_control_byte(o.detach_key),
            typing=not o.read_only,
            on_resize=lambda: _follow_size(call),
        )
    if left is not Left.TIMED_OUT and sys.stderr.isatty():
        sys.stderr.write(f"\r\n[{left.value}: {o.name}]\r\n")
    return 0


def _follow_size(call: Invocation) -> None:
    """Give the session the size of this terminal; who only watches changes nothing."""
    found = size(sys.stdout.fileno())
    if found is not None and not call.options.read_only:
        call.ask("resize", id=call.options.name, rows=found[0], cols=found[1])


def _control_byte(text: str) -> bytes:
    wanted = chord(text)
    if wanted.mods != {"ctrl"} or len(wanted.key) != 1 or not "@" <= wanted.key.upper() <= "_":
        raise Usage(f"--detach-key {text!r}: use ctrl and one of a-z [ ] \\ ^ _")
    return bytes([ord(wanted.key.upper()) & 0x1F])


def _watch(call: Invocation) -> int:
    o = call.options
    with call.connect() as connection:
        stream = connection.stream("watch", id=o.name, events=o.event or None)
        while data := stream.recv(_CHUNK):
            write(data.decode(errors="surrogateescape"))
    return 0


COMMANDS: tuple[Command, ...] = (
    Command(
        name="attach",
        op="attach",
        run=_attach,
        arguments=(
            argument("name", help="the session"),
            argument("--read-only", action="store_true", help="watch only"),
            argument("--timeout", metavar="DUR", help="leave after 500ms, 30s, 5m"),
            argument(
                "--history-bytes", type=int, default=12_000, metavar="N", help="default 12000"
            ),
            argument("--detach-key", default="ctrl-]", metavar="KEY", help="default ctrl-]"),
            argument("--title", action="store_true", help="let it set this terminal's title"),
            argument("--clipboard", action="store_true", help="let it write this clipboard"),
            argument("--raw", action="store_true", help="every byte as it is: not safe"),
        ),
        examples=["agent-pty attach work", "agent-pty attach work --read-only --timeout 2s"],
    ),
    Command(
        name="watch",
        op="watch",
        run=_watch,
        arguments=(
            argument("name", nargs="?", help="one session (default: all)"),
            argument(
                "--event", action="append", metavar="KIND", help="only these; may be repeated"
            ),
        ),
        examples=["agent-pty watch", "agent-pty watch work --event exited --event prompt"],
    ),
)
