"""The key that signs checkpoints: a file of this user's alone, outside the log directory.

`keys/signing.pem` is the private key, `keys/ID.pub` are the public ones, also of keys that were
replaced: what they signed can still be checked. The library takes 0.1 s to import and 10 MB, so
it is imported when the first signature is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import Any

from agent_pty.store import atomic

_ID_DIGITS = 16


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

    def rotate(self) -> str:
        """Make another key; the public half of the old one stays. Return the new name."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._private)
        self._key = None
        return self.id

    @property
    def _private(self) -> str:
        return f"{self._directory}/signing.pem"

    def _load(self) -> None:
        if self._key is not None and self._file == self._seen():
            return  # it was not replaced meanwhile
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415  see above
            Ed25519PrivateKey,
        )
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            load_pem_private_key,
        )

        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        try:
            with open(self._private, "rb") as file:
                key: Any = load_pem_private_key(file.read(), password=None)
        except FileNotFoundError:
            key = Ed25519PrivateKey.generate()
            atomic.replace(self._private, _private_pem(key))
        public = _public_bytes(key.public_key())
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


def public_keys(directory: str) -> dict[str, bytes]:
    """Return every public key of a home by its name."""
    found: dict[str, bytes] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            if name.endswith(".pub"):
                with open(f"{directory}/{name}", encoding="ascii") as file:
                    public = bytes.fromhex(file.read().strip())
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


def _private_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  see above
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


def _public_bytes(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  see above
        Encoding,
        PublicFormat,
    )

    raw: bytes = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return raw
