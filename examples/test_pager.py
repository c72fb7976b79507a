"""A test of a program with a screen, by the pytest plugin: run it with `pytest test_pager.py`."""

from pathlib import Path

from agent_pty import Client


def test_the_pager_shows_the_end(agent_pty: Client, tmp_path: Path) -> None:
    """`G` goes to the last line; the fixture ends the session and its daemon."""
    long = tmp_path / "long.txt"
    long.write_text("".join(f"line {number}\n" for number in range(1, 101)))
    pager = agent_pty.new(["less", str(long)], rows=10, cols=60)

    # Waits until it is so; a failure shows the screen and how it differs.
    pager.expect_screen("line 9", absent="line 100")
    pager.keys("G")
    pager.expect_screen("line 100")
    pager.keys("q")
    pager.wait("exit")

    # What was done, for a reviewer: a page with a player, signed.
    assert Path(pager.proof().html_path).exists()
