"""What the present request shows for an approval: set where it enters, read by the gate."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """A one-time token, if the request has one."""

    token: str | None = None


NOTHING = Presented()
presented: ContextVar[Presented] = ContextVar("presented", default=NOTHING)
