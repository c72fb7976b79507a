"""The table in `docs/files.md`, and the files of a home as they come and go."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
_PLACES = {
    "NAME": "[A-Za-z0-9][A-Za-z0-9._-]*",
    "INSTANCE": "[0-9a-f]{16}",
    "DIGEST": "[0-9a-f]+",
    "ID": "[0-9a-f]+",
    "PID": "[0-9]+",
    "N": "[0-9]+",
    "FILE": "(?P<file>.+)",
}
# What the page says of files that outlive `stop`; `as there` are those of another home.
_STAYS = (
    *("never", "after", "begun anew", "is yours", "by `key rotate`", "by `gc`", "as there"),
    "by `fork-remove`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row: its paths as the page writes them, when there is such a file and when no more."""

    paths: tuple[str, ...]
    removed: str
    appears: str

    @property
    def rare(self) -> bool:
        """Whether the page says that there need not be such a file."""
        return self.appears.startswith("only")

    @property
    def stays(self) -> bool:
        """Whether the page says that such a file is still there after `stop`."""
        return self.removed.startswith(_STAYS)

    @property
    def kept(self) -> bool:
        """Whether the page says that nobody removes such a file."""
        return self.removed.startswith("never")

    def names(self, path: str) -> Iterator[re.Match[str]]:
        """Yield how the row's paths, or their last parts, match a path."""
        for one in self.paths:
            parts = one.split("/")
            # `FILE` alone would be found in every path, and say nothing of it.
            for start in range(len(parts) - (parts[-1] == "FILE")):
                if found := re.fullmatch(_pattern("/".join(parts[start:])), path):
                    yield found


@dataclass(frozen=True, slots=True)
class FileTable:
    """All rows of the page."""

    rows: list[Row]

    def rows_of(self, path: str) -> list[Row]:
        """Return the rows that a file may belong to; none if the page does not have it."""
        return [row for row in self.rows if self._has(row, path)]

    def _has(self, row: Row, path: str) -> bool:
        found = [re.fullmatch(_pattern(one), path) for one in row.paths]
        return any(one is not None and self._knows_rest(one) for one in found)

    def _knows_rest(self, found: re.Match[str]) -> bool:
        """Whether what FILE stands for is in the table, too: a path of it, or its last parts."""
        rest = found.groupdict().get("file")
        if rest is None:
            return True
        others = (match for row in self.rows for match in row.names(rest))
        return any("file" not in one.groupdict() or self._knows_rest(one) for one in others)


def file_table() -> FileTable:
    """Read the page."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return FileTable(
        [
            Row(paths=tuple(re.findall("`([^`]+)`", row[0])), removed=row[3], appears=row[-1])
            for row in rows
        ]
    )


def _pattern(path: str) -> str:
    parts = re.split("([A-Z]+)", path)
    return "".join(_PLACES[one] if one.isupper() else re.escape(one) for one in parts)


@dataclass(slots=True)
class Watched:
    """Everything that was ever seen below a home and below log directories elsewhere."""

    home: Path
    elsewhere: list[Path] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    directories: set[str] = field(default_factory=set)
    present: set[str] = field(default_factory=set)
    open_to_others: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Note what is there now; paths are as the page has them."""
        self.present.clear()
        self._note(self.home, "")
        for directory in self.elsewhere:
            self._note(directory, "runs")

    def _note(self, top: Path, name: str) -> None:
        for found, directories, files in os.walk(top):
            inner = os.path.normpath(os.path.join(name, os.path.relpath(found, top)))
            self._check(found, inner, 0o700)
            self.directories |= {os.path.normpath(f"{inner}/{one}") for one in directories}
            for one in files:
                path = os.path.normpath(f"{inner}/{one}")
                self.files.add(path)
                self.present.add(path)
                self._check(f"{found}/{one}", path, 0o600)

    def _check(self, file: str, path: str, right: int) -> None:
        with contextlib.suppress(FileNotFoundError):  # it was there for a moment
            found = os.lstat(file).st_mode
            # A link has no mode that means anything; a look at a work tree makes some. Git takes
            # the right to write from its own files.
            given = stat.S_IMODE(found) | (0o200 if "/objects/" in path else 0)
            if not stat.S_ISLNK(found) and given != right:
                self.open_to_others[path] = f"{stat.S_IMODE(found):04o}"
