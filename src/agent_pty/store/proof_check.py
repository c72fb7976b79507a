"""Whether the files of a proof are what was signed; works on any machine that has the public key.

JSON, Markdown and HTML stand beside the statement. The journal and the recording are compared if
they are there, too: beside it, or in the directory above, as in a log directory.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent_pty.core.evidence.statement import (
    BadStatement,
    Predicate,
    Subject,
    checked_statement,
)
from agent_pty.core.evidence.verdict import judged
from agent_pty.store import journal_reader, recording
from agent_pty.store.journal_files import ENDING, instance_of
from agent_pty.store.proof_files import PARTS, STATEMENT
from agent_pty.store.signing_key import is_signed
from agent_pty.store.verification import Keys

_CHUNK = 1 << 20
_CAST = ".cast"

State = Literal["fits", "differs", "missing", "not_here"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCheck:
    """What was found of one part; *error* names what does not fit."""

    name: str
    state: State
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCheck:
    """What was found of a proof; *about* is what the statement says of the session."""

    about: Predicate
    key_id: str
    parts: list[PartCheck]

    @property
    def error(self) -> str | None:
        """The first thing that does not fit."""
        return next((f"{one.name}: {one.error}" for one in self.parts if one.error), None)


def statements(path: str) -> list[str]:
    """Return the statements that a path is about: of one file of a proof, or of a directory."""
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.endswith(STATEMENT))
        return [os.path.join(path, name) for name in names]
    for ending in (STATEMENT, *PARTS):
        if path.endswith(ending):
            return [path.removesuffix(ending) + STATEMENT]
    return []


def checked_proof(statement_path: str, keys: Keys) -> ProofCheck:
    """Check the statement and every part; raise `BadStatement` if nothing can be said of them."""
    try:
        with open(statement_path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise BadStatement(f"there is no signed statement: {error.strerror}") from error
    known = dict(keys)
    statement, key = checked_statement(data, lambda *what: is_signed(known, *what))
    directory, about = os.path.dirname(statement_path) or ".", statement.predicate
    parts = [_checked(one, directory, about) for one in statement.subject]
    parts += _strangers(statement_path, {one.name for one in statement.subject})
    return ProofCheck(about=about, key_id=key, parts=parts)


def _strangers(statement_path: str, signed: set[str]) -> list[PartCheck]:
    """Return the files that a statement seems to be about by its name, and of which it is not."""
    stem = statement_path.removesuffix(STATEMENT)
    there = [stem + ending for ending in PARTS if os.path.exists(stem + ending)]
    names = [os.path.basename(path) for path in there]
    error = f"it was not signed: the statement is about {', '.join(sorted(signed))}"
    return [
        PartCheck(name=name, state="differs", error=error) for name in names if name not in signed
    ]


def _checked(part: Subject, directory: str, about: Predicate) -> PartCheck:
    name = part.name
    if name.startswith("/") or ".." in name.split("/"):
        return PartCheck(name=name, state="differs", error="it is not in the directory")
    if name.endswith(_CAST):
        return _recording(part, directory, about)
    if name.endswith(ENDING):
        return _journal(part, directory, about)
    return _file(part, directory)


def _places(directory: str) -> Iterator[str]:
    yield directory
    yield os.path.join(directory, "..")


def _file(part: Subject, directory: str) -> PartCheck:
    path = os.path.join(directory, part.name)
    try:
        digest = _digest(path, None)
    except OSError as error:
        return PartCheck(name=part.name, state="missing", error=str(error.strerror))
    if digest != part.digest.get("sha256"):
        return PartCheck(name=part.name, state="differs", error="it is not what was signed")
    return PartCheck(name=part.name, state="fits")


def _journal(part: Subject, directory: str, about: Predicate) -> PartCheck:
    stem = part.name.removesuffix(ENDING)
    names = (part.name, f"{stem}.{about.instance}{ENDING}")
    paths = [os.path.join(place, name) for place in _places(directory) for name in names]
    there = [one for one in paths if os.path.isfile(one)]
    mine = [one for one in there if not _is_of_another(one, about.instance)]
    if not mine:
        return PartCheck(name=part.name, state="not_here")
    size = int(part.annotations.get("bytes", 0))
    if _digest(mine[0], size) == part.digest.get("sha256"):
        return PartCheck(name=part.name, state="fits")
    found = judged(journal_reader.prefix_lines(mine[0], size), []).error
    error = found or f"its first {size} bytes are not those that were signed"
    return PartCheck(name=part.name, state="differs", error=error)


def _is_of_another(path: str, instance: str) -> bool:
    """Whether a newer session has the name by now; one whose first line is damaged may be ours."""
    if instance_of(path) in (instance, None):
        return False
    return judged(itertools.islice(journal_reader.lines(path), 1), []).error is None


def _recording(part: Subject, directory: str, about: Predicate) -> PartCheck:
    number = int(part.annotations.get("segment", 0))
    for place in _places(directory):
        for kept in (recording.directory_of(place, about.instance), place):
            for one in recording.segments(kept):
                if one.number == number:
                    error = _segment_error(part, kept, one)
                    state: State = "fits" if error is None else "differs"
                    return PartCheck(name=part.name, state=state, error=error)
    return PartCheck(name=part.name, state="not_here")


def _segment_error(part: Subject, kept: str, there: recording.Segment) -> str | None:
    """Compare the text of a segment; and its file, if that was compressed when it was signed."""
    mark = {
        "type": "recording",
        "segment": there.number,
        "bytes": int(part.annotations.get("bytes", 0)),
        "sha256": part.digest.get("sha256"),
        "sealed": False,
    }
    error = recording.problem(kept, [mark])
    file = part.annotations.get("compressed_sha256")
    if (
        error is None
        and file is not None
        and recording.compressed_digest(there) not in (None, file)
    ):
        return f"recording: segment {there.number}: its compressed file is not what was signed"
    return error


def _digest(path: str, most_bytes: int | None) -> str:
    """Return the digest of a file, or of its beginning."""
    digest, left = hashlib.sha256(), most_bytes
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK if left is None else min(_CHUNK, left)):
            digest.update(piece)
            left = None if left is None else left - len(piece)
    return digest.hexdigest()
