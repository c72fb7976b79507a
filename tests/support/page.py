"""A reader of our pages who does what they say, word for word, and compares what appears.

What a fenced block is for is its first word:

    console           `$ ` begins a command, `>` continues it, the rest is what it prints
    console beside    the same in another terminal, where it goes on while the page is read
    keys              what a person presses in the command just before, a line each
    text model        what a model said: shown, not run
    anything else     needs the name of a file after it, which gets the text
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.agent import Agent
from support.person import human

BIN = os.path.dirname(sys.executable)
# What differs each time, as the pages say; a line `...` stands for any number of lines.
VARIABLE = {
    "<id>": "[0-9a-f]{12}",
    "<pid>": "[0-9]+",
    "<n>": "[0-9]+",
    "<port>": "[0-9]+",
    "<dir>": "/[^ \n]*",
    "<bin>": "/[^ \n]*",
    "<instance>": "[0-9a-f]{16}",
    "<request>": "[0-9a-f]{8}-[0-9a-f]{8}",
}
ANY_LINES = "(?:.*\n)*?"
# The port that pages name; a reader takes one that is free.
PORT = "4319"
_FIRST_PORT, _PORTS = 20_000, 10_000  # below those that the kernel gives away
_CHUNK = 1 << 16
_SECONDS = 60
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, and what the page shows below it."""

    command: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: its first word, the rest of that line, and what is in it."""

    kind: str
    name: str
    text: str


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for info, inside in _BLOCK.findall(text):
        kind, _, name = info.partition(" ")
        found.append(Block(kind=kind, name=name, text=inside))
    return found


def steps(text: str) -> list[Step]:
    """Return the commands of all `console` blocks of a text."""
    return [step for one in blocks(text) if one.kind == "console" for step in _steps(one.text)]


def _steps(block: str) -> list[Step]:
    found: list[Step] = []
    assert block.startswith("$ "), f"a block begins with a command:\n{block}"
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        more = [line for line in lines[1:] if re.match(r">( |$)", line)]
        more = more if lines[1 : 1 + len(more)] == more else []
        command = "\n".join([lines[0], *(line[2:] for line in more)])
        shown = "\n".join(lines[1 + len(more) :])
        found.append(Step(command=command, shown=shown))
    return found


def matches(shown: str, printed: str) -> bool:
    """Compare, but for what differs each time; blanks at the ends of lines cannot be seen."""
    return _pattern(shown).fullmatch(_trimmed(printed)) is not None


def _pattern(shown: str) -> re.Pattern[str]:
    lines = [_line(line) for line in _trimmed(shown).splitlines()]
    return re.compile("".join(lines))


def _line(line: str) -> str:
    if line == "...":
        return ANY_LINES
    pattern = re.escape(line)
    for word, meant in VARIABLE.items():
        pattern = pattern.replace(re.escape(word), meant)
    return pattern + "\n"


def _trimmed(text: str) -> str:
    kept = "\n".join(line.rstrip() for line in text.splitlines()).rstrip()
    return kept and kept + "\n"


class Reader:
    """Somebody with an empty home and an empty directory."""

    def __init__(self, agent: Agent, where: Path) -> None:
        self._agent = agent
        self._where = where
        self._port = _free_port()
        self._env = {**agent.env, "PATH": os.pathsep.join([BIN, agent.env["PATH"]])}
        self._env.pop("K_SESSION", None)

    def follow(self, text: str) -> None:
        """Do what a page says; fail where something else appears than it shows."""
        listed = blocks(text.replace(PORT, str(self._port)))
        with contextlib.ExitStack() as beside:
            for number, block in enumerate(listed):
                after = listed[number + 1] if number + 1 < len(listed) else None
                keys = after.text if after is not None and after.kind == "keys" else None
                self._do(block, keys, beside)

    def _do(self, block: Block, keys: str | None, beside: contextlib.ExitStack) -> None:
        match block.kind, block.name:
            case "console", "beside":
                for step in _steps(block.text):
                    beside.enter_context(self._beside(step))
            case "console", "":
                *most, last = _steps(block.text)
                for step in most:
                    self.run(step)
                self.run(last) if keys is None else self._sit_down(last, keys)
            case ("keys", "") | ("text", "model"):
                return
            case _, name:
                assert name, f"a block that is neither run nor a file:\n{block.text}"
                path = self._where / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")

    def run(self, step: Step) -> None:
        """Type one command, and compare."""
        printed = self.typed(step.command)
        assert matches(step.shown, printed), f"$ {step.command}\nprinted instead:\n{printed}"

    def typed(self, command: str) -> str:
        """Run a line in a terminal, as a person would; return what appears there."""
        with self._terminal(["timeout", str(_SECONDS), "bash", "-c", command]) as (process, master):
            seen = _read(master)
            process.wait(timeout=_SECONDS)
        return seen.replace("\r\n", "\n")

    @contextlib.contextmanager
    def _terminal(self, argv: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        master, slave = os.openpty()
        try:
            process = subprocess.Popen(
                ["setsid", "--ctty", *argv],
                cwd=self._where,
                env=self._env,
                stdin=slave,
                stdout=slave,
                stderr=slave,
            )
            os.close(slave)
            yield process, master
        finally:
            os.close(master)

    @contextlib.contextmanager
    def _beside(self, step: Step) -> Iterator[None]:
        """Start a command; go on when it has printed what is shown, and end it at the end."""
        with self._terminal(shlex.split(step.command)) as (process, master):
            try:
                seen = ""
                while not matches(step.shown, seen):
                    piece = os.read(master, _CHUNK).decode()
                    seen += piece.replace("\r\n", "\n")
                yield
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=_SECONDS)

    def _sit_down(self, step: Step, keys: str) -> None:
        """Be the person at the keyboard of a command that takes the terminal over."""
        words = shlex.split(step.command)
        assert words[0] == "agent-pty", step.command
        with human(self._agent, *words[1:]) as person:
            person.until(lambda: person.raw or person.process.poll() is not None)
            for line in keys.splitlines():
                person.type(pressed(line))
            assert person.leaves() == 0, person.screen.text()
            assert step.shown in person.screen.text()


def pressed(line: str) -> bytes:
    """Return the bytes of a line of a `keys` block: a text and Enter, or Ctrl and a character."""
    if found := re.fullmatch(r"Ctrl-(.)", line):
        return bytes([ord(found[1].upper()) & 0x1F])
    text, space, enter = line.rpartition(" ")
    assert enter == "Enter", f"text and Enter, or Ctrl-X: {line}"
    assert space, f"text and Enter: {line}"
    return text.encode() + b"\r"


def _read(master: int) -> str:
    seen = b""
    # A terminal whose last user has left answers with an error.
    with contextlib.suppress(OSError):
        while piece := os.read(master, _CHUNK):
            seen += piece
    return seen.decode()


def _free_port() -> int:
    """Return a port that nobody has; tests in other processes look elsewhere."""
    for port in range(_FIRST_PORT + os.getpid() % _PORTS, _FIRST_PORT + 2 * _PORTS):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
