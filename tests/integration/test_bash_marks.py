from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_pty.core.line_text import unquoted
from agent_pty.integration import bash
from support.marks import ASK, NONCE, Marked, asked

PROMPTS = {
    "empty": "PS1=",
    "two lines": r"PS1='\u\n$ '",
    "clock": r"PS1='\t > '",
    "colours": r"PS1='\[\e[32m\]\w\[\e[0m\] $ '",
    "title": r"PS1='\[\e]0;\w\a\]$ '",
    "command": "PS1='$(echo computed) '",
}


def start(
    home: Path, rc: str = "", argv: Sequence[str] = ("bash",), env: Mapping[str, str] | None = None
) -> Marked:
    """Start bash for a user whose .bashrc is *rc*."""
    (home / ".bashrc").write_text(rc)
    return Marked(argv, home, env)


@pytest.mark.parametrize("rc", PROMPTS.values(), ids=PROMPTS)
def test_any_prompt_will_do(tmp_path: Path, rc: str) -> None:
    """
    The end of a command is marked whatever the prompt looks like.
    """
    with start(tmp_path, rc) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert shell.command("echo; echo '  x\t '") == ("\n  x\t \n", 0)
        assert shell.command("(exit 3)") == ("", 3)


@pytest.mark.parametrize(
    "argv",
    [
        ("bash",),
        ("bash", "--norc"),
        ("bash", "-l"),
        ("bash", "--norc", "--noprofile"),
        ("bash", "-i"),
    ],
)
def test_it_is_marked_however_it_is_started(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """
    Options decide which start-up files are read, not whether commands are marked.
    """
    with start(tmp_path, argv=argv) as shell:
        assert [shell.command(f"echo {i}") for i in range(200)] == [
            (f"{i}\n", 0) for i in range(200)
        ]


@pytest.mark.parametrize("argv", [("bash", "-c", "true"), ("bash", "x.sh"), ("bash", "--posix")])
def test_what_is_not_interactive_is_left_alone(argv: tuple[str, ...]) -> None:
    """
    A script or a command string is started as it is.
    """
    assert bash.inject(argv, {}, NONCE) is None


def test_start_up_files_keep_their_meaning(tmp_path: Path) -> None:
    """
    .bashrc is read once, before us; without rcfiles it is not read; a login shell reads profiles.
    """
    (tmp_path / ".bash_profile").write_text("seen=profile")
    rc = "seen=${seen-}rc"

    with start(tmp_path, rc) as shell:
        assert shell.command("echo $seen") == ("rc\n", 0)
    with start(tmp_path, rc, argv=("bash", "--norc")) as shell:
        assert shell.command("echo $seen.") == (".\n", 0)
    with start(tmp_path, rc, argv=("bash", "-l")) as shell:
        assert shell.command("echo $seen") == ("profile\n", 0)


def test_hooks_of_the_user_still_run_and_see_the_status(tmp_path: Path) -> None:
    """
    PROMPT_COMMAND, as a text or as a list, DEBUG traps and PS0 work as before.
    """
    rc = """
        PROMPT_COMMAND=('last=$?' 'again=$?')
        PS0='started '
        trap 'traced=yes' DEBUG
    """
    with start(tmp_path, rc) as shell:
        shell.command("(exit 5)")
        output, _ = shell.command("echo $last $traced")

    assert output == "5 yes\n"
    assert "started" in shell.transcript


def test_a_theme_that_sets_its_prompt_anew_keeps_it(tmp_path: Path) -> None:
    """
    Marks are put around the prompt at every prompt, so nothing that sets PS1 loses them.
    """
    with start(tmp_path, "theme() { PS1='theme> '; }; PROMPT_COMMAND=theme") as shell:
        assert shell.command("echo one") == ("one\n", 0)
        assert shell.command("PS1='mine> '") == ("", 0)
        shell.command("PROMPT_COMMAND='echo x'")
        assert shell.command("echo two; (exit 2)") == ("two\n", 2)
    assert "theme> " in shell.transcript


@pytest.mark.parametrize("new", ["unset PROMPT_COMMAND", "PROMPT_COMMAND=('echo x')"])
def test_trial_09_a_new_list_of_commands_costs_one_mark(tmp_path: Path, new: str) -> None:
    """
    The prompt after it has no D, but the shell says its status when it is asked.
    """
    with start(tmp_path, "PS1='mine> '") as shell:
        shell.ready()
        shell.type(f"{new}; false")
        shell.until("C")
        while shell.transcript.count("mine> ") < 2:
            shell.read()

        shell.write(ASK)
        report = asked(shell)

        assert (report.code, report.text) == (1, "")
        shell.write(b"\r")
        assert shell.command("echo two; (exit 2)") == ("two\n", 2)


@pytest.mark.parametrize("options", ["", "set -o vi", "set -euo pipefail", "set -x"])
def test_trial_08_the_shell_says_what_stands_on_its_line(tmp_path: Path, options: str) -> None:
    """
    Exactly, with the cursor, in every mode, after history and movement, and nothing is changed.
    """
    with start(tmp_path, options) as shell:
        shell.ready()
        shell.write("echo 'gr\u00fcn' \\x".encode() + b"\x02" * (options != "set -o vi"))
        shell.until_text("\\x")

        shell.write(ASK)
        report = asked(shell)

        assert unquoted(report.text) == "echo 'gr\u00fcn' \\x"
        assert report.cursor == (14 if options == "set -o vi" else 13)
        shell.write(b"\x05" * (options != "set -o vi") + b"\r")
        mark, _, _ = shell.until("D")
        assert mark.code == 0


def test_trial_08_vi_command_mode_is_reported(tmp_path: Path) -> None:
    """
    Text that is typed there would be commands.
    """
    with start(tmp_path, "set -o vi") as shell:
        shell.ready()
        shell.write(b"\x1b")
        shell.write(ASK)

        assert asked(shell).mode == "vi"


@pytest.mark.parametrize(
    "code", ["set -x", "set -v", 'echo "${PS1@P}"', "declare -p", "env", "cat /proc/$$/environ"]
)
def test_trial_16_the_secret_is_nowhere(tmp_path: Path, code: str) -> None:
    """
    Neither traces nor prompts, variables of children or the process table have it.
    """
    with start(tmp_path) as shell:
        shell.command(code if code != "declare -p" else "bash -c 'declare -p'")
        output, _ = shell.command("echo traced")
        shell.ready()

        assert NONCE not in shell.transcript
        assert "traced" in output


def test_trial_16_a_trace_shows_nothing_of_ours(tmp_path: Path) -> None:
    """
    With `set -x` the output of a command has its own trace and no more.
    """
    with start(tmp_path) as shell:
        shell.command("set -x")

        assert shell.command("echo hi") == ("+ echo hi\nhi\n", 0)
        assert "apty" not in shell.transcript


def test_trial_16_a_prompt_that_is_printed_again_ends_nothing(tmp_path: Path) -> None:
    """
    `${PS1@P}` and `${PS0@P}` show marks that were spent; the command's own end comes after them.
    """
    with start(tmp_path) as shell:
        code = 'echo "${PS1@P}"; echo "${PS0@P}"; echo last; (exit 4)'

        output, status = shell.command(code)

        assert status == 4
        assert output.endswith("last\n")


def test_trial_16_a_mark_with_a_wrong_secret_is_counted(tmp_path: Path) -> None:
    """
    It has no effect, and it does not go unnoticed.
    """
    with start(tmp_path) as shell:
        code = r"printf '\033]133;D;0;apty=%s.99.1\007' 0123456789abcdef; (exit 5)"

        assert shell.command(code)[1] == 5
        assert shell.scanner.take_forged() == 1


@pytest.mark.parametrize("argv", [("bash",), ("bash", "--norc")])
def test_strict_mode_does_not_end_the_shell(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """
    `set -euo pipefail` ends a shell at the first failure: none of ours may be one.
    """
    with start(tmp_path, argv=argv) as shell:
        assert shell.command("set -euo pipefail") == ("", 0)
        assert shell.command("echo still here") == ("still here\n", 0)
        # A failure that ends no shell under `set -e`; nor may what repeats its status.
        assert shell.command("[ 1 = 2 ] && true") == ("", 1)
        assert shell.command("echo still here") == ("still here\n", 0)


@pytest.mark.parametrize("argv", [("bash",), ("bash", "--norc")])
def test_nothing_of_ours_is_inherited_or_remembered(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """
    Children see no variable of ours, not even an exported prompt; the history has only commands.
    """
    with start(tmp_path, argv=argv, env={"PS1": "$ ", "PROMPT_COMMAND": ":"}) as shell:
        assert shell.command("env | grep -i -e apty -e AGENT_PTY") == ("", 1)
        assert shell.command("history | sed 's/ *[0-9]* *//'") == (
            "env | grep -i -e apty -e AGENT_PTY\nhistory | sed 's/ *[0-9]* *//'\n",
            0,
        )


def test_a_nested_shell_has_no_marks_and_the_outer_comes_back(tmp_path: Path) -> None:
    """
    Only the session's own shell is integrated.
    """
    with start(tmp_path) as shell:
        shell.nest("PS1='in> ' bash --norc", b"echo inner-$((1+1))")
        assert [mark.kind for mark, _, _ in shell.marks][-1] == "C"

        shell.write(b"exit 4\r")
        assert shell.until("D")[0].code == 4
        assert shell.command("echo outer") == ("outer\n", 0)


def test_marks_without_the_nonce_are_output(tmp_path: Path) -> None:
    """
    A program may write what it likes: only who knows the nonce can mark.
    """
    with start(tmp_path) as shell:
        forged = r"printf '\033]133;D;0\007\033]133;D;0;apty=dead.9\007still\n'"

        assert shell.command(forged) == ("still\n", 0)


def test_several_commands_are_one(tmp_path: Path) -> None:
    """
    A paste of several lines runs as one: one end, all of the output, the last status.
    """
    with start(tmp_path) as shell:
        code = "for i in a b; do\n\techo $i\n\ndone\ncat <<E\nx\n\ty\nE\n(exit 7)"

        assert shell.command(code) == ("a\nb\nx\n\ty\n", 7)


def test_an_unfinished_command_asks_for_more(tmp_path: Path) -> None:
    """
    A continuation prompt is marked, so nobody waits for the end of what has not begun.
    """
    with start(tmp_path) as shell:
        shell.ready()
        shell.type("echo 'oops")
        shell.until("P")
        # Not Ctrl-C: bash loses its prompt if that comes just before it reads.
        shell.write(b"'\r")
        shell.until("D")
        assert shell.command("echo after") == ("after\n", 0)


def test_exclamation_marks_are_literal(tmp_path: Path) -> None:
    """
    History expansion is for people; code is meant as it stands.
    """
    with start(tmp_path) as shell:
        assert shell.command('echo "a!!b"') == ("a!!b\n", 0)


def test_a_long_line_has_no_echo_in_its_output(tmp_path: Path) -> None:
    """
    However the line editor wraps and scrolls, output begins where the command runs.
    """
    with start(tmp_path) as shell:
        words = "x" * 5000

        assert shell.command(f"echo {words} | wc -c") == ("5001\n", 0)
