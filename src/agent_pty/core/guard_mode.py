"""Which execs of a session are judged. Pure."""

from __future__ import annotations

from typing import Literal

# `strict`: every exec. `builds`: below the session's own shell, rm inside the workspace or a
# temporary directory needs no approval.
GuardMode = Literal["strict", "builds"]


def stricter(one: GuardMode | None, other: GuardMode | None) -> GuardMode | None:
    """Return the stricter of two: nobody can ask for less than the policy file says.

    >>> stricter("builds", "strict"), stricter(None, "builds"), stricter(None, None)
    ('strict', 'builds', None)
    """
    return "strict" if "strict" in (one, other) else one or other
