from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.integration import python
from support.marks import NONCE, Marked


def interpreters() -> list[str]:
    """Find one interpreter of each version that is here, our own among them."""
    pyenv = Path.home().glob(".pyenv/versions/3.*/bin/python3")
    found = [p for p in (*pyenv, Path("/usr/bin/python3")) if p.exists()]
    versions = {path.resolve().name: str(path) for path in found}
    known = {f"python3.{minor}" for minor in range(7, 30)}
    ours = Path(sys.executable).resolve().name
    return [sys.executable, *(versions[n] for n in sorted(versions) if n in known - {ours})]


def start(home: Path, startup: str | None = None, *options: str, program: str = "") -> Marked:
    """Start Python with *startup* as the user's own PYTHONSTARTUP."""
    # Buffered as it is for users; the test run may have set it otherwise.
    env = {"PYTHONUNBUFFERED": "", "NO_COLOR": "1"}
    if startup is not None:
        (home / "startup.py").write_text(startup)
        env["PYTHONSTARTUP"] = str(home / "startup.py")
    return Marked([program or sys.executable, "-q", *options], home, env)


@pytest.fixture
def repl(tmp_path: Path) -> Iterator[Marked]:
    """A Python with marks and no files of the user's."""
    with start(tmp_path) as marked:
        yield marked


def load(repl: Marked, home: Path, code: str) -> tuple[str, int | None]:
    """Run code from a file, as the host does with what cannot be typed."""
    file = home / "code.py"
    file.write_text(code)
    return repl.command(python.LOAD.format(path=str(file)))


def last_line(answer: tuple[str, int | None]) -> tuple[str, int | None]:
    """Keep the last line of an output, and the status."""
    return answer[0].splitlines()[-1], answer[1]


def test_two_hundred_statements_are_exact(repl: Marked) -> None:
    """
    Each of many statements gives its own output and nothing of its neighbours.
    """
    for i in range(200):
        assert repl.command(f"print({i})") == (f"{i}\n", 0)


@pytest.mark.parametrize(
    ("statement", "output"),
    [
        ("print('abc', end='')", "abc"),
        ("print('>>>')", ">>>\n"),
        (r"print('\n\ta  \n')", "\n\ta  \n\n"),
        ("pass", ""),
        ("", ""),
        ("'é中'", "'é中'\n"),
        (f"print('{'x' * 300}')", "x" * 300 + "\n"),
        (r"print('\x1b]133;D;7;apty=0123456789abcdef.99\x07x')", "x\n"),
        (rf"print('\x1b]133;D;7;apty={NONCE}.1\x07x')", "x\n"),
        ("import sys; print(sys.ps1)", ">>> \n"),
    ],
)
def test_output_is_kept_as_it_is(repl: Marked, statement: str, output: str) -> None:
    """
    Blanks, tabs, empty lines, text like a prompt and marks of others change nothing.
    """
    assert repl.command(statement) == (output, 0)


@pytest.mark.parametrize("program", interpreters())
def test_every_version_is_marked(tmp_path: Path, program: str) -> None:
    """
    From 3.7 on, with the new prompt of 3.13 put aside, all versions behave alike.
    """
    with start(tmp_path, "A = 41\n", program=program) as repl:
        assert repl.command("A + 1") == ("42\n", 0)
        assert last_line(repl.command("1/0")) == ("ZeroDivisionError: division by zero", 1)
        assert last_line(repl.command("1 +")) == ("SyntaxError: invalid syntax", 1)
        assert repl.command("raise KeyboardInterrupt")[1] == 130
        assert repl.command("print('abc', end='')") == ("abc", 0)
        assert load(repl, tmp_path, "def f():\n\n\treturn 'a\tb '\nf()") == ("'a\\tb '\n", 0)
        output, status = load(repl, tmp_path, "3\nA.b\n4\n")
        assert output.startswith('3\nTraceback (most recent call last):\n  File "<cell-2>", line 2')
        assert "\n    A.b\n" in output
        assert status == 1
        assert (
            repl.command("import os; sorted(n for n in os.environ if 'BASIC_REPL' in n)")[0]
            == "[]\n"
        )


