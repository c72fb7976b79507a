"""Files that were written in a session, as far as their text is known: a shell may run them. Pure.

They are known by their last name alone, because the directory may be another one meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# All that a gate knows must fit into the memory that survives its process.
_MOST_FILES = 8
_MOST_TEXT = 4096
_NO_FILE = "/dev/"


@dataclass(slots=True)
class WrittenFiles:
    """Text by the name of its file; of a long one the beginning."""

    texts: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str | None, *, appends: bool) -> None:
        """Remember what was written; None: it is not known, and replaces what was known."""
        name = _name(path)
        if path.startswith(_NO_FILE) or (text is None and appends):
            return
        before = self.texts.pop(name, "")
        if text is None:
            return
        whole = before + text if appends else text
        while len(self.texts) >= _MOST_FILES:
            del self.texts[next(iter(self.texts))]
        self.texts[name] = whole[:_MOST_TEXT]

    def text_of(self, path: str) -> str | None:
        """Return what a file has; None: that is not known."""
        return self.texts.get(_name(path))

    def copied(self) -> WrittenFiles:
        """Return another one that knows the same."""
        return WrittenFiles(dict(self.texts))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
