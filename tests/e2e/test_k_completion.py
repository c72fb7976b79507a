"""When a cell of `k` has ended, rows 25 to 37 of the failures of the original: no guessing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.agent import Agent, eventually
from support.k import SHELLS, K, within


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """The command, in the home that the tests of this file share."""
    return K(shared)


def script(k: K, name: str, text: str) -> Path:
    """Put a program into the home."""
    path = k.file(name, f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# -- 25 to 28: nothing is typed but the code


@pytest.mark.parametrize("program", SHELLS)
def test_row_25_no_key_is_typed_into_cat(k: K, program: str) -> None:
    """
    `cat > file` waits for input, and the file gets what somebody types into it and nothing else.
    """
    session, file = k.session(program), k.agent.home / f"typed-{program}"

    said = k.waiting(session, f"cat > {file.name}")
    before = file.read_text()
    k.run("keys", session, "h", "i", "enter", "ctrl-d")
    done = k.collect(session, said["cell_id"])

    assert (said["for"], said["output"], before) == ("input", "", "")
    assert done["status"] == "done"
    assert file.read_text() == "hi\n"


@pytest.mark.parametrize("program", SHELLS)
def test_row_25_no_key_is_typed_into_read(k: K, program: str) -> None:
    """
    `read` waits for input and gets the line that somebody types.
    """
    session = k.session(program)

    said = k.waiting(session, "read answer")
    k.run("keys", session, "h", "i", "enter")
    done = k.collect(session, said["cell_id"])

    assert said["for"] == "input"
    assert done["status"] == "done"
    assert k.output(session, "echo got $answer") == "got hi"


@within(
    'python3 -c \'print("hello", input("name? "))\'',
    python="print('hello', input('name? '))",
)
def test_row_26_a_question_is_reported(k: K, program: str, code: str) -> None:
    """
    A program that asks is waiting, its question is the output, and it has no answer yet.
    """
    session = k.session(program)

    said = k.waiting(session, code)
    k.run("keys", session, "i", "t", "enter")

    assert (said["for"], said["output"]) == ("input", "name? ")
    assert k.collect(session, said["cell_id"])["output"].splitlines()[-1] == "hello it"


GETPASS = "import getpass; secret = getpass.getpass()"


@within(
    "stty -echo; read secret; stty echo; echo $secret",
    fish=f"python3 -c '{GETPASS}; print(secret)'",
    python=f"{GETPASS}; print(secret)",
)
def test_row_27_a_question_for_a_password_is_reported(k: K, program: str, code: str) -> None:
    """
    A program that reads without echo waits for a secret.
    """
    session = k.session(program)

    said = k.waiting(session, code)
    k.agent.ask("secret", id=session, value="pw")

    assert said["for"] == "secret"
    assert k.collect(session, said["cell_id"])["output"].splitlines()[-1] == "pw"


@pytest.mark.parametrize("program", ["bash", "zsh"])
def test_row_27_the_shells_own_silent_read_is_reported(k: K, program: str) -> None:
    """
    `read -s` waits for a secret too.
    """
    session = k.session(program)

    said = k.waiting(session, "read -s secret")
    k.agent.ask("secret", id=session, value="pw")
    k.collect(session, said["cell_id"])

    assert said["for"] == "secret"
    assert k.output(session, "echo $secret") == "pw"


def test_row_28_gdb_repeats_nothing(k: K) -> None:
    """
    In gdb, where an empty line repeats the last command, each command runs once.
    """
    session = k.new("gdb", "gdb", "-q")

    assert k.output(session, "set $n = 0") == ""
    assert k.output(session, "print $n++") == "$1 = 0"
    assert k.output(session, "print $n") == "$2 = 1"


# -- 29 to 31: any input, any prompt, any shell


@pytest.mark.parametrize("program", SHELLS)
@pytest.mark.parametrize("form", ["quote", "block", "bracket"])
def test_row_29_incomplete_input_is_an_error(k: K, program: str, form: str) -> None:
    """
    Code that is no whole command says so, and leaves the session as free as before.
    """
    session = k.session(program)
    posix = {"quote": "echo 'oops", "block": "if true; then", "bracket": "echo $(echo"}
    fish = {"quote": "echo 'oops", "block": "if true", "bracket": "echo (echo"}

    done = k.run("run", "-j", session, (fish if program == "fish" else posix)[form])

    assert done.returncode == 1
    assert done.stdout.endswith('", "status": "error", "output": "incomplete input"}\n')
    assert k.output(session, "echo fine") == "fine"


@pytest.mark.parametrize("program", ["bash", "dash"])
def test_row_29_a_shell_that_is_slow_to_draw_its_prompt_gives_up_its_line_once(
    k: K, program: str
) -> None:
    """
    A second Ctrl-C would draw another prompt, and the next cell would end with it.
    """
    session = k.new(f"slow-prompt-{program}", program)
    k.output(session, "PS1='$(sleep 1.2)'\"$PS1\"")

    done = k.run("run", "-j", session, "echo 'oops")

    assert done.stdout.endswith('", "status": "error", "output": "incomplete input"}\n')
    assert k.output(session, "echo fine") == "fine"


@pytest.mark.parametrize("code", ["print('''oops", "print((1,", "if True:"])
def test_row_29_incomplete_python_is_a_syntax_error(k: K, code: str) -> None:
    """
    Python takes a cell as a file would be taken: what is missing at its end is a syntax error.
    """
    session = k.session("python3")

    said = k.cell(session, code)

    assert (said["status"], said["exit_code"]) == ("done", 1)
    assert said["output"].splitlines()[-1].startswith(("SyntaxError", "IndentationError"))
    assert k.output(session, "print('fine')") == "fine"


PROMPTS = {
    "bash": {
        "clock": "PS1='\\t $(date +%N) \\$ '",
        "two-lines": "PS1='top\\nbottom> '",
        "empty": "PS1=''",
        "command": "PROMPT_COMMAND='echo x'",
        "no-command": "unset PROMPT_COMMAND",
        "colour": "PS1='\\[\\e[31m\\]red\\[\\e[0m\\] '",
        "question": "PS1='name? '",
        "path": "PS1='\\w> '; cd /usr",
    },
    "zsh": {
        "clock": "PS1='%D{%N.%.} %# '",
        "two-lines": "PS1=$'top\\nbottom> '",
        "empty": "PS1=''",
        "command": "precmd() { echo x }",
        "right": "RPROMPT='%D{%s} right'",
    },
    "fish": {
        "clock": "function fish_prompt; date +%N; end",
        "two-lines": "function fish_prompt; printf 'top\\nbottom> '; end",
        "empty": "function fish_prompt; end",
        "command": "function x --on-event fish_prompt; echo x; end",
        "right": "function fish_right_prompt; date; end",
    },
    "dash": {
        "clock": "PS1='$(date +%N) '",
        "two-lines": "PS1='top\nbottom> '",
        "empty": "PS1=''",
    },
    "python3": {
        "clock": "import sys, time; sys.ps1 = type('P', (), {'__str__': lambda _: time.ctime()})()",
        "two-lines": "import sys; sys.ps1 = 'top\\nbottom> '",
        "empty": "import sys; sys.ps1 = ''",
    },
}


@pytest.mark.parametrize(
    ("program", "name"), [(program, name) for program in PROMPTS for name in PROMPTS[program]]
)
def test_row_30_any_prompt_will_do(k: K, program: str, name: str) -> None:
    """
    Whatever a prompt looks like, and whatever is run before it, each cell ends with its output.
    """
    session = k.new(f"{program}-{name}", program)
    python = program == "python3"

    k.output(session, PROMPTS[program][name])

    for number in "12":
        whole, part = f"echo w{number}", f"printf p{number}"
        if python:
            whole, part = f"print('w{number}')", f"print('p{number}', end='')"
        assert k.output(session, whole) == f"w{number}"
        assert k.output(session, part) == f"p{number}"


@pytest.mark.parametrize(
    ("program", "file", "text"),
    [
        ("bash", ".bashrc", "PROMPT_COMMAND='echo x' PS1='top\\n\\t> '"),
        ("zsh", ".zshrc", "precmd() { echo x }; PS1=$'top\\n%D{%N}> '"),
        ("dash", ".shinit", "PS1='top\n$(date +%N)> '"),
    ],
    ids=["bash", "zsh", "dash"],
)
def test_row_30_prompts_of_start_up_files_will_do(k: K, program: str, file: str, text: str) -> None:
    """
    A prompt that the user's own start-up files set is left as it is and does no harm.
    """
    home = k.agent.home / f"themed-{program}"
    home.mkdir()
    (home / file).write_text(text)
    env = {"HOME": str(home), "ENV": str(home / file)}

    environment = {**k.agent.env, **env}
    k.agent.ask("new", id=home.name, repo="/tmp", argv=[program], environment=environment)

    assert k.output(home.name, "echo one") == "one"
    assert k.output(home.name, "printf two") == "two"
    assert "top" in k.run("screen", home.name).stdout


def test_row_31_sh_works_as_a_session(k: K) -> None:
    """
    A shell without a line editor ends its cells as well, with their status.
    """
    session = k.session("sh")

    assert k.output(session, "echo one") == "one"
    assert k.output(session, "printf two") == "two"
    assert k.cell(session, "false") == {"status": "done", "output": "", "exit_code": 1}


@pytest.mark.parametrize("outer", SHELLS)
@pytest.mark.parametrize("inner", ["dash", "bash --norc", "python3 -q"])
def test_row_31_a_nested_shell_works(k: K, outer: str, inner: str) -> None:
    """
    In a shell within a shell, which has no marks, cells end too; after it the outer one goes on.
    """
    session, python = k.session(outer), inner.startswith("python")

    assert k.output(session, inner) == ""
    assert k.output(session, "print('in')" if python else "echo in") == "in"
    assert k.output(session, "print('in', end='')" if python else "printf in") == "in"
    k.cell(session, "exit()" if python else "exit")

    assert k.output(session, "echo out; printf end") == "out\nend"


# -- 32 to 35: ends that the user describes


def test_row_32_an_exact_prompt_may_follow_output_on_its_line(k: K) -> None:
    """
    In exact mode output without a newline ends before the prompt.
    """
    session = k.new("exact-glued", "python3", "--prompt=>>>")

    assert k.output(session, "print('no-nl', end='')") == "no-nl"
    assert k.output(session, "print('next')") == "next"


def test_row_33_output_equal_to_the_exact_prompt_ends_nothing(k: K) -> None:
    """
    In exact mode a line like the prompt is output while nobody reads the keyboard.
    """
    session = k.new("exact-same", "python3", "--prompt=>>>")

    code = "import time; print('>>>'); time.sleep(.2); print('a\\n>>>'); print('rest')"

    assert k.output(session, code) == ">>>\na\n>>>\nrest"
    assert k.output(session, "print('next')") == "next"


def test_row_34_an_exact_prompt_may_contain_a_slash(k: K) -> None:
    """
    --exact is a prompt whatever it contains; --prompt with a slash remains a hook's path.
    """
    command = "env PS1='P:/tmp>' bash --norc"

    made = k.run("new", "slash", command, "--exact=P:/tmp>")
    refused = k.run("new", "slashed", command, "--prompt=P:/tmp>")

    assert (made.returncode, made.stdout) == (0, "OK slash prompt='P:/tmp>'\n")
    assert k.output("slash", "echo one") == "one"
    assert k.output("slash", "printf two") == "two"
    assert (refused.returncode, refused.stdout[:20]) == (1, "ERR hook not found: ")


@pytest.mark.parametrize("option", ["--hook=./at-prompt", "--prompt=./at-prompt"])
def test_row_35_a_hook_ends_a_cell(k: K, option: str) -> None:
    """
    A hook that exits at the prompt ends the cell there; to it, the prompt has no blanks around it.
    """
    loop = "while IFS= read -r line; do [ \"$line\" != '>>>' ] || exit; done"
    hook, name = script(k, "at-prompt", loop), "by" + option[1:6]

    made = k.run("new", name, "python3", option)

    assert made.stdout == f"OK {name} prompt={str(hook)!r}\n"
    assert k.output(name, "print('a\\n\\n  b')") == "a\n\n  b"
    assert k.output(name, "print('next')") == "next"


def test_row_35_a_hook_that_exits_early_spoils_no_other_cell(k: K) -> None:
    """
    The cell is done, by contract, with what came before; the next waits until the program is back.
    """
    script(k, "early", "read -r one; read -r two")
    for gate in "12":
        os.mkfifo(k.agent.home / f"gate-{gate}")
    session = k.new("early", "bash", "--hook=./early")

    first = k.output(session, "echo one; echo two; cat gate-1; echo three")
    second = k.start("run", session, "echo mine; echo own; cat gate-2")
    (k.agent.home / "gate-1").write_text("opened\n")

    assert first == "one"
    assert second.communicate(timeout=60)[0] == "mine\n"


# -- 36 and 37: full-screen programs

EDITOR = "vim -u NONE -N poem.txt"
LEAVE = {EDITOR: ["escape", ":", "q", "!", "enter"], "less poem.txt": ["q"]}


@pytest.mark.parametrize("program", SHELLS)
@pytest.mark.parametrize("code", LEAVE, ids=["vim", "less"])
def test_row_36_a_full_screen_program_shows_its_screen(k: K, program: str, code: str) -> None:
    """
    It is waiting, its screen is the output, a hint names the keys to leave by, and they do.
    """
    k.file("poem.txt", "roses\n" * 100)
    session = k.session(program)

    said = k.waiting(session, code)
    left = k.run("keys", session, *LEAVE[code])
    done = k.collect(session, said["cell_id"])

    assert said["output"].startswith("roses\nroses\n")
    assert "poem.txt" in said["output"].splitlines()[-1]
    assert said["hint"].endswith(" ".join(LEAVE[code]))
    assert (left.returncode, done["status"]) == (0, "done")
    assert k.output(session, "echo after") == "after"


@pytest.mark.parametrize("program", SHELLS)
def test_row_36_an_interrupt_leaves_a_full_screen_program(k: K, program: str) -> None:
    """
    `k int` ends even vim, which ignores Ctrl-C, and the session is as usable as before.
    """
    k.file("poem.txt", "roses\n" * 100)
    session = k.session(program)

    k.waiting(session, EDITOR)

    assert k.run("int", session).stdout == "OK\n"
    assert k.output(session, "echo after") == "after"


@pytest.mark.parametrize("program", SHELLS)
def test_row_37_top_shows_one_screen(k: K, program: str) -> None:
    """
    A program that draws its screen again and again gives the screen as it is, and how to leave.
    """
    session = k.session(program)

    said = k.waiting(session, "top")
    k.run("keys", session, "space")  # draws at once
    eventually(lambda: k.agent.transcript(session).count("load average") > 1)
    eventually(lambda: k.json("peek", session)["status"] == "waiting")
    later = k.json("peek", session)

    assert said["output"].startswith("top - ")
    assert later["output"].count("load average") == 1
    assert said["hint"].endswith("keys: q")
    assert k.run("int", session).stdout == "OK\n"
    assert k.output(session, "echo after") == "after"
