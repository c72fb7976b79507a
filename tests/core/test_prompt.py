# ruff: noqa: RUF001 - prompts are made of ambiguous characters

import pytest

from agent_pty.core.prompt import command_in, looks_like_prompt, prompt_prefix
from support.cost import PARTS, is_linear

WAITING = [
    "$",
    "$ ",
    "#",
    "# ",
    "% ",
    "> ",
    ">",
    "❯ ",
    "❯❯❯ ",
    "λ ",
    "user@host:~/x$ ",
    "user@host:~/my dir$ ",
    "root@h:/# ",
    "user@mac proj % ",
    "user@host ~/x> ",
    "user@host ~ $ ",
    "user@host ~/x (main) $ ",
    "DOMAIN\\user@host:~$ ",
    "[user@host x]$ ",
    "[user@host]~% ",
    "(venv) user@h:~$ ",
    "(venv) $ ",
    "[12:30:05] user@h:~$ ",
    "12:30:05 user@h:~$ ",
    "/ # ",
    "~ # ",
    "/etc # ",
    "~/x $ ",
    "~/x (main) $ ",
    "~/x main ❯ ",
    "host% ",
    "bash-5.2# ",
    "bash-5.2$ ",
    "sh-5.2$",
    "Router(config)> ",
    ">>> ",
    "In [3]: ",
    "(gdb) ",
    "(lldb) ",
    "(Pdb) ",
    "(Pdb++) ",
    "sqlite> ",
    "mysql> ",
    "MariaDB [(none)]> ",
    "mydb=# ",
    "mydb=> ",
    "mydb=*# ",
    "irb(main):001:0> ",
    "iex(1)> ",
    "[1] pry(main)> ",
    "3.2.2 :001 > ",
    "127.0.0.1:6379> ",
    "rs0 [direct: primary] test> ",
    "➜ ",
    "➜  proj ",
    "➜  proj git:(main) ",
    "➜  proj git:(main) ✗ ",
    "PS C:\\Users\\x> ",
    "C:\\> ",
    "PS /home/x> ",
]

NOT_WAITING = [
    "",
    "   ",
    "100%",
    " 45%",
    "~100%",
    "Downloading 12.3%",
    "[#####     ] 50%",
    "[download] 100%",
    "root@h:/x/file 45%",
    "C#",
    "F#",
    "foo #",
    "    #",
    "Total: 5 $",
    "costs 30$",
    "30$",
    "alice@example.com owes you 30 $",
    "<div>",
    "</div>",
    "/>",
    "<a@b.c>",
    "List<String>",
    "a -> b>",
    "->",
    "=>",
    "    -> ",
    "mydb-# ",
    "mydb-> ",
    "... ",
    "   ...: ",
    "> a quotation",
    "(none)",
    "(y/n)",
    "Out[3]: 5",
    "  ➜  Local:   http://localhost:5173/",
    "user@host:~$ ls",
    "user@host:~$ grep 'x$",
    "user@host:~$ echo 5 $",
    "hello",
]

TYPED = [
    ("user@host:~$ cargo test", "user@host:~$ ", "cargo test"),
    ("user@host:~$ echo $ x  ", "user@host:~$ ", "echo $ x"),
    ("(venv) user@h:~/x$  ls", "(venv) user@h:~/x$  ", "ls"),
    ("$ cargo test", "$ ", "cargo test"),
    ("$ printf 'error: x\\n'", "$ ", "printf 'error: x\\n'"),
    ("# printf 'error: x\\n'", "# ", "printf 'error: x\\n'"),
    ("# ./configure", "# ", "./configure"),
    ("# make -j4", "# ", "make -j4"),
    ("% ls", "% ", "ls"),
    ("/ # ls", "/ # ", "ls"),
    ("root@h:/# # a comment", "root@h:/# ", "# a comment"),
    ("bash-5.2# exit", "bash-5.2# ", "exit"),
    ("user@mac proj % make", "user@mac proj % ", "make"),
    (">>> print(1)", ">>> ", "print(1)"),
    ("In [3]: x = 1", "In [3]: ", "x = 1"),
    ("(gdb) run", "(gdb) ", "run"),
    ("sqlite> select 1;", "sqlite> ", "select 1;"),
    ("mydb=# select 1;", "mydb=# ", "select 1;"),
    ("❯ cargo test", "❯ ", "cargo test"),
    ("➜  proj ls", "➜  proj ", "ls"),
    ("➜  proj git:(main) ✗ git diff", "➜  proj git:(main) ✗ ", "git diff"),
]

NOT_TYPED = [
    "",
    "user@host:~$ ",
    "$",
    "# Title",
    "# a comment in a script",
    "# make sure it works",
    "## Title",
    "% Total    % Received % Xferd",
    "-> foo",
    "> quoted text",
    "$ 30",
    "❯ Yes, delete it",
    "➜  Local:   http://localhost:5173/",
    "costs $ 5",
    "C# is a language",
    "100% done",
    "45% of it",
    "<b> bold",
    "... x = 1",
    ">>>>>>> branch",
]

HOSTILE = [
    "$" * 100_000,
    "$ " * 50_000,
    "a@" * 50_000,
    "a@b:~" + "$" * 100_000,
    "(" * 100_000,
    "(a) " * 25_000,
    "[a] " * 25_000,
    "/" + " (" * 50_000,
    "~" * 100_000,
    " " * 100_000,
    "# " + "a" * 100_000,
    "# " + "a -" * 33_000,
    "\\" * 100_000,
    "1." * 50_000 + "%",
]


@pytest.mark.parametrize("line", WAITING)
def test_a_prompt_is_recognised(line: str) -> None:
    """
    Shells, interpreters, debuggers and database clients that wait are seen to wait.
    """
    assert looks_like_prompt(line)


@pytest.mark.parametrize("line", WAITING)
def test_trailing_blanks_do_not_matter(line: str) -> None:
    """
    A screen loses the blank behind a prompt and a transcript keeps it: both are the prompt.
    """
    assert looks_like_prompt(line.rstrip())
    assert looks_like_prompt(line + "   ")


@pytest.mark.parametrize("line", NOT_WAITING)
def test_other_lines_are_no_prompts(line: str) -> None:
    """
    A sign at the end of a line does not make a prompt, and a typed command is no longer waiting.
    """
    assert not looks_like_prompt(line)


@pytest.mark.parametrize(("line", "prefix", "command"), TYPED)
def test_a_typed_line_falls_into_prompt_and_command(line: str, prefix: str, command: str) -> None:
    """
    The prompt keeps its blank, the command loses its own, and the first sign counts.
    """
    assert prompt_prefix(line) == prefix
    assert command_in(line) == command
    assert not looks_like_prompt(line)


@pytest.mark.parametrize("line", NOT_TYPED)
def test_prose_is_no_command(line: str) -> None:
    """
    Headings, quotations, menus, arrows and prices are not commands, nor is an empty prompt.
    """
    assert prompt_prefix(line) is None
    assert command_in(line) is None


@pytest.mark.serial
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: f"{line[:8]!r}")
def test_a_hostile_line_costs_no_time(line: str) -> None:
    """
    A hundred kilobytes made to confuse a regular expression cost as much as any others.
    """

    def judge(text: str) -> None:
        looks_like_prompt(text)
        prompt_prefix(text)
        command_in(text)

    assert is_linear(lambda: judge(line), lambda: judge(line[: len(line) // PARTS]))
