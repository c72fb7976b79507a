"""The checks of the daemon, and of sessions and processes that wait for one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_pty import __version__
from agent_pty.cli.command import Invocation
from agent_pty.cli.doctor.checks import Check, Trouble, examine, listening, reason
from agent_pty.cli.lifecycle import status_of
from agent_pty.client.connection import connect
from agent_pty.core.layout import Layout
from agent_pty.core.status import status_object
from agent_pty.errors import AgentPtyError
from agent_pty.store.lock import held

if TYPE_CHECKING:
    from agent_pty.cli.doctor.leftovers import Leftovers, Orphan

# Longer than a daemon needs to notice that a host does not answer.
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What runs for a home; *orphans* are processes that neither daemon nor keeper knows."""

    status: dict[str, Any]
    log_dir: str | None
    checks: list[Check]
    orphans: list[Orphan]


def look(call: Invocation) -> Running:
    """Ask the daemon, then compare its answer with the process table."""
    where = _layout(call)
    status, instances = _ask(call)
    orphans: list[Orphan] = []
    checks = [
        examine("daemon", lambda call: _daemon(call.layout, status), call),
        examine("evidence", lambda _call: _evidence(status), call),
        examine("traces", lambda _call: _traces(status), call),
        examine("leftovers", lambda call: _left(call.layout, status, instances, orphans), call),
    ]
    return Running(
        status=status, log_dir=where.log_dir if where else None, checks=checks, orphans=orphans
    )


def _layout(call: Invocation) -> Layout | None:
    """Return where the files of this home are; None if that is an error."""
    try:
        return call.layout
    except (AgentPtyError, OSError):
        return None


# -- the daemon


def _ask(call: Invocation) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the daemon's status and the instances of its sessions."""
    try:
        where = call.layout
        # The list first: the daemon notices that a host does not answer only when it asks it.
        instances = _instances(where)
        return status_of(where), instances
    except AgentPtyError as error:
        return _no_status(call, reason(error)), frozenset()


def _instances(where: Layout) -> frozenset[str]:
    try:
        with connect(where, start=False, patience=_PATIENCE) as connection:
            return frozenset(one["instance"] for one in connection.ask("list"))
    except AgentPtyError:
        return frozenset()  # the status says why


def _no_status(call: Invocation, error: str) -> dict[str, Any]:
    where = _layout(call)
    return status_object(where.socket if where else None, error=error)


def _daemon(where: Layout, status: dict[str, Any]) -> str:
    if status["running"]:
        return _running(where, status)
    if held(where.daemon_lock):
        raise Trouble(_locked(where, status["error"]))
    if listening(where.socket):
        raise Trouble(
            f"what listens at {where.socket} is no daemon of ours ({status['error']}): "
            "choose another with --socket"
        )
    return "not running: any command starts one"


def _running(where: Layout, status: dict[str, Any]) -> str:
    if status.get("keeper_error"):
        raise Trouble(
            f"{status['keeper_error']}; sessions go on, `new` fails; the daemon tries again "
            "every few seconds: remove the cause"
        )
    silent = [host for host in status.get("hosts", ()) if not host["responsive"]]
    if silent:
        names = " and ".join(f"{host['name']} ({host['sessions']} sessions)" for host in silent)
        pids = " ".join(str(host["pid"]) for host in silent)
        # Not `restart --keep`: the new daemon would wait for the same host.
        raise Trouble(f"no answer from host {names}: `kill -9 {pids}`, a new host takes over")
    version = status.get("version")
    if version != __version__:
        raise Trouble(f"version {version}, this is {__version__}: run `agent-pty restart --keep`")
    detail = f"running, pid {status['pid']}, {status['session_count']} session(s)"
    return detail if _is_of(where, status) else f"{detail}, of the home {status.get('home')}"


def _evidence(status: dict[str, Any]) -> str:
    facts = status.get("evidence") or {}
    if facts.get("unavailable"):
        which = "; ".join(f"{name}: {why}" for name, why in facts["unavailable"].items())
        raise Trouble(
            f"nothing can be recorded, so input is refused ({which}): make room in the log "
            "directory or make it writable; nothing must be started again"
        )
    if facts.get("not_signed"):
        which = "; ".join(f"{name}: {why}" for name, why in facts["not_signed"].items())
        raise Trouble(f"recorded, but not signed ({which}): `agent-pty verify --all` says more")
    lag = facts.get("sync_lag_ms")
    return "recorded" if lag is None else f"recorded, on the disk after {lag} ms"


def _traces(status: dict[str, Any]) -> str:
    if not status["running"]:
        return "written by the daemon"
    if status.get("traces_problem"):
        raise Trouble(f"{status['traces_problem']}: remove the cause; requests are answered anyway")
    otlp = status.get("otlp") or {}
    if otlp.get("problem"):
        raise Trouble(
            f"not exported to {otlp['endpoint']}: {otlp['problem']}: correct [traces] in "
            "config.toml and run `agent-pty restart --keep`, or start the collector"
        )
    if status["trace_path"] is None:
        return "not written by a daemon of that build"
    missing = status["traces_missing"]
    return str(status["trace_path"]) + (f", {missing} missing" if missing else "")


def _is_of(where: Layout, status: dict[str, Any]) -> bool:
    """Whether the daemon that answered is that of this home; the path may have links in it."""
    return os.path.realpath(status.get("home") or "") == os.path.realpath(where.home)


def _locked(where: Layout, error: str) -> str:
    from agent_pty.cli.doctor.leftovers import holder  # noqa: PLC0415  `leftovers` reports a broken psutil

    pid = holder(where.daemon_lock)
    who, remedy = (f" (pid {pid})", f"`kill -9 {pid}`") if pid else ("", "end it")
    return (
        f"a daemon{who} holds {where.home} but cannot be asked: {error}: {remedy}, "
        "no session is lost, any command starts another daemon"
    )


# -- what is left


def _left(
    where: Layout, status: dict[str, Any], instances: frozenset[str], orphans: list[Orphan]
) -> str:
    from agent_pty.cli.doctor import leftovers  # noqa: PLC0415  a broken psutil must fail this check alone

    ours = status["running"] and _is_of(where, status)
    left = leftovers.survey(where, status=status if ours else None, instances=instances)
    orphans += left.orphans
    if left.orphans:
        pids = " ".join(str(one.pid) for one in left.orphans)
        raise Trouble(
            f"{len(left.orphans)} process(es) belong to no session: "
            f"`agent-pty doctor --orphans` lists them, `kill {pids}` ends them"
        )
    return "none" if left.nothing_waits else _waiting(left) + _remedy(where, status)


def _waiting(left: Leftovers) -> str:
    if left.sessions == 0:
        return f"{left.own_processes} process(es) of ours wait for a daemon"
    many = "1 session waits" if left.sessions == 1 else f"{left.sessions} sessions wait"
    return f"{many} for a daemon"


def _remedy(where: Layout, status: dict[str, Any]) -> str:
    locked = not status["running"] and held(where.daemon_lock)
    return " that can be asked" if locked else ": any command starts one"
