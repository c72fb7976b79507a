"""Take the secrets out of what a session records, and count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agent_pty.core.redaction.key_block import headless_keys
from agent_pty.core.redaction.redactor import Redactor
from agent_pty.core.redaction.secret_name import is_no_secret, is_secret_name
from agent_pty.process import table

# More than a private key or a token has.
BEFORE_TAIL = 8192


class Cleaner:
    """Redacts for one session; *known* are values that are secret wherever they stand."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._known = tuple(known)
        self._counts: Counter[str] = Counter()

    @property
    def known(self) -> tuple[bytes, ...]:
        """The values that are secret wherever they stand."""
        return self._known

    @property
    def known_texts(self) -> list[str]:
        """The same as text."""
        return [one.decode(errors="surrogateescape") for one in self._known]

    def data(self, data: bytes) -> bytes:
        """Return bytes without their secrets."""
        redactor = Redactor(self._known)
        clean = redactor.feed(data) + redactor.close()
        self._counts.update(redactor.counts)
        return clean

    def stream(self, key_lines: int = 0) -> Redactor:
        """Return what redacts text that comes piece by piece; see `Redactor` for *key_lines*."""
        return Redactor(self._known, key_lines=key_lines)

    def text(self, text: str) -> str:
        """Return text without its secrets."""
        return self.data(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def excerpt(self, text: str) -> str:
        """Return text without its secrets that may begin in the middle of one, as a screen does."""
        data = text.encode(errors="surrogateescape")
        for start, end in sorted(headless_keys(data), reverse=True):
            data = data[:start] + b"[REDACTED:private_key]\n" + data[end:]
            self._counts["private_key"] += 1
        return self.data(data).decode(errors="surrogateescape")

    def tail(self, text: str, characters: int) -> str:
        """Return the last characters of a text without its secrets.

        Give some `BEFORE_TAIL` more: a secret that begins there is recognised by its beginning.
        """
        return self.excerpt(text)[-characters:]

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Count what was taken out elsewhere, for the next event."""
        self._counts.update(counts)

    def take_counts(self) -> dict[str, int]:
        """Return how many secrets of each kind were taken out since the last call."""
        counts, self._counts = dict(sorted(self._counts.items())), Counter()
        return counts


def secrets_of(pid: int) -> list[bytes]:
    """Return the values of a program's environment whose names promise secrets."""
    found = []
    for variable in table.environment(pid):
        name, _, value = variable.partition(b"=")
        if _is_secret(name.decode(errors="replace"), value.decode(errors="replace")):
            found.append(value)
    return found


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable has a secret: `PWD` is the working directory, not a password."""
    return name != "PWD" and is_secret_name(name) and not is_no_secret(value, name, spoken=False)
