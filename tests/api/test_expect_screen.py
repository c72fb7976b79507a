"""Assertions about the screen of a real program."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from agent_pty import AsyncClient, Client
from agent_pty.api.expectation import ScreenMismatch


def test_a_screen_that_comes_later_is_waited_for(client: Client, tmp_path: Path) -> None:
    """
    Also on the alternate screen, and also that something disappears from it.
    """
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    code = (
        f"printf '\\033[?1049hLoad''ing'; read x < {gate}; printf '\\033[2J\\033[HRea''dy'; cat; "
        "printf '\\033[?1049l'"
    )
    with client.new("bash --norc", id="later") as shell:
        shell.send(code)
        shell.expect_screen("Loading", absent="Ready")
        threading.Thread(target=gate.write_text, args=("go\n",)).start()

        screen = shell.expect_screen("Ready", absent="Loading", timeout=60)

        assert screen.alternate_screen
        assert shell.expect_screen(equals="Ready").hash == screen.hash


def test_a_wrong_screen_is_shown(client: Client) -> None:
    """
    After the time limit, with what is missing and the screen itself.
    """
    with client.new("bash --norc", id="wrong", env={"PS1": "> "}) as shell:
        shell.run("echo hallo")
        with pytest.raises(ScreenMismatch) as mismatch:
            shell.expect_screen("hello", timeout=0)

    message = str(mismatch.value)
    assert message.startswith("the screen of 'wrong' is not as expected (within 0 s)\n")
    assert "\n- hello\n" in message
    assert f"\n|{'> echo hallo':<80}|\n" in message


def test_a_program_that_has_ended_is_not_waited_for(client: Client) -> None:
    """
    Its screen stays as it is: the time limit does not matter.
    """
    with client.new("bash --norc", id="ended") as shell:
        shell.send("exit")
        with pytest.raises(AssertionError, match="the program has ended"):
            shell.expect_screen("never", timeout=3600)


def test_a_screen_is_expected_in_an_event_loop(client: Client) -> None:
    """
    The same, awaited.
    """

    async def story() -> str:
        async with (
            AsyncClient(socket=client.socket) as found,
            await found.new("bash --norc", id="loop", env={"PS1": "> "}) as shell,
        ):
            await shell.ready()  # what is typed before is echoed twice
            await shell.send("echo hal''lo")
            await shell.expect_screen("hallo", equals="> echo hal''lo\nhallo\n>", timeout=60)
            with pytest.raises(ScreenMismatch) as late:
                await shell.expect_screen("hello", timeout=0)
            await shell.send("exit")
            with pytest.raises(ScreenMismatch, match="the program has ended"):
                await shell.expect_screen("hello", timeout=3600)
            return str(late.value)

    assert "- hello\n" in asyncio.run(story())
