"""Lines and tracebacks for the log: the standard error of daemon, hosts and keeper.

Rule of this file: nothing here raises. A log on a full disk must not turn the report of a failure
into another failure, of which nobody would hear. What could not be written is counted, and the
count is written with the next entry for which there is room.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

_STDERR = 2


class Log:
    """Writes entries to a descriptor, without a buffer: other processes write there too."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._clean: Callable[[str], str] = str
        self._missing = 0
        self._torn = False

    def clean_by(self, clean: Callable[[str], str]) -> None:
        """Take secrets out of every entry from now on."""
        self._clean = clean

    def line(self, text: str) -> None:
        """Write one line."""
        self._entry(f"{text}\n")

    def error(self, error: BaseException) -> None:
        """Write the traceback of an error."""
        self._entry("".join(traceback.format_exception(error)))

    def _entry(self, text: str) -> None:
        before = "\n" if self._torn else ""
        if self._missing:
            before += f"log: {self._missing} entries before this one could not be written\n"
        data = (before + self._cleaned(text)).encode()
        written = self._written(data)
        self._missing = 0 if written == len(data) else self._missing + 1
        # A full disk may take some of an entry; the next one must not be joined to it.
        self._torn = 0 < written < len(data) or (self._torn and not written)

    def _cleaned(self, text: str) -> str:
        plain = text.encode(errors="backslashreplace").decode()
        try:
            return self._clean(plain)
        except Exception as error:  # noqa: BLE001  the rule of this file
            return f"log: an entry is left out, its secrets could not be found: {error!r}\n"

    def _written(self, data: bytes) -> int:
        """Return how many bytes were written."""
        try:
            return os.write(self._fd, data)
        except OSError:
            return 0


_log = Log(_STDERR)
line = _log.line
error = _log.error
clean_by = _log.clean_by
