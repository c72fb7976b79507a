import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core import semantic
from agent_pty.core.semantic import Span, spans, summarise
from support.cost import PARTS, is_linear

ERRORS = [
    "error: x",
    "error:",
    "ERROR something broke",
    "[ERROR] something broke",
    "Error[E0308]: mismatched types",
    "error[E0308]: mismatched types",
    "src/x.c:3:5: error: expected ';'",
    "src/x.ts(3,5): error TS2304: Cannot find name",
    "thread 'main' panicked at src/main.rs:2:5:",
    "panic: runtime error: index out of range",
    "FAILED tests/x.py::t",
    "test x ... FAILED",
    "--- FAIL: TestX (0.00s)",
    "1 failed",
    "=== 1 failed, 10 passed in 0.1s ===",
    "5 passed; 10 failed; 0 ignored",
    "3 tests failed",
    "2 errors generated.",
    "errors: 3",
    "ok=3 changed=1 failed=2",
    "fatal: not a git repository",
    "Traceback (most recent call last):",
    'Exception in thread "main" java.lang.NullPointerException',
    "ValueError: bad",
    "Uncaught TypeError: x is not a function",
    "AssertionError",
    "java.lang.NullPointerException",
    "E       assert 1 == 2",
    "  ✗ adds numbers",
    "make: *** [all] Error 2",
    "npm ERR! missing script",
    "Build failed",
    "curl: (7) Failed to connect to localhost",
    "exited with code 1",
    "sh: foo: command not found",
    "ls: x: No such file or directory",
    "Segmentation fault (core dumped)",
    "time=12:00 level=error msg=x",
    "error: no such file or directory",
    '{"error": "no such user"}',
]

NO_ERRORS = [
    "0 failed",
    "test result: ok. 5 passed; 0 failed; 0 ignored",
    "5 passed, 0 FAILED",
    "0 tests failed",
    "No tests failed.",
    "no errors",
    "0 errors, 0 warnings",
    "finished without any errors",
    "errors: 0",
    "ok=3 changed=1 failed=0",
    "# FAIL:  0",
    '{"error": null, "errors": []}',
    "error handling",
    "Error handling in Rust",
    "error handling: a guide",
    "src/error.rs",
    "test test_error_handling ... ok",
    "tests/test_error.py::test_x PASSED",
    "   Compiling thiserror v1.0.50",
    "raises ValueError when empty",
    "use std::io::Error::new;",
    "the exception that proves the rule",
    "do not panic",
    "exit code 0",
    "exited with code 0",
]

URLS = [
    ("see https://example.com/a.", ["https://example.com/a"]),
    ("https://example.com/a, then http://b.c!", ["https://example.com/a", "http://b.c"]),
    ("(https://example.com/a)", ["https://example.com/a"]),
    ("https://x.org/wiki/Foo_(bar).", ["https://x.org/wiki/Foo_(bar)"]),
    ("[t](https://a.b/c)[u](https://d.e/f)", ["https://a.b/c", "https://d.e/f"]),
    ("<https://a.b/c>", ["https://a.b/c"]),
    ("'https://a.b/c'", ["https://a.b/c"]),
    ('"https://a.b/c?d=e&f=g#h"', ["https://a.b/c?d=e&f=g#h"]),
    ("printf 'https://a.b/c\\n'", ["https://a.b/c"]),
    ("**https://a.b/c**", ["https://a.b/c"]),
    ("http://[::1]:8080/x", ["http://[::1]:8080/x"]),
    ("http://localhost:3000/build", ["http://localhost:3000/build"]),
    ("https://", []),
    ("https://...", []),
    ("ftp://a.b/c", []),
]

