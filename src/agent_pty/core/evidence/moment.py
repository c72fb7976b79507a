"""A moment of a session's past, as people and agents write it. Pure: the present is given."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from agent_pty.core.duration import long_seconds
from agent_pty.errors import BadRequest

_EVENT = re.compile(r"#?([0-9]{1,12})", re.ASCII)
_AGO = re.compile(r"-?\s*([0-9]+\s*(?:ms|s|m|h|d))(?:\s+ago)?", re.ASCII)
_FORMS = "an event's number (12), a time (2026-11-17T10:00:00Z) or how long ago (30s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Either the moment of an event, by its number, or a time in seconds since the epoch."""

    event: int | None = None
    time: float | None = None


def parsed(text: str, *, now: float) -> Moment:
    """Read a moment.

    >>> parsed("12", now=0.0).event, parsed("30s", now=100.0).time
    (12, 70.0)
    >>> parsed("1970-01-01 00:01:00 UTC", now=0.0).time
    60.0
    """
    text = text.strip()
    if number := _EVENT.fullmatch(text):
        return Moment(event=int(number[1]))
    if ago := _AGO.fullmatch(text):
        return Moment(time=now - long_seconds(ago[1].replace(" ", ""), what="moment"))
    try:
        # As `replay` prints it, and as files have it.
        found = dt.datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        raise BadRequest(f"invalid moment {text!r}: write {_FORMS}", field="at") from None
    return Moment(time=(found if found.tzinfo else found.replace(tzinfo=dt.UTC)).timestamp())
