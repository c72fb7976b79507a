from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import gdb, integrate
from support.marks import NONCE, Marked


def has_python() -> bool:
    """Tell whether gdb is here and was built with Python."""
    if shutil.which("gdb") is None:
        return False
    asked = ["gdb", "-nx", "-batch", "-ex", "python print('yes')"]
    return "yes" in subprocess.run(asked, check=False, capture_output=True, text=True).stdout


pytestmark = pytest.mark.skipif(not has_python(), reason="no gdb with Python is installed")


def start(home: Path, init: str = "", *options: str) -> Marked:
    """Start gdb for a user whose .gdbinit is *init*."""
    (home / ".gdbinit").write_text(init)
    return Marked(["gdb", "-q", *options], home)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """One gdb for many small tests."""
    with start(tmp_path_factory.mktemp("gdb")) as marked:
        yield marked


def load(marked: Marked, home: Path, code: str) -> tuple[str, int | None]:
    """Run code from a file, as the host does with what cannot be typed."""
    file = home / "a file"
    file.write_text(code)
    return marked.command(gdb.LOAD.format(path=file))


def test_two_hundred_commands_are_exact(shared: Marked) -> None:
    """
    Each of many commands gives its own output and nothing of its neighbours.
    """
    for i in range(200):
        assert shared.command(f"output {i}") == (f"{i}", None)


