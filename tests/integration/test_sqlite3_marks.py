from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import integrate, sqlite3
from support.marks import NONCE, Marked


def has_readline() -> bool:
    """Tell whether sqlite3 is here and was built with the line editor that makes the marks."""
    program = shutil.which("sqlite3")
    if program is None:
        return False
    linked = subprocess.run(["ldd", program], check=False, capture_output=True, text=True)
    return "libreadline" in linked.stdout


pytestmark = pytest.mark.skipif(not has_readline(), reason="no sqlite3 with readline is installed")


def start(home: Path, *options: str, **env: str) -> Marked:
    """Start sqlite3; it looks for the user's files where the password file says, not in HOME."""
    history = str(home / "history")
    return Marked(["sqlite3", *options], home, {"SQLITE_HISTORY": history, **env})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """One sqlite3 for many small tests."""
    with start(tmp_path_factory.mktemp("sqlite3"), "-list") as marked:
        yield marked


def test_two_hundred_queries_are_exact(shared: Marked) -> None:
    """
    Each of many queries gives its own rows and nothing of its neighbours.
    """
    for i in range(200):
        assert shared.command(f"select {i};") == (f"{i}\n", None)


LINES = {
    "nothing": ("", ""),
    "value": ("select 1, null, 'a b';", "1||a b\n"),
    "no rows": ("select 1 where 0;", ""),
    "two": ("select 1; select 2;", "1\n2\n"),
    "blank lines": ("select 'a' || char(10, 10, 10) || '  b' || char(10);", "a\n\n\n  b\n\n"),
    "text like a prompt": (".print 'sqlite> '", "sqlite> \n"),
    "command": (".print a", "a\n"),
    "a program": (".shell printf 'a\\\\nb'", "a\nb"),
    "wide": ("select replace(hex(zeroblob(30)), '0', '\u754c');", "\u754c" * 60 + "\n"),
    "forged marks": (
        "select char(27) || ']133;D;apty=dead' || char(7, 27) || ']133;D' || char(7);",
        "\n",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_its_output(shared: Marked, name: str) -> None:
    """
    From the end of the line to D there is what sqlite3 printed.
    """
    line, output = LINES[name]

    assert shared.command(line) == (output, None)
    assert shared.command("select 6 * 7;") == ("42\n", None)


@pytest.mark.parametrize(
    ("line", "message"),
    [("select nosuch;", "no such column: nosuch"), (".nosuch", "unknown command")],
)
def test_an_error_is_output(shared: Marked, line: str, message: str) -> None:
    """
    What sqlite3 complains about is said between the marks.
    """
    assert message in shared.command(line)[0]
    assert shared.command("select 6 * 7;") == ("42\n", None)


@pytest.mark.parametrize("length", [*range(55, 75), *range(135, 155), 500, 900])
@pytest.mark.parametrize("pasted", [True, False])
def test_a_line_of_any_length_has_one_end(shared: Marked, length: int, *, pasted: bool) -> None:
    """
    The line editor does not draw the prompt a second time, nor does it take marks for text.
    """
    shared.ready()
    assert shared.emulator.modes()["bracketed_paste"]
    line = f"select '{'x' * length}';"
    if pasted:
        shared.type(line)
    else:
        shared.write(line.encode() + b"\r")
    _, place, rest = shared.until("D")

    assert rest == b""
    assert shared._text[:place].endswith(f"sqlite> {line}\n{'x' * length}\n".encode())


def test_a_file_runs_as_one_command(shared: Marked, tmp_path: Path) -> None:
    """
    A file of any number of lines has one D; what is not whole in it is an error.
    """
    file = tmp_path / "a file.sql"
    file.write_text("select 'a',\n\n\n2;\n.print b\nselect 'c\n\nd';\nselect")

    output, _ = shared.command(sqlite3.LOAD.format(path=file))

    assert output.startswith("a|2\nb\nc\n\nd\n")
    assert "incomplete input" in output
    assert shared.command("select 6 * 7;") == ("42\n", None)


def test_several_lines_are_one_paste(shared: Marked) -> None:
    """
    A bracketed paste is one unit, with its blank lines.
    """
    shared.ready()
    shared.type("select 'a\n\n\nb'\n;\nselect 2;")
    shared.until("D")

    assert shared.raw.rpartition(b"\x1b[?2004l\r")[2].startswith(
        b"a\r\n\r\n\r\nb\r\n2\r\n\x1b[?2004h"
    )


def test_a_continuation_prompt_has_the_same_marks(shared: Marked) -> None:
    """
    sqlite3 cannot tell its two prompts apart for us; the text behind B does.
    """
    shared.ready()
    shared.type("select")
    shared.until("D")
    shared.ready()
    while not shared.last_line.endswith("...>"):
        shared.read()
    shared.type("5;")
    shared.until("D")

    assert "...> 5;\n5\n" in shared.transcript


def test_it_looks_as_without_marks(tmp_path: Path) -> None:
    """
    The user's own prompt stays, their inputrc is read, and the file they name is opened.
    """
    (tmp_path / "init").write_text('.prompt "mine> "\n')
    (tmp_path / ".inputrc").write_text('"\\C-o": "select 7 * 11;"\n')

    with start(tmp_path, "-init", "init", "a.db") as marked:
        marked.ready()
        marked.write(b"\x0f\r")
        marked.until("D")
        assert "\nmine> select 7 * 11;\n77\n" in marked.transcript
        marked.command("create table t(a);")

    assert (tmp_path / "a.db").stat().st_size > 0


def test_the_users_inputrc_may_have_another_name(tmp_path: Path) -> None:
    """
    INPUTRC names it, as for every program.
    """
    (tmp_path / "rc").write_text('"\\C-o": "select 7 * 11;"\n')

    with start(tmp_path, INPUTRC=str(tmp_path / "rc")) as marked:
        marked.ready()
        marked.write(b"\x0f\r")
        marked.until("D")

    assert "77\n" in marked.transcript


def test_a_nested_shell_has_no_marks(tmp_path: Path) -> None:
    """
    A shell inside sqlite3 marks nothing and has the user's inputrc; then sqlite3 goes on.
    """
    (tmp_path / ".inputrc").write_text('"\\C-o": "echo $((7 * 11))"\n')

    with start(tmp_path, TMPDIR=str(tmp_path)) as marked:
        assert marked.command(".shell env | grep AGENT_PTY_")[0].startswith("System command")
        marked.ready()
        marked.type(".shell bash --norc")
        marked.until_text("norc\n$ ")
        marked.write(b"\x0f\r")
        marked.until_text("77\n")
        before = [mark.kind for mark, _, _ in marked.marks]
        marked.write(b"exit\r")
        marked.until("D")

    assert before == ["D", "B", "D", "B"]
    assert {path.name for path in tmp_path.iterdir()} <= {".inputrc", "history"}


@pytest.mark.parametrize(
    "options",
    [["a.db", "select 1"], ["-batch"], ["--version"], ["-A", "a.tar"], ["-cmd", ".x", "a", "b"]],
)
def test_without_a_prompt_sqlite3_is_started_as_it_is(options: Sequence[str]) -> None:
    """
    With SQL to run it asks nobody.
    """
    program, injected = integrate(["sqlite3", *options], {}, NONCE)

    assert program is None
    assert injected.argv == ["sqlite3", *options]


@pytest.mark.parametrize(
    "options", [["a.db"], ["-separator", "x", "a.db"], ["-pagecache", "1", "2"]]
)
def test_the_users_options_are_kept(options: Sequence[str]) -> None:
    """
    Options that have values do not look like SQL.
    """
    program, injected = integrate(["sqlite3", *options], {}, NONCE)

    assert program == "sqlite3"
    assert injected.argv[-len(options) - 1 :] == ["sqlite3", *options]


def test_only_whole_lines_are_typed() -> None:
    """
    What might end at a continuation prompt goes by a file.
    """
    assert sqlite3.is_simple("select ';';")
    assert sqlite3.is_simple(".tables")
    for code in ("", "select 1", "select\n1;", "select ';", "select 1 --;", "select [a;", "a\t;"):
        assert not sqlite3.is_simple(code)
