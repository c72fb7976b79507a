"""Whether a terminal's output is stopped, asked of the kernel about a real terminal."""

from __future__ import annotations

import contextlib
import os
import termios
import time

import pytest

from agent_pty.host.terminal import tty
from agent_pty.host.terminal.flow_control import FlowControl
from support.terminal import Program, program

STOP, START = b"\x13", b"\x11"
LONG_AGO = float("-inf")


def type_into(one: Program, flow: FlowControl, data: bytes) -> None:
    """Type as the door does."""
    flow.note_typed(data, tty.flow_keys(one.master))
    os.write(one.master, data)


def paused(one: Program, flow: FlowControl, *, quiet_since: float | None = None) -> bool | None:
    """Ask as the terminal does, of one that was quiet since just now if nothing else is said."""
    since = time.monotonic() if quiet_since is None else quiet_since
    return flow.is_paused(refuses=tty.refuses_output(one.master), quiet_since=since)


@pytest.mark.parametrize("data", [STOP, b"text" + STOP, START + STOP, STOP + b"text"])
def test_trial_15_the_stop_key_stops_at_once(data: bytes) -> None:
    """
    Output is paused from the moment at which the key was typed, and resumed by the other one.
    """
    with program() as one:
        flow = FlowControl(one.output)
        assert paused(one, flow) is False

        type_into(one, flow, data)
        stopped = paused(one, flow)
        type_into(one, flow, START)

        assert stopped is True
        assert paused(one, flow, quiet_since=LONG_AGO) is False


def test_trial_15_keys_that_somebody_chose_are_the_ones_that_count() -> None:
    """
    The terminal says which key stops; another one does nothing.
    """
    with program() as one:
        modes = termios.tcgetattr(one.master)
        modes[6][termios.VSTOP] = b"\x01"
        termios.tcsetattr(one.master, termios.TCSANOW, modes)
        flow = FlowControl(one.output)

        type_into(one, flow, STOP)
        before = paused(one, flow, quiet_since=LONG_AGO)
        one.output.take(one.master)  # its echo
        type_into(one, flow, b"\x01")

        assert before is False
        assert paused(one, flow) is True


def test_trial_15_without_flow_control_no_key_stops() -> None:
    """
    A program that takes every key as it is takes this one too.
    """
    with program() as one:
        one.raw()
        flow = FlowControl(one.output)

        type_into(one, flow, STOP)

        assert tty.flow_keys(one.master) is None
        assert paused(one, flow, quiet_since=LONG_AGO) is False


def test_trial_15_a_terminal_that_is_full_is_not_stopped() -> None:
    """
    What the program wrote and nobody has read yet is no pause, whatever was typed.
    """
    with program() as one:
        flow = FlowControl(one.output)
        flow.note_typed(STOP, tty.flow_keys(one.master))  # noted, but the terminal never gets it
        with contextlib.suppress(BlockingIOError):
            while True:
                one.writes(b"x" * 4096)

        assert paused(one, flow, quiet_since=LONG_AGO) is False


def test_trial_15_without_the_key_only_silence_counts() -> None:
    """
    A stop of unknown origin is believed when nothing has come for a while.
    """
    with program() as one:
        os.write(one.master, STOP)  # not by the door
        flow = FlowControl(one.output)

        assert paused(one, flow) is False
        assert paused(one, flow, quiet_since=LONG_AGO) is True


def test_trial_15_a_stop_that_was_undone_otherwise_is_forgotten() -> None:
    """
    Once more was written than can have been on its way, the key no longer says anything.
    """
    with program() as one:
        flow = FlowControl(one.output)
        flow.note_typed(STOP, tty.flow_keys(one.master))
        one.says("x" * 200_000)
        os.write(one.master, STOP)

        assert paused(one, flow) is False


def test_trial_15_a_terminal_that_is_gone_is_not_known_to_be_paused() -> None:
    """
    Where nobody can be asked, nothing is claimed.
    """
    read, write = os.pipe()

    assert tty.refuses_output(read) is None
    assert tty.flow_keys(read) is None
    os.close(read)
    os.close(write)
