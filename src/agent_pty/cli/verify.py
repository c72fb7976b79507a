"""`verify`: whether the record of a session is whole; works without a daemon."""

from __future__ import annotations

import os
from typing import Any

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.core.evidence.checkpoint import BadCheckpoint, Checkpoint, checked
from agent_pty.core.evidence.verdict import Verdict, judged
from agent_pty.errors import UnknownSession, Usage
from agent_pty.store import checkpoints, journal_files, journal_reader
from agent_pty.store.signing_key import is_signed, key_id, public_keys

_STATUS = {"failed": 1, "verified_to_checkpoint": 3, "verified": 0}
_WORST_FIRST = tuple(_STATUS)


def verify(call: Invocation) -> int:
    """Check one journal, or all of this home."""
    signed: list[Checkpoint] = []
    broken: str | None = None
    try:
        signed = _checkpoints(call)
    except BadCheckpoint as bad:
        broken = f"checkpoint {bad.number}: {bad.reason}"
    results = [_checked(path, name, signed, broken) for path, name in _journals(call, signed)]
    text = "\n".join(_text(one) for one in results) or "there are no journals"
    call.show(results if call.options.all else results[0], text)
    found = {one["result"] for one in results}
    return next((_STATUS[one] for one in _WORST_FIRST if one in found), 0)


def _checkpoints(call: Invocation) -> list[Checkpoint]:
    layout = call.layout
    keys = public_keys(layout.keys)
    if call.options.key:
        try:
            with open(call.options.key, encoding="ascii") as file:
                public = bytes.fromhex(file.read().strip())
        except (OSError, ValueError) as error:
            raise Usage(f"{call.options.key} is no public key: {error}") from error
        keys = {key_id(public): public}
    path = call.options.checkpoints or layout.checkpoints

    def known(name: str, signature: bytes, data: bytes) -> bool | None:
        return is_signed(keys, name, signature, data)

    return list(checked(checkpoints.lines(path), known))


def _journals(call: Invocation, signed: list[Checkpoint]) -> list[tuple[str | None, str]]:
    """Return the files to check, and what they are called; a file that is gone is None."""
    directory, given = call.layout.log_dir, call.options.what
    if call.options.all:
        names = {one.instance: one.name for one in signed}
        found = {instance: journal_files.find_anywhere(directory, instance) for instance in names}
        others = [path for path in journal_files.all_of(directory) if path not in found.values()]
        return [
            *((found[instance], f"{name} ({instance})") for instance, name in names.items()),
            *((path, path) for path in others),
        ]
    if given is None:
        raise Usage("give a session, a file, or --all")
    if "/" in given or given.endswith(".jsonl"):
        if not os.path.isfile(given):
            raise Usage(f"{given} is no file")
        return [(given, given)]
    path = journal_files.find(directory, given, call.options.instance)
    if path is None:
        raise UnknownSession(given)
    return [(path, given)]


def _checked(
    path: str | None, name: str, signed: list[Checkpoint], broken: str | None
) -> dict[str, Any]:
    if path is None:
        error = "its journal is gone"
        verdict = Verdict(result="failed", count=0, head=None, signed=0, error=error)
        return _result(None, name, verdict, 0)
    instance = journal_files.instance_of(path)
    mine = [one for one in signed if one.instance == instance]
    verdict = judged(journal_reader.lines(path), mine)
    if broken is not None and verdict.error is None:
        verdict = Verdict(
            result="failed", count=verdict.count, head=verdict.head, signed=0, error=broken
        )
    return _result(path, name, verdict, journal_reader.torn_tail(path))


def _result(path: str | None, name: str, verdict: Verdict, torn: int) -> dict[str, Any]:
    return {
        "result": verdict.result,
        "name": name,
        "path": path,
        "event_count": verdict.count,
        "signed_count": verdict.signed,
        "head_hash": verdict.head,
        "first_error": verdict.error,
        "torn_bytes": torn,
    }


def _text(result: dict[str, Any]) -> str:
    name, count = result["name"], result["event_count"]
    if result["result"] == "failed":
        return f"{name}: failed: {result['first_error']} ({count} events before it are good)"
    if result["result"] == "verified":
        text = f"{name}: verified: {count} events, head {result['head_hash']}"
    else:
        text = f"{name}: verified to checkpoint: {result['signed_count']} of {count} events are "
        text += "signed; the chain of the others is whole"
    if result["torn_bytes"]:
        text += f"; {result['torn_bytes']} bytes of an unfinished event follow"
    return text


COMMANDS = (
    client_command(
        "verify",
        "Check the record of a session: every event, that none is missing, and the signatures.\n\n"
        "Exit status 0: verified; 3: verified to a checkpoint, what follows is not signed yet; "
        "1: failed, with the first bad event. Needs no daemon.",
        Command(
            parts=(
                part("what", nargs="?", metavar="NAME|FILE", help="a session, or a journal"),
                part("all", "--all", action="store_true", help="every journal that was signed"),
                part("instance", "--instance", metavar="ID", help="an earlier one of that name"),
                part("key", "--key", metavar="FILE", help="the only public key to trust"),
                part("checkpoints", "--checkpoints", metavar="FILE", help="default: those here"),
            ),
            examples=(
                "agent-pty verify work",
                "agent-pty verify --all --json",
                "agent-pty verify work.jsonl --checkpoints checkpoints.jsonl --key agent-pty.pub",
            ),
        ),
    ),
)
