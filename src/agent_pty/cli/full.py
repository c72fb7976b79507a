"""The full client of `k` and `km`, and how any command line is sent to the daemon.

It starts a daemon if none runs, then talks to it with the script's own functions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

from agent_pty import __version__, script
from agent_pty.client.connection import connect
from agent_pty.client.directory import here
from agent_pty.core.layout import Layout
from agent_pty.errors import AgentPtyError, DaemonUnreachable
from agent_pty.store import home, log_dir

_INTERRUPTED = 130
_FULL_CLIENT = "full"  # as in `ops.words`, whose import would cost every start of `k` 60 ms
_HELP: Sequence[Sequence[str]] = ([], ["-h"], ["--help"])
_VERSION = ["--version"]


def functions() -> Any:
    """Load the script as a module; its name has no extension, so the loader must be given."""
    loader = SourceFileLoader("agent_pty.cli.script", script.PATH)
    spec = spec_from_loader("agent_pty.cli.script", loader)
    assert spec is not None  # noqa: S101  for the type checker
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def local(program: str, words: Sequence[str]) -> str | None:
    """Return the help or version text, which needs no daemon; None for any other command line."""
    if words == _VERSION:
        return f"{program} {__version__} (agent-pty)\n"
    if words not in _HELP:
        return None
    from agent_pty.words.help import K_HELP, KM_HELP  # noqa: PLC0415  most calls show no help

    return KM_HELP if program == "km" else K_HELP


def send(where: Layout, program: str, words: Sequence[str]) -> int:
    """Start a daemon if there is none, have it carry out a command line, return its status."""
    wire = functions()
    home.prepare(where)
    log_dir.check(where)
    connect(where).close()
    path = os.fsencode(where.socket)
    connected = wire.dial(path)
    if connected is None:
        raise DaemonUnreachable(f"the daemon went away: see {where.log}")
    status: int = wire.converse(path, connected, program, list(words), build=_FULL_CLIENT)
    return status


def main(program: str, words: Sequence[str]) -> int:
    """Run `k` or `km` and return the exit status."""
    try:
        text = local(program, words)
        if text is None:
            return send(log_dir.locate(os.environ, cwd=here()), program, words)
        functions().write(1, memoryview(text.encode()))
    except (AgentPtyError, OSError) as error:
        functions().complain(program, str(error))
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0
