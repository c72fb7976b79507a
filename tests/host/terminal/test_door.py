"""There is one door to a terminal, and everything that is typed passes it."""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.chord import chord
from agent_pty.errors import Busy, SessionEnded
from agent_pty.host import events
from agent_pty.host.cells.line_check import LineQuestion
from agent_pty.host.evidence.session_evidence import SessionEvidence
from agent_pty.host.evidence.tree_looks import TreeLooks
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.gate.session_gate import Rules
from agent_pty.host.principal import SYSTEM, Principal
from agent_pty.host.session import Session
from agent_pty.host.terminal.device import PtyDevice
from agent_pty.host.terminal.input_kind import InputKind
from agent_pty.host.terminal.terminal import Terminal
from agent_pty.host.terminal.writer import Writer
from agent_pty.ops.model import Ending, Spec
from agent_pty.process.tree import Root
from support.terminal import Program, program

HOST = Path(__file__).parents[3] / "src" / "agent_pty" / "host"
# What can put bytes into a descriptor.
WRITES = frozenset({"os.write", "os.writev", "os.pwrite", "os.sendfile", "os.splice"})
# `os.write` in these files: the writer itself, and the pipe of a user's hook.
ALLOWED = {"terminal/writer.py", "cells/hook.py"}
PERSON = Principal(kind="human", transport="unix")


# -- by reading the sources


def os_writes(root: Path) -> Iterator[str]:
    """Find every call that writes to a descriptor."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if ast.unparse(node) in WRITES:
                yield path.relative_to(root).as_posix()


def uses(root: Path, name: str) -> set[str]:
    """Find the files that import or call something named *name*."""
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.alias) and node.name == name)
    }


def test_nothing_else_in_a_host_writes_to_a_descriptor() -> None:
    """
    Only the writer has `os.write`, and only the terminal has a writer.
    """
    assert set(os_writes(HOST)) == ALLOWED
    assert uses(HOST, "Writer") == {"terminal/terminal.py"}


def test_the_master_leaves_the_terminal_only_for_the_keeper() -> None:
    """
    Whoever asks a terminal for its descriptor could write to it; the host gives it to the keeper.
    """
    asked = {
        path.relative_to(HOST).as_posix()
        for path in HOST.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr in {"master", "_master"}
    }

    assert asked == {"custody.py"}


def test_a_second_way_in_is_found(tmp_path: Path) -> None:
    """
    A file that writes by itself does not go unnoticed.
    """
    (tmp_path / "sneaky.py").write_text("import os\nos.write(3, b'x')\n")

    assert list(os_writes(tmp_path)) == ["sneaky.py"]


# -- by a run in which every kind is seen


class Seen(Terminal):
    """A terminal that notes what passes its door."""

    passed: list[tuple[InputKind, str, bytes]]

    async def write(self, data: bytes, **given: Any) -> int:
        """Note, then write."""
        kind, by = given["kind"], given["by"]
        assert isinstance(kind, InputKind)
        assert isinstance(by, Principal)
        self.passed.append((kind, by.kind, data))
        return await super().write(data, **given)


def session_on(one: Program, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Open a whole session on the terminal of the test."""

    async def unasked(_session: Session, _payload: bytes) -> bytes:
        raise AssertionError

    monkeypatch.setattr("agent_pty.host.session.Terminal", Seen)
    monkeypatch.setattr(Seen, "passed", [], raising=False)
    spec = Spec(
        instance="i",
        name="door",
        argv=["test"],
        workspace="/",
        env_names=[],
        rows=24,
        cols=80,
        started_at="",
    )
    root = Root(pid=os.getpid(), birth=None, instance="i", terminal=None, keeper=None)
    session = Session(
        spec,
        device=PtyDevice(os.dup(one.master)),
        root=root,
        output=one.output,
        evidence=SessionEvidence(
            recorder=one.recorder, recording=None, looks=TreeLooks(one.output.directory)
        ),
        perform=unasked,
        watcher=lambda _session, _numbered: None,
        rules=Rules(in_force=PolicyInForce(), approvals=f"{one.output.directory}/approvals.json"),
    )
    session.start(owed=b"", recovered=False)
    return session