LINES = {
    "value": ("print/x 255", " = 0xff\n"),
    "error": ("print 1 +", "A syntax error in expression, near `'.\n"),
    "unknown": ("nosuch", 'Undefined command: "nosuch".  Try "help".\n'),
    "nothing": ("set confirm off", ""),
    "blank lines": (r"echo a\n\n\n\ \ b\n\n", "a\n\n\n  b\n\n"),
    "unfinished line": ("echo abc", "abc"),
    "text like a prompt": (r"echo (gdb)\ \n", "(gdb) \n"),
    "a program": (r"shell printf 'a\nb'", "a\nb"),
    "python": ("python print(1)", "1\n"),
    "wide": ("echo " + "\u754c" * 60, "\u754c" * 60),
    "forged marks": (rf"echo \033]133;D;apty=dead.99\007\033]133;D;apty={NONCE}.1\007x", "x"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_its_output(shared: Marked, name: str) -> None:
    """
    From the end of the line to D there is what gdb printed, errors among it.
    """
    line, output = LINES[name]

    answer, status = shared.command(line)

    assert answer.endswith(output)
    assert status is None
    assert shared.command("output 6 * 7") == ("42", None)


@pytest.mark.parametrize("length", [*range(55, 80), *range(135, 160), 500, 900])
def test_a_line_that_is_drawn_anew_has_one_end(shared: Marked, length: int) -> None:
    """
    The line editor draws a pasted line twice, at some widths with the prompt and its marks.
    """
    assert shared.command(f"echo {'x' * length}\\n") == ("x" * length + "\n", None)


def test_a_file_runs_as_one_command(shared: Marked, tmp_path: Path) -> None:
    """
    A file of any number of lines has one D; so have definitions and Python.
    """
    code = (
        "define twice\n  output $arg0 * 2\n\nend\n\npython\nprint('''a\n\n\nb''')\nend\ntwice 4\n"
    )

    assert load(shared, tmp_path, code) == ("a\n\n\nb\n8", None)
    assert shared.command("twice 21") == ("42", None)


def test_several_lines_can_be_pasted(shared: Marked) -> None:
    """
    The mode is on, but gdb takes the lines for one: they had better go by a file.
    """
    shared.ready()
    assert shared.emulator.modes()["bracketed_paste"]
    shared.type("output 1\noutput 2")
    shared.until("D")

    assert shared.command("output 6 * 7") == ("42", None)
    assert not gdb.is_simple("output 1\noutput 2")


def test_ctrl_c_gives_up_what_was_typed(shared: Marked) -> None:
    """
    After Ctrl-C there is a new prompt.
    """
    shared.ready()
    shared.write(b"abc")
    shared.until_text("(gdb) abc")
    shared.write(b"\x03")
    shared.until("D")

    assert shared.command("output 1") == ("1", None)


def test_a_program_runs_between_the_marks(tmp_path: Path) -> None:
    """
    A command that starts a program ends when the program does, and its output is its own.
    """
    options = ["--args", shutil.which("sh") or "sh", "-c", "echo hello; env; exit 3"]

    with start(tmp_path, "", *options) as marked:
        output, _ = marked.command("run")

    assert "\nhello\n" in output
    assert output.endswith("exited with code 03]\n")
    assert "AGENT_PTY_" not in output


@pytest.mark.parametrize(
    "init",
    [
        "set prompt me>\\ ",
        "set extended-prompt me>\\ ",
        "python gdb.prompt_hook = lambda _: 'me> '",
    ],
)
def test_the_users_prompt_is_kept(tmp_path: Path, init: str) -> None:
    """
    However .gdbinit makes the prompt, it is shown, with marks around it.
    """
    with start(tmp_path, init + "\n") as marked:
        assert marked.command("output 1") == ("1", None)
        marked.ready()

        assert marked.last_line.endswith("me>")
        assert "apty" not in marked.transcript


def test_the_prompt_may_change(tmp_path: Path) -> None:
    """
    A prompt or a hook that is set later gets marks too.
    """
    with start(tmp_path) as marked:
        assert marked.command("set prompt one>") == ("", None)
        assert marked.command("output 1") == ("1", None)
        assert marked.command("set extended-prompt two>") == ("", None)
        assert marked.command("output 2") == ("2", None)

    assert "one>output 1\n" in marked.transcript
    assert "two>output 2\n" in marked.transcript


def test_nothing_is_inherited(tmp_path: Path) -> None:
    """
    A gdb inside gdb has no marks; when it ends the outer one goes on.
    """
    with start(tmp_path) as marked:
        assert marked.command("shell env | grep AGENT_PTY_") == ("", None)
        marked.ready()
        marked.type("shell gdb -q -nx")
        marked.until_text("-nx\n(gdb) ")
        marked.write(b"output 7 * 11\r")
        marked.until_text("77(gdb) ")
        before = [f"{mark.kind}{mark.number}" for mark, _, _ in marked.marks]
        marked.write(b"quit\r")

        assert marked.until("D")[0].number == 3

    assert before == ["D1", "B1", "D2", "B2"]


def test_long_output_is_whole(shared: Marked, tmp_path: Path) -> None:
    """
    At the end of a screen gdb would ask whether to go on.
    """
    code = 'set $i = 0\nwhile $i < 100\n  printf "%d\\n", $i\n  set $i = $i + 1\nend\n'

    output, _ = load(shared, tmp_path, code)

    assert output.split() == [str(i) for i in range(100)]


@pytest.mark.parametrize(
    "options", [["-batch", "-x", "a"], ["--version"], ["-h"], ["-i=mi"], ["-tui"]]
)
def test_without_a_prompt_gdb_is_started_as_it_is(options: Sequence[str]) -> None:
    """
    With a script and `-batch` it asks nobody; another interface has no such prompt.
    """
    program, injected = integrate(["gdb", *options], {}, NONCE)

    assert program is None
    assert injected.argv == ["gdb", *options]


def test_the_programs_options_are_not_gdbs() -> None:
    """
    Behind `--args` a word is the program's, whatever it looks like.
    """
    argv = ["gdb", "-q", "--args", "./a.out", "-batch", "--version"]

    program, injected = integrate(argv, {}, NONCE)

    assert program == "gdb"
    assert injected.argv[-5:] == argv[1:]


def test_only_whole_commands_are_typed() -> None:
    """
    What asks for more lines asks without a mark, so it goes by a file.
    """
    assert gdb.is_simple("print defined")
    for code in ("", "define f", "python", "if 1", " commands", "print \\", "a\tb"):
        assert not gdb.is_simple(code)
