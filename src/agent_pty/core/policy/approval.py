"""Approvals: what one is bound to, and whether it may be spent. Pure: time is an argument.

An approval is for one use of exactly these bytes, in one directory of one session instance, under
the rule and the policy that demanded it. Its token is known to its owner; the record has a digest.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal

from msgspec import Struct

State = Literal["pending", "granted", "denied", "spent"]
# Longer is not taken: what was decided yesterday is not known to be right today.
LONGEST_TTL_MS = 24 * 3600 * 1000
# How long an agent's request waits for an operator.
REQUEST_TTL_MS = 60 * 60 * 1000


class Place(Struct, frozen=True, kw_only=True):
    """A directory by its path and by what the file system calls it; null: not known."""

    path: str | None
    inode: str | None = None


class Bound(Struct, frozen=True, kw_only=True):
    """What an approval is bound to."""

    sha256: str
    rule: str
    policy_hash: str
    place: Place


class Approval(Struct, frozen=True, kw_only=True):
    """One approval, or a request for one; *command* is for people, without its secrets."""

    id: str
    session_id: str
    instance: str
    command: str
    rule: str
    reason: str | None
    span: tuple[int, int] | None
    bound: Bound
    state: State
    gate: Literal["line", "guard", "start"]
    created_at: str
    expires_at: str
    expires_ns: int  # on the clock that only goes forward
    requested_by: dict[str, Any] | None
    approver: dict[str, Any] | None = None
    token_sha256: str | None = None
    used_at: str | None = None

    def expired(self, now_ns: int) -> bool:
        """Whether its time is over."""
        return now_ns >= self.expires_ns


def digest(text: str) -> str:
    """Return what stands for exact bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def refusal(found: Approval, bound: Bound, now_ns: int) -> str | None:
    """Return why an approval does not permit what is *bound*; None: it does."""
    reasons = (
        (found.state == "spent", "it was used already"),
        (found.state != "granted", f"it is {found.state}"),
        (found.expired(now_ns), "its time is over"),
        (found.bound.sha256 != bound.sha256, "it is for another command"),
        (found.bound.rule != bound.rule, f"it is for the rule {found.bound.rule!r}"),
        (found.bound.policy_hash != bound.policy_hash, "the policy has changed since"),
        (found.bound.place != bound.place, f"it is for the directory {found.bound.place.path}"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def has_token(found: Approval, token: str) -> bool:
    """Whether a token belongs to an approval; takes as long for a wrong one."""
    return hmac.compare_digest(digest(token), found.token_sha256 or "")
