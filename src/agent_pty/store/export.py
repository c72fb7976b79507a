"""A copy of a session's record that can be checked anywhere: `DIR/<instance>/`.

It has the files of the instance, the signed checkpoints about it, the public keys, and a manifest
with the digests of all of them. A directory of that name is complete: it is made under another
name, written to the disk and only then given its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from agent_pty.store import atomic
from agent_pty.store.instance_files import InstanceFiles
from agent_pty.store.verification import Keys, Pause, Signed, Verified, go_on, read_signed, verified

FORMAT = 1
_MANIFEST = "manifest.json"
_CHECKPOINTS = "checkpoints.jsonl"
_KEYS = "keys"
_CHUNK = 1 << 20


class BadExport(Exception):
    """A directory is no export, or not what was exported."""


class ExportedFile(Struct, frozen=True, kw_only=True):
    """One file; *name* is its path in the directory."""

    name: str
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What the directory has."""

    format: int = FORMAT
    name: str
    instance: str
    journal: str
    event_count: int
    head_hash: str | None
    verdict: str
    exported_at: str
    by: dict[str, Any]
    files: list[ExportedFile]


def write(
    directory: str,
    files: InstanceFiles,
    signed: Signed,
    keys: Keys,
    about: Manifest,
    *,
    pause: Pause = go_on,
) -> str:
    """Export an instance into *directory*; return where it is, which must still be checked.

    *about* is the manifest without its files. What is there already is left as it is.
    """
    final = f"{directory}/{about.instance}"
    if os.path.lexists(final):
        return final
    partial = f"{directory}/.{about.instance}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    _make(f"{partial}/{_KEYS}")
    try:
        written = [_copied(path, partial, pause) for path in files.paths]
        lines = b"".join(line + b"\n" for line in signed.lines_of(about.instance))
        written.append(_written(partial, _CHECKPOINTS, lines))
        for name in sorted({one.key for one in signed.of(about.instance)} & keys.keys()):
            text = keys[name].hex().encode() + b"\n"
            written.append(_written(partial, f"{_KEYS}/{name}.pub", text))
        manifest = msgspec.structs.replace(about, files=written)
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        atomic.replace(f"{partial}/{_MANIFEST}", data + b"\n")
        atomic.sync_directory(f"{partial}/{_KEYS}")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    os.rename(partial, final)
    atomic.sync_directory(directory)
    return final


def checked(directory: str, keys: Keys, *, pause: Pause = go_on) -> Verified:
    """Check an export: every digest, and the journal by the checkpoints beside it."""
    manifest = read_manifest(directory)
    for one in manifest.files:
        _check_digest(directory, one, pause)
    names = {one.name for one in manifest.files}
    if not {manifest.journal, _CHECKPOINTS} <= names:
        raise BadExport(f"{_MANIFEST}: it names no journal and no checkpoints")
    signed = read_signed(f"{directory}/{_CHECKPOINTS}", keys, excerpt=True, pause=pause)
    journal = f"{directory}/{manifest.journal}"
    return verified(journal, signed, recording=directory, pause=pause)


def read_manifest(directory: str) -> Manifest:
    """Return what a directory says that it has."""
    try:
        with open(f"{directory}/{_MANIFEST}", "rb") as file:
            manifest = msgspec.json.decode(file.read(), type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadExport(f"{directory} is no export of `gc`: {error}") from error
    if manifest.format > FORMAT:
        raise BadExport(f"{_MANIFEST}: format {manifest.format}, this program knows up to {FORMAT}")
    return manifest


def _check_digest(directory: str, one: ExportedFile, pause: Pause) -> None:
    if one.name.startswith("/") or ".." in one.name.split("/"):
        raise BadExport(f"{_MANIFEST}: it names {one.name!r}, which is not in the directory")
    digest, size = hashlib.sha256(), 0
    try:
        with open(f"{directory}/{one.name}", "rb") as file:
            for piece in _pieces(file.fileno(), pause):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise BadExport(f"{one.name}: {error.strerror}") from error
    if (size, digest.hexdigest()) != (one.bytes, one.sha256):
        raise BadExport(f"{one.name}: it is not what was exported")


def _make(path: str) -> None:
    """Make a directory and its missing parents, private and to stay."""
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        _make(parent)
        os.mkdir(path, mode=0o700)
        atomic.sync_directory(parent)


def _copied(path: str, directory: str, pause: Pause) -> ExportedFile:
    name = os.path.basename(path)
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return _write(directory, name, _pieces(source, pause))
    finally:
        os.close(source)


def _written(directory: str, name: str, data: bytes) -> ExportedFile:
    return _write(directory, name, [data])


def _write(directory: str, name: str, pieces: Iterable[bytes]) -> ExportedFile:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(f"{directory}/{name}", flags, 0o600)
    digest, size = hashlib.sha256(), 0
    with contextlib.closing(os.fdopen(fd, "wb", buffering=0)):
        for piece in pieces:
            atomic.write_all(fd, piece)
            digest.update(piece)
            size += len(piece)
        os.fsync(fd)
    return ExportedFile(name=name, bytes=size, sha256=digest.hexdigest())


def _pieces(fd: int, pause: Pause) -> Iterable[bytes]:
    while piece := os.read(fd, _CHUNK):
        pause()
        yield piece
