"""`k` in full, for when no daemon runs: starts one, and then is the same wire.

The script beside this file (`k`) hands over to it; what both do is in the script alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

from agent_pty import __version__
from agent_pty.client.connection import connect
from agent_pty.core.layout import layout
from agent_pty.errors import AgentPtyError, DaemonUnreachable
from agent_pty.store import home

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "k")
_INTERRUPTED = 130
_HELP: Sequence[Sequence[str]] = ([], ["-h"], ["--help"])
_VERSION = ["--version"]


def script() -> Any:
    """Load the script's functions; it has no ending, so the import system needs to be told."""
    spec = spec_from_loader("agent_pty.cli.k", SourceFileLoader("agent_pty.cli.k", SCRIPT))
    assert spec is not None  # noqa: S101  for the type checker
    assert spec.loader is not None  # noqa: S101  same
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def local(program: str, words: Sequence[str]) -> str | None:
    """Return what is said without a daemon: nobody should start one to read the help."""
    if words == _VERSION:
        return f"{program} {__version__} (agent-pty)\n"
    if words not in _HELP:
        return None
    from agent_pty.words.help import K_HELP, KM_HELP  # noqa: PLC0415  most calls show no help

    return KM_HELP if program == "km" else K_HELP


def call(k: Any, program: str, words: list[str]) -> int:
    """Start a daemon if there is none, say the words to it and return the exit status."""
    where = layout(os.environ, cwd=os.fsdecode(k.here()))
    home.prepare(where)
    connect(where).close()
    wire = k.dial(os.fsencode(where.socket))
    if wire is None:
        raise DaemonUnreachable(f"the daemon went away: see {where.log}")
    status: int = k.talk(wire, k.request(program, words), monitor=program == "km")
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run `PROGRAM WORD...` and return the exit status."""
    program, *words = sys.argv[1:] if argv is None else argv
    k = script()
    try:
        said = local(program, words)
        if said is None:
            return call(k, program, words)
        k.write(1, memoryview(said.encode()))
    except (AgentPtyError, OSError) as error:
        k.complain(str(error))
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
