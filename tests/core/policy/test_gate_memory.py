"""What a gate knows, written down for the process after it."""

from __future__ import annotations

import pytest

from agent_pty.core.policy.gate_memory import GateMemory, decoded, encoded
from agent_pty.core.policy.input_line import InputLine
from agent_pty.core.policy.line_gate import LineGate


def moved(gate: LineGate) -> LineGate:
    """Return the gate of another process that was told what this one knows."""
    known = decoded(encoded(GateMemory(shell=gate.state, program=InputLine())))
    assert known is not None
    other = LineGate()
    other.become(known.shell)
    return other


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rm -r", "f x\r"),
        ("rm -r \\\r", "-f x\r"),
        ("alias q='rm -rf'\r", "q x\r"),
        ("q() { rm -rf x; }\r", "q\r"),
        ("X=rm\r", "$X -rf x\r"),
        ("git config alias.p 'push --force'\r", "git p\r"),
        ("git config remote.origin.mirror true\r", "git push\r"),
        ("hash -p /bin/rm q\r", "q -rf x\r"),
        ("set -- rm -rf\r", "$1 $2 x\r"),
        ("rm -rf x\x15", "\x19\r"),
        ("\x1b[200~rm -r", "f x\x1b[201~\r"),
        ("\t", "x\r"),
        ("if true; then\r", "rm -rf x; fi\r"),
        ("set -o histexpand\r", "!!\r"),
    ],
)
def test_what_one_process_was_told_counts_in_the_next(before: str, after: str) -> None:
    """
    Lines that are not finished, definitions, what was cut out, pastes: all of it.
    """
    gate = LineGate(history_expansion=False)
    assert gate.send(before).action == "allow"

    assert moved(gate).send(after).action == "require_approval"


def test_a_gate_that_has_forgotten_does_not_know_its_line() -> None:
    """
    Until a line is given up or known again.
    """
    gate = LineGate()

    gate.forget()

    assert not gate.certain
    assert gate.judge("f x\r").verdict.action == "require_approval"
    assert gate.judge("\x03ls\r").verdict.action == "allow"


@pytest.mark.parametrize("data", [None, b"", b"\xff", b"\x81\xa5shell\x01"])
def test_what_cannot_be_read_is_not_known(data: bytes | None) -> None:
    """
    Another build may have written it.
    """
    assert decoded(data) is None


def test_what_is_no_text_cannot_be_written_down() -> None:
    """
    Invalid UTF-8 on the line: the next process must not take a part of it for all.
    """
    gate = LineGate()
    gate.send("echo \udcff")

    assert encoded(GateMemory(shell=gate.state, program=InputLine())) == b""
