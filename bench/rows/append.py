"""What one more event costs a journal: a young one and one with 200,000 events, in turns."""

from __future__ import annotations

from agent_pty.core.evidence.event import SendKeys
from agent_pty.store.journal import Journal
from bench.clock import timed
from bench.ground import Ground
from bench.place import Place
from bench.series import Result, Series

_YOUNG = 100
_TEXT = "make test ARGS='-k journal'\r"
_EVENT = SendKeys(bytes=list(_TEXT.encode()), input="text", entered=True)
_PRINCIPAL = {"kind": "local", "uid": 1000, "pid": 4242}


def run(ground: Ground) -> list[Result]:
    """Append to both; a young journal that has twice its events is replaced by a new one."""
    old_age = ground.pick(200_000, 20_000)
    old = _journal(ground.place, old_age)
    first: list[float] = []
    later: list[float] = []
    for _ in range(ground.pick(40, 5)):
        young = _journal(ground.place, _YOUNG)
        for _ in range(_YOUNG):
            first.append(_append(young))
            later.append(_append(old))
        young.close()
    old.close()
    return [
        Result(
            row=f"append at event {old_age:,}",
            unit="s",
            ours=Series(name="ours", values=later),
            peers=[Series(name=f"at event {_YOUNG}", values=first)],
        )
    ]


def _journal(place: Place, events: int) -> Journal:
    journal = Journal(place.folder(), name=place.name(), instance="bench")
    while journal.sequence < events:
        journal.append(_EVENT, _PRINCIPAL)
    return journal


def _append(journal: Journal) -> float:
    return timed(lambda: journal.append(_EVENT, _PRINCIPAL))
