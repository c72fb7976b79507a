from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.integration import ipython
from support.marks import NONCE, Marked

IPYTHON = os.path.join(os.path.dirname(sys.executable), "ipython")

pytestmark = pytest.mark.skipif(not os.path.exists(IPYTHON), reason="IPython is not installed")


def start(home: Path, startup: str | None = None, *options: str, config: str = "") -> Marked:
    """Start IPython with *startup* as the user's PYTHONSTARTUP and *config* in their profile."""
    env = {"IPYTHONDIR": str(home / ".ipython"), "PYTHONUNBUFFERED": ""}
    if config:
        profile = home / ".ipython" / "profile_default"
        profile.mkdir(parents=True)
        (profile / "ipython_config.py").write_text(config)
    if startup is not None:
        (home / "startup.py").write_text(startup)
        env["PYTHONSTARTUP"] = str(home / "startup.py")
    return Marked([IPYTHON, "--no-banner", *options], home, env)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Marked]:
    """An IPython with marks in an empty home."""
    with start(tmp_path) as marked:
        yield marked


def load(shell: Marked, home: Path, code: str) -> tuple[str, int | None]:
    """Run code from a file, as the host does with what cannot be typed."""
    file = home / "code.py"
    file.write_text(code)
    return shell.command(ipython.LOAD.format(path=str(file)))


def test_many_cells_are_exact(shell: Marked) -> None:
    """
    Each of many cells gives its own output and nothing of its neighbours.
    """
    for i in range(200):
        assert shell.command(f"print({i})") == (f"{i}\n", 0)


def test_output_is_kept_as_it_is(shell: Marked) -> None:
    """
    Blanks, tabs, empty lines, text like a prompt and marks of others change nothing.
    """
    forged = r"print('\x1b]133;D;7;apty=0123456789abcdef.99\x07x')"

    assert shell.command("print('abc', end='')") == ("abc", 0)
    assert shell.command("print('In [9]: ')") == ("In [9]: \n", 0)
    assert shell.command("print('>>>')") == (">>>\n", 0)
    assert shell.command(r"print('\n\ta  \n')") == ("\n\ta  \n\n", 0)
    assert shell.command("pass") == ("", 0)
    assert shell.command("") == ("", 0)
    assert shell.command(forged) == ("x\n", 0)
    assert shell.command(f"print('{'x' * 300}')") == ("x" * 300 + "\n", 0)


def test_an_exception_is_a_failure(shell: Marked) -> None:
    """
    D says 1 after an exception, with its traceback in the output, and 130 after an interrupt.
    """
    output, status = shell.command("1/0")

    assert "Traceback (most recent call last)" in output
    assert output.endswith("\nZeroDivisionError: division by zero\n")
    assert status == 1
    assert shell.command("raise KeyboardInterrupt")[1] == 130
    assert shell.command("1") == ("Out[3]: 1\n", 0)


def test_ctrl_c_ends_a_cell(shell: Marked) -> None:
    """
    D says 130 after Ctrl-C.
    """
    shell.ready()
    shell.type("print('u' + 'p'); exec('while 1: pass')")
    shell.until_text("\nup\n")

    shell.write(b"\x03")

    assert shell.until("D")[0].code == 130
    assert shell.command("print(1)") == ("1\n", 0)


def test_code_of_several_lines_is_one_cell(shell: Marked, tmp_path: Path) -> None:
    """
    A file runs as if it had been typed: In has its text, and tracebacks show its lines.
    """
    code = "def f():\n\n\treturn 'a\tb  '   \nclass A:\n    y = 1\nprint('x')\nf()"

    assert load(shell, tmp_path, code) == ("x\nOut[1]: 'a\\tb  '\n", 0)
    assert shell.command(f"In[1] == {code!r}") == ("Out[2]: True\n", 0)
    output, status = load(shell, tmp_path, "def g():\n    1/0\n\ng()\nprint('not here')\n")
    assert "----> 4 g()" in output
    assert "not here\n" not in output.replace("print('not here')", "")
    assert "agent_pty" not in output
    assert status == 1
    assert load(shell, tmp_path, "x = = 1")[0].endswith("SyntaxError: invalid syntax\n\n")
    assert load(shell, tmp_path, "") == ("", 0)


def test_magics_work_from_a_file(shell: Marked, tmp_path: Path) -> None:
    """
    What only IPython understands is no simple line, and runs when it is loaded.
    """
    for code, output in (("!echo hi", "hi\n"), ("%pwd", f"Out[2]: '{tmp_path}'\n")):
        assert not ipython.is_simple(code)
        assert load(shell, tmp_path, code) == (output, 0)
    assert load(shell, tmp_path, "%%capture x\nprint(1)\n") == ("", 0)
    assert shell.command("x.stdout") == ("Out[4]: '1\\n'\n", 0)


