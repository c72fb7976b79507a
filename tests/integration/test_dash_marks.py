from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.integration import dash
from support.marks import NONCE, Marked

pytestmark = pytest.mark.skipif(shutil.which("dash") is None, reason="dash is not installed")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Marked]:
    """A dash with marks and no files of the user's."""
    with Marked(["dash"], tmp_path) as marked:
        yield marked


def start(home: Path, startup: str, *options: str) -> Marked:
    """Start dash with *startup* as the user's ENV file, named as users name it."""
    (home / ".shrc").write_text(startup)
    return Marked(["dash", *options], home, {"ENV": "$HOME/.shrc"})


def load(shell: Marked, home: Path, code: str) -> tuple[str, int | None]:
    """Run code from a file, as the host does with what cannot be typed."""
    file = home / "code.sh"
    file.write_text(dash.TEXT.format(code=code))
    return shell.command(dash.LOAD.format(path=file))


def test_two_hundred_commands_are_exact(shell: Marked) -> None:
    """
    Each of many commands gives its own output and nothing of its neighbours.
    """
    for i in range(200):
        assert shell.command(f"echo {i}") == (f"{i}\n", 0)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("printf abc", "abc"),
        ("echo '$ '", "$ \n"),
        (r"printf '\n\ta  \n\n'", "\n\ta  \n\n"),
        (":", ""),
        (r"printf '\033]133;D;7;apty=0123456789abcdef.99\007x'", "x"),
        (rf"printf '\033]133;D;7;apty={NONCE}.1\007x'", "x"),
    ],
)
def test_output_is_kept_as_it_is(shell: Marked, command: str, output: str) -> None:
    """
    Blanks, tabs, empty lines, text like a prompt and marks of others change nothing.
    """
    assert shell.command(command) == (output, 0)


def test_status_is_that_of_the_command(shell: Marked) -> None:
    """
    D carries $?, and the next command still sees it.
    """
    assert shell.command("(exit 7)") == ("", 7)
    assert shell.command("echo $?") == ("7\n", 0)
    assert shell.command("nope") == ("dash: 3: nope: not found\n", 127)


@pytest.mark.parametrize("options", [(), ("-e", "-u"), ("-l",)])
def test_the_users_file_is_read(tmp_path: Path, options: tuple[str, ...]) -> None:
    """
    What the user's ENV file sets is there: variables, aliases, the prompt; even a failed last line.
    """
    startup = "alias printf=nonsense\nA=$((6 * 7))\nPS1='mine> '\nfalse && :\n"

    with start(tmp_path, startup, *options) as shell:
        assert shell.command("echo $A") == ("42\n", 0)
        assert shell.screen.startswith("mine> echo $A\n42")


def test_a_login_shell_reads_the_profile_first(tmp_path: Path) -> None:
    """
    With -l the profile is read, and then the ENV that it names.
    """
    (tmp_path / ".profile").write_text("ORDER=profile\nENV=$HOME/.late\n")
    (tmp_path / ".late").write_text('ORDER="$ORDER env"\n')

    with start(tmp_path, "ORDER=early\n", "-l") as shell:
        assert shell.command("echo $ORDER") == ("profile env\n", 0)


@pytest.mark.parametrize("startup", ["if then\n", ". /nonexistent\n", "set -u\necho $undefined\n"])
def test_a_broken_users_file_does_not_cost_the_marks(tmp_path: Path, startup: str) -> None:
    """
    An error in the user's file is shown, as dash shows it, and the prompt is marked all the same.
    """
    with start(tmp_path, startup) as shell:
        shell.ready()
        assert ".shrc: " in shell.screen or "cannot open /nonexistent" in shell.screen
        shell.type("printf abc")
        assert shell.until("D")[2] == b"abc"


@pytest.mark.parametrize(
    "prompt", ["", "one\ntwo> ", "$(date +%T) $? ", "\\[x\\] ", "cost: $", 'say "hi" > ', "é中 "]
)
def test_any_prompt_may_be_marked(tmp_path: Path, prompt: str) -> None:
    """
    Empty, two-line and clock prompts and those with odd characters are drawn as before.
    """
    with Marked(["dash"], tmp_path, {"PS1": prompt}) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert shell.command("(exit 3)") == ("", 3)
        assert shell.command("echo $?") == ("3\n", 0)


