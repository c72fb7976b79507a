"""`verify`: whether the record of a session is whole; works without a daemon."""

from __future__ import annotations

import os
import sys
from typing import Any

from msgspec import UNSET

from agent_pty.cli.command import Invocation, client_command
from agent_pty.cli.verify_proof import failure_text, proof_results, proof_text
from agent_pty.core.command import Command, part
from agent_pty.core.evidence.checkpoint import Checkpoint
from agent_pty.core.evidence.verdict import Verdict
from agent_pty.errors import UnknownSession, Usage
from agent_pty.store import export, journal_files
from agent_pty.store.signing_key import key_id, public_keys
from agent_pty.store.verification import (
    Keys,
    Signed,
    Verified,
    read_signed,
    recording_beside,
    verified,
)

_STATUS = {"failed": 1, "verified_to_checkpoint": 3, "verified": 0, "removed": 0}
_WORST_FIRST = tuple(_STATUS)

Result = dict[str, Any]


def verify(call: Invocation) -> int:
    """Check one journal, an export, or all journals of this home."""
    given, keys = call.options.what, _keys(call)
    if proofs := _proofs(given, keys):
        results = proofs
    elif given is not None and "/" in given and os.path.isdir(given):
        results = [_exported(given, keys)]
    else:
        signed = read_signed(call.options.checkpoints or call.layout.checkpoints, keys)
        results = _all(call, signed) if call.options.all else [_one(call, signed)]
        for key in signed.lost_keys:
            sys.stderr.write(
                f"verify: the signing key {key} was lost and replaced: only the chain of "
                "checkpoints says that what it signed and what follows have one owner\n"
            )
    text = "\n".join(_text(one) for one in results) or "there are no journals"
    several = call.options.all or len(results) > 1
    call.show(results if several else results[0], text)
    found = {one["result"] for one in results}
    return next((_STATUS[one] for one in _WORST_FIRST if one in found), 0)


def _proofs(given: str | None, keys: Keys) -> list[Result]:
    """Check proofs, if that is what was given: a file of one, or a directory with some."""
    if given is None or os.path.exists(f"{given}/manifest.json"):
        return []
    is_path = "/" in given or not os.path.isdir(given)
    return proof_results(given, keys) if is_path else []


def _keys(call: Invocation) -> Keys:
    if not call.options.key:
        return public_keys(call.layout.keys)
    try:
        with open(call.options.key, encoding="ascii") as file:
            public = bytes.fromhex(file.read().strip())
    except (OSError, ValueError) as error:
        raise Usage(f"{call.options.key} is no public key: {error}") from error
    return {key_id(public): public}


def _all(call: Invocation, signed: Signed) -> list[Result]:
    """Check every journal that was signed, then those that are there besides."""
    found = journal_files.by_instance(call.layout.log_dir)
    results: list[Result] = []
    if signed.broken is not None:  # perhaps no journal is left that could tell
        results.append(_result(signed.path, "checkpoints", _failed(signed.broken)))
    for instance in signed.by_instance:
        name = f"{signed.name_of(instance)} ({instance})"
        paths = found.get(instance, [None])
        results.append(_checked(call, paths[0], name, signed, instance))
    for instance, paths in found.items():
        others = paths[1:] if instance in signed.by_instance else paths
        results += [_checked(call, path, str(path), signed, instance) for path in others]
    return results


def _one(call: Invocation, signed: Signed) -> Result:
    directory, given = call.layout.log_dir, call.options.what
    if given is None:
        raise Usage("give a session, a file, or --all")
    if "/" in given or given.endswith(".jsonl"):
        if not os.path.isfile(given):
            raise Usage(f"{given} is no file")
        return _checked(call, given, given, signed, "")
    named = call.options.instance is not None
    path = journal_files.find(directory, given, call.options.instance)
    if path is not None:
        problem = journal_files.misplaced(path, given, signed.names) if not named else None
        if problem is not None:
            return _result(path, given, _failed(f"{path}: {problem}"))
        return _checked(call, path, given, signed, "")
    for instance in reversed(list(signed.by_instance)):
        if signed.name_of(instance) == given and call.options.instance in (None, instance):
            return _checked(call, None, f"{given} ({instance})", signed, instance)
    raise UnknownSession(given, call.options.instance)


