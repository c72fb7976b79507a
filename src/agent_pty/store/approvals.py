"""The approvals of one session, in a file of their own: requests, grants, and what was spent.

Each change is on the disk before it counts, so a token cannot be spent twice by a crash.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from agent_pty import log
from agent_pty.core.policy.approval import Approval, Bound, digest, has_token, refusal
from agent_pty.errors import BadRequest, Busy
from agent_pty.store import atomic

VERSION = 1
_MOST_PENDING = 100
# What has been decided is kept for those who ask, but not all of it for ever.
_MOST_KEPT = 500
# Wrong tokens within a minute, after which none is looked at for the rest of it.
_MOST_WRONG = 10
_MINUTE = 60.0


class _File(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    approvals: list[Approval]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to do: *command* for people, *bound* exactly.

    *session_id* names the session it is about, if these are not the approvals of that session.
    """

    command: str
    reason: str | None
    span: tuple[int, int] | None
    bound: Bound
    gate: Literal["line", "guard", "start"] = "line"
    session_id: str | None = None


class Approvals:
    """Requests and grants for one session."""

    def __init__(
        self,
        path: str,
        *,
        session_id: Callable[[], str],
        instance: str,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._path = path
        self._session_id = session_id
        self._instance = instance
        self._clock = clock
        self._wrong: list[int] = []
        self._known: dict[str, Approval] = {one.id: one for one in self._load()}

    def _load(self) -> list[Approval]:
        try:
            with open(self._path, "rb") as file:
                found = msgspec.json.decode(file.read(), type=_File)
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            log.line(f"approvals of {self._instance} cannot be read, so none counts: {error}")
            return []
        return found.approvals if found.version == VERSION else []

    # -- what is there

    def pending(self) -> list[Approval]:
        """Return the requests that nobody has decided and whose time is not over."""
        now = self._clock()
        return [
            one for one in self._known.values() if one.state == "pending" and not one.expired(now)
        ]

    def find(self, approval_id: str) -> Approval:
        """Return an approval by its id."""
        if approval_id not in self._known:
            raise BadRequest(
                f"no request {approval_id!r}: `agent-pty approvals` lists them", request=approval_id
            )
        return self._known[approval_id]

    # -- what changes

    def request(self, subject: Subject, by: Mapping[str, Any] | None, *, ttl_ms: int) -> Approval:
        """Ask for an approval; the same request is not made twice while it is pending."""
        for one in self.pending():
            if (one.bound, one.gate) == (subject.bound, subject.gate) and one.gate != "guard":
                return one
        if len(self.pending()) >= _MOST_PENDING:
            raise Busy(
                f"{_MOST_PENDING} requests for approval are pending in this session: decide some "
                "(agent-pty approvals)"
            )
        made = self._made(subject, ttl_ms, by, state="pending")
        self._save(made)
        return made

    def grant_new(
        self, subject: Subject, by: Mapping[str, Any] | None, *, ttl_ms: int
    ) -> tuple[Approval, str]:
        """Approve something before it is asked for; return the approval and its token."""
        token = _token()
        made = self._made(subject, ttl_ms, None, state="granted", token=token, approver=by)
        self._save(made)
        return made, token

    def grant(self, approval_id: str, by: Mapping[str, Any] | None) -> tuple[Approval, str]:
        """Approve what somebody asked for; return the approval and its token."""
        found, token = self._undecided(approval_id), _token()
        granted = msgspec.structs.replace(
            found, state="granted", approver=_plain(by), token_sha256=digest(token)
        )
        self._save(granted)
        return granted, token

    def deny(self, approval_id: str, by: Mapping[str, Any] | None) -> Approval:
        """Say no to what somebody asked for."""
        found = self._undecided(approval_id)
        denied = msgspec.structs.replace(found, state="denied", approver=_plain(by))
        self._save(denied)
        return denied

    def spend(self, bound: Bound, *, token: str | None) -> tuple[Approval | None, str]:
        """Use an approval for what is *bound*: that of a token, or one that was asked for.

        Return it, or None and why there is none.
        """
        now = self._clock()
        if token is None:
            fit = [
                one
                for one in self._known.values()
                if one.requested_by is not None and refusal(one, bound, now) is None
            ]
            reason = "" if fit else "no approval was given"
        else:
            fit, reason = self._by_token(token, bound, now)
        if not fit:
            return None, reason
        spent = msgspec.structs.replace(fit[0], state="spent", used_at=_now())
        self._save(spent)
        return spent, ""

    def _by_token(self, token: str, bound: Bound, now: int) -> tuple[list[Approval], str]:
        self._wrong = [at for at in self._wrong if now - at < _MINUTE * 1e9]
        if len(self._wrong) >= _MOST_WRONG:
            return [], f"{_MOST_WRONG} wrong tokens within a minute: wait a minute"
        found = [one for one in self._known.values() if has_token(one, token)]
        reason = refusal(found[0], bound, now) if found else "no approval has this token"
        if reason is None:
            return found, ""
        self._wrong.append(now)
        return [], reason

    def _undecided(self, approval_id: str) -> Approval:
        found = self.find(approval_id)
        if found.state != "pending":
            raise BadRequest(f"request {approval_id} is {found.state} already", state=found.state)
        if found.expired(self._clock()):
            raise BadRequest(f"the time of request {approval_id} is over: it must be asked again")
        return found

    def _made(
        self,
        subject: Subject,
        ttl_ms: int,
        requested_by: Mapping[str, Any] | None,
        *,
        state: Literal["pending", "granted"],
        token: str | None = None,
        approver: Mapping[str, Any] | None = None,
    ) -> Approval:
        now = dt.datetime.now(dt.UTC)
        return Approval(
            id=f"{self._instance[:8]}-{secrets.token_hex(4)}",
            session_id=subject.session_id or self._session_id(),
            instance=self._instance,
            command=subject.command,
            rule=subject.bound.rule,
            reason=subject.reason,
            span=subject.span,
            bound=subject.bound,
            state=state,
            gate=subject.gate,
            created_at=_now(now),
            expires_at=_now(now + dt.timedelta(milliseconds=ttl_ms)),
            expires_ns=self._clock() + ttl_ms * 1_000_000,
            requested_by=_plain(requested_by),
            approver=_plain(approver),
            token_sha256=None if token is None else digest(token),
        )

    def _save(self, changed: Approval) -> None:
        """Write everything with the change; what cannot be written has not happened."""
        now = self._clock()
        known = {**self._known, changed.id: changed}
        decided = [one.id for one in known.values() if one.state != "pending" or one.expired(now)]
        for old in decided[: max(0, len(known) - _MOST_KEPT)]:
            del known[old]
        file = _File(version=VERSION, approvals=list(known.values()))
        atomic.replace(self._path, msgspec.json.encode(file))
        self._known = known


def _plain(by: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if by is None else dict(by)


def _token() -> str:
    """Return a token that no command line takes for an option."""
    return secrets.token_hex(24)


def _now(moment: dt.datetime | None = None) -> str:
    found = moment or dt.datetime.now(dt.UTC)
    return found.isoformat(timespec="microseconds").replace("+00:00", "Z")
