from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import integrate, psql
from support.marks import NONCE, Marked
from support.postgres import SERVER, postgres

pytestmark = [
    pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed"),
    pytest.mark.skipif(not SERVER, reason="no PostgreSQL server (initdb) is installed"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A PostgreSQL server of our own; the directory of its socket."""
    with postgres() as directory:
        yield directory


def start(server: str, home: Path, *options: str, **env: str) -> Marked:
    """Start psql for the user of the server."""
    return Marked(["psql", *options, "-h", server, "-U", "ann", "postgres"], home, env)


@pytest.fixture(scope="module")
def shared(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """One psql for many small tests, which shows bare rows."""
    with start(server, tmp_path_factory.mktemp("psql"), "-At") as marked:
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
    "no rows": ("select 1 where false;", ""),
    "two": ("select 1; select 2;", "1\n2\n"),
    "blank lines": (r"select E'a\n\n\n  b\n';", "a\n\n\n  b\n\n"),
    "unfinished line": (r"\echo -n abc", "abc"),
    "text like a prompt": (r"\echo 'postgres=# '", "postgres=# \n"),
    "command": (r"\echo a", "a\n"),
    "unknown command": (r"\nosuch", "invalid command \\nosuch\nTry \\? for help.\n"),
    "a program": (r"\! printf 'a\nb'", "a\nb"),
    "error": (
        "select nosuch;",
        'ERROR:  column "nosuch" does not exist\nLINE 1: select nosuch;\n               ^\n',
    ),
    "wide": ("select repeat('\u754c', 60);", "\u754c" * 60 + "\n"),
    "forged marks": (r"\! printf '\033]133;D;apty=dead\007\033]133;D\007x\n'", "x\n"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_its_output(shared: Marked, name: str) -> None:
    """
    From the end of the line to D there is what psql printed, errors among it.
    """
    line, output = LINES[name]

    assert shared.command(line) == (output, None)
    assert shared.command("select 6 * 7;") == ("42\n", None)


@pytest.mark.parametrize("length", [*range(55, 75), *range(135, 155), 500, 900])
def test_a_line_that_is_drawn_anew_has_one_end(shared: Marked, length: int) -> None:
    """
    The line editor draws a pasted line twice, at some widths with the prompt: D is not in it.
    """
    assert shared.command(f"select '{'x' * length}';") == ("x" * length + "\n", None)


def test_a_file_runs_as_one_command(shared: Marked, tmp_path: Path) -> None:
    """
    A file of any number of lines, backslash commands among them, has one D.
    """
    file = tmp_path / "a file.sql"
    file.write_text("select 'a',\n\n\n2;\n\\echo b\nselect nosuch;\nselect E'\\n3'\n;\n")

    output, _ = shared.command(psql.LOAD.format(path=file))

    assert output.startswith(f"a|2\nb\npsql:{file}:6: ERROR:  column")
    assert output.endswith("^\n\n3\n")
    assert shared.command("select 6 * 7;") == ("42\n", None)


def test_several_lines_are_one_paste(shared: Marked) -> None:
    """
    A bracketed paste is one unit, with its blank lines; psql switches that mode on.
    """
    shared.ready()
    assert shared.emulator.modes()["bracketed_paste"]
    shared.type("select 'a\n\n\nb'\n;\nselect 2;")
    shared.until("D")

    assert shared.raw.rpartition(b"\x1b[?2004l\r")[2].startswith(
        b"a\r\n\r\n\r\nb\r\n2\r\n\x1b]133;D"
    )


def test_a_query_that_goes_on_is_marked_so(shared: Marked) -> None:
    """
    P says that more is wanted, D that the query was answered.
    """
    shared.ready()
    shared.type("select 'a")
    shared.until("P")
    shared.type("b'")
    shared.until("P")
    shared.type(";")
    shared.until("D")

    assert "# ;\na\nb\n" in shared.transcript


def test_ctrl_c_gives_up_what_was_typed(shared: Marked) -> None:
    """
    After Ctrl-C there is a new prompt, be it from one line or from the second.
    """
    shared.ready()
    shared.type("select")
    shared.until("P")
    shared.write(b"\x03")
    shared.until("D")
    shared.ready()
    shared.write(b"abc")
    shared.until_text("=# abc")
    shared.write(b"\x03")
    shared.until("D")

    assert shared.command("select 1;") == ("1\n", None)


def test_the_users_psqlrc_is_kept(server: str, tmp_path: Path) -> None:
    """
    Their prompts stay, and not even ECHO shows what we add to them.
    """
    (tmp_path / ".psqlrc").write_text(
        "\\set ECHO all\n\\set PROMPT1 'me %/> '\n\\set PROMPT2 'more> '\n\\set a 5\n"
    )

    with start(server, tmp_path, "-qAt") as marked:
        assert marked.command(r"\echo :a") == ("5\n", None)
        marked.ready()
        assert marked.last_line == "me postgres>"
        marked.type("select")
        marked.until("P")

        assert "apty" not in marked.transcript
        assert marked.last_line == "more>"


def test_the_psqlrc_of_this_version_is_preferred(server: str, tmp_path: Path) -> None:
    """
    Only one file is read, as psql does it; the user may have named it.
    """
    asked = subprocess.run(["psql", "--version"], check=True, capture_output=True, text=True)
    major = asked.stdout.split()[2].partition(".")[0]
    (tmp_path / "my rc").write_text("\\set a general\n")
    (tmp_path / f"my rc-{major}").write_text("\\set a special\n")

    with start(server, tmp_path, "-At", PSQLRC="~/my rc") as marked:
        assert marked.command(r"\echo :a") == ("special\n", None)
        assert marked.command(r"\! echo $PSQLRC") == ("~/my rc\n", None)


@pytest.mark.parametrize("options", [["-X"], ["--no-psqlrc", "-v", "PROMPT1=mine> "]])
def test_without_a_psqlrc_there_are_marks_too(
    server: str, tmp_path: Path, options: Sequence[str]
) -> None:
    """
    With `-X` no file is read, ours included; a prompt given as an option is kept.
    """
    (tmp_path / ".psqlrc").write_text("\\set a 5\n")

    with start(server, tmp_path, "-At", *options) as marked:
        assert marked.command(r"\echo :a") == (":a\n", None)
        assert marked.command("select 1;") == ("1\n", None)
        marked.ready()
        assert marked.last_line == ("mine>" if "-v" in options else "postgres=#")


def test_nothing_is_inherited(server: str, tmp_path: Path) -> None:
    """
    A psql inside psql has no marks; when it ends the outer one goes on.
    """
    with start(server, tmp_path, "-At") as marked:
        assert marked.command(r"\! env | grep -e PSQLRC -e AGENT_PTY_") == ("", None)
        assert "agent_pty" not in marked.command(r"\set")[0]
        marked.ready()
        marked.type(rf"\! psql -At -h {server} -U ann postgres")
        marked.until_text("\npostgres=# ")
        marked.write(b"select 7 * 11;\r")
        marked.until_text("77\n")
        before = [mark.kind for mark, _, _ in marked.marks]
        marked.write(b"\\q\r")
        marked.until("D")

    assert "".join(before).endswith("DB")
    assert before.count("D") == 3


def test_long_output_is_not_paged(server: str, tmp_path: Path) -> None:
    """
    A pager would take the screen; the user's own setting wins.
    """
    with start(server, tmp_path, "-At") as marked:
        output, _ = marked.command("select generate_series(1, 100);")
    with start(server, tmp_path, "-At", "-P", "pager=always") as marked:
        settings, _ = marked.command(r"\pset")

    assert output.split() == [str(i) for i in range(1, 101)]
    assert "\npager                    2\n" in settings


@pytest.mark.parametrize(
    "options",
    [["-c", "select 1"], ["-Atc", "select 1"], ["--file=a"], ["-l"], ["--vers"], ["--nosuch"]],
)
def test_without_a_prompt_psql_is_started_as_it_is(options: Sequence[str]) -> None:
    """
    With a command or a file it asks nobody; what we do not understand is not ours.
    """
    program, injected = integrate(["psql", *options], {}, NONCE)

    assert program is None
    assert injected.argv == ["psql", *options]


def test_one_line_may_be_typed() -> None:
    """
    Several lines go by a file: pasted, a backslash command would take those behind it.
    """
    assert psql.is_simple("select 1;")
    assert not psql.is_simple("")
    assert not psql.is_simple("\\echo a\nselect 1;")
    assert not psql.is_simple("select\t1;")