def test_an_exception_is_a_failure_each_time(repl: Marked) -> None:
    """
    Status 1 belongs to the statement that raised, also when it raises the same object again.
    """
    repl.command("error = ValueError('again')")

    for _ in range(2):
        assert last_line(repl.command("raise error")) == ("ValueError: again", 1)
    assert repl.command("1") == ("1\n", 0)
    assert repl.command("import sys; del sys.last_value; sys.last_traceback = None") == ("", 0)


def test_ctrl_c_is_told_from_other_exceptions(repl: Marked) -> None:
    """
    The status is 130 after Ctrl-C.
    """
    # A loop is always interrupted; a signal just before Python waits in the kernel is not seen.
    repl.ready()
    repl.type("print('u' + 'p'); exec('while 1: pass')")
    repl.until_text("\nup\n")

    repl.write(b"\x03")

    assert repl.until("D")[0].code == 130


def test_the_users_startup_file_runs_as_usual(tmp_path: Path) -> None:
    """
    It runs in the same namespace, knows its own name, and ours adds nothing to either.
    """
    startup = "import os\nhere = __file__, __name__, os.environ['PYTHONSTARTUP']\nprint('hello')\n"
    file = str(tmp_path / "startup.py")

    with start(tmp_path, startup) as repl:
        assert repl.command("here") == (f"{(file, '__main__', file)}\n", 0)
        assert repl.screen.startswith("hello\n>>> here\n")
        names = repl.command("[n for n in globals() if not n.startswith('__')]")
        assert names == ("['os', 'here']\n", 0)
        assert repl.command("__doc__, (lambda: 0).__code__.co_flags >> 8") == ("(None, 0)\n", 0)


@pytest.mark.parametrize(
    ("startup", "message"),
    [
        ("1/0\n", "ZeroDivisionError: division by zero"),
        ("x = = 1\n", "SyntaxError: invalid syntax"),
        (None, "No such file or directory"),
    ],
)
def test_a_broken_startup_file_does_not_cost_the_marks(
    tmp_path: Path, startup: str | None, message: str
) -> None:
    """
    Its error is shown as Python shows it; the first prompt is none the worse.
    """
    file = tmp_path / "startup.py"
    if startup is not None:
        file.write_text(startup)

    with Marked([sys.executable], tmp_path, {"PYTHONSTARTUP": str(file), "NO_COLOR": "1"}) as repl:
        assert repl.until("D")[0].code == 0
        assert message in repl.screen
        assert "agent_pty" not in repl.screen


def test_children_inherit_nothing_of_ours(tmp_path: Path) -> None:
    """
    The environment of children has the user's own PYTHONSTARTUP and nothing of ours.
    """
    show = "import os; print([n for n in os.environ if 'AGENT_PTY' in n or 'STARTUP' in n])"

    with start(tmp_path, "A = 1\n") as repl:
        repl.command("import subprocess, sys")
        output, _ = repl.command(f'_ = subprocess.run([sys.executable, "-c", {show!r}])')
        assert output == "['PYTHONSTARTUP']\n"
        assert repl.command(show)[0] == "['PYTHONSTARTUP']\n"
    with start(tmp_path) as repl:
        assert repl.command(show)[0] == "[]\n"


@pytest.mark.parametrize(
    "inside",
    [f"os.system('PYTHON_BASIC_REPL=1 {sys.executable} -q')", "code.interact('', exitmsg='')"],
)
def test_a_nested_python_has_no_marks(repl: Marked, inside: str) -> None:
    """
    A Python inside is silent, in a process or by `code.interact`; then marks come back.
    """
    repl.command("import code, os")
    repl.ready()
    outside = len(repl.raw)
    repl.type(f"print('begin'); {inside}")
    repl.until_text("\nbegin\n>>> ")
    repl.write(b"print('in', 1 + 1)\r")
    repl.until_text("\nin 2\n>>> ")
    repl.write(b"\x04")

    assert repl.until("D")[0].code == 0
    output = repl.raw[outside:].decode()
    assert output.index(NONCE) > output.index("\nin 2\r\n")
    assert repl.command("print(1)") == ("1\n", 0)


