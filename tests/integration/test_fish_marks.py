from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import fish
from agent_pty.integration.injected import SCRIPTS
from support.marks import NONCE, Marked

# Gives up the line, as Ctrl-C does. fish loses a Ctrl-C that comes just before it reads: without
# marks, too, one in two that follow upon the echo of a key. This is a key and is read as one.
GIVE_UP = b"\x07"

PLAIN = """
    set -g fish_greeting
    function fish_prompt; echo '> '; end
    bind \\cg cancel-commandline
"""

pytestmark = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


def start(
    home: Path, rc: str = "", argv: Sequence[str] = ("fish",), env: Mapping[str, str] | None = None
) -> Marked:
    """Start fish for a user who has added *rc* to a plain configuration."""
    config = home / "config" / "fish"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.fish").write_text(PLAIN + rc)
    places = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "cache")}
    return Marked(argv, home, {**places, **(env or {})})


def kinds(shell: Marked) -> list[str]:
    """Name all marks so far, without those that a prompt shows when it is drawn again."""
    names = [f"{mark.kind}{mark.number}" for mark, _, _ in shell.marks]
    return [name for before, name in zip(["", *names], names, strict=False) if name != before]


QUESTION = b"echo inner-(math 1+1)"

COMMANDS = {
    "unfinished line": ("printf abc", "abc", 0),
    "line": ("echo abc", "abc\n", 0),
    "nothing": ("false", "", 1),
    "blanks": (r"printf '\n\n a\t b  \n\n'", "\n\n a\t b  \n\n", 0),
    "unknown": ("no-such", "fish: Unknown command: no-such\n", 127),
    "tabs": ("echo 'a\tb\t'", "a\tb\t\n", 0),
    "loop": ("for i in 1 2\n\techo $i\nend", "1\n2\n", 0),
    "function": ("function f\n  echo f\n  return 3\nend\nf", "f\n", 3),
    "comment": ("echo a # don't\n# whole line\necho b", "a\nb\n", 0),
    "exclamation marks": ("echo hi!! !e", "hi!! !e\n", 0),
    "backslash": ("echo \\\\", "\\\n", 0),
    "leading blank": ("  echo a", "a\n", 0),
    "long line": (f"echo {'x' * 5000}", "x" * 5000 + "\n", 0),
    "forged marks": (r"printf '\e]133;D;0\a\e]133;D;9;apty=dead.99\ax\e]133;B\a'", "x", 0),
    "place": ("cd /; pwd", "/\n", 0),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_and_status_are_exact(name: str, tmp_path: Path) -> None:
    """
    A command's output is known to the byte, and so is its status.
    """
    text, output, status = COMMANDS[name]

    with start(tmp_path) as shell:
        assert shell.command(text) == (output, status)
        assert shell.command("printf next") == ("next", 0)
        assert kinds(shell)[:4] == ["D1", "B1", "C1", "D2"]


def test_two_hundred_commands_in_a_row(tmp_path: Path) -> None:
    """
    No output is ever lost to its neighbour.
    """
    with start(tmp_path) as shell:
        for number in range(200):
            assert shell.command(f"echo {number}") == (f"{number}\n", 0)


USERS = {
    "two lines": "function fish_prompt; printf 'one\\ntwo> '; end",
    "clock": "function fish_prompt; date +'%T '; end",
    "empty": "function fish_prompt; end",
    "none": "functions -e fish_prompt",
    "default": "functions -e fish_prompt; source $__fish_data_dir/functions/fish_prompt.fish",
    "wider than the screen": "function fish_prompt; string repeat -n 100 p; end",
    "right": "function fish_right_prompt; date; end",
    "vi": "fish_vi_key_bindings",
    "own enter": "bind \\r 'set -g entered 1' 'commandline -f execute'",
    "hooks that print": (
        "function a --on-event fish_postexec; echo x; end;"
        "function b --on-event fish_prompt; echo y; end;"
        "function c --on-event fish_preexec; echo z; end"
    ),
}


@pytest.mark.parametrize("name", USERS)
def test_what_the_user_has_set_is_no_hindrance(name: str, tmp_path: Path) -> None:
    """
    Marks do not depend on the user's prompt, keys, hooks and functions.
    """
    with start(tmp_path, USERS[name]) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert shell.command("not true")[1] == 1
        assert shell.command("true")[1] == 0
        shell.ready()

        assert kinds(shell) == ["D1", "B1", "C1", "D2", "B2", "C2", "D3", "B3", "C3", "D4", "B4"]
        assert "apty" not in shell.screen


def test_tracing_does_not_show_us(tmp_path: Path) -> None:
    """
    With fish_trace the user's commands are traced and none of ours.
    """
    with start(tmp_path) as shell:
        shell.command("set -g fish_trace 1")

        assert shell.command("echo a") == ("> echo a\na\n", 0)
        shell.ready()
        assert "apty" not in shell.screen


def test_the_screen_shows_nothing_of_ours(tmp_path: Path) -> None:
    """
    A person sees what they would see without us.
    """
    with start(tmp_path) as shell:
        shell.command("echo a")
        shell.command("function fish_prompt; echo 'new> '; end")
        shell.ready()

        assert [line.strip() for line in shell.screen.splitlines() if line.strip()] == [
            "> echo a",
            "a",
            "> function fish_prompt; echo 'new> '; end",
            "new>",
        ]


def test_prompt_and_enter_key_are_the_users_while_a_command_runs(tmp_path: Path) -> None:
    """
    What the user saves of their prompt and keys, and what a venv wraps, has nothing of ours.
    """
    with start(tmp_path) as shell:
        assert "apty" not in shell.command("functions fish_prompt; bind")[0]
        shell.command("function own; commandline -f execute; end")
        assert shell.command("bind \\r; bind \\r own") == ("bind --preset \\r execute\n", 0)
        assert shell.command("bind --user \\r; bind -e \\r") == ("bind \\r own\n", 0)
        shell.command("functions -c fish_prompt old; function fish_prompt; echo 'v '(old); end")
        assert shell.command("functions -e fish_prompt; functions -c old fish_prompt")[1] == 0
        assert shell.command("printf abc") == ("abc", 0)
        shell.ready()

        assert "v > functions -e" in shell.transcript
        assert "\n> printf abc\n" in shell.transcript


def test_nothing_is_in_the_environment(tmp_path: Path) -> None:
    """
    Children see neither our variables nor the nonce.
    """
    with start(tmp_path) as shell:
        assert shell.command(f"env | grep -e {NONCE} -e AGENT_PTY -e apty")[0] == ""


def test_the_users_hooks_see_the_status(tmp_path: Path) -> None:
    """
    Hooks and prompts read $status and $pipestatus as if ours were not there.
    """
    rc = """
        function hook --on-event fish_postexec; echo "hook $status $pipestatus" >>log; end
        function fish_prompt; echo "prompt $status $pipestatus" >>log; echo '> '; end
    """
    with start(tmp_path, rc) as shell:
        shell.command("rm log; true | fish -c 'exit 5'")

        output, _ = shell.command("cat log")
        assert output.splitlines()[:2] == ["hook 5 0 5", "prompt 5 0 5"]


@pytest.mark.parametrize("text", ["echo 'oops", "for i in 1 2", "if true\necho a", "echo \\"])
@pytest.mark.parametrize("rc", ["", "fish_vi_key_bindings", USERS["own enter"]])
def test_an_incomplete_command_is_told(text: str, rc: str, tmp_path: Path) -> None:
    """
    Enter in an incomplete command gives a mark, and giving up then leads back to a prompt.
    """
    with start(tmp_path, f"{rc}; bind -M insert \\cg cancel-commandline") as shell:
        shell.ready()
        shell.type(text)
        assert shell.until("P", "C", "D")[0].kind == "P"

        shell.write(GIVE_UP)
        assert shell.until("C", "D")[0].kind == "D"
        assert shell.command("printf abc") == ("abc", 0)


def test_an_incomplete_command_can_be_completed(tmp_path: Path) -> None:
    """
    What is typed after the mark belongs to the same command.
    """
    with start(tmp_path) as shell:
        shell.ready()
        shell.type("for i in 1 2\necho $i")
        shell.until("P")
        shell.type("end")

        assert shell.until("P", "C")[0].kind == "C"
        assert shell.until("D")[0].code == 0
        assert shell.transcript.count("\n1\n2\n") == 1


SYNTAX_ERRORS = {
    "one line": ("echo )", "fish: Unexpected ')' for unopened parenthesis\necho )\n     ^\n"),
    "many lines": (
        "echo a\necho b )\necho c",
        "\nfish: Unexpected ')' for unopened parenthesis\necho b )\n       ^\n",
    ),
}


@pytest.mark.parametrize("name", SYNTAX_ERRORS)
def test_a_syntax_error_ends_the_command(name: str, tmp_path: Path) -> None:
    """
    By itself fish leaves the text in the line; with us the next command starts afresh.
    """
    text, output = SYNTAX_ERRORS[name]

    with start(tmp_path) as shell:
        assert shell.command(text) == (output, 123)
        assert shell.command("printf abc") == ("abc", 0)


def test_lines_without_a_command_end_too(tmp_path: Path) -> None:
    """
    An empty line, a comment and a line given up each lead to a new prompt.
    """
    with start(tmp_path) as shell:
        assert shell.command("fish -c 'exit 9'") == ("", 9)
        assert shell.command("") == ("", 9)
        assert shell.command("# only a comment")[0] == ""
        shell.ready()
        shell.write(b"echo half")
        shell.until_text("half")
        shell.write(GIVE_UP)
        assert shell.until("C", "D")[0].kind == "D"

        assert shell.command("printf abc") == ("abc", 0)


def test_a_question_is_no_prompt(tmp_path: Path) -> None:
    """
    `read` uses the line editor too; what is answered to it is not looked at.
    """
    with start(tmp_path) as shell:
        shell.ready()
        shell.type("read -P 'what? ' answer; echo got $answer")
        shell.until_text("what? ")
        shell.write(b"it's\r")

        assert shell.until("B", "P", "D")[0].kind == "D"
        assert "got it's\n" in shell.transcript


def test_ctrl_c_ends_a_program(tmp_path: Path) -> None:
    """
    An interrupted program ends as any other.
    """
    with start(tmp_path) as shell:
        shell.ready()
        shell.type("sh -c 'echo up-$((1+1)); exec sleep 60'")
        shell.until_text("up-2")
        shell.write(b"\x03")

        assert shell.until("D")[0].code == 130
        assert shell.command("printf abc") == ("abc", 0)


NESTED = "set -q again; and function fish_prompt; echo 'in> '; end; set -gx again 1"


def test_a_nested_shell_has_no_marks(tmp_path: Path) -> None:
    """
    Nothing of ours is inherited, and the outer shell's marks go on when the inner one ends.
    """
    with start(tmp_path, NESTED) as shell:
        shell.nest("fish", QUESTION)
        assert kinds(shell) == ["D1", "B1", "C1"]

        shell.write(b"exit 6\r")
        assert shell.until("D")[0].code == 6
        assert shell.command("printf abc") == ("abc", 0)


def test_exec_of_another_shell_breaks_nothing(tmp_path: Path) -> None:
    """
    A shell that takes the place of ours works, without marks.
    """
    with start(tmp_path, NESTED) as shell:
        shell.nest("exec fish", QUESTION)

        assert kinds(shell) == ["D1", "B1", "C1"]


def test_history_holds_what_was_typed(tmp_path: Path) -> None:
    """
    Nothing we do is in the history, in memory or in its file.
    """
    with start(tmp_path) as shell:
        shell.command("echo a")
        shell.command("")

        assert shell.command("history save; history") == ("echo a\n", 0)
        assert "apty" not in (tmp_path / "data/fish/fish_history").read_text()


def test_options_keep_their_meaning(tmp_path: Path) -> None:
    """
    A login shell is one, and without configuration there are marks too.
    """
    with start(tmp_path, argv=["fish", "-il", "-C", "set -g mine 1"]) as shell:
        assert shell.command("status is-login; and echo $mine") == ("1\n", 0)
    with start(tmp_path, "echo configured", ["fish", "--no-config"]) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert "configured" not in shell.transcript


@pytest.mark.parametrize(
    "argv",
    [
        ["fish", "-c", "echo"],
        ["fish", "script"],
        ["fish", "--version"],
        ["fish", "-n"],
        ["fish", "-C"],
        ["fish", "-d", "all"],
        ["fish", "-lc", "echo"],
    ],
)
def test_other_uses_are_left_alone(argv: list[str]) -> None:
    """
    What reads no commands from the terminal is started as it is.
    """
    assert fish.inject(argv, {}, NONCE) is None


def test_options_are_handed_on() -> None:
    """
    The caller's options and environment are kept, and ours come last.
    """
    injected = fish.inject(["/bin/fish", "-l", "--init-command=x", "-C", "y"], {"A": "b"}, NONCE)

    assert injected is not None
    assert injected.argv[:5] == ["/bin/fish", "-l", "--init-command=x", "-C", "y"]
    assert injected.argv[5:] == ["-C", f"source {SCRIPTS}/fish.fish"]
    assert (injected.env, injected.secret) == ({"A": "b"}, NONCE)