PATHS = [
    ("  --> src/main.rs:12:5", ["src/main.rs:12:5"]),
    ("at src/main.rs:12", ["src/main.rs:12"]),
    ("at src/main.rs:12: error", ["src/main.rs:12"]),
    ("in (src/main.rs).", ["src/main.rs"]),
    ("see ./x/y, ../z/w and /etc/hosts.", ["./x/y", "../z/w", "/etc/hosts"]),
    ("cd ~/x", ["~/x"]),
    ("user@host:~/x$ ls", ["~/x"]),
    ("ls /tmp", ["/tmp"]),
    ("main.py:3: bad", ["main.py:3"]),
    ("Cargo.toml README.md .gitignore", ["Cargo.toml", "README.md", ".gitignore"]),
    (".github/workflows/ci.yml", [".github/workflows/ci.yml"]),
    ("FAILED tests/x.py::t", ["tests/x.py"]),
    ('File "/a/b.py", line 3', ["/a/b.py"]),
    ("PATH=/usr/bin:/bin", ["/usr/bin", "/bin"]),
    ("cc -I/usr/include -c x.c", ["/usr/include", "x.c"]),
    ("node_modules/@types/node/index.d.ts", ["node_modules/@types/node/index.d.ts"]),
    ("grüße/größe.txt", ["grüße/größe.txt"]),
    ("http://localhost:3000/build", []),
    ("localhost:3000/build", []),
    ("file:///a/b", []),
    ("12/25/2024 and 2024/12/25", []),
    ("1/2 of it, 10.5/20", []),
    ("3.1MB/8.0MB at 5MB/s, 10 req/s", []),
    ("HTTP/1.1 curl/8.5.0", []),
    ("and/or, I/O, y/n", []),
    ("</div> <br/>", []),
    ("// a comment", []),
    ("example.com:8080 127.0.0.1:80", []),
    ("Node.js and e.g. this. And that...", []),
    ("/help", []),
    ("cd ../..", []),
]

SPINNERS = [
    "⠋ Building",
    "  ⠹",
    "Building ⠹",
    "◐ thinking",
    "✶ Pondering",
    "| Installing",
    "/ Solving environment",
    "- resolving x ...",
    "\\ Building wheel",
    "Running tests...",
    "Loading…",
    "waiting for lock | 3s",
]

NO_SPINNERS = [
    "- an item",
    "| a | b |",
    "/ # ",
    "* text",
    "⠋⠙⠹ a graph",
    "running",
    "done ...",
    "$ echo running ...",
]