def test_text_before_the_prompt_is_not_output(shell: Marked) -> None:
    """
    A virtual environment puts its name before PS1; D still comes first.
    """
    assert shell.command('PS1="(venv) $PS1"') == ("", 0)
    assert shell.command("printf abc") == ("abc", 0)
    shell.ready()
    assert shell.screen.endswith("\nabc(venv) $ ".rstrip())


def test_children_inherit_nothing_of_ours(tmp_path: Path) -> None:
    """
    The environment of children has the user's ENV and neither our variables nor the nonce.
    """
    with start(tmp_path, "PS1='% '\n") as shell:
        output, _ = shell.command("env")

    names = {line.partition("=")[0] for line in output.splitlines()}
    assert "ENV=$HOME/.shrc" in output.splitlines()
    assert not [name for name in names if name.startswith("AGENT_PTY_")]
    assert NONCE not in output


def test_children_have_no_env_if_the_user_has_none(shell: Marked) -> None:
    """
    ENV is unset where it was unset.
    """
    assert shell.command("echo ${ENV-unset}") == ("unset\n", 0)


@pytest.mark.parametrize("before", [":", "export PS1"])
def test_a_nested_dash_has_no_marks(shell: Marked, before: str) -> None:
    """
    A shell inside is silent, also with an inherited prompt; its end is the end of the command.
    """
    shell.command(before)
    shell.ready()
    outside = len(shell.raw)

    shell.type("dash")
    shell.write(b"echo in-$((1 + 1)); exit 5\r")

    assert shell.until("D")[0].code == 5
    inside = shell.raw[outside:].decode()
    assert inside.index(NONCE) > inside.index("in-2\r\n")
    assert shell.command("echo back") == ("back\n", 0)


def test_an_unfinished_command_gives_a_continuation_prompt(shell: Marked) -> None:
    """
    P says that dash waits for more, under the number of the prompt.
    """
    shell.ready()
    number = shell.marks[-1][0].number

    shell.type("for i in 1 2")
    assert shell.until("P", "D")[0].kind == "P"
    assert shell.marks[-1][0].number == number

    shell.type("do echo $i; done")
    assert shell.until("D")[0].code == 0
    assert shell.transcript.endswith("\n1\n2\n$ ") or shell.transcript.endswith("\n1\n2\n")


def test_a_file_runs_as_if_typed(shell: Marked, tmp_path: Path) -> None:
    """
    Code of several lines sees $? and leaves parameters, directory and status behind.
    """
    shell.command("(exit 4)")

    output, status = load(
        shell, tmp_path, 'echo "$?"\nset -- a b\n\n\tcd /\nprintf "x  \\n"\nfalse'
    )

    assert (output, status) == ("4\nx  \n", 1)
    assert shell.command('echo "$1 $2 $PWD"') == ("a b /\n", 0)


def test_a_file_may_set_the_prompt(shell: Marked, tmp_path: Path) -> None:
    """
    A new PS1 that comes from a file is marked when the file ends, and its status is kept.
    """
    assert load(shell, tmp_path, "PS1='new> '\nPS2='more> '\nfalse") == ("", 1)

    assert shell.command("printf abc") == ("abc", 0)
    assert "\nnew> printf abc\n" in shell.screen


def test_a_file_may_have_lines_longer_than_the_kernel_reads(shell: Marked, tmp_path: Path) -> None:
    """
    A line of more than 4096 bytes arrives whole.
    """
    text = "x" * 9000

    assert load(shell, tmp_path, f"echo {text}") == (f"{text}\n", 0)


