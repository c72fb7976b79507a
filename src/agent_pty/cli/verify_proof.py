"""`verify` for the files of a proof: what fits, and what does not."""

from __future__ import annotations

import os
from typing import Any

from agent_pty.core.evidence.statement import BadStatement
from agent_pty.core.safe import one_line
from agent_pty.store.proof_check import ProofCheck, checked_proof, statements
from agent_pty.store.verification import Keys

Result = dict[str, Any]


def proof_results(path: str, keys: Keys) -> list[Result]:
    """Check the proofs that a path is about; nothing if it is about none."""
    return [_result(one, keys) for one in statements(path)]


def _result(statement: str, keys: Keys) -> Result:
    name = os.path.basename(statement).removesuffix(".intoto.jsonl")
    try:
        found = checked_proof(statement, keys)
    except BadStatement as bad:
        return _row(name, statement, None, f"{os.path.basename(statement)}: {bad}")
    damaged = found.about.first_error if found.about.verdict == "failed" else None
    error = found.error
    if error is None and found.about.verdict == "failed":
        error = f"it is the proof of a damaged record: {damaged}"
    return _row(name, statement, found, error)


def _row(name: str, path: str, found: ProofCheck | None, error: str | None) -> Result:
    about = found.about if found is not None else None
    checked = found.parts if found is not None else []
    return {
        "result": "failed" if error is not None or about is None else about.verdict,
        "name": name,
        "path": path,
        "event_count": 0 if about is None else about.event_count,
        "signed_count": 0 if about is None else about.signed_count,
        "head_hash": None if about is None else about.head_hash,
        "first_error": error,
        "torn_bytes": 0,
        "recording_segments": sum(one.name.endswith(".cast") for one in checked),
        "key_id": None if found is None else found.key_id,
        "generated_at": None if about is None else about.generated_at,
        "claims": {} if about is None else about.claims,
        "parts": [{"name": one.name, "state": one.state, "error": one.error} for one in checked],
    }


def proof_text(result: Result) -> str:
    """Describe a proof that fits; others are described as any damaged record is."""
    count, head = result["event_count"], result["head_hash"]
    words = result["result"].replace("_", " ")
    text = f"{result['name']}: {words}: {count} events, head {head}, "
    text += f"signed with key {result['key_id']} on {result['generated_at']}"
    claims = [f"{answer}: {claim}" for claim, answer in result["claims"].items()]
    away = [one["name"] for one in result["parts"] if one["state"] == "not_here"]
    lines = [text, *claims]
    if away:
        lines.append(f"not here, so not compared: {', '.join(away)}")
    return "\n  ".join(map(one_line, lines))


def failure_text(result: Result) -> str:
    """Name everything that does not fit."""
    wrong = [f"{one['name']}: {one['error']}" for one in result["parts"] if one["error"]]
    lines = [f"{result['name']}: failed: {result['first_error']}", *wrong[1:]]
    return "\n  ".join(map(one_line, lines))
