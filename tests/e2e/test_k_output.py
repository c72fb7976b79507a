"""What `k run` gives back, rows 13 to 24 of the failures of the original: no echo, no noise."""

from __future__ import annotations

import os
import shutil

import pytest

from support.agent import Agent, eventually, running, slay
from support.k import SHELLS, K, within

PROGRAMS = [*SHELLS, "python3"]


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@within(f"printf %s {'a' * 5000} | wc -c", python=f"print(len('{'a' * 5000}'))")
def test_row_13_a_long_line_is_not_echoed(k: K, program: str, code: str) -> None:
    """
    A command of five thousand characters arrives whole and leaves no echo in the output.
    """
    assert k.output(k.session(program), code).strip() == "5000"


@pytest.mark.parametrize("program", PROGRAMS)
def test_row_14_without_echo_no_output_is_taken_for_it(k: K, program: str) -> None:
    """
    After `stty -echo` the first line of output is output.
    """
    session, shell = k.new(f"silent-{program}", program), program != "python3"
    silence = "stty -echo" if shell else "import os; _ = os.system('stty -echo')"
    code = "echo hidden1; echo hidden2" if shell else "print('hidden1'); print('hidden2')"

    k.output(session, silence)

    assert k.output(session, code) == "hidden1\nhidden2"
    assert k.output(session, code) == "hidden1\nhidden2"


STARTUP = "sleep .3; echo welcome"


@pytest.mark.parametrize(
    ("program", "file", "text"),
    [
        ("bash", ".bashrc", STARTUP),
        ("zsh", ".zshrc", STARTUP),
        ("fish", ".config/fish/config.fish", STARTUP),
        ("dash", ".shinit", STARTUP),
        ("python3", ".startup", "import time; time.sleep(.3); print('welcome')"),
    ],
    ids=PROGRAMS,
)
def test_row_15_code_waits_for_the_first_prompt(k: K, program: str, file: str, text: str) -> None:
    """
    Code that is sent while the program still starts runs at its prompt, without the start's noise.
    """
    home = k.agent.home / f"slow-{program}"
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    env = {"HOME": str(home), "ENV": str(path), "PYTHONSTARTUP": str(path)}

    # The op, unlike `k new`, does not wait for the prompt.
    environment = {**k.agent.env, **env}
    k.agent.ask("new", id=home.name, repo="/tmp", argv=[program], environment=environment)
    code = "print('first')" if program == "python3" else "echo first"

    assert k.output(home.name, code) == "first"
    assert "welcome" in k.run("read", home.name).stdout


@within(
    "printf '10%%\\r50%%\\r100%%\\n'; printf 'AAAA\\rBB\\n'",
    python="print('10%\\r50%\\r100%\\nAAAA\\rBB')",
)
def test_row_16_a_carriage_return_overwrites(k: K, program: str, code: str) -> None:
    """
    Of a progress bar the last state is output; what was not overwritten stays.
    """
    assert k.output(k.session(program), code) == "100%\nBBAA"


@within("printf 'abc\\b\\bX\\n'", python="print('abc\\b\\bX')")
def test_row_17_a_backspace_goes_back(k: K, program: str, code: str) -> None:
    """
    Backspaces are applied within their line.
    """
    assert k.output(k.session(program), code) == "aXc"


CURLY, RED, KEYS, OFF = "[4:3m", "[38:2::255:0:0m", "[>4;1m", "[0m"


@within(
    f"printf '\\033{CURLY}curly\\033{OFF} \\033{RED}red\\033{OFF} \\033{KEYS}keys\\n\\033cz\\n'",
    python=f"print('\\33{CURLY}curly\\33{OFF} \\33{RED}red\\33{OFF} \\33{KEYS}keys\\n\\33cz')",
)
def test_row_18_no_escape_is_left_in_the_output(k: K, program: str, code: str) -> None:
    """
    Colours with colons, private sequences and a reset of the terminal leave only the text.
    """
    assert k.output(k.session(program), code) == "curly red keys\nz"


@pytest.mark.parametrize("program", PROGRAMS)
def test_row_18_the_answer_to_a_query_is_not_typed_into_the_next_cell(k: K, program: str) -> None:
    """
    Output that asks the terminal who it is does not put the answer before the next command.
    """
    session = k.new(f"asked-{program}", program)
    ask = "print('\\33[>0q\\33[c', end='')" if program == "python3" else "printf '\\033[>0q\\033[c'"

    k.cell(session, ask)

    assert k.output(session, "print(7)" if program == "python3" else "echo 7") == "7"


@within("echo \"a!!b\" '!$'", python="print('a!!b', '!$')")
def test_row_19_an_exclamation_mark_is_literal(k: K, program: str, code: str) -> None:
    """
    History is not expanded: an agent's `!` is meant as it stands.
    """
    assert k.output(k.session(program), code) == "a!!b !$"


@within(
    "if true; then\n\techo tabbed\nfi",
    fish="if true\n\techo tabbed\nend",
    python="if True:\n\tprint('tabbed')\n",
)
def test_row_20_a_block_indented_by_tabs_runs(k: K, program: str, code: str) -> None:
    """
    A tab at the beginning of a line completes nothing and echoes nothing.
    """
    assert k.output(k.session(program), code) == "tabbed"