HOSTILE = [
    unit * (100_000 // len(unit))
    for unit in [
        *("a", "E", "1", "1 ", "1 a ", "no ", "error ", 'error"', "error =   ", "Failed", "exit "),
        *("https://a(", "https://a)", "https://a", "http", "a(", "/", "a/", "1/", "a:1", "a/b:1 "),
        *("ö/b ", ".", "~", "-I/", " ", "⠋", "⠋ ", " x⠋", "| ", "- aing", "running ", "x.js "),
    ]
]


def test_a_screen_is_summarised() -> None:
    """
    The typed printf is the command; its output gives the error, the exact URL and the path.
    """
    text = (
        "$ printf 'error: see https://example.com/build src/main.rs:12\\n'; sleep 2\n"
        "error: see https://example.com/build src/main.rs:12"
    )

    found = summarise(text)

    assert found.command is not None
    assert found.command.startswith("printf 'error:")
    assert found.prompt is None
    assert found.error_lines == (1,)
    assert found.urls == ("https://example.com/build",)
    assert found.file_paths == ("src/main.rs:12",)


def test_the_last_prompt_and_command_count() -> None:
    """
    A screen holds many prompts and commands; the last of each is the news.
    """
    found = summarise("a@b:~$ ls\nx\na@b:~$ make\n100%\na@b:/x$ \n# Title\n-> foo\n\n")

    assert found.prompt == "a@b:/x$"
    assert found.command == "make"


def test_spans_stand_in_order() -> None:
    """
    Each line gives itself first, then its URLs, then its paths; blank lines give nothing.
    """
    found = spans("a/b http://c.d e/f\n\n  \n>>> ")

    assert [(span.line, span.kind, span.text) for span in found] == [
        (0, "output", "a/b http://c.d e/f"),
        (0, "url", "http://c.d"),
        (0, "file_path", "a/b"),
        (0, "file_path", "e/f"),
        (3, "prompt", ">>>"),
    ]


def test_columns_are_bytes() -> None:
    """
    Columns count UTF-8 bytes, and a line span leaves out the blanks around it.
    """
    found = spans("  ö a/b ö c/d\r")

    assert found == [
        Span(line=0, start_col=2, end_col=15, kind="output", text="ö a/b ö c/d"),
        Span(line=0, start_col=5, end_col=8, kind="file_path", text="a/b"),
        Span(line=0, start_col=12, end_col=15, kind="file_path", text="c/d"),
    ]


@given(st.text(alphabet="aöé⠋ \n\r\t/:.1$#>h\ud800\u2028", max_size=60))
def test_a_span_is_where_it_says(text: str) -> None:
    """
    The bytes between the columns of a span are its text, whatever the line holds.
    """
    lines = text.split("\n")

    for span in spans(text):
        line = lines[span.line].encode("utf-8", "surrogatepass")
        piece = line[span.start_col : span.end_col].decode("utf-8", "surrogatepass")
        assert piece == span.text


def test_only_newlines_part_lines() -> None:
    """
    A form feed or a Unicode line separator does not shift the numbers of the lines below it.
    """
    assert summarise("a\x0cb\u2028c\nerror: x").error_lines == (1,)


@pytest.mark.parametrize("line", ERRORS)
def test_errors_are_seen(line: str) -> None:
    """
    What compilers, test runners, shells and interpreters say when something broke is an error line.
    """
    assert summarise(line).error_lines == (0,)


@pytest.mark.parametrize("line", NO_ERRORS)
def test_good_news_and_prose_are_no_errors(line: str) -> None:
    """
    A count of none, a file name or a sentence about errors does not cry wolf.
    """
    assert summarise(line).error_lines == ()


@pytest.mark.parametrize(("line", "urls"), URLS)
def test_urls_are_exact(line: str, urls: list[str]) -> None:
    """
    A URL ends before the punctuation, quotes and brackets of the text around it.
    """
    assert [span.text for span in spans(line) if span.kind == "url"] == urls


@pytest.mark.parametrize(("line", "paths"), PATHS)
def test_paths_are_exact(line: str, paths: list[str]) -> None:
    """
    A path keeps its line and column; URLs, dates, amounts and prose are no paths.
    """
    assert [span.text for span in spans(line) if span.kind == "file_path"] == paths


@pytest.mark.parametrize("line", SPINNERS)
def test_spinners_are_seen(line: str) -> None:
    """
    A turning glyph, or a word of waiting with dots or a stroke, means that work goes on.
    """
    assert summarise(line).spinner_lines == (0,)


@pytest.mark.parametrize("line", NO_SPINNERS)
def test_bullets_and_tables_are_no_spinners(line: str) -> None:
    """
    A stroke that begins a list or a table does not turn, and a typed command is no progress.
    """
    assert summarise(line).spinner_lines == ()


def test_each_finding_is_told_once() -> None:
    """
    URLs and paths keep the order in which they were first seen, without repeats.
    """
    found = summarise("b/c http://x.y a/b\na/b http://x.y http://a.b b/c")

    assert found.urls == ("http://x.y", "http://a.b")
    assert found.file_paths == ("b/c", "a/b")


@pytest.mark.serial
@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: f"{line[:9]!r}")
def test_a_hostile_line_costs_no_time(line: str) -> None:
    """
    A hundred kilobytes made to confuse a regular expression cost as much as any others.
    """

    def judge(text: str) -> None:
        semantic._judged.cache_clear()
        summarise(text)

    assert is_linear(lambda: judge(line), lambda: judge(line[: len(line) // PARTS]))