def test_every_kind_of_input_is_seen_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever a person, an agent or we ourselves type passes with its kind and who sent it.
    """

    async def story(one: Program) -> None:
        one.raw()
        session = session_on(one, monkeypatch)
        given = session.input
        one.writes(b"\x1b[?1000h\x1b[6n")
        assert b"\x1b[1;1R" in await one.read_until(b"R")

        await given.type("text", enter=True)
        await given.paste("paste", enter=False)
        await given.keys([chord("up")], pause=0)
        await given.click(row=0, col=0, button="left", count=1, mods=frozenset())
        await given.enter_secret(b"secret", by=PERSON)
        await given.press(b"attached", kind=InputKind.ATTACH, by=PERSON)
        await given.press(b"code\r", kind=InputKind.CELL)
        await given.press(b"\r", kind=InputKind.NUDGE, by=SYSTEM)
        await given.keys([chord("q")], pause=0, kind=InputKind.QUIT, by=SYSTEM)
        assert await LineQuestion(session.terminal).ask() is None
        await session.cells.interrupt()
        await one.read_until(b"q\x1e\x03")

        seen = {(kind, by) for kind, by, _ in Seen.passed}
        assert {kind for kind, _ in seen} == set(InputKind)
        assert (InputKind.ATTACH, "human") in seen
        assert (InputKind.REPLY, "system") in seen
        assert (InputKind.TEXT, "agent") in seen
        os.close(session.terminal.master)

    with program() as one:
        asyncio.run(story(one))


# -- what the door does


def test_the_intent_is_published_before_the_bytes_and_the_outcome_after() -> None:
    """
    Whoever listens knows of an input before the program can have acted on it.
    """

    async def story(one: Program) -> None:
        one.raw()
        order: list[tuple[str, bytes]] = []

        class Order:
            """Notes what the program had read at each event."""

            def notice(self, event: events.Event | events.Signal) -> None:
                """Note it."""
                order.append((type(event).__name__, one.reads()))

        one.log.add(Order())
        terminal = one.terminal

        await terminal.write(b"ls\r", kind=InputKind.TEXT, by=PERSON, typed=["ls"], entered=True)

        assert order == [("Input", b""), ("Typed", b"ls\r"), ("Outcome", b"")]
        told, _, outcome = one.heard.events
        assert told == events.Input(cursor=0, by=PERSON, kind="text", bytes=3, entered=True)
        assert outcome == events.Outcome(cursor=0, by=PERSON, input=1, result="delivered")

    with program() as one:
        asyncio.run(story(one))


def test_an_input_that_did_not_get_through_has_that_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A program that does not read takes a part; the caller and the listeners learn it.
    """
    monkeypatch.setattr(Writer, "finish", partialmethod(Writer.finish, patience=0.05))

    async def story(one: Program) -> None:
        one.raw()

        with pytest.raises(Busy):
            await one.terminal.write(b"x" * 1_000_000, kind=InputKind.PASTE, by=PERSON)

        outcome = one.heard.events[-1]
        assert isinstance(outcome, events.Outcome)
        assert outcome.result == "failed"
        assert outcome.error is not None
        assert "bytes were typed" in outcome.error

    with program() as one:
        asyncio.run(story(one))


def test_nothing_is_typed_into_a_program_that_has_ended() -> None:
    """
    The refusal names how it ended; no intent is published.
    """

    async def story(one: Program) -> None:
        one.terminal.end(Ending(code=3))
        one.heard.events.clear()

        with pytest.raises(SessionEnded, match="exit code 3"):
            await one.terminal.write(b"x", kind=InputKind.KEYS, by=PERSON)

        assert one.heard.events == []

    with program() as one:
        asyncio.run(story(one))
