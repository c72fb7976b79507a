"""The lines of `git status --short`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.evidence.git_status import FileChange, entries, files_changed, unquoted

LINES = {
    " M a.txt": FileChange(path="a.txt", status="M"),
    "MM a.txt": FileChange(path="a.txt", status="MM"),
    "A  a.txt": FileChange(path="a.txt", status="A"),
    "UU a.txt": FileChange(path="a.txt", status="UU"),
    "?? folder/": FileChange(path="folder/", status="??"),
    ' D "two words"': FileChange(path="two words", status="D"),
    '?? "new\\nline\\t\\"quoted\\" \\\\"': FileChange(path='new\nline\t"quoted" \\', status="??"),
    '?? "caf\\303\\251"': FileChange(path="café", status="??"),
    '?? "caf\\351"': FileChange(path='"caf\\351"', status="??"),
    "R  a.txt -> b.txt": FileChange(path="b.txt", status="R", renamed_from="a.txt"),
    'RM "a b" -> "c -> d"': FileChange(path="c -> d", status="RM", renamed_from="a b"),
    'R  "a -> b" -> c': FileChange(path="c", status="R", renamed_from="a -> b"),
    " R a -> b": FileChange(path="b", status="R", renamed_from="a"),
    "C  a -> b": FileChange(path="b", status="C", renamed_from="a"),
    '?? "a -> b"': FileChange(path="a -> b", status="??"),
    # Before version 2.29 git put no quotes around untracked names with blanks.
    "?? a -> b": FileChange(path="a -> b", status="??"),
    '?? "': FileChange(path='"', status="??"),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_a_file_and_its_status(line: str) -> None:
    """
    Names are those on the disk, quotes and escapes removed; a rename names both files.
    """
    assert files_changed(f"{line}\n") == [LINES[line]]


def test_every_line_counts_in_its_order() -> None:
    """
    A status is a list; what is no line of it is passed over.
    """
    status = "".join(f"{line}\n" for line in LINES)

    assert files_changed(status + "\n##\n") == list(LINES.values())
    assert files_changed("") == []


@pytest.mark.parametrize(
    ("columns", "staged", "unstaged"),
    [
        ("M ", True, False),
        (" M", False, True),
        (" A", False, True),
        ("MD", True, True),
        ("UU", True, True),
        ("DD", True, True),
        ("??", False, False),
        ("!!", False, False),
    ],
)
def test_the_columns_say_which_diff_there_is(columns: str, *, staged: bool, unstaged: bool) -> None:
    """
    The first column is the index, the second the work tree; untracked files are in no diff.
    """
    [entry] = entries(f"{columns} a")

    assert (entry.staged, entry.unstaged) == (staged, unstaged)


LETTERS = dict(zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True))


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_every_name_comes_back(name: bytes) -> None:
    """
    Whatever bytes a name has, it is read as git's quoting means it.
    """
    quoted = "".join(
        f"\\{chr(LETTERS[byte])}"
        if byte in LETTERS
        else chr(byte)
        if 32 <= byte < 127
        else f"\\{byte:03o}"
        for byte in name
    )

    assert unquoted(f'"{quoted}"') == name
