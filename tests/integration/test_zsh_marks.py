from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import zsh
from agent_pty.integration.injected import SCRIPTS
from support.marks import NONCE, Marked

# Gives up the line, as Ctrl-C does. zsh loses a Ctrl-C that comes just before it reads: without
# marks, too, one in two that follow upon the echo of a key. This is a key and is read as one.
GIVE_UP = b"\x07"

pytestmark = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")


def start(
    home: Path, rc: str = "", argv: Sequence[str] = ("zsh",), env: Mapping[str, str] | None = None
) -> Marked:
    """Start zsh for a user whose .zshrc is *rc*."""
    (home / ".zshrc").write_text(rc)
    return Marked(argv, home, env)


def kinds(shell: Marked) -> list[str]:
    """Name all marks so far: `D1`, `B1`."""
    return [f"{mark.kind}{mark.number}" for mark, _, _ in shell.marks]


QUESTION = b"echo inner-$((1+1))"

COMMANDS = {
    "unfinished line": ("printf abc", "abc", 0),
    "line": ("echo abc", "abc\n", 0),
    "nothing": ("false", "", 1),
    "blanks": (r"printf '\n\n a\t b  \n\n'", "\n\n a\t b  \n\n", 0),
    "unknown": ("no-such", "zsh: command not found: no-such\n", 127),
    "loop": ("for i in 1 2; do\n\techo $i\ndone", "1\n2\n", 0),
    "function": ("f() {\n  echo f\n  return 3\n}\nf", "f\n", 3),
    "here-document": ("cat <<EOF\na\n  b\n\nEOF", "a\n  b\n\n", 0),
    "comment": ("echo a # don't\n# whole line\necho b", "a\nb\n", 0),
    "exclamation marks": ("echo hi!! !e", "hi!! !e\n", 0),
    "leading blank": ("  echo a", "a\n", 0),
    "syntax error": ("echo )", "zsh: parse error near `)'\n", 1),
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


def test_two_hundred_commands_in_a_row(tmp_path: Path) -> None:
    """
    No output is ever lost to its neighbour.
    """
    with start(tmp_path) as shell:
        for number in range(200):
            assert shell.command(f"echo {number}") == (f"{number}\n", 0)


USERS = {
    "two lines": "PROMPT=$'one\\ntwo> '",
    "clock": "PROMPT='%T '",
    "empty": "PROMPT=",
    "right": "RPROMPT='%T right'",
    "substituted": "setopt prompt_subst; PROMPT='$(echo sub; false)> '",
    "vi": "bindkey -v",
    "own end of line mark": "PROMPT_EOL_MARK='%K{red}no newline%k'",
    "no end of line mark": "PROMPT_EOL_MARK=",
    "overwriting prompt": "setopt no_prompt_sp",
    "no line editor": "unsetopt zle",
    "no paste": "unset zle_bracketed_paste",
    "hooks that print": "precmd() { print; print x }; preexec() { print y }",
    "hooks set to nothing": "precmd_functions=() preexec_functions=()",
    "strange options": "setopt ksh_arrays sh_word_split no_prompt_percent csh_junkie_quotes",
    "aliases": "alias -g printf=false local=false; alias zle=false typeset=false",
    "strict": "setopt nounset pipefail; precmd() { : $unknown }",
    "failing widget": "setopt nounset; zle-line-init() { : $no }; zle -N zle-line-init",
    "error trap": "trap 'echo trapped' ZERR",
    "other shell": "emulate sh",
    "redrawn": "zle-line-init() { zle reset-prompt }; zle -N zle-line-init",
}


@pytest.mark.parametrize("name", USERS)
def test_what_the_user_has_set_is_no_hindrance(name: str, tmp_path: Path) -> None:
    """
    Marks do not depend on the user's prompt, options, hooks and aliases.
    """
    with start(tmp_path, USERS[name]) as shell:
        assert shell.command("\\printf abc") == ("abc", 0)
        assert shell.command("(exit 3) || ! true") == ("", 1)
        assert shell.command("\\echo abc") == ("abc\n", 0)
        shell.ready()

        assert kinds(shell) == ["D1", "B1", "C1", "D2", "B2", "C2", "D3", "B3", "C3", "D4", "B4"]


def test_the_screen_shows_nothing_of_ours(tmp_path: Path) -> None:
    """
    A person sees what they would see without us.
    """
    with start(tmp_path, "PROMPT='%# ' RPROMPT=r", env={"PS1": "x"}) as shell:
        shell.command("printf a")
        shell.command("PROMPT='new> '")
        shell.ready()
        prompt = "#" if os.geteuid() == 0 else "%"

        assert [line.split() for line in shell.screen.splitlines() if line.strip()] == [
            [prompt, "printf", "a", "r"],
            # zsh fills the line up, so that the next row counts as its continuation.
            [f"a{prompt}", prompt, "PROMPT='new>", "'", "r"],
            ["new>", "r"],
        ]


def test_the_prompt_stays_the_users(tmp_path: Path) -> None:
    """
    Nothing is added to PS1, so what `activate` of a venv saves and exports is the user's.
    """
    with start(tmp_path, "PROMPT='u> '") as shell:
        assert shell.command('OLD=$PS1 PS1="(venv) $PS1"; export PS1')[1] == 0
        assert shell.command("print -r -- $OLD,$PS1,$PS2") == ("u> ,(venv) u> ,%_> \n", 0)
        assert shell.command(f"env | grep -e {NONCE} -e AGENT_PTY") == ("", 1)


def test_strict_mode_does_not_end_the_shell(tmp_path: Path) -> None:
    """
    Under `set -euo pipefail` a status that is no error passes our hooks unharmed.
    """
    with start(tmp_path) as shell:
        shell.command("set -euo pipefail")

        assert shell.command("! true") == ("", 1)
        assert shell.command("printf abc") == ("abc", 0)


def test_hooks_and_prompts_that_fail_do_not_silence_us(tmp_path: Path) -> None:
    """
    After `set -u` the user's hooks and prompt may fail each time; marks still come.
    """
    rc = "setopt prompt_subst; PROMPT='$unknown> '; precmd() { : $unknown }"
    with start(tmp_path, rc) as shell:
        shell.command("set -u")

        assert shell.command("printf abc") == ("abc", 0)
        assert shell.command("echo )") == ("zsh: parse error near `)'\n", 1)
        assert shell.command("") == ("", 1)
        assert shell.command("(exit 4)") == ("", 4)


def test_tracing_does_not_show_us(tmp_path: Path) -> None:
    """
    `set -x` traces the user's commands and none of ours.
    """
    with start(tmp_path, "PS4='+ '") as shell:
        shell.command("set -x")

        assert shell.command("echo a") == ("+ echo a\na\n", 0)
        shell.ready()
        assert "apty" not in shell.screen


def test_code_is_taken_as_it_stands(tmp_path: Path) -> None:
    """
    Whatever the user's files say, `!` is no history and `#` begins a comment.
    """
    with start(tmp_path, "setopt bang_hist no_interactive_comments") as shell:
        shell.command("true")

        assert shell.command("echo a!! # b") == ("a!!\n", 0)


def test_marks_go_to_the_terminal_only(tmp_path: Path) -> None:
    """
    `exec >file` sends the output of commands to the file and no mark.
    """
    # Debian's own /etc/zsh/zshrc writes controls there; -d leaves it out.
    with start(tmp_path, argv=["zsh", "-d"]) as shell:
        shell.command("exec 3>&1 >out")
        shell.command("echo a")

        assert shell.command("exec >&3; cat -v out") == ("a\n", 0)


def test_the_users_hooks_see_the_status(tmp_path: Path) -> None:
    """
    Hooks read $? and $pipestatus as if ours were not there.
    """
    rc = """
        precmd() { echo "function $? $pipestatus" >>log }
        hook() { echo "hook $? $pipestatus" >>log }
        before() { echo "before $1" >>log }
        precmd_functions=(hook) preexec_functions=(before)
    """
    with start(tmp_path, rc) as shell:
        shell.command("rm log; true | (exit 5)")

        lines = ["function 5 0 5", "hook 5 0 5", "before cat log"]
        assert shell.command("cat log") == ("\n".join(lines) + "\n", 0)


def test_widgets_that_wrap_ours_keep_working(tmp_path: Path) -> None:
    """
    zle-line-init may be the user's own, may be put in front of ours, and runs once per prompt.
    """
    rc = "a=0 b=0; first() { (( ++a )) }; zle -N zle-line-init first"
    second = "second() { (( ++b )); zle wrapped }; zle -A zle-line-init wrapped"
    with start(tmp_path, rc) as shell:
        assert shell.command("echo $a") == ("1\n", 0)
        shell.command(f"{second}; zle -N zle-line-init second")
        assert shell.command("echo $a $b") == ("3 1\n", 0)
        shell.command("zle -D zle-line-init")
        assert shell.command("echo $a $b") == ("4 2\n", 0)
        shell.ready()

        assert kinds(shell)[-3:] == ["C5", "D6", "B6"]


@pytest.mark.parametrize("text", ["echo 'oops", "for i in 1 2", "cat <<EOF", "echo \\"])
def test_an_incomplete_command_is_told(text: str, tmp_path: Path) -> None:
    """
    A continuation prompt has its mark, and giving up there leads back to a prompt.
    """
    with start(tmp_path) as shell:
        shell.ready()
        shell.type(text)
        assert shell.until("P", "C", "D")[0].kind == "P"

        shell.write(GIVE_UP)
        assert shell.until("C", "D")[0].kind == "D"
        assert shell.command("printf abc") == ("abc", 0)


def test_lines_without_a_command_end_too(tmp_path: Path) -> None:
    """
    An empty line, a comment and a line given up each lead to a new prompt.
    """
    with start(tmp_path) as shell:
        assert shell.command("(exit 9)") == ("", 9)
        assert shell.command("")[0] == ""
        assert shell.command("# only a comment")[0] == ""
        shell.ready()
        shell.write(b"echo half")
        shell.until_text("half")
        shell.write(GIVE_UP)
        assert shell.until("C", "D")[0].kind == "D"

        assert shell.command("printf abc") == ("abc", 0)


def test_ctrl_c_twice_costs_no_mark(tmp_path: Path) -> None:
    """
    The second Ctrl-C may stop a hook of the user's; the next prompt is marked all the same.
    """
    rc = """
        slowly() { sh -c "echo $1-\\$((1+1)); exec sleep 60" }
        precmd() { if (( slow )); then slow=0; slowly hook; fi }
    """
    with start(tmp_path, rc) as shell:
        shell.ready()
        shell.type("slow=1; slowly command")
        shell.until_text("command-2")
        shell.write(b"\x03")
        shell.until_text("hook-2")
        shell.write(b"\x03")

        assert shell.until("D")[0].code == 130
        assert shell.command("printf abc") == ("abc", 0)


def test_a_nested_shell_has_no_marks(tmp_path: Path) -> None:
    """
    Nothing of ours is inherited, and the outer shell's marks go on when the inner one ends.
    """
    with start(tmp_path, "[[ $SHLVL == 1 ]] || PROMPT='in> '", env={"SHLVL": "0"}) as shell:
        shell.nest("zsh", QUESTION)
        assert kinds(shell) == ["D1", "B1", "C1"]

        shell.write(b"exit 6\r")
        assert shell.until("D")[0].code == 6
        assert shell.command("printf abc") == ("abc", 0)


def test_exec_of_another_shell_breaks_nothing(tmp_path: Path) -> None:
    """
    A shell that takes the place of ours works, without marks.
    """
    with start(tmp_path, "[[ -z $again ]] || PROMPT='in> '; export again=1") as shell:
        shell.nest("exec zsh", QUESTION)

        assert kinds(shell) == ["D1", "B1", "C1"]


def test_history_holds_what_was_typed(tmp_path: Path) -> None:
    """
    Nothing we do is in the history, in memory or in its file.
    """
    with start(tmp_path, "HISTFILE=~/history SAVEHIST=9 HISTSIZE=9") as shell:
        shell.command("echo a")
        shell.command("")

        assert shell.command("fc -W; fc -ln 1") == ("echo a\n", 0)
        assert (tmp_path / "history").read_text() == "echo a\nfc -W; fc -ln 1\n"


def test_start_up_files_run_as_ever(tmp_path: Path) -> None:
    """
    A login shell reads all the user's files in order, from their ZDOTDIR or from HOME.
    """
    moved = tmp_path / "moved"
    moved.mkdir()
    for place in (tmp_path, moved):
        for name in (".zshenv", ".zprofile", ".zshrc", ".zlogin"):
            text = f"files+=(${{ZDOTDIR-none}} {name})\n"
            (place / name).write_text(text)
    files = ".zshenv {0} .zprofile {0} .zshrc {0} .zlogin\n"

    with Marked(["zsh", "-l"], tmp_path) as shell:
        assert shell.command("echo $files") == ("none " + files.format("none"), 0)
    with Marked(["zsh", "-l"], tmp_path, {"ZDOTDIR": str(moved)}) as shell:
        assert shell.command("echo $files") == (f"{moved} " + files.format(moved), 0)
        assert shell.command("env | grep ZDOTDIR") == (f"ZDOTDIR={moved}\n", 0)
    (tmp_path / ".zshenv").write_text("ZDOTDIR=~/moved; files+=(x .zshenv)\n")
    with Marked(["zsh", "--login"], tmp_path) as shell:
        assert shell.command("echo $files") == ("x " + files.format(moved), 0)


def test_a_broken_zshenv_breaks_nothing_else(tmp_path: Path) -> None:
    """
    An error in the user's .zshenv is shown; marks come all the same.
    """
    (tmp_path / ".zshenv").write_text("echo ) (\n")

    with start(tmp_path) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert "parse error" in shell.transcript


@pytest.mark.parametrize("options", [["-f"], ["-if"], ["-o", "no_rcs"], ["--NO-RCS"]])
def test_no_start_up_files_means_none(options: list[str], tmp_path: Path) -> None:
    """
    With -f, in each of its spellings, no file of the user's is read, and there are marks.
    """
    (tmp_path / ".zshenv").write_text("echo read\n")

    with start(tmp_path, "echo read", ["zsh", *options]) as shell:
        assert shell.command("printf abc; [[ -o rcs ]]") == ("abc", 1)
        assert "read" not in shell.transcript


@pytest.mark.parametrize(
    "argv",
    [
        ["zsh", "-c", "echo"],
        ["zsh", "script"],
        ["zsh", "-x"],
        ["zsh", "-o", "xtrace"],
        ["zsh", "--version"],
        ["zsh", "--emulate", "sh"],
        ["zsh", "+i"],
        ["zsh", "-o"],
        ["zsh", "-r"],
        ["/usr/bin/sh"],
        ["ksh"],
    ],
)
def test_other_uses_are_left_alone(argv: list[str]) -> None:
    """
    What reads no commands from the terminal, or is another shell by name, is started as it is.
    """
    assert zsh.inject(argv, {}, NONCE) is None


def test_options_are_handed_on() -> None:
    """
    The caller's options and environment are kept, and the user's ZDOTDIR is remembered.
    """
    env = {"A": "b", "ZDOTDIR": "/users"}

    injected = zsh.inject(["/bin/zsh", "-lf", "-o", "vi", "-i"], env, NONCE)

    assert injected is not None
    assert injected.argv == ["/bin/zsh", "--vi", "-i", "-l"]
    assert injected.env == {
        "A": "b",
        "AGENT_PTY_START": "norcs",
        "AGENT_PTY_ZDOTDIR": "/users",
        "ZDOTDIR": f"{SCRIPTS}/zsh",
    }
    assert injected.secret == NONCE
