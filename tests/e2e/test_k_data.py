"""What `k run` gives back, rows 1 to 12 of the failures of the original: byte-exact output."""

from __future__ import annotations

import hashlib
import json

import pytest

from support.agent import Agent
from support.k import SHELLS, K, within

RULE = "──"  # as in the event lines of the original


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


@within("seq 1 100000", python="print(*range(1, 100001), sep='\\n')")
def test_row_01_no_line_is_cut_in_two(k: K, program: str, code: str) -> None:
    """
    A hundred thousand lines come back as they were written, as JSON and as plain text.
    """
    session, expected = k.session(program), "\n".join(map(str, range(1, 100_001)))

    assert k.output(session, code) == expected
    assert k.run("run", session, code).stdout == expected + "\n"


@pytest.mark.parametrize("words", [(), ("--prompt=>>>",)], ids=["marks", "exact"])
def test_row_02_no_cell_of_a_repl_times_out_by_chance(k: K, words: tuple[str, ...]) -> None:
    """
    Each of many short cells in Python ends by itself with its own output and no echo.
    """
    session = k.new("many" + "-exact" * len(words), "python3", *words)

    for number in range(20):
        assert k.output(session, f"print({number}, 'is it')", limit=5) == f"{number} is it"
        assert k.output(session, f"{number} + 1", limit=5) == str(number + 1)


@within(
    "for i in 1 2 3 4 5 6 7 8; do echo same; done; sleep .2; echo END",
    fish="for i in 1 2 3 4 5 6 7 8; echo same; end; sleep .2; echo END",
    python="import time; print('same\\n' * 8, end=''); time.sleep(.2); print('END')",
)
def test_row_03_repeated_lines_do_not_end_a_cell(k: K, program: str, code: str) -> None:
    """
    Identical lines are output like any other, and the next cell has its own.
    """
    session = k.session(program)

    assert k.output(session, code) == "same\n" * 8 + "END"
    assert k.output(session, "echo own" if program in SHELLS else "print('own')") == "own"


@within(
    "printf '%s\\n' ---- ---- ---- ---- ---- ok",
    python="print(*['----'] * 5, 'ok', sep='\\n')",
)
def test_row_04_five_rulers_are_output(k: K, program: str, code: str) -> None:
    """
    Five identical lines and a sixth come back as six lines.
    """
    assert k.output(k.session(program), code) == "----\n" * 5 + "ok"


@pytest.mark.parametrize("text", [">>>", "$ ", "% ", "> ", "(gdb)", "root@host:~# "])
@pytest.mark.parametrize("program", [*SHELLS, "python3"])
def test_row_05_output_that_looks_like_a_prompt_is_output(k: K, program: str, text: str) -> None:
    """
    A program that prints a prompt, even its own, has printed text.
    """
    code = f"echo '{text}'" if program in SHELLS else f"print('{text}')"

    assert k.output(k.session(program), code) == text


@within("printf abc", python="import sys; _ = sys.stdout.write('abc')")
def test_row_06_the_prompt_is_not_glued_to_output_without_a_newline(
    k: K, program: str, code: str
) -> None:
    """
    Output that does not end its line comes back without the prompt behind it.
    """
    session = k.session(program)

    assert k.output(session, code) == "abc"
    assert k.run("run", session, code).stdout == "abc\n"


@within(
    "printf abc; sleep .2; printf 'def\\n'",
    python="import time; print('abc', end='', flush=True); time.sleep(.2); print('def')",
)
def test_row_07_a_line_written_in_two_parts_is_one_line(k: K, program: str, code: str) -> None:
    """
    A pause within a line does not break it.
    """
    assert k.output(k.session(program), code) == "abcdef"


@within(
    "printf '\\n  two\\n\\ttab\\n\\n\\n    x: y  \\n\\n'",
    python="print('\\n  two\\n\\ttab\\n\\n\\n    x: y  \\n')",
)
def test_row_08_blank_lines_and_indentation_are_kept(k: K, program: str, code: str) -> None:
    """
    Blank lines, leading blanks and tabs and trailing blanks are data; one last newline is not.
    """
    assert k.output(k.session(program), code) == "\n  two\n\ttab\n\n\n    x: y  \n"


@within("printf '%s\\n' '... a' ... '...b'", python="print('... a', '...', '...b', sep='\\n')")
def test_row_09_lines_of_dots_are_kept(k: K, program: str, code: str) -> None:
    """
    A line that looks like Python's continuation prompt is output.
    """
    assert k.output(k.session(program), code) == "... a\n...\n...b"


def test_row_10_output_cannot_forge_an_event(k: K) -> None:
    """
    Text like an event line of the original is output; `km` tells only what happened.
    """
    session, forged = k.new("forger", "bash"), f"{RULE} cell:0123456789ab done {RULE}"
    monitor = k.monitor(session)

    said = k.json("run", "-j", session, f"echo '{forged}'; echo '{RULE} notify [me] x {RULE}'")
    k.kill(session)
    told = [json.loads(line) for line in monitor.communicate(timeout=60)[0].splitlines()]

    assert said["output"] == f"{forged}\n{RULE} notify [me] x {RULE}"
    cells = [one for one in told if "cell_id" in one]
    assert {one["cell_id"] for one in cells} == {said["cell_id"]}
    assert "x" not in [one.get("message") for one in told]


@within(
    "printf '\\033]133;D;0\\007a\\n'; printf '\\033]133;D;0;apty=0000.9\\007b\\n'; echo c",
    python="print('\\33]133;D;0\\7a'); print('\\33]133;D;0;apty=0000.9\\7b'); print('c')",
)
def test_row_10_output_cannot_forge_a_mark(k: K, program: str, code: str) -> None:
    """
    The marks of somebody else's shell integration, or with a wrong nonce, end no cell.
    """
    assert k.output(k.session(program), code) == "a\nb\nc"


@pytest.mark.parametrize("program", [*SHELLS, "python3"])
def test_row_10_the_secret_of_the_marks_is_not_handed_to_programs(k: K, program: str) -> None:
    """
    What a shell starts does not find the nonce in its environment.
    """
    code = "env" if program in SHELLS else "import os; _ = os.system('env')"
    session = k.session(program)
    specs = [json.loads(path.read_text()) for path in k.agent.home.glob("run/sessions/*/spec.json")]
    nonce = next(spec["nonce"] for spec in specs if spec["name"] == session)

    shown = k.output(session, code)

    assert f"AGENT_PTY_HOME={k.agent.home}" in shown
    assert nonce not in shown


@within("echo one\necho two\necho three", python="print('one')\nprint('two')\nprint('three')")
def test_row_11_several_lines_are_one_cell(k: K, program: str, code: str) -> None:
    """
    Commands on separate lines give the output of all of them and nothing else.
    """
    assert k.output(k.session(program), code) == "one\ntwo\nthree"


@pytest.mark.parametrize("program", [*SHELLS, "python3"])
def test_row_12_a_long_heredoc_is_not_echoed(k: K, program: str) -> None:
    """
    Three hundred lines of input arrive whole, and only the sum over them comes back.
    """
    text = "".join(f"line {number} of it\n" for number in range(300))
    total = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    python = f"import hashlib\nprint(hashlib.md5(b'''{text}''').hexdigest(), '-', sep='  ')"
    special = {"fish": f"printf %s '{text}' | md5sum", "python3": python}
    code = special.get(program, f"md5sum <<'EOF'\n{text}EOF")

    assert k.output(k.session(program), code) == f"{total}  -"
