from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent_pty.integration import integrate, node
from support.marks import NONCE, Marked

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
def repl(tmp_path: Path) -> Iterator[Marked]:
    """A node with marks."""
    with Marked(["node"], tmp_path) as marked:
        yield marked


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marked]:
    """One node for many small tests."""
    with Marked(["node"], tmp_path_factory.mktemp("node")) as marked:
        yield marked


def load(repl: Marked, home: Path, code: str) -> tuple[str, int | None]:
    """Run code from a file, as the host does with what cannot be typed."""
    file = home / "code.js"
    file.write_text(code)
    return repl.command(node.LOAD.format(path=file))


def kinds(repl: Marked) -> list[str]:
    """Name all marks so far: `D1`, `B1`."""
    return [f"{mark.kind}{mark.number}" for mark, _, _ in repl.marks]


def test_two_hundred_lines_are_exact(repl: Marked) -> None:
    """
    Each of many lines gives its own value and nothing of its neighbours, whatever was previewed.
    """
    for i in range(200):
        assert repl.command(f"'a' + {i} * 2") == (f"'a{i * 2}'\n", 0)


LINES = {
    "nothing": ("", "", 0),
    "value": ("[1, 'a']", "[ 1, 'a' ]\n", 0),
    "undefined": ("let a = 3", "undefined\n", 0),
    "object": ("{a: 1, b: 2}", "{ a: 1, b: 2 }\n", 0),
    "output": ("console.log('a\\n\\n  b'); 5", "a\n\n  b\n5\n", 0),
    "unfinished line": ("process.stdout.write('abc')", "abctrue\n", 0),
    "standard error": ("console.error('e')", "e\nundefined\n", 0),
    "error": ("throw new TypeError('no')", "Uncaught TypeError: no\n", 1),
    "thrown value": ("throw 5", "Uncaught 5\n", 1),
    "syntax error": ("1 +* 2", "1 +* 2\n   ^\n\nUncaught SyntaxError: Unexpected token '*'\n", 1),
    "await": ("await new Promise(done => setTimeout(done, 50, 9))", "9\n", 0),
    "await in an object": ("{a: await 1, b: 2}", "{ a: 1, b: 2 }\n", 0),
    "rejection": ("await Promise.reject(4)", "Uncaught 4\n", 1),
    "command": (".break", "", None),
    "unknown command": (".nosuch", "Invalid REPL keyword\n", None),
    "text like a prompt": ("console.log('> ')", "> \nundefined\n", 0),
    "wide": ("'\u754c'.repeat(60)", "'" + "\u754c" * 60 + "'\n", 0),
    "long line": (f"'{'x' * 900}'.length", "900\n", 0),
    "forged marks": (
        rf"console.log('\x1b]133;D;0;apty=dead.99\x07\x1b]133;D;0;apty={NONCE}.1\x07x')",
        "x\nundefined\n",
        0,
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_gives_its_output_and_status(shared: Marked, name: str) -> None:
    """
    What is between C and D is what node printed, errors among it; D comes after an await.
    """
    line, output, status = LINES[name]

    assert shared.command(line) == (output, status)
    assert shared.command("6 * 7") == ("42\n", 0)


def test_an_inherited_terminal_is_within_the_marks(repl: Marked) -> None:
    """
    What a child writes to the terminal itself is output too.
    """
    line = "require('child_process').execSync('echo a; echo b >&2', {stdio: 'inherit'}); 1"

    assert repl.command(line) == ("a\nb\n1\n", 0)


FILES = {
    "blank lines": ("const text = `a\n\n\n  b`;\n\n\nconsole.log(text)\n", "a\n\n\n  b\n", 0),
    "value": ("const n = 5;\nfor (let i = 0; i < 2; i++) {\n\tn;\n}\nn * 2", "10\n", 0),
    "undefined": ("process.stdout.write('abc');\nundefined", "abc", 0),
    "nothing": ("\n\n", "", 0),
    "await": ("const v =\n  await new Promise(r => setTimeout(r, 20, 7));\nv", "7\n", 0),
    "error": ("console.log(1);\n\nthrow new Error('no')", "1\nUncaught Error: no\n", 1),
    "comment": ("// '\n/* ` */ 1", "1\n", 0),
    "command": (".break", "", None),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_runs_as_one_command(shared: Marked, tmp_path: Path, name: str) -> None:
    """
    A file of any number of lines has one C and one D; its value is shown, but no `undefined`.
    """
    code, output, status = FILES[name]

    before = len([mark for mark, _, _ in shared.marks if mark.kind in "CDP"])

    assert load(shared, tmp_path, code) == (output, status)
    assert [mark.kind for mark, _, _ in shared.marks if mark.kind in "CDP"][before:] == ["C", "D"]
    assert shared.command("undefined") == ("undefined\n", 0)


def test_a_file_has_the_scope_of_the_prompt(repl: Marked, tmp_path: Path) -> None:
    """
    `const`, `let` and functions of a file are there afterwards.
    """
    assert load(repl, tmp_path, "const a = 1;\nlet b = 2;\nfunction f() { return a + b }") == (
        "",
        0,
    )
    assert repl.command("f()") == ("3\n", 0)


def test_a_file_that_cannot_run_says_why(repl: Marked, tmp_path: Path) -> None:
    """
    A file that is not there or not whole ends with an error; node does not wait for the rest.
    """
    unfinished = load(repl, tmp_path, "function f( {")
    missing = repl.command(node.LOAD.format(path="/no/such"))

    assert unfinished[0].endswith("Uncaught SyntaxError: Unexpected end of input\n")
    assert unfinished[1] == 1
    assert missing == ("ENOENT: no such file or directory, open '/no/such'\n", 1)
    assert repl.command("1") == ("1\n", 0)


def test_what_we_add_is_not_seen(repl: Marked, tmp_path: Path) -> None:
    """
    The history, the help, the stack and the environment have nothing of ours.
    """
    load(repl, tmp_path, "1")
    trace = load(repl, tmp_path, "try { null.x } catch (e) { console.log(e.stack) }")
    help_text = repl.command(".help")
    left = repl.command("[process.env.AGENT_PTY_START, process.execArgv.length]")
    history = repl.command("repl.repl.history.join()")

    assert "null (reading 'x')\n    at REPL" in trace[0]
    assert "agent_pty" not in trace[0]
    assert ".clear " in help_text[0]
    assert ".cell" not in help_text[0]
    assert left == ("[ undefined, 0 ]\n", 0)
    assert ".cell" not in history[0]
    assert ".help" in history[0]


def test_a_line_that_goes_on_is_marked_so(repl: Marked) -> None:
    """
    P says that more is wanted; C comes with the last line only.
    """
    repl.ready()
    repl.write(b"[1,\r")
    repl.until("P")
    repl.write(b"2].map(\r")
    repl.until("P")
    repl.write(b"x => x)\r")
    repl.until("D")

    assert kinds(repl)[:6] == ["D1", "B1", "P1", "P1", "C1", "D2"]


def test_ctrl_c_gives_up_what_was_typed(repl: Marked) -> None:
    """
    After Ctrl-C there is a new prompt and no status, be it from one line or from the second.
    """
    repl.ready()
    repl.write(b"[1,\r")
    repl.until("P")
    repl.write(b"\x03")
    second = repl.until("D")
    repl.ready()
    repl.write(b"abc\x03")
    first = repl.until("D")

    assert (second[0].code, first[0].code) == (None, None)
    assert repl.command("1") == ("1\n", 0)


def test_ctrl_c_ends_an_await(repl: Marked) -> None:
    """
    A command that was interrupted has failed.
    """
    repl.ready()
    # In a timer: until then node may not yet read keys.
    repl.type("setTimeout(() => console.log('u' + 'p'), 9); await new Promise(() => {})")
    repl.until_text("up\n")

    repl.write(b"\x03")

    assert repl.until("D")[0].code == 1
    assert repl.command("1") == ("1\n", 0)


def test_an_error_of_a_timer_ends_nothing(repl: Marked) -> None:
    """
    What a timer throws is shown, but neither a pending command nor the prompt ends with it.
    """
    late = "setTimeout(() => { throw new Error('la' + 'te') }, 5); "

    awaited = repl.command(late + "await new Promise(r => setTimeout(r, 99, 3))")
    repl.command(late + "1")
    while repl.transcript.count("Uncaught Error: late") < 2:
        repl.read()

    assert awaited[1] == 0
    assert awaited[0].endswith("3\n")
    assert repl.command("2") == ("2\n", 0)


def test_a_nested_node_has_no_marks(repl: Marked) -> None:
    """
    A node inside node marks nothing; when it ends the outer one goes on.
    """
    repl.ready()
    repl.type("require('child_process').spawnSync('node', ['-i'], {stdio: 'inherit'}).status")
    repl.until("C")
    while repl.transcript.count("Welcome to Node") < 2:
        repl.read()
    repl.write(b"5 * 5\r")
    repl.until_text("25\n")
    before = kinds(repl)
    repl.write(b".exit\r")

    assert repl.until("D")[0].code == 0
    assert before == ["D1", "B1", "C1"]


@pytest.mark.parametrize(
    "start", ["require('child_process').fork", "new (require('worker_threads').Worker)"]
)
def test_a_second_node_gets_nothing_of_ours(repl: Marked, tmp_path: Path, start: str) -> None:
    """
    Forks and workers are started with the options of the first, but without our script.
    """
    (tmp_path / "w.js").write_text("console.log(process.env.AGENT_PTY_START, process.execArgv)")

    line = f"await new Promise(done => {start}('{tmp_path}/w.js').on('exit', done))"

    assert repl.command(line) == ("undefined []\n0\n", 0)


def test_the_users_options_are_kept(tmp_path: Path) -> None:
    """
    A module that the user preloads is there, and forks get it.
    """
    (tmp_path / "mine.js").write_text("globalThis.mine = 1")

    with Marked(["node", "-i", "-r", "./mine.js"], tmp_path) as repl:
        assert repl.command("mine") == ("1\n", 0)
        assert repl.command("process.execArgv.join()") == ("'-i,-r,./mine.js'\n", 0)


@pytest.mark.parametrize(
    "options",
    [
        ["a.js"],
        ["-e", "1"],
        ["-p", "1"],
        ["-pe", "1"],
        ["--eval=1"],
        ["-v"],
        ["-r", "m", "a.js"],
        ["-"],
    ],
)
def test_without_a_prompt_node_is_started_as_it_is(options: Sequence[str]) -> None:
    """
    A script, code on the command line or a question about node itself: no REPL, no marks.
    """
    program, injected = integrate(["node", *options], {}, NONCE)

    assert program is None
    assert injected.argv == ["node", *options]


@pytest.mark.parametrize("code", ["1", "a.b(c, [1])", "let a = {b: 1};", "`a`", "'(' + ')'"])
def test_simple_lines_are_typed(code: str) -> None:
    """
    One line with its brackets closed is what a person would type.
    """
    assert node.is_simple(code)


DOUBTFUL = {
    "nothing": "",
    "two lines": "a\nb",
    "tab": "a\tb",
    "open call": "f(",
    "open list": "a = [",
    "bracket in a string": "'('",
    "operator": "a +",
    "comma": "a,",
    "arrow": "a => ",
    "backslash": "a \\",
    "template": "`a",
    "comment": "/* a",
    "if": "if (a)",
    "for": "for (;;)",
    "function": "async function f() {}",
    "long": "1" * 1000,
}


@pytest.mark.parametrize("code", DOUBTFUL.values(), ids=DOUBTFUL)
def test_doubtful_code_is_not_typed(code: str) -> None:
    """
    What node might take for a part of something longer goes by a file.
    """
    assert not node.is_simple(code)