@within("echo 'a\tb'", python="print('a\tb')")
def test_row_20_a_tab_within_a_line_is_literal(k: K, program: str, code: str) -> None:
    """
    A tab in a single line of code reaches the program as a tab.
    """
    assert k.output(k.session(program), code) == "a\tb"


@within("printf 'a\\000b\\007c\\fd\\ve\\n'", python="print('a\\0b\\7c\\fd\\ve')")
def test_row_21_control_characters_are_applied_or_removed(k: K, program: str, code: str) -> None:
    """
    NUL and BEL are nothing to read; form feed and vertical tab go to the next line.
    """
    assert k.output(k.session(program), code) == "abc\nd\ne"


def test_row_22_after_a_timeout_the_output_is_there(k: K) -> None:
    """
    A cell that timed out shows what it wrote so far, goes on, and can be collected at its end.
    """
    gates = {program: k.agent.home / f"gate-{program}" for program in PROGRAMS}
    for program, gate in gates.items():
        os.mkfifo(gate)
        k.session(program)
    # At the same moment, as each takes its second.
    calls = {one: k.start("run", "-j", "-t", "1", one, _half(one)) for one in gates}
    for call in calls.values():
        call.communicate(timeout=60)

    for program, gate in gates.items():
        _collected(k, program, str(gate))


def _half(program: str) -> str:
    """Return code that writes, then waits for a gate to open, then writes more."""
    if program == "python3":
        return f"print('part'); print(open('gate-{program}').read(), end=''); print('end')"
    return f"echo part; cat gate-{program}; echo end"


def _collected(k: K, program: str, gate: str) -> None:
    first = k.json("poll", program)
    seen = k.json("peek", program)
    with open(gate, "w") as file:
        file.write("opened\n")
    done = k.collect(program, first["cell_id"])

    assert (first["status"], first["output"]) == ("timeout", "")
    assert (seen["status"], seen["output"]) == ("timeout", "part")
    assert done == first | {"status": "done", "output": "part\nopened\nend"}
    assert k.json("poll", program)["output"] == f"no active cell on '{program}'"


def test_row_22_in_plain_words_a_timeout_is_told(k: K) -> None:
    """
    Without -j a timeout prints an empty line and says on standard error what can be done.
    """
    session = k.session("bash")
    os.mkfifo(k.agent.home / "gate")

    done = k.run("run", "-t", "1", session, "echo part; cat gate")

    assert (done.returncode, done.stdout) == (0, "\n")
    assert all(word in done.stderr for word in ("timed out", "k peek", "k poll", "k int"))
    assert k.run("int", session).stdout == "OK\n"
    assert k.output(session, "echo free") == "free"


FUNCTION = """\
def f(x):
    a = x + 1

    def g():

        return a

    return g()
print(f(1))
"""
CLASS = """\
class A:
    def f(self):
        return 'three'
print(A().f())
for n in range(2):
    print(n)
print('end')"""


def test_row_23_an_empty_line_does_not_end_a_block(k: K) -> None:
    """
    A function with empty lines inside is one unit in Python.
    """
    assert k.output(k.session("python3"), FUNCTION) == "2"


def test_row_24_a_statement_may_follow_a_block(k: K) -> None:
    """
    Python code needs no empty line behind a block, as in a file.
    """
    assert k.output(k.session("python3"), CLASS) == "three\n0\n1\nend"


TO_ALTERNATE = "printf '\\033[?1049h'"


@within(TO_ALTERNATE, python="_ = __import__('sys').stdout.write('\\x1b[?1049h')")
def test_trial_02_a_prompt_ends_the_alternate_screen(k: K, program: str, code: str) -> None:
    """
    Cells have their output again after a program went to the alternate screen and stayed there.
    """
    session, shell = k.new(f"alternate-{program}", program), program != "python3"
    k.output(session, code)

    assert k.output(session, "echo hello" if shell else "print('hello')") == "hello"
    asking = k.waiting(session, "cat" if shell else "input('name? ')")

    assert asking["for"] == "input"
    assert "hint" not in asking
    k.run("int", session)


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_trial_02_a_killed_pager_leaves_no_silence(k: K) -> None:
    """
    After `kill -9` of less, which cannot restore the screen, the next cell has its output.
    """
    session = k.new("killed-pager", "bash")
    page = str(k.file("page.txt", "line\n" * 100))
    cell = k.waiting(session, f"less {page}")["cell_id"]

    eventually(lambda: len(running("less", page)) == 1)
    slay(*running("less", page))

    assert k.collect(session, cell)["exit_code"] == 137
    assert k.output(session, "echo hello") == "hello"


def test_trial_13_line_drawing_and_insert_mode_are_in_results(k: K) -> None:
    """
    A result shows a box as a box, and text that was inserted before other text.
    """
    session = k.session("bash")

    assert k.output(session, r"printf '\033(0lqqk\033(B\n'") == "┌──┐"
    assert k.output(session, r"printf 'world\r\033[4hhello \033[4l\n'") == "hello world"
    assert k.output(session, r"printf 'left on: \033(0lq'") == "left on: ┌─"
    assert k.output(session, "echo lqqk") == "lqqk"