def _checked(
    call: Invocation, path: str | None, name: str, signed: Signed, instance: str
) -> Result:
    if path is not None:
        recording = recording_beside(path, call.layout.log_dir, instance or None)
        return _result(path, name, verified(path, signed, recording=recording))
    removal = signed.removal_of(instance)
    if removal is not None:
        return _removed(name, removal)
    return _result(None, name, _failed("its journal is gone"))


def _exported(directory: str, keys: Keys) -> Result:
    """Check a directory that `gc --export` wrote."""
    try:
        found = export.checked(directory, keys)
    except export.BadExport as bad:
        return _result(directory, directory, _failed(str(bad)))
    return _result(directory, directory, found)


def _failed(error: str) -> Verified:
    verdict = Verdict(result="failed", count=0, head=None, signed=0, error=error)
    return Verified(verdict=verdict, torn=0)


def _result(path: str | None, name: str, found: Verified) -> Result:
    verdict = found.verdict
    return {
        "result": verdict.result,
        "name": name,
        "path": path,
        "event_count": verdict.count,
        "signed_count": verdict.signed,
        "head_hash": verdict.head,
        "first_error": verdict.error,
        "torn_bytes": found.torn,
        "recording_segments": found.segments,
    }


def _removed(name: str, removal: Checkpoint) -> Result:
    assert removal.removed is not UNSET  # noqa: S101  for the type checker
    return {
        "result": "removed",
        "name": name,
        "path": None,
        "event_count": removal.count,
        "signed_count": removal.count,
        "head_hash": removal.head or None,
        "first_error": None,
        "torn_bytes": 0,
        "removed_at": removal.time,
        "verdict_then": removal.removed.verdict,
        "forced": removal.removed.forced,
        "exported_to": removal.removed.exported_to,
    }


def _text(result: Result) -> str:
    if "parts" in result:
        return failure_text(result) if result["result"] == "failed" else proof_text(result)
    name, count = result["name"], result["event_count"]
    if result["result"] == "failed":
        return f"{name}: failed: {result['first_error']} ({count} events before it are good)"
    if result["result"] == "removed":
        return _removed_text(result)
    if result["result"] == "verified":
        text = f"{name}: verified: {count} events, head {result['head_hash']}"
    else:
        text = f"{name}: verified to checkpoint: {result['signed_count']} of {count} events are "
        text += "signed; the chain of the others is whole"
    if result["torn_bytes"]:
        text += f"; {result['torn_bytes']} bytes of an unfinished event follow"
    return text


def _removed_text(result: Result) -> str:
    text = f"{result['name']}: removed by gc on {result['removed_at']}: "
    text += f"{result['event_count']} events, then {result['verdict_then'].replace('_', ' ')}"
    if result["exported_to"] is not None:
        text += f", exported to {result['exported_to']}"
    return f"{text}, forced" if result["forced"] else text


COMMANDS = (
    client_command(
        "verify",
        "Check the record of a session: every event, that none is missing, and the signatures.\n\n"
        "Of a proof (FILE.proof.json, or a directory of proofs) every part is compared with the "
        "signed statement beside it; that needs only the public key. Exit status 0: verified, or "
        "removed by `gc`; 3: verified to a checkpoint, what follows is not signed yet; 1: failed, "
        "with the first thing that does not fit. Needs no daemon.",
        Command(
            parts=(
                part(
                    "what",
                    nargs="?",
                    metavar="NAME|FILE|DIR",
                    help="a session, a journal, a proof, or what `gc --export` wrote",
                ),
                part("all", "--all", action="store_true", help="every journal that was signed"),
                part("instance", "--instance", metavar="ID", help="an earlier one of that name"),
                part("key", "--key", metavar="FILE", help="the only public key to trust"),
                part("checkpoints", "--checkpoints", metavar="FILE", help="default: those here"),
            ),
            examples=(
                "agent-pty verify work",
                "agent-pty verify --all --json",
                "agent-pty verify work.proof.json --key agent-pty.pub",
                "agent-pty verify work.jsonl --checkpoints checkpoints.jsonl --key agent-pty.pub",
            ),
        ),
    ),
)
