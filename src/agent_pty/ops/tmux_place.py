"""Where a session is in tmux."""

from __future__ import annotations

from msgspec import Struct


class TmuxPlace(Struct, frozen=True, kw_only=True):
    """The server's *socket*, the session in it, and the pane.

    *pid* is that of the program in it. *own*: the server is one of ours. *adopted*: a person has
    made the pane; then *argv_known* says whether the arguments of its program could be read.
    """

    socket: str
    session: str
    pane: str
    tty: str
    pid: int
    own: bool = True
    adopted: bool = False
    argv_known: bool = False
