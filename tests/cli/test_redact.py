"""`agent-pty redact`: a filter for files and pipes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.agent import AGENT_PTY

SECRET = "hunter2-FAKE-pw"
SECONDS = 100


def redact(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the filter; there is no daemon, and none is started."""
    env = {**os.environ, "AGENT_PTY_HOME": "/nonexistent"}
    argv = [AGENT_PTY, "redact", *words]
    return subprocess.run(
        argv, input=given, env=env, capture_output=True, timeout=SECONDS, check=False
    )


def test_standard_input_and_files(tmp_path: Path) -> None:
    """
    Text passes, secrets do not; several files are read one after the other.
    """
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_bytes(f"at {path.name} \xff TOKEN={SECRET}\n".encode("latin-1"))

    done = redact(*map(str, paths))

    assert done.returncode == 0
    assert done.stdout == b"at one \xff TOKEN=[REDACTED]\nat two \xff TOKEN=[REDACTED]\n"
    assert redact(given=b"TOKEN=x1").stdout == b"TOKEN=[REDACTED]"


def test_rows_with_borders_of_reads() -> None:
    """
    Each row has one answer; a border inside it neither hides a secret nor is printed.
    """
    rows = [{"text": "AKI\x1eAFAKEFAKEFAKEFAKE\r\n", "kind": "x"}, {"text": "harmless"}]

    done = redact("--jsonl", given="\n".join(map(json.dumps, rows)).encode())

    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"text": "AKIA[REDACTED]\r\n"},
        {"text": "harmless"},
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--count"], b"2 assignment\n"), (["--json"], b'{"assignment": 2}\n')],
)
def test_kinds_are_counted(words: list[str], told: bytes) -> None:
    """
    How many of each kind were found is printed beside the text.
    """
    done = redact(*words, given=f"TOKEN={SECRET}\nSECRET={SECRET}\n".encode())

    assert done.stderr == told
    assert SECRET.encode() not in done.stdout


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (["/nonexistent/file"], b"", b"cannot read /nonexistent/file: No such file"),
        (["--jsonl"], b"nonsense", b"row 1 is no JSON"),
        (["--jsonl"], b'{"text": "a"}\n[1]\n', b'row 2 must be an object like {"text": "..."}'),
    ],
)
def test_what_cannot_be_read_is_named(words: list[str], given: bytes, said: bytes) -> None:
    """
    An error names the file or the row.
    """
    done = redact(*words, given=given)

    assert done.returncode == 2
    assert said in done.stderr