@pytest.mark.parametrize(
    ("statement", "drawn"),
    [
        ("sys.ps1 = '% '", "% "),
        ("sys.ps2 = '; '", ">>> "),
        ("sys.ps1 = 'a\\nb> '", "b> "),
        ("sys.ps1 = ''", ""),
    ],
)
def test_a_new_prompt_is_marked_too(repl: Marked, statement: str, drawn: str) -> None:
    """
    Setting sys.ps1 or sys.ps2 by hand does not cost the marks, from the first prompt on.
    """
    repl.command("import sys")

    assert repl.command(statement) == ("", 0)
    assert repl.until("B")[2].decode() == drawn
    repl.type("1")
    assert repl.command("2") == ("2\n", 0)
    assert repl.command(f"sys.ps{statement[6]} == {statement[10:]}") == ("True\n", 0)
    repl.ready()
    repl.type("if 1:")
    assert repl.until("P", "D")[0].kind == "P"


def test_a_prompt_with_a_clock_is_asked_once_each_time(tmp_path: Path) -> None:
    """
    A prompt that computes its text does so at each prompt, and is drawn with what it says.
    """
    startup = """
import sys
class Count:
    n = 0
    def __str__(self):
        self.n += 1
        return f"[{self.n}] "
sys.ps1 = Count()
"""

    with start(tmp_path, startup) as repl:
        repl.command("1")
        repl.command("2")
        repl.ready()
        assert repl.screen == "[1] 1\n1\n[2] 2\n2\n[3]"


def test_an_unfinished_statement_gives_a_continuation_prompt(repl: Marked) -> None:
    """
    P says that Python waits for more, under the number of the prompt.
    """
    repl.ready()
    repl.type("if 1:")

    mark, _, _ = repl.until("P", "D")
    assert (mark.kind, mark.number) == ("P", 1)


def test_a_file_runs_as_if_typed(repl: Marked, tmp_path: Path) -> None:
    """
    Every statement shows its value; blank lines in a body and none behind it are no matter.
    """
    method = "class A:\n\n    def f(self):\n\n        return 1   \n"
    rest = "A().f()\nfor i in 2, 3:\n\ti\n'a  '\nNone\n"

    assert load(repl, tmp_path, method + rest) == ("1\n2\n3\n'a  '\n", 0)
    assert repl.command("_") == ("'a  '\n", 0)
    assert repl.command("import inspect; print(inspect.getsource(A.f))")[0].startswith("    def f(")
    assert load(repl, tmp_path, "# nothing\n") == ("", 0)
    assert load(repl, tmp_path, "") == ("", 0)
    assert [mark.kind for mark, _, _ in repl.marks if mark.kind == "C"] == ["C"] * 3


