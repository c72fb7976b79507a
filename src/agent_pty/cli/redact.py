"""`redact`: take the secrets out of a text, as evidence does before it is written."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.core.redaction.redactor import Redactor
from agent_pty.errors import Usage

_CHUNK = 1 << 16
# In a row of --jsonl: here one read of the terminal ended and the next began.
_BORDER = "\x1e"


def redact(call: Invocation) -> int:
    """Copy files, or standard input, to standard output without their secrets."""
    counts: Counter[str] = Counter()
    for source in _sources(call.options.file):
        if call.options.jsonl:
            _rows(source, counts)
        else:
            _text(source, counts)
    sys.stdout.buffer.flush()
    if call.json:
        sys.stderr.write(json.dumps(dict(sorted(counts.items()))) + "\n")
    elif call.options.count:
        for kind, count in sorted(counts.items()):
            sys.stderr.write(f"{count} {kind}\n")
    return 0


def _sources(paths: list[str]) -> Iterator[BinaryIO]:
    if not paths:
        yield sys.stdin.buffer
    for path in paths:
        try:
            with open(path, "rb") as file:
                yield file
        except OSError as error:
            raise Usage(f"cannot read {path}: {error.strerror}") from error


def _text(source: BinaryIO, counts: Counter[str]) -> None:
    redactor = Redactor()
    out = sys.stdout.buffer
    # What a pipe has is passed on as soon as its line has ended.
    read = source.read1 if hasattr(source, "read1") else source.read
    while data := read(_CHUNK):
        out.write(redactor.feed(data))
        out.flush()
    out.write(redactor.close())
    counts.update(redactor.counts)


def _rows(source: BinaryIO, counts: Counter[str]) -> None:
    for number, line in enumerate(source, start=1):
        if not line.strip():
            continue
        text = _row(number, line)
        redactor = Redactor()
        pieces = [redactor.feed(one.encode(errors="surrogatepass")) for one in text.split(_BORDER)]
        redacted = b"".join([*pieces, redactor.close()]).decode(errors="surrogatepass")
        sys.stdout.buffer.write(json.dumps({"text": redacted}).encode() + b"\n")
        counts.update(redactor.counts)


def _row(number: int, line: bytes) -> str:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise Usage(f"row {number} is no JSON: {error}") from error
    text = row.get("text") if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise Usage(f'row {number} must be an object like {{"text": "..."}}')
    return text


COMMANDS = (
    client_command(
        "redact",
        "Take secrets out of a text: tokens, passwords, private keys; also coloured or split.\n\n"
        "Reads files or standard input. What is found depends on how it looks and on the words "
        "beside it: a secret that looks like nothing stays. --json counts as --count does.",
        Command(
            parts=(
                part("file", nargs="*", metavar="FILE", help="files (default: standard input)"),
                part(
                    "jsonl",
                    "--jsonl",
                    action="store_true",
                    help='read rows {"text": ...} and print one for each; U+001E is the border '
                    "of two reads",
                ),
                part(
                    "count",
                    "--count",
                    action="store_true",
                    help="print to standard error how many of each kind were found",
                ),
            ),
            examples=(
                "agent-pty redact < build.log > build.redacted.log",
                "env | agent-pty redact --count",
            ),
        ),
    ),
)
