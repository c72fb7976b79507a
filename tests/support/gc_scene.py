"""The daemon's part that carries out `gc`, on real files and without a daemon."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from agent_pty.core.layout import Layout
from agent_pty.daemon.checkpointing import Checkpointing
from agent_pty.daemon.gc import Collector
from agent_pty.daemon.index import Index
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.ops.gc import Gc, Judged
from agent_pty.ops.model import SessionInfo, State
from agent_pty.store import export
from support.evidence import Evidence
from support.fake_host import FakePool, make_spec

BY = {"transport": "unix", "uid": 1}


class GcScene:
    """A home with past sessions; each `collect` is that of a new daemon."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.layout = Layout(home=str(home), socket=f"{home}/s", log_dir=f"{home}/runs")
        self.evidence = Evidence(home)
        self.registry = Registry(self.layout, cast("Pool", FakePool()))
        self.collector: Collector | None = None

    def past(self, name: str, instance: str, *, ended_at: str | None = None, **more: Any) -> Path:
        """Add a past session; return its journal."""
        path = self.evidence.session(name, instance, **more)
        info = Record(make_spec(name, instance=instance)).info(self.layout, None)
        at = ended_at or "2026-01-01T00:00:00.000Z"
        self._retire(msgspec.structs.replace(info, state=State.EXITED, ended_at=at))
        return path

    def _retire(self, info: SessionInfo) -> None:
        async def retire() -> None:
            Index(self.layout).retire(info)

        asyncio.run(retire())

    def living(self, name: str, instance: str) -> Path:
        """Add a session that runs; return its journal."""
        path = self.evidence.session(name, instance)
        self.find(name, instance)
        return path

    def find(self, name: str, instance: str) -> None:
        """Know of a session that runs."""
        self.registry.add(Record(make_spec(name, instance=instance)))

    @contextlib.contextmanager
    def registry_uses(self, *names: str) -> Iterator[None]:
        """Be about to start sessions of these names."""
        for name in names:
            self.registry.reserve(name)
        yield
        for name in names:
            self.registry.unreserve(name)

    def collect(self, **asked: Any) -> dict[str, Judged]:
        """Carry out one `gc`, all pages of it; return what became of each instance."""
        return asyncio.run(self._collect(Gc(**asked)))

    async def _collect(self, asked: Gc) -> dict[str, Judged]:
        index = Index(self.layout)
        checkpoints = Checkpointing(self.layout, list)
        self.collector = Collector(self.layout, self.registry, index, checkpoints)
        found: dict[str, Judged] = {}
        while True:
            page = await self.collector.collect(asked, BY)
            found |= {one.instance: one for one in page.judged}
            assert page.left == 0 or page.next is not None
            if page.next is None:
                return found
            asked = msgspec.structs.replace(asked, after=page.next)

    def indexed(self) -> list[str]:
        """Return the instances of the past sessions that the index knows."""

        async def ask() -> list[str]:
            return [one.instance for one in await Index(self.layout).past(())]

        return asyncio.run(ask())

    def files(self) -> list[str]:
        """Return the files of the log directory that belong to sessions."""
        logs = Path(self.layout.log_dir)
        names = {path.name for path in logs.iterdir()} - {"recordings"}
        names |= {f"recordings/{path.name}" for path in logs.glob("recordings/*")}
        return sorted(one for one in names if not one.startswith("sessions.json"))

    def exported(self, directory: Path) -> str:
        """Return what a check of an export says."""
        return export.checked(str(directory), self.evidence.keys).verdict.result
