"""The limits of CONTRIBUTING.md that no linter knows.

The checks take the root of the repository, so that each can be shown to fail on a small
planted tree.
"""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FUNCTION_LINES = 50
FILE_LINES = 400
SLEEPS = frozenset({"time.sleep", "asyncio.sleep"})
CATCH_ALLS = frozenset({"Exception", "BaseException"})


def sources(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    """Parse every Python file below *folder*; the name is for the message."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder.parent).as_posix(), ast.parse(path.read_bytes())


def each_node(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node of every file below *folder*."""
    return ((name, node) for name, tree in sources(folder) for node in ast.walk(tree))


def long_files(root: Path) -> list[str]:
    """Find files in src that should be two; what a program writes grows with the ops."""
    found = []
    for path in sorted((root / "src").rglob("*.py")):
        if path.parent.name == "generated":
            continue
        count = len(path.read_bytes().splitlines())
        if count > FILE_LINES:
            found.append(f"{path.relative_to(root)}: {count} lines")
    return found


def long_functions(root: Path) -> list[str]:
    """Find functions in src that do not fit in the eye; decorators and docstring count."""
    found = []
    for name, node in each_node(root / "src"):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if "/generated/" in name:  # as long as its op has fields
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        count = (node.end_lineno or first) - first + 1
        if count > FUNCTION_LINES:
            found.append(f"{name}:{first}: {node.name} has {count} lines")
    return found


def full_names(tree: ast.AST) -> dict[str, str]:
    """Map the names a file imports to what they stand for: `nap` to `time.sleep`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.asname or each.name: each.name for each in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def sleeps(root: Path) -> list[str]:
    """Find tests that wait for time to pass, by whatever name they call it."""
    found = []
    for name, tree in sources(root / "tests"):
        names = full_names(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name | ast.Attribute):
                continue
            first, dot, rest = ast.unparse(node).partition(".")
            if names.get(first, first) + dot + rest in SLEEPS:
                found.append(f"{name}:{node.lineno}: wait for a sign, not for time")
    return found


def catches_all(handler: ast.ExceptHandler) -> bool:
    """Recognise `except:`, `except Exception:` and tuples that contain it."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or ast.unparse(each) in CATCH_ALLS for each in caught)


def does_nothing(body: list[ast.stmt]) -> bool:
    """Recognise a body of `pass`, `...`, `continue` or a string."""
    return all(
        isinstance(each, ast.Pass | ast.Continue)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )


def is_blanket_suppress(node: ast.AST) -> bool:
    """Recognise `suppress(Exception)`, which is the same in other words."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] == "suppress"
        and any(ast.unparse(each) in CATCH_ALLS for each in node.args)
    )


def swallowed_errors(root: Path) -> list[str]:
    """Find places in src where an error of any kind vanishes."""
    found = []
    for name, node in each_node(root / "src"):
        if is_blanket_suppress(node):
            found.append(f"{name}: suppresses everything")
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            found.append(f"{name}:{node.lineno}: bare except")
        elif catches_all(node) and does_nothing(node.body):
            found.append(f"{name}:{node.lineno}: catches everything and says nothing")
    return found


# Objects there are C's, another program's, or a library's options.
FOREIGN = ("emulator/", "integration/scripts/", "/pattern.py")


def own_attributes(tree: ast.AST) -> set[str]:
    """Name the attributes of the classes in one file."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names = set()
    for node in itertools.chain.from_iterable(map(ast.walk, classes)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    return names


def assigned_from_outside(root: Path) -> list[str]:
    """Find attributes of objects that another file than that of their class assigns."""
    found = []
    for name, tree in sources(root / "src"):
        if any(part in name for part in FOREIGN):
            continue
        own = own_attributes(tree)
        found += [
            f"{name}:{node.lineno}: {ast.unparse(node)} is assigned from outside"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node.value) not in {"self", "cls"}
            and node.attr not in own
        ]
    return found


# Parts that run in the background, where standard error is the log.
LOGGING = ("daemon/", "host/", "keeper/", "ops/", "store/", "transports/")
PRINTERS = frozenset({"sys.stderr", "traceback.print_exc", "traceback.print_exception"})


def unsafe_logs(root: Path) -> list[str]:
    """Find what writes to the log by itself: on a full disk that raises; `log.py` never does."""
    return [
        f"{name}:{node.lineno}: use agent_pty.log, not {ast.unparse(node)}"
        for name, node in each_node(root / "src")
        if isinstance(node, ast.Attribute)
        and any(f"/{part}" in name for part in LOGGING)
        and ast.unparse(node) in PRINTERS
    ]


def equal_names(root: Path) -> list[str]:
    """Find test files of the same name: pytest loads only the first of them."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    counts = Counter(path.name for path in paths)
    return [f"{path}: has the name of another file" for path in paths if counts[path.name] > 1]


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (
    long_files,
    long_functions,
    sleeps,
    swallowed_errors,
    assigned_from_outside,
    unsafe_logs,
    equal_names,
)


@pytest.mark.parametrize("check", CHECKS)
def test_the_repository_keeps_its_style(check: Check) -> None:
    """
    Our own files break none of the rules.
    """
    assert check(ROOT) == []


def function(lines: int) -> str:
    """Write a function of that many lines."""
    return "def f():\n" + "    x = 1\n" * (lines - 1)


def catching(what: str, body: str) -> str:
    """Write a handler with that head and body."""
    return f"for x in y:\n    try:\n        f()\n    except{what}:\n        {body}\n"


def plant(root: Path, name: str, text: str) -> Path:
    """Write one file of a small repository."""
    path = root / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return root


BREACHES: dict[str, tuple[Check, str, str]] = {
    "long file": (long_files, "src/p/a.py", "x = 1\n" * 401),
    "long function": (long_functions, "src/p/a.py", function(51)),
    "long method": (long_functions, "src/p/a.py", "class A:\n  async " + function(51)),
    "long by decorator": (long_functions, "src/p/a.py", "@d\n" + function(50)),
    "sleep": (sleeps, "tests/host/a.py", "import time\ntime.sleep(1)"),
    "sleep by name": (sleeps, "tests/a.py", "from time import sleep as nap\nnap(1)"),
    "sleep of asyncio": (sleeps, "tests/a.py", "import asyncio as aio\nawait aio.sleep(1)"),
    "sleep handed on": (sleeps, "tests/a.py", "import time\nretry(wait=time.sleep)"),
    "bare except": (swallowed_errors, "src/p/a.py", catching("", "raise")),
    "pass": (swallowed_errors, "src/p/a.py", catching(" Exception", "pass")),
    "dots": (swallowed_errors, "src/p/a.py", catching(" BaseException as e", "...")),
    "continue": (swallowed_errors, "src/p/a.py", catching(" (OSError, Exception)", "continue")),
    "suppress": (swallowed_errors, "src/p/a.py", "with contextlib.suppress(Exception): f()"),
    "assignment": (assigned_from_outside, "src/p/a.py", "def f(session): session.road = 1"),
    "print to the log": (unsafe_logs, "src/p/host/a.py", "sys.stderr.write('x')"),
    "traceback": (unsafe_logs, "src/p/daemon/a.py", "traceback.print_exc(file=sys.stderr)"),
    "deep assignment": (assigned_from_outside, "src/p/a.py", "class A:\n def f(s): s.a.b.emit = 1"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_planted_breach_is_found(name: str, tmp_path: Path) -> None:
    """
    Each rule has been seen to fail; otherwise it would prove nothing.
    """
    check, path, text = BREACHES[name]

    assert check(plant(tmp_path, path, text))


SOUND: dict[str, tuple[Check, str, str]] = {
    "full file": (long_files, "src/p/a.py", "x = 1\n" * 400),
    "full function": (long_functions, "src/p/a.py", function(50)),
    "program that sleeps": (sleeps, "tests/a.py", 'spawn(["sleep", "60"])  # time.sleep'),
    "sleep of another": (sleeps, "tests/a.py", "from p import sleep\nsleep(1)\nfake.sleep(2)"),
    "narrow pass": (swallowed_errors, "src/p/a.py", catching(" OSError", "pass")),
    "wide but told": (swallowed_errors, "src/p/a.py", catching(" Exception", "log(x)")),
    "narrow suppress": (swallowed_errors, "src/p/a.py", "with suppress(OSError): f()"),
    "message to the caller": (unsafe_logs, "src/p/cli/a.py", "sys.stderr.write('x')"),
    "log": (unsafe_logs, "src/p/host/a.py", "log.line('x')"),
    "own": (assigned_from_outside, "src/p/a.py", "class A:\n def f(self): self.x = 1"),
    "own class": (assigned_from_outside, "src/p/a.py", "class A:\n x: int\ndef f(a): a.x = 1"),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_allowed_passes(name: str, tmp_path: Path) -> None:
    """
    The rules let through what they are meant to let through.
    """
    check, path, text = SOUND[name]

    assert check(plant(tmp_path, path, text)) == []


PARAMETERS = {
    "{1, 2}": "sort the parameters",
    "T.keys() - {1}": "sort the parameters",
    "T.keys()": "2 passed",
    "sorted({1, 2})": "2 passed",
}


@pytest.mark.parametrize("values", PARAMETERS)
def test_trial_28_parameters_come_in_the_same_order_everywhere(values: str, tmp_path: Path) -> None:
    """
    Each worker must collect the same tests in the same order, so none may come from a set.
    """
    text = f"import pytest\nT = {{1: 0, 2: 0}}\n@pytest.mark.parametrize('x', {values})\n"
    (tmp_path / "test_planted.py").write_text(text + "def test_planted(x): pass\n")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-c", "/dev/null", tmp_path],
        cwd=ROOT / "tests",
        capture_output=True,
        check=False,
        encoding="utf-8",
    )

    assert PARAMETERS[values] in done.stdout + done.stderr


def test_two_test_files_of_one_name_are_seen(tmp_path: Path) -> None:
    """
    Of two, both are named; files of other names are not.
    """
    for folder in ("a", "b"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / "test_same.py").touch()
    (tmp_path / "tests" / "a" / "test_other.py").touch()

    assert len(equal_names(tmp_path)) == 2
