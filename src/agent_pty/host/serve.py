"""A host's process: warm from the keeper, on a socket that is bound already."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import socket
from typing import Any

from agent_pty import log
from agent_pty.core.layout import Layout
from agent_pty.core.redaction.redactor import redacted
from agent_pty.host.connection import HostProtocol
from agent_pty.host.host import Host
from agent_pty.keeper.accept import Acceptor
from agent_pty.keeper.signals import pass_over_foreign


def main(arguments: dict[str, Any]) -> None:
    """Run a host until it is told to leave."""
    # Not in the keeper: its programs have the umask of whoever started it.
    os.umask(0o077)
    log.clean_by(redacted)
    _disregard_signals()
    faulthandler.enable()  # where native code crashed is then in the log
    listener = socket.socket(fileno=arguments["listener"])
    asyncio.run(serve(Layout(**arguments["layout"]), arguments["name"], listener))


async def serve(layout: Layout, name: str, listener: socket.socket) -> None:
    """Serve one host in the running loop, here or inside the daemon."""
    host = Host(layout, name)
    acceptor = Acceptor(listener, lambda: HostProtocol(host), process=f"host {name}")
    acceptor.start()
    await host.connect()
    await host.leaving.wait()
    acceptor.close()
    host.close()


def _disregard_signals() -> None:
    """Ignore Ctrl-C and the signals that are not for us: a host is nobody's foreground program."""
    pass_over_foreign()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
