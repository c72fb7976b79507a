"""The window of a person who attaches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Its *size* in rows and columns, if the session must have it; and what is shown in it.

    With *alternate* the session is shown on the window's alternate screen: programs in it do not
    switch that. *notice* is a line to show first.
    """

    size: tuple[int, int] | None = None
    alternate: bool = False
    notice: str | None = None
