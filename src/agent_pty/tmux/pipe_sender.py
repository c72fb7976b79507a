"""Run by tmux as the program behind `pipe-pane`: sends us its end of the pipe, and ends.

A program of its own, run as `python -I -S pipe_sender.py SOCKET`, with the standard library alone.
"""

from __future__ import annotations

import array
import socket
import sys


def main(path: str) -> None:
    """Send standard input, which tmux has connected with the pane in both directions."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(path)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))
        sock.sendmsg([b"\n"], [rights])


if __name__ == "__main__":
    main(sys.argv[1])
