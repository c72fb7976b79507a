"""What can be forked."""

from __future__ import annotations

import msgspec
import pytest

from agent_pty.daemon.fork_start import check_argv
from agent_pty.errors import ForkFailed
from agent_pty.ops.tmux_place import TmuxPlace
from support.fake_host import make_spec

PLACE = TmuxPlace(socket="/s", session="mine", pane="%0", tty="/dev/pts/1", pid=1, adopted=True)


def test_a_persons_program_whose_arguments_are_not_known_is_not_forked() -> None:
    """
    A bare name would start something else.
    """
    spec = msgspec.structs.replace(make_spec("work"), tmux=PLACE)

    with pytest.raises(ForkFailed, match="adopted from tmux"):
        check_argv(spec)
    known = msgspec.structs.replace(PLACE, argv_known=True)
    check_argv(msgspec.structs.replace(spec, tmux=known))
