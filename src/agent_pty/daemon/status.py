"""What `status` tells of the daemon and its hosts."""

from __future__ import annotations

import os
from typing import Any

from agent_pty import __version__, build
from agent_pty.core.layout import Layout
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.registry import Registry
from agent_pty.ops.op import PROTOCOL


def identity(layout: Layout) -> dict[str, Any]:
    """Return which daemon this is, and where its files are."""
    return {
        "pid": os.getpid(),
        "version": __version__,
        "build": build.digest(),
        "protocol": PROTOCOL,
        "socket": layout.socket,
        "home": layout.home,
        "log_dir": layout.log_dir,
    }


def host_facts(pool: Pool, registry: Registry) -> list[dict[str, Any]]:
    """Return each host, whether it answers, and how many sessions it has."""
    return [
        {
            "name": link.name,
            "pid": link.pid,
            "responsive": link.responsive,
            "sessions": registry.load(link.name),
            "build": link.build,
        }
        for link in pool.links
    ]
