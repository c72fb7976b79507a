"""The secret that an operator shows if the policy demands one; the policy has its digest. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re

_NAME = "scrypt"
_FORM = re.compile(r"scrypt:[0-9a-f]{32}:[0-9a-f]{64}")
# So much work that guessing is slow, and so little that an operator does not notice.
_COST = 1 << 14


def secret_digest(secret: str, salt: bytes) -> str:
    """Return what is written into a policy file."""
    made = hashlib.scrypt(secret.encode(), salt=salt, n=_COST, r=8, p=1, dklen=32)
    return f"{_NAME}:{salt.hex()}:{made.hex()}"


def is_digest(text: str) -> bool:
    """Whether a text is such a digest."""
    return _FORM.fullmatch(text) is not None


def is_secret(secret: str, expected: str) -> bool:
    """Whether a secret is the one of a digest.

    >>> is_secret("open", secret_digest("open", bytes(16)))
    True
    """
    salt = bytes.fromhex(expected.split(":")[1])
    return hmac.compare_digest(secret_digest(secret, salt), expected)