def test_the_history_has_the_users_lines_only(shell: Marked, tmp_path: Path) -> None:
    """
    The arrow keys and %history offer what was meant, not the line that loads a file.
    """
    load(shell, tmp_path, "a = 1\nb = 2\n")
    shell.command("c = 3")
    output, _ = shell.command("print(get_ipython().pt_app.history.get_strings()[:2])")

    assert output == "['a = 1\\nb = 2', 'c = 3']\n"
    assert load(shell, tmp_path, "%history -l 3")[0].startswith("a = 1\nb = 2\nc = 3\n")


def test_cells_within_cells_end_nothing(shell: Marked) -> None:
    """
    A cell that runs cells is one command.
    """
    inner = "for i in range(2): _ = get_ipython().run_cell('1/0')"

    output, status = shell.command(f"exec({inner!r}); print('done')")

    assert output.count("ZeroDivisionError: division by zero") == 2
    assert output.endswith("\ndone\n")
    assert status == 0


def test_the_users_files_run_as_usual(tmp_path: Path) -> None:
    """
    PYTHONSTARTUP, profile, prompts, events and options work, and nothing of ours is in sight.
    """
    config = """
c.InteractiveShellApp.exec_lines = ["B = A + 1", "print('lines')"]
c.TerminalInteractiveShell.separate_in = ""
c.TerminalInteractiveShell.confirm_exit = False
"""
    startup = """
from IPython.terminal.prompts import ClassicPrompts
A, here = 41, __file__
shell = get_ipython()
shell.prompts = ClassicPrompts(shell)
shell.events.register("post_run_cell", lambda result: print("[after]"))
"""
    option = "--InteractiveShell.ast_node_interactivity=all"
    with start(tmp_path, startup, option, config=config) as s:
        assert s.command("B") == ("42\n[after]\n", 0)
        assert s.screen.startswith("[after]\nlines\n[after]\n>>> B\n42\n[after]")
        assert s.command("here; __name__") == (f"'{tmp_path}/startup.py'\n'__main__'\n[after]\n", 0)
        usual = ["In", "Out", "get_ipython", "exit", "quit", "open"]
        output = s.command(f"print([n for n in globals() if n[0] != '_' and n not in {usual}])")[0]
        assert output == "['ClassicPrompts', 'A', 'here', 'shell', 'B']\n[after]\n"


def test_a_broken_startup_file_does_not_cost_the_marks(tmp_path: Path) -> None:
    """
    Its error is shown, and the first prompt is none the worse.
    """
    with start(tmp_path, "1/0\n") as shell:
        assert shell.until("D")[0].code == 0
        assert "ZeroDivisionError: division by zero" in shell.screen
        assert shell.command("print(1)") == ("1\n", 0)


def test_children_inherit_nothing_of_ours(tmp_path: Path) -> None:
    """
    The environment of children has the user's own PYTHONSTARTUP and nothing of ours.
    """
    show = "import os; print([n for n in os.environ if 'AGENT_PTY' in n or 'STARTUP' in n])"

    with start(tmp_path, "A = 1\n") as shell:
        shell.command("import subprocess, sys")
        output, _ = shell.command(f'_ = subprocess.run([sys.executable, "-c", {show!r}])')
        assert output == "['PYTHONSTARTUP']\n"
    with start(tmp_path) as shell:
        assert shell.command(show) == ("[]\n", 0)


def test_a_nested_python_has_no_marks(shell: Marked) -> None:
    """
    A Python inside is silent, and its end is the end of the cell.
    """
    shell.ready()
    shell.type(f"print('begin'); get_ipython().system('PYTHON_BASIC_REPL=1 {sys.executable} -q')")
    shell.until_text("\nbegin\n>>> ")
    outside = len(shell.raw)
    shell.write(b"print('in', 1 + 1)\r")
    shell.until_text("\nin 2\n>>> ")
    shell.write(b"\x04")

    assert shell.until("D")[0].code == 0
    output = shell.raw[outside:].decode()
    assert output.index(NONCE) > output.index("\nin 2\r\n")
    assert shell.command("print(1)") == ("1\n", 0)


@pytest.mark.parametrize(
    ("options", "interactive"),
    [
        ("", True),
        ("-i", True),
        ("--no-banner --profile=work", True),
        ("--profile work --ext storemagic", True),
        ("--InteractiveShellApp.exec_lines=1", True),
        ("script.py", False),
        ("-i script.py", False),
        ("--profile work script.py", False),
        ("-c 1", False),
        ("-c=1", False),
        ("-m site", False),
        ("profile list", False),
        ("--version", False),
        ("--help-all", False),
        ("--simple-prompt", False),
        ("--", False),
    ],
)
def test_only_an_interactive_ipython_is_changed(options: str, *, interactive: bool) -> None:
    """
    Scripts, commands, modules, subcommands and the plain prompt are started as they are.
    """
    injected = ipython.inject(["ipython", *options.split()], {}, NONCE)

    assert (injected is not None) is interactive