@pytest.mark.parametrize(
    ("code", "output", "status"),
    [
        ("echo a\nif then", 'a\ndash: 2: {file}: Syntax error: "then" unexpected\n', 2),
        ("if then", 'dash: 1: {file}: Syntax error: "then" unexpected\n', 2),
        ("echo 'a", "dash: 4: {file}: Syntax error: Unterminated quoted string\n", 2),
        ("echo a \\", "a\n", 0),
        ("echo a\nreturn 6\necho b", "a\n", 6),
        ("cat <<E\nhere\nE\n", "here\n", 0),
        ("# nothing", "", 0),
        ("", "", 0),
    ],
)
def test_a_file_comes_back_to_the_prompt(
    shell: Marked, tmp_path: Path, code: str, output: str, status: int
) -> None:
    """
    Whatever is in the file, errors of syntax too, D follows; messages name the right line.
    """
    expected = (output.format(file=tmp_path / "code.sh"), status)

    assert load(shell, tmp_path, code) == expected
    assert shell.command("echo next") == ("next\n", 0)


def test_ctrl_c_ends_a_file(shell: Marked, tmp_path: Path) -> None:
    """
    Ctrl-C stops the rest of the code too, and D says 130.
    """
    file = tmp_path / "code.sh"
    file.write_text(dash.TEXT.format(code="sh -c 'echo up; exec sleep 60'\necho rest"))
    shell.ready()
    shell.type(dash.LOAD.format(path=file))
    shell.until_text("\nup\n")

    shell.write(b"\x03")

    assert shell.until("D")[0].code == 130
    assert "\nrest\n" not in shell.transcript


def test_errexit_ends_the_shell_only_where_it_would(shell: Marked, tmp_path: Path) -> None:
    """
    Under `set -eu` a last status that is not 0 is no failure of the file.
    """
    assert shell.command("set -eu") == ("", 0)
    assert load(shell, tmp_path, "echo a\nfalse && :") == ("a\n", 1)
    assert load(shell, tmp_path, "echo b") == ("b\n", 0)
    assert shell.command("echo $undefined")[1] == 2
    assert shell.command("echo c") == ("c\n", 0)


def test_xtrace_shows_nothing_of_ours(shell: Marked, tmp_path: Path) -> None:
    """
    Under `set -x` only the user's commands are traced.
    """
    shell.command("set -x")

    assert shell.command("true") == ("+ true\n", 0)
    assert load(shell, tmp_path, "true\nfalse") == ("+ true\n+ false\n", 1)
    assert load(shell, tmp_path, "true") == ("+ true\n", 0)


def test_a_file_is_exact_without_echo(shell: Marked, tmp_path: Path) -> None:
    """
    With `stty -echo` there is no newline behind the input; C marks where the output begins.
    """
    shell.command("stty -echo")

    assert load(shell, tmp_path, "printf abc") == ("abc", 0)


@pytest.mark.parametrize(
    "argv",
    ["dash -c true", "dash script", "dash -s", "dash -x", "dash -ec true", "dash -", "dash -i f"],
)
def test_what_is_not_interactive_is_left_alone(argv: str) -> None:
    """
    Commands, scripts and traced shells are started as they are.
    """
    assert dash.inject(argv.split(), {}, NONCE) is None


@pytest.mark.parametrize(
    ("code", "simple"),
    [
        ("echo é", True),
        ("a\tb", True),
        ("x" * 999, True),
        ("x" * 1000, False),
        ("a\nb", False),
        ("a \\", False),
        ("PS1=x", False),
        ("", False),
        (" ", False),
        ("a\x03", False),
    ],
)
def test_only_one_plain_line_is_simple(code: str, *, simple: bool) -> None:
    """
    What the kernel would cut, or read as a key, is not typed.
    """
    assert dash.is_simple(code) is simple


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed")
def test_ash_of_busybox_is_marked_too(tmp_path: Path) -> None:
    """
    Busybox reads the same file; its editor is told that marks take no room.
    """
    ash = tmp_path / "ash"
    ash.symlink_to(shutil.which("busybox") or "")

    with Marked([str(ash)], tmp_path, {"PS1": "12345678$ "}, cols=40) as shell:
        assert shell.command("printf abc") == ("abc", 0)
        assert shell.command("(exit 7)") == ("", 7)
        assert load(shell, tmp_path, "echo $?\nfalse") == ("7\n", 1)
        assert shell.command("echo 12345678901234567890") == ("12345678901234567890\n", 0)
        assert "\n12345678$ echo 12345678901234567890\n" in shell.screen
