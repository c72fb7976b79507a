"""How much is found in labelled rows, and how much is changed that is harmless."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent_pty.core.redaction.redactor import Redactor

ROWS = Path(__file__).parents[2] / "corpora" / "redaction.jsonl"
BORDER = "\x1e"
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\u200b-\u200f]")
LEAST_FOUND = 0.97
MOST_CHANGED = 0.02


def rows(*, secret: bool) -> list[dict[str, Any]]:
    """Return the rows with a secret, or those without."""
    read = (json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines())
    return [row for row in read if row["should_redact"] is secret]


def redacted(text: str) -> str:
    """Redact a text that comes in pieces."""
    redactor = Redactor()
    pieces = [redactor.feed(one.encode()) for one in text.split(BORDER)]
    return b"".join([*pieces, redactor.close()]).decode()


def test_red_01_secrets_are_found(record_property: Any) -> None:
    """
    Of the labelled secrets nearly all are gone, also after escapes and line ends are removed.
    """
    missed = []
    for row in rows(secret=True):
        left = redacted(row["text"])
        forms = (left, ESCAPES.sub("", left), left.replace("\r\n", "").replace("\n", ""))
        if any(row["secret"] in form for form in forms):
            missed.append(row)

    recall = 1 - len(missed) / len(rows(secret=True))
    record_property("recall", recall)
    print(f"recall {recall:.1%} of {len(rows(secret=True))} secrets")  # noqa: T201
    assert recall >= LEAST_FOUND, missed


def test_harmless_text_stays(record_property: Any) -> None:
    """
    Of the labelled harmless lines nearly none is changed.
    """
    changed = [row for row in rows(secret=False) if redacted(row["text"]) != row["text"]]

    rate = len(changed) / len(rows(secret=False))
    record_property("changed", rate)
    print(f"changed {rate:.1%} of {len(rows(secret=False))} harmless lines")  # noqa: T201
    assert rate <= MOST_CHANGED, changed
