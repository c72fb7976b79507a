"""The mark behind everything that a program has written."""

from __future__ import annotations

import os
import tty

from agent_pty.tmux.fence import Fence


def test_the_mark_is_found_however_it_is_cut() -> None:
    """
    It may come in any pieces, and what looks like it is not it.
    """
    for cut in range(40):
        master, slave = os.openpty()
        tty.setraw(slave)
        fence, other = Fence(), Fence()
        assert other.write(slave)
        assert fence.write(slave)
        data = b""
        while data.count(b"\x1b\\") < 2:  # the kernel may give it in pieces
            data += os.read(master, 4096)

        fence.feed(data[: len(data) // 2])
        assert not fence.seen
        rest = data[len(data) // 2 :]
        fence.feed(rest[:cut])
        fence.feed(rest[cut:])

        assert fence.seen
        os.close(master)
        os.close(slave)


def test_a_terminal_that_takes_nothing_is_tried_again_later() -> None:
    """
    A full terminal, or one that is gone, is no error.
    """
    read, write = os.pipe()
    os.close(read)

    assert not Fence().write(write)

    os.close(write)
