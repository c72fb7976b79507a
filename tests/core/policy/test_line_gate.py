"""The gate of a line: keys in any pieces, lines that belong together, and what is taken over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.policy.history_expansion import expands_history
from agent_pty.core.policy.keystroke import Keystrokes
from agent_pty.core.policy.line_gate import LineGate
from agent_pty.core.policy.policy_file import BUILT_IN
from agent_pty.core.policy.program_gate import ProgramGate
from agent_pty.core.policy.program_text import family_of, judged_text
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.unfinished import NOTHING
from agent_pty.core.policy.verdict import judged

RM = "rm -rf build"
HARMLESS = ("true", "echo hello", "ls -la", "cd src", "FOO=1", "git status", "make test")
GATED = (RM, "git push -f", "terraform apply", "kubectl -n x delete pod y", "vault kv put a b=c")


def test_a_refused_line_has_defined_nothing() -> None:
    """
    A function that was never defined must not hide the program of its name.
    """
    gate = LineGate()
    assert gate.send(f"rm() {{ echo; }}; {RM.replace('rm', 'git push -f; rm')}\r").action != "allow"

    assert gate.send(f"{RM}\r").rule == "rm -rf"


def test_a_line_that_was_typed_defines() -> None:
    """
    What the shell knows from then on, the gate knows.
    """
    gate = LineGate()
    assert gate.send("alias clean='rm -rf'\r").action == "allow"

    assert gate.send("clean build\r").rule == "rm -rf"


def test_ctrl_c_gives_up_lines_that_wait_for_more() -> None:
    """
    After it a new line begins.
    """
    gate = LineGate()
    gate.send("echo 'begun\r")

    assert gate.send("\x03echo done\r").action == "allow"
    assert gate.send(f"{RM}\r").rule == "rm -rf"


def test_a_prompt_ends_what_waited_for_more() -> None:
    """
    The shell has drawn its prompt, so nothing is continued.
    """
    gate = LineGate()
    gate.send("echo 'begun\r")

    gate.prompt()

    assert gate.certain
    assert gate.send(f"{RM}\r").rule == "rm -rf"


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_a_prompt_after_an_earlier_command_ends_nothing(ahead: int) -> None:
    """
    A line that was typed while commands ran is read at the prompt after the last of them.
    """
    gate = LineGate()
    gate.prompt()
    for _ in range(ahead + 1):
        gate.send("sleep 1\r")
    gate.send("eval 'rm \\\r")

    for _ in range(ahead + 1):
        gate.ended()
        gate.prompt()

        assert gate.judge("-rf build'\r").verdict.rule == "rm -rf"
        assert gate.judge(f"{RM}\r").verdict.rule == "rm -rf"


def test_a_program_may_have_taken_what_was_typed_while_it_ran() -> None:
    """
    Its open quote must not hide the next command.
    """
    gate = LineGate()
    gate.prompt()
    gate.send("cat\r")
    gate.send("it's nice\r")
    gate.ended()

    gate.prompt()

    assert gate.judge(f"{RM}\r").verdict.rule == "rm -rf"
    assert gate.send("ls\r").action == "allow"
    gate.prompt()
    assert gate.state.unfinished == NOTHING


def test_what_is_typed_right_after_ctrl_c_may_be_thrown_away() -> None:
    """
    A quote that the shell never saw must not hide the next command.
    """
    gate = LineGate()
    gate.prompt()
    gate.send("\x03")
    gate.send("echo 'begun\r")

    gate.prompt()

    assert gate.judge(f"{RM}\r").verdict.rule == "rm -rf"


def test_a_shell_that_says_its_line_has_read_what_came_before() -> None:
    """
    However many lines a program took: the next prompt ends a line that was typed after that.
    """
    gate = LineGate()
    gate.prompt()
    for _ in range(5):
        gate.send("data\r")
    gate.prompt()
    gate.know("", 0, whole=False)
    gate.send("echo 'begun\r")

    gate.prompt()

    assert gate.state.unfinished == NOTHING


def test_what_is_typed_after_a_command_has_ended_is_for_the_shell() -> None:
    """
    Its prompt is not drawn yet, and still the line is the shell's alone: it is judged once.
    """
    gate = LineGate()
    gate.prompt()
    gate.send("true\r")
    gate.ended()
    gate.send("cat <<EOF\r")

    gate.prompt()

    assert gate.send(f"{RM}\r").action == "allow"
    assert gate.send("EOF\r").action == "allow"
    assert gate.send(f"{RM}\r").rule == "rm -rf"


def test_a_line_that_many_programs_may_have_taken_is_not_known() -> None:
    """
    It is not judged for ever more possibilities: it needs an approval.
    """
    gate = LineGate()
    for number in range(40):
        gate.send(f"echo '{number}\r")
        gate.send("sleep 1\r")
        gate.prompt()

    assert len(gate.state.unfinished) <= 8


def test_text_that_was_typed_before_a_prompt_makes_the_line_uncertain() -> None:
    """
    The program before the prompt may have taken it.
    """
    gate = LineGate()
    gate.send("typed ahead")

    gate.prompt()

    assert not gate.certain
    assert gate.line == "typed ahead"


def test_what_the_shell_says_of_its_line_counts() -> None:
    """
    Text is inserted at its cursor.
    """
    gate = LineGate()
    gate.know("r -rf build", 1, whole=False)

    assert gate.send("m\r").rule == "rm -rf"


@pytest.mark.parametrize("keys", ["\t", "\x1b[A", "\x12x", "\x1bk"])
def test_keys_that_only_the_shell_knows_make_a_line_opaque(keys: str) -> None:
    """
    Where nobody can be asked, it needs an approval.
    """
    assert LineGate().send(f"l{keys}\r").rule == "opaque execution"


@pytest.mark.parametrize("key", ["\r", "\n", "\x0f", "\x1ba"])
def test_every_key_that_runs_a_line_is_an_enter(key: str) -> None:
    """
    Ctrl-O and Alt-A run it as well.
    """
    assert LineGate().send(f"{RM}{key}").rule == "rm -rf"


def test_a_megabyte_of_text_is_one_keystroke() -> None:
    """
    Cutting it must not take longer than reading it.
    """
    (one,) = Keystrokes().feed("x" * 1_000_000)

    assert (one.kind, len(one.text)) == ("text", 1_000_000)


@pytest.mark.parametrize(("last", "action"), [("more", "allow"), (RM, "require_approval")])
def test_more_lines_than_can_be_followed_are_one_text(last: str, action: str) -> None:
    """
    If it names a program of a family, somebody must look at it.
    """
    text = "".join(f"line {number}\r" for number in range(20_000))

    assert LineGate().send(f"{text}{last}\r").action == action
    assert judged_text(None, f"{text}{last}".replace("\r", "\n"), BUILT_IN).action == action


@given(st.text(max_size=60), st.data())
def test_keys_are_the_same_in_whatever_pieces_they_come(keys: str, data: st.DataObject) -> None:
    """
    A key may be cut anywhere.
    """
    at = data.draw(st.integers(0, len(keys)))
    whole, pieces = Keystrokes(), Keystrokes()

    once = whole.feed(keys)
    twice = [*pieces.feed(keys[:at]), *pieces.feed(keys[at:])]

    assert "".join(one.typed for one in once) == "".join(one.typed for one in twice)
    assert [one.typed for one in once if one.kind != "text"] == [
        one.typed for one in twice if one.kind != "text"
    ]


@given(st.text(max_size=200))
def test_no_text_makes_the_gate_fail(text: str) -> None:
    """
    Whatever is typed, there is a verdict.
    """
    LineGate().send(f"{text}\r")
    ProgramGate().judge("python", f"{text}\r", BUILT_IN)


@given(
    st.lists(st.sampled_from(HARMLESS), max_size=3),
    st.sampled_from(GATED),
    st.lists(st.sampled_from(HARMLESS), max_size=3),
    st.sampled_from((" ; ", " && ", "\n", " || ", " | ", " & ")),
)
def test_harmless_text_around_a_command_does_not_hide_it(
    before: list[str], gated: str, after: list[str], glue: str
) -> None:
    """
    Each command is judged by itself.
    """
    assert judged(glue.join([*before, gated, *after]), Scope()).action == "require_approval"


@pytest.mark.parametrize(
    ("line", "expands"),
    [
        ("!!", True),
        ("sudo !rm", True),
        ("^a^b", True),
        ('echo "!x"', True),
        ("echo 'a!b'", False),
        ("echo hi!", False),
        ("[[ ! -f x ]]", False),
        ("echo $!", False),
        ("echo ${!name}", False),
        ("ls [!a]*", False),
        (r"echo \!x", False),
    ],
)
def test_history_expansion_is_found(line: str, *, expands: bool) -> None:
    """
    As bash does it: not in single quotes, and not where a mark means something else.
    """
    assert expands_history(line) is expands


@pytest.mark.parametrize(
    ("family", "text", "rule"),
    [
        ("python", f'os.system("{RM}")', "rm -rf"),
        ("python", "import subprocess", None),
        ("python", "x = 'rm -rf y'", None),
        ("python", "shutil.rmtree('x')", "rm -rf"),
        ("ipython", f"!{RM}", "rm -rf"),
        ("ipython", "a != b", None),
        ("node", f"require('child_process').execSync('{RM}')", "rm -rf"),
        ("psql", rf"\! {RM}", "rm -rf"),
        ("psql", "delete from t;", None),
        ("sqlite3", f".shell {RM}", "rm -rf"),
        ("gdb", f"shell {RM}", "rm -rf"),
        ("vim", f":!{RM}", "rm -rf"),
        ("vim", f"i{RM}", None),
        ("vim", f":wq\n{RM}", "rm -rf"),
        ("less", "!git push -f", "git push --force"),
        (None, RM, "rm -rf"),
        (None, "y", None),
    ],
)
def test_only_what_leads_out_of_a_program_is_judged(
    family: str | None, text: str, rule: str | None
) -> None:
    """
    Other text there is the program's own affair; of a program that nobody knows, it may not be.
    """
    assert judged_text(family, text, BUILT_IN).rule == rule


@pytest.mark.parametrize(
    ("program", "family"),
    [("python3.12", "python"), ("vim.basic", "vim"), ("bash", None), ("nodejs", "node")],
)
def test_programs_are_known_by_their_names(program: str, family: str | None) -> None:
    """
    With and without their version.
    """
    assert family_of(program) == family
