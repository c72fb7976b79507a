"""Who takes part: every peer, how it is installed, how it is started."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bench import install
from bench.contestant import Contestant
from bench.ground import FAILURES, say
from bench.peers import (
    agent_tty,
    libtmux,
    libtmux_mcp,
    mcp_sdk,
    pexpect,
    ptyprocess,
    python,
    terminal_mcp,
    tmux,
)
from bench.place import Place

Enter = Callable[[Place], AbstractContextManager[Contestant]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A peer before it is started."""

    enter: Enter
    packages: Sequence[str] = ()
    # Beside the common environment, for who needs other versions of the same things.
    environment: str = ""
    needs_tmux: bool = False


ENTRIES = {
    "python": Entry(enter=python.enter),
    "tmux": Entry(enter=tmux.enter, needs_tmux=True),
    "agent-tty": Entry(enter=agent_tty.enter, packages=["agent-tty==0.1.0"], needs_tmux=True),
    "libtmux": Entry(enter=libtmux.enter, packages=["libtmux"], needs_tmux=True),
    "pexpect": Entry(enter=pexpect.enter, packages=["pexpect"]),
    "ptyprocess": Entry(enter=ptyprocess.enter, packages=["ptyprocess"]),
    mcp_sdk.NAME: Entry(enter=mcp_sdk.enter),
    "terminal-mcp": Entry(
        enter=terminal_mcp.enter,
        packages=["terminal-mcp"],
        environment=terminal_mcp.ENVIRONMENT,
    ),
    # All of its versions are pre-releases. With its dependencies it takes a minute to install.
    "libtmux-mcp": Entry(
        enter=libtmux_mcp.enter,
        packages=["libtmux-mcp"],
        environment=libtmux_mcp.ENVIRONMENT,
        needs_tmux=True,
    ),
}
# They start in seconds.
_SLOW = ("terminal-mcp", "libtmux-mcp")
ABSENT = {
    "tuistory": "from npm; not tried, its dependencies look native",
    "tui-use": "not found by this name in PyPI or npm",
    "interminai": "not found by this name in PyPI",
}


def default(*, quick: bool) -> list[str]:
    """Return who takes part unless told; slow starters only in a full run."""
    return [name for name in ENTRIES if not (quick and name in _SLOW)]


def enter(names: Sequence[str], place: Place, stack: contextlib.ExitStack) -> list[Contestant]:
    """Install and start the peers; who cannot take part is named with the reason."""
    return [one for name in names if (one := _one(name, place, stack)) is not None]


def _one(name: str, place: Place, stack: contextlib.ExitStack) -> Contestant | None:
    entry = ENTRIES[name]
    try:
        _provide(entry)
        return stack.enter_context(entry.enter(place))
    except (install.Missing, *FAILURES) as error:
        say(f"without {name}: {error}")
        return None


def _provide(entry: Entry) -> None:
    if entry.needs_tmux and shutil.which("tmux") is None:
        raise install.Missing("there is no tmux")
    if entry.packages:
        install.install(*entry.packages, into=entry.environment)
