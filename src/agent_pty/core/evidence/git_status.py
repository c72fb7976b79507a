"""The lines of `git status --short`: which file, and what happened to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct

# A name with blanks, control characters, quotes or bytes above 127 stands in double quotes.
_NAME = r'("(?:[^"\\]|\\.)*"|.+?)'
_LINE = re.compile(rf"(.)(.) (?:{_NAME} -> )?{_NAME}")
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_UNTOUCHED = " ?!"


class FileChange(Struct, frozen=True, kw_only=True):
    """A file that is not as in the last commit."""

    path: str
    status: str
    renamed_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: the state of a file in the index and in the work tree; names as git prints them."""

    index: str
    work_tree: str
    name: str
    source: str | None

    @property
    def staged(self) -> bool:
        """Whether the index differs from the last commit here."""
        return self.index not in _UNTOUCHED

    @property
    def unstaged(self) -> bool:
        """Whether the work tree differs from the index here."""
        return self.work_tree not in _UNTOUCHED


def entries(status_short: str) -> Iterator[Entry]:
    """Take each line apart."""
    for line in status_short.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        index, work_tree, source, name = found.groups()
        if "R" not in index + work_tree and "C" not in index + work_tree:
            # An arrow in a name is no rename.
            source, name = None, line[3:]
        yield Entry(index=index, work_tree=work_tree, name=name, source=source)


def files_changed(status_short: str) -> list[FileChange]:
    r"""Return the files of a status, in its order, with their names as they are on the disk.

    A name that is no UTF-8 stays as git prints it: in double quotes, with escapes.

    >>> [one.path for one in files_changed('R  a -> "b c"\n?? "\\303\\251"\n?? "\\351"\n')]
    ['b c', 'é', '"\\351"']
    """
    return [
        FileChange(
            path=name_text(entry.name),
            status=(entry.index + entry.work_tree).strip(),
            renamed_from=None if entry.source is None else name_text(entry.source),
        )
        for entry in entries(status_short)
    ]


def unquoted(name: str) -> bytes:
    """Return the bytes of a name that git may have put in quotes."""
    data = name.encode()
    if not (len(data) > 1 and data[:1] == data[-1:] == b'"'):
        return data
    return _ESCAPE.sub(_byte, data[1:-1])


def _byte(escape: re.Match[bytes]) -> bytes:
    what = escape[1]
    return bytes([int(what, 8) & 0xFF if len(what) > 1 else _ESCAPED[what[0]]])


def name_text(name: str) -> str:
    """Return a name as it is on the disk, or as git prints it if it is no UTF-8."""
    try:
        return unquoted(name).decode()
    except UnicodeDecodeError:
        return name
