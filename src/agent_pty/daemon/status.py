"""What `status` tells of the daemon and its hosts."""

from __future__ import annotations

import os
from collections.abc import Mapping
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


def paused(registry: Registry) -> list[str]:
    """Return the sessions whose output is paused."""
    return sorted(one.name for one in registry.records if registry.info(one).output_paused)


def evidence_facts(pool: Pool, registry: Registry, not_signed: Mapping[str, str]) -> dict[str, Any]:
    """Return how far the disk is behind, and of which sessions nothing can be recorded, and why.

    Those that are *not_recorded* have a journal, but what their terminals show is in no recording;
    those that are *not_signed* have one, but no checkpoint covers its end.
    """
    lags = [link.sync_lag_ms for link in pool.links if link.sync_lag_ms is not None]
    problems = {one.name: one.evidence_problem for one in registry.records if one.evidence_problem}
    unseen = {one.name: one.recording_problem for one in registry.records if one.recording_problem}
    return {
        "sync_lag_ms": max(lags, default=None),
        "unavailable": problems,
        "not_recorded": unseen,
        "not_signed": dict(not_signed),
    }
