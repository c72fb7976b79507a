"""The key that signs checkpoints: a file of this user's alone, outside the log directory.

`keys/signing.pem` is the private key, `keys/ID.pub` are the public ones, also of keys that were
replaced: what they signed can still be checked. `keys/ID.named-by` is the word of the key before.
The library takes 8 MB, and 2 more with what it has for files of keys, so it is imported when the
first signature is needed, and a key's file is read and written here.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from typing import Any

from agent_pty import log
from agent_pty.errors import BadConfig
from agent_pty.store import atomic
from agent_pty.store.home import make_private

_ID_DIGITS = 16
# What an old key signs of its successor, and where.
_NAMING = b"agent-pty: this key follows\n"
_NAMED_BY = ".named-by"


class SigningKey:
    """The present key of a home."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._key: Any = None
        self._id = ""
        self._file: tuple[int, int] | None = None

    @property
    def id(self) -> str:
        """The name of the key: a part of its own hash."""
        self._load()
        return self._id

    def sign(self, data: bytes) -> bytes:
        """Return a signature of 64 bytes."""
        self._load()
        signature: bytes = self._key.sign(data)
        return signature

    def rotate(self) -> tuple[str, str]:
        """Make another key, which the old one names; its public half stays. Return both names."""
        with self._alone():
            self._read()
            old, sign = self._id, self._key.sign
            key = _new_key()
            public: bytes = key.public_key().public_bytes_raw()
            named = f"{old} {sign(_NAMING + public).hex()}\n"
            # First, so that a crash leaves the old key and not one that nobody has named.
            atomic.replace(f"{self._directory}/{key_id(public)}{_NAMED_BY}", named.encode())
            atomic.replace(self._private, _pem(key.private_bytes_raw()))
            self._read()
        return old, self._id

    def predecessors(self) -> Iterator[str]:
        """Yield the key that has named the present one its successor, the one before that, ..."""
        keys, own, seen = public_keys(self._directory), self.id, set[str]()
        while own not in seen:
            seen.add(own)
            before = self._named_by(own, keys)
            if before is None:
                return
            yield before
            own = before

    def _named_by(self, own: str, keys: dict[str, bytes]) -> str | None:
        """Return the key that has named another one; None: there is none."""
        try:
            with open(f"{self._directory}/{own}{_NAMED_BY}", encoding="ascii") as file:
                before, _, signature = file.read().strip().partition(" ")
            named = is_signed(keys, before, bytes.fromhex(signature), _NAMING + keys[own])
        except (OSError, ValueError, KeyError):
            return None
        return before if named else None

    def _from_pem(self, data: bytes) -> bytes:
        try:
            return _from_pem(data)
        except ValueError as error:
            raise BadConfig(
                f"{self._private} is no signing key ({error}): restore it; or move it away, then a "
                "new key is made, and the record says that the old one was lost",
                path=self._private,
            ) from error

    @property
    def _private(self) -> str:
        return f"{self._directory}/signing.pem"

    def _load(self) -> None:
        if self._key is not None and self._file == self._seen():
            return  # it was not replaced meanwhile
        with self._alone():
            self._read()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from making or replacing a key meanwhile."""
        make_private(self._directory)
        fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _read(self) -> None:
        """Read the key, or make the first one."""
        try:
            with open(self._private, "rb") as file:
                key = _new_key(self._from_pem(file.read()))
        except FileNotFoundError:
            key = _new_key()
            atomic.replace(self._private, _pem(key.private_bytes_raw()))
        public: bytes = key.public_key().public_bytes_raw()
        self._id = key_id(public)
        path = f"{self._directory}/{self._id}.pub"
        if not os.path.exists(path):
            atomic.replace(path, public.hex().encode() + b"\n")
        self._key, self._file = key, self._seen()

    def _seen(self) -> tuple[int, int] | None:
        """Tell one file of the private key from another."""
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(self._private)
            return found.st_ino, found.st_mtime_ns
        return None


def _new_key(private: bytes | None = None) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415  see above
        Ed25519PrivateKey,
    )

    if private is None:
        return Ed25519PrivateKey.generate()
    return Ed25519PrivateKey.from_private_bytes(private)


def public_keys(directory: str) -> dict[str, bytes]:
    """Return every public key of a home by its name."""
    found: dict[str, bytes] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            if name.endswith(".pub"):
                try:
                    with open(f"{directory}/{name}", encoding="ascii") as file:
                        public = bytes.fromhex(file.read().strip())
                except ValueError:
                    log.line(f"{directory}/{name} is no public key: it is left out")
                    continue
                found[key_id(public)] = public
    return found


def is_signed(keys: dict[str, bytes], name: str, signature: bytes, data: bytes) -> bool | None:
    """Return whether a key signed this; None if the key is not known."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  see above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
        Ed25519PublicKey,
    )

    if name not in keys:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(keys[name]).verify(signature, data)
    except InvalidSignature:
        return False
    return True


def key_id(public: bytes) -> str:
    """Return the name of a public key."""
    return hashlib.sha256(public).hexdigest()[:_ID_DIGITS]


# How PKCS #8 (RFC 8410) begins for every Ed25519 key; the key's 32 bytes follow.
_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
_PRIVATE_BYTES = 32
_PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n"


def _pem(private: bytes) -> bytes:
    return _PEM.format(base64.b64encode(_PKCS8 + private).decode()).encode()


def _from_pem(data: bytes) -> bytes:
    body = b"".join(line for line in data.splitlines() if not line.startswith(b"-----"))
    decoded = base64.b64decode(body)
    if not decoded.startswith(_PKCS8) or len(decoded) != len(_PKCS8) + _PRIVATE_BYTES:
        raise ValueError("it is no Ed25519 key in a PEM file")
    return decoded[len(_PKCS8) :]