def test_a_file_stops_at_the_first_exception(repl: Marked, tmp_path: Path) -> None:
    """
    The traceback shows the user's frames only, with their source, behind the output before it.
    """
    code = "def g():\n    return 1 / 0\n\nprint('a', end='')\ng()\nprint('b')"

    output, status = load(repl, tmp_path, code)

    lines = [line for line in output.splitlines() if set(line) - set(" ~^")]
    assert lines == [
        "aTraceback (most recent call last):",
        '  File "<cell-1>", line 5, in <module>',
        "    g()",
        '  File "<cell-1>", line 2, in g',
        "    return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]
    assert status == 1
    assert "\n    1/0\n    ~^~\n" in load(repl, tmp_path, "1/0")[0]
    assert last_line(load(repl, tmp_path, "raise KeyboardInterrupt")) == ("KeyboardInterrupt", 130)


@pytest.mark.parametrize("wrong", ["x = = 1", "return 3", "print('a"])
def test_a_file_with_a_syntax_error_runs_not_at_all(
    repl: Marked, tmp_path: Path, wrong: str
) -> None:
    """
    It is reported as at the prompt, without a traceback.
    """
    output, status = load(repl, tmp_path, f"print(1)\n{wrong}\n")

    assert output.startswith(f'  File "<cell-1>", line 2\n    {wrong}\n')
    assert "\nSyntaxError: " in output
    assert status == 1


def test_a_file_keeps_the_features_that_were_imported(repl: Marked, tmp_path: Path) -> None:
    """
    A __future__ import holds for the code behind it, as it does at the prompt.
    """
    repl.command("from __future__ import annotations")

    assert load(repl, tmp_path, "def f(x: undefined):\n    pass\n") == ("", 0)


def test_a_file_may_end_python(repl: Marked, tmp_path: Path) -> None:
    """
    `exit()` in a file ends Python without a word.
    """
    (tmp_path / "code.py").write_text("print('bye')\nexit(3)\n")
    repl.ready()
    repl.type(python.LOAD.format(path=str(tmp_path / "code.py")))

    with pytest.raises(AssertionError, match="the program ended"):
        repl.until("D")
    assert repl.transcript.endswith("\nbye\n")


@pytest.mark.parametrize("program", interpreters())
def test_trial_28_starting_python_runs_no_file_of_the_user(program: str, tmp_path: Path) -> None:
    """
    A file in the directory may have the name of a module of Python's own; only the user imports it.
    """
    for name in ("ast", "code", "contextlib", "inspect", "linecache", "traceback"):
        (tmp_path / f"{name}.py").write_text("print('I was run')\n")

    with start(tmp_path, program=program) as marked:
        first = marked.command("import sys")
        before = marked.transcript
        second = marked.command("sys.modules.pop('code', None) and None; import code")

    assert first == ("", 0)
    assert "I was run" not in before
    assert second == ("I was run\n", 0)


def test_the_history_has_the_users_lines_only(repl: Marked, tmp_path: Path) -> None:
    """
    The line that loads a file is not remembered.
    """
    repl.command("1")
    load(repl, tmp_path, "2\n")
    repl.command("import readline as r")

    output, _ = repl.command("[r.get_history_item(i + 1) for i in range(2)]")
    assert output == "['1', 'import readline as r']\n"


@pytest.mark.parametrize("options", ["", "-i", "-q -u -B", "-qBi", "-X dev -Werror"])
def test_an_interactive_python_is_marked(options: str) -> None:
    """
    Options that leave Python at its prompt are kept.
    """
    argv = ["python3", *options.split()]

    injected = python.inject(argv, {"A": "b"}, NONCE)

    assert injected is not None
    assert (injected.argv, injected.env["A"]) == (argv, "b")


@pytest.mark.parametrize(
    "options",
    ["x.py", "-i x.py", "-c 1", "-qc 1", "-m site", "-I", "-E", "-", "-W", "-V", "-X a x"],
)
def test_what_is_not_interactive_is_left_alone(options: str) -> None:
    """
    Scripts, commands, modules and a Python that ignores its environment are started as they are.
    """
    assert python.inject(["python3", *options.split()], {}, NONCE) is None


@pytest.mark.parametrize(
    ("code", "simple"),
    [
        ("1", True),
        ("x = 1; y = 2  # both", True),
        ("print('é')", True),
        ("", False),
        (" 1", False),
        ("# only", False),
        ("if 1: pass", False),
        ("def f(): pass", False),
        ("match x:", False),
        ("@f", False),
        ("f(", False),
        ("x = \\", False),
        ("'''", False),
        ("a\nb", False),
        ("'a\tb'", False),
        ("1 +", False),
        ("x" * 999, True),
        ("x" * 1000, False),
    ],
)
def test_only_what_runs_with_one_enter_is_simple(code: str, *, simple: bool) -> None:
    """
    Compound, unfinished and wrong statements, and what readline would take for a key, are loaded.
    """
    assert python.is_simple(code) is simple
