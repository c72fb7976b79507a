"""Row LIF-09: what cannot be understood is one session's trouble."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agent_pty.errors import SessionEnded
from agent_pty.host.events import Numbered
from agent_pty.host.evidence.session_evidence import SessionEvidence
from agent_pty.host.evidence.tree_looks import TreeLooks
from agent_pty.host.gate.policy_in_force import PolicyInForce
from agent_pty.host.gate.session_gate import Rules
from agent_pty.host.session import Session
from agent_pty.host.terminal.device import PtyDevice
from agent_pty.host.terminal.output import Taken, TerminalOutput
from agent_pty.ops.model import Spec, State
from agent_pty.process.tree import Root
from support.spool import new_ring
from support.terminal import recorder


class Poisoned(TerminalOutput):
    """A stream that meets bytes it cannot bear."""

    def take(self, fd: int) -> Taken:
        """Fail in the middle of a batch."""
        super().take(fd)
        raise RuntimeError("poison")


async def unasked(_session: Session, _payload: bytes) -> bytes:
    """Answer requests of the session's own ops, of which there are none."""
    raise AssertionError


def unwatched(_session: Session, _numbered: Numbered) -> None:
    """Take events that nobody watches."""


def spec(name: str) -> Spec:
    """Describe a session that is only a terminal."""
    return Spec(
        instance=name,
        name=name,
        argv=["none"],
        workspace="/",
        env_names=[],
        rows=24,
        cols=80,
        started_at="",
    )


def session(kind: type[TerminalOutput], name: str, directory: Path) -> tuple[Session, int]:
    """Open a session on a real terminal; the program's end of it is ours to write to."""
    directory.mkdir()
    master, slave = os.openpty()
    output = kind.create(str(directory), new_ring(), rows=24, cols=80, keep=1 << 20, nonce="5eed")
    root = Root(pid=os.getpid(), birth=None, instance=name, terminal=None, keeper=None)
    made = Session(
        spec(name),
        device=PtyDevice(master),
        root=root,
        output=output,
        evidence=SessionEvidence(
            recorder=recorder(directory), recording=None, looks=TreeLooks(str(directory))
        ),
        perform=unasked,
        watcher=unwatched,
        rules=Rules(in_force=PolicyInForce(), approvals=f"{directory}/approvals.json"),
    )
    made.start(owed=b"", recovered=False)
    return made, slave


def test_lif_09_a_failing_reader_is_one_sessions_trouble(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    A session whose output cannot be understood is lost with a reason; its neighbour goes on.
    """

    async def story() -> None:
        bad, bad_end = session(Poisoned, "bad", tmp_path / "bad")
        good, good_end = session(TerminalOutput, "good", tmp_path / "good")

        os.write(bad_end, b"boom\n")
        with pytest.raises(SessionEnded, match="poison"):
            await bad.waits.wait(until=["never"], fail_on=[], patience=30, since=None, files=False)
        os.write(good_end, b"still here\n")
        seen = await good.waits.wait(
            until=["still here"], fail_on=[], patience=30, since=None, files=False
        )

        assert seen.matched == "still here"
        assert bad.terminal.state is State.LOST
        assert "poison" in (bad.describe().diagnosis or "")
        assert "boom" in bad.transcript.read(since=None, tail=None, max_bytes=100, grep=None).text
        for one, end in ((bad, bad_end), (good, good_end)):
            one.close()
            os.close(end)

    asyncio.run(story())

    assert "poison" in capfd.readouterr().err
