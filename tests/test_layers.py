"""The architecture, as a table and as a test: who may import what.

The checks take the directory that holds the package, so that each can be shown to fail
on a small planted tree. Imports written as strings (`import_module("...")`) are not seen.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "agent_pty"
SRC = Path(__file__).parents[1] / "src"

# A part imports from itself and from rows above it, never from a sibling in its row.
ROWS = (
    ("__init__",),  # the package itself
    ("errors", "build", "log", "script"),
    ("core",),
    ("ops",),
    ("emulator", "store", "process", "integration", "keeper", "client"),
    ("tmux",),
    ("host", "transports", "words", "api", "proof"),
    ("daemon", "gateway", "tools"),
    ("adapters", "cli"),
)

# Values in, values out: no I/O, no clock, no randomness ...
PURE = ("core",)
IMPURE_MODULES = frozenset(
    """
    asyncio concurrent ctypes fcntl fileinput getpass glob http io logging mmap multiprocessing
    os pathlib platform pty random sched secrets select selectors shelve shutil signal socket
    socketserver sqlite3 ssl subprocess tempfile termios threading time tty urllib uuid
    """.split()  # noqa: SIM905  # a paragraph reads better than forty lines
)
# ... but for the names that only compute.
PURE_NAMES = frozenset(
    {"pathlib.PurePath", "pathlib.PurePosixPath", "signal.Signals", "urllib.parse"}
)

# They start in milliseconds and hold everything, so even what they reach through modules of
# ours comes from the standard library.
STANDARD_LIBRARY_ONLY = ("errors", "build", "log", "script", "keeper", "client")

# A third-party package stays where it is known; those not named here may be used anywhere else.
ONLY_IN = {
    "pyghostty": ("emulator",),
    "cffi": ("emulator",),
    "_cffi_backend": ("emulator",),
    # Values in, values out, so core may have it; keeper and client start without it.
    "msgspec": (
        "core",
        "ops",
        "emulator",
        "store",
        "tmux",
        "host",
        "transports",
        "words",
        "api",
        "proof",
        "daemon",
        "gateway",
        "cli",
    ),
    "pytest": ("api",),
    # Optional: what everybody uses must not need them.
    "agents": ("adapters",),
    "anthropic": ("adapters",),
    "minisweagent": ("adapters",),
    "opentelemetry": ("daemon",),
}

# What `from agent_pty import ...` offers: the package names it for type checkers, and loads it when
# it is first used.
PUBLIC = ("api", "errors")

ROW_OF = {part: number for number, row in enumerate(ROWS) for part in row}


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """One name that a module imports; `target` is the dotted path, as far as it is known."""

    target: str
    line: int
    typing_only: bool

    @property
    def top(self) -> str:
        """Name the distribution's module: `os` of `os.path`."""
        return self.target.partition(".")[0]


Graph = dict[str, tuple[Import, ...]]


def part_of(module: str) -> str:
    """Name the row entry of *module*: `core` of `agent_pty.core.wait`."""
    return [*module.split("."), "__init__"][1]


def module_name(path: Path, root: Path) -> str:
    """Turn a file below *root* into the name it is imported by."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_typing_guard(node: ast.AST) -> bool:
    """Recognise `if TYPE_CHECKING:` and `if typing.TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING"


def import_nodes(
    node: ast.AST, *, typing_only: bool = False
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield every import below *node*, also those inside functions, with its guard."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, typing_only
    guarded = node.body if isinstance(node, ast.If) and is_typing_guard(node) else []
    for child in ast.iter_child_nodes(node):
        yield from import_nodes(child, typing_only=typing_only or child in guarded)


def targets(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """List the dotted names *node* imports; relative ones are seen from *package*."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = package.split(".")[: -(node.level - 1) or None] if node.level else []
    origin = ".".join(base + ([node.module] if node.module else []))
    return [f"{origin}.{alias.name}" for alias in node.names]


def imports_of(path: Path, root: Path) -> tuple[Import, ...]:
    """Read the imports of one file."""
    package = module_name(path.parent / "__init__.py", root)
    return tuple(
        Import(target=target, line=node.lineno, typing_only=typing_only)
        for node, typing_only in import_nodes(ast.parse(path.read_bytes()))
        for target in targets(node, package)
    )


def read_graph(root: Path) -> Graph:
    """Read every module of the package below *root*."""
    return {
        module_name(path, root): imports_of(path, root)
        for path in sorted((root / PACKAGE).rglob("*.py"))
    }


def each_import(graph: Graph) -> Iterator[tuple[str, Import]]:
    """Yield all pairs of importing module and import."""
    return ((module, found) for module, imports in graph.items() for found in imports)


def resolve(target: str, graph: Graph) -> str | None:
    """Find the module of ours that *target* names or lies in."""
    while target and target not in graph:
        target = target.rpartition(".")[0]
    return target or None


def edges(graph: Graph, module: str) -> set[str]:
    """List the modules of ours that *module* loads when it runs."""
    found = (resolve(each.target, graph) for each in graph[module] if not each.typing_only)
    return {name for name in found if name and name != module}


def layer_breaches(root: Path) -> list[str]:
    """Find imports that go to the right or sideways, and parts that have no row."""
    graph = read_graph(root)
    breaches = [f"{name}: no row for it in ROWS" for name in graph if part_of(name) not in ROW_OF]
    for module, found in each_import(graph):
        theirs, ours = part_of(found.target), part_of(module)
        if found.top != PACKAGE or theirs == ours or ours not in ROW_OF:
            continue
        if module == PACKAGE and found.typing_only and theirs in PUBLIC:
            continue
        # `from agent_pty import __version__` names no part but the package itself.
        row = ROW_OF.get(theirs, ROW_OF["__init__"])
        if row > ROW_OF[ours]:
            breaches.append(f"{module}:{found.line}: {ours} lies below {theirs}")
        if row == ROW_OF[ours]:
            breaches.append(f"{module}:{found.line}: {theirs} is a sibling of {ours}")
    return breaches


def cycles(root: Path) -> list[str]:
    """Find import cycles between modules by depth-first search."""
    graph = read_graph(root)
    done: set[str] = set()
    found: list[str] = []

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            found.append(" -> ".join((*trail[trail.index(module) :], module)))
            return
        if module in done:
            return
        for target in sorted(edges(graph, module)):
            visit(target, (*trail, module))
        done.add(module)

    for module in graph:
        visit(module, ())
    return found


def impure_imports(root: Path) -> list[str]:
    """Find I/O, clocks and randomness in the parts that must be pure."""
    return [
        f"{module}:{found.line}: {part_of(module)} is pure, {found.target} is not"
        for module, found in each_import(read_graph(root))
        if part_of(module) in PURE
        and found.top in IMPURE_MODULES
        and not any(f"{found.target}.".startswith(f"{name}.") for name in PURE_NAMES)
    ]


def is_foreign(found: Import) -> bool:
    """Tell whether *found* comes from neither us nor the standard library."""
    return found.top != PACKAGE and found.top not in sys.stdlib_module_names


def misplaced_packages(root: Path) -> list[str]:
    """Find third-party packages imported by a part that must not know them."""
    return [
        f"{module}:{found.line}: {found.top} belongs in {', '.join(ONLY_IN[found.top])}"
        for module, found in each_import(read_graph(root))
        if found.top in ONLY_IN and part_of(module) not in ONLY_IN[found.top]
    ]


def loaded_with(module: str, graph: Graph) -> dict[str, str]:
    """Map each module that *module* loads, and itself, to the one that asked for it first."""
    askers = {module: module}
    waiting = [module]
    while waiting:
        asker = waiting.pop()
        # Importing a.b.c runs a and a.b before it.
        parents = {asker.rsplit(".", depth)[0] for depth in range(1, asker.count(".") + 1)}
        for name in sorted((edges(graph, asker) | parents) & graph.keys() - askers.keys()):
            askers[name] = asker
            waiting.append(name)
    return askers


def foreign_imports(root: Path) -> list[str]:
    """Find third-party packages loaded by parts that keep to the standard library."""
    graph = read_graph(root)
    return [
        f"{module}: loads {found.top} by {reached}:{found.line}"
        for module in graph
        if part_of(module) in STANDARD_LIBRARY_ONLY
        for reached in loaded_with(module, graph)
        for found in graph[reached]
        if is_foreign(found) and not found.typing_only
    ]


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (
    layer_breaches,
    cycles,
    impure_imports,
    misplaced_packages,
    foreign_imports,
)


@pytest.mark.parametrize("check", CHECKS)
def test_the_package_keeps_its_layers(check: Check) -> None:
    """
    Our own source breaks none of the rules.
    """
    assert check(SRC) == []


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a small package: file name below the package -> its text."""
    for name, text in {"__init__.py": "", **files}.items():
        path = root / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


BREACHES: dict[str, tuple[Check, dict[str, str]]] = {
    "upwards": (layer_breaches, {"core/a.py": "from agent_pty.ops import b", "ops/b.py": ""}),
    "upwards, relative": (layer_breaches, {"core/a.py": "from ..ops import b", "ops/b.py": ""}),
    "upwards, in a function": (
        layer_breaches,
        {"ops/a.py": "def f():\n    import agent_pty.cli.b", "cli/b.py": ""},
    ),
    "upwards, for types": (
        layer_breaches,
        {"ops/a.py": "if TYPE_CHECKING:\n    from agent_pty import daemon", "daemon/b.py": ""},
    ),
    "sideways": (layer_breaches, {"store/a.py": "import agent_pty.keeper.b", "keeper/b.py": ""}),
    "from the package itself": (layer_breaches, {"__init__.py": "from .errors import Busy"}),
    "from the package itself, the API at once": (
        layer_breaches,
        {"__init__.py": "def f():\n    from agent_pty.api.a import b", "api/a.py": ""},
    ),
    "from the package itself, for types": (
        layer_breaches,
        {"__init__.py": "if TYPE_CHECKING:\n    from agent_pty.cli import a", "cli/a.py": ""},
    ),
    "API to daemon": (layer_breaches, {"api/a.py": "import agent_pty.daemon.b", "daemon/b.py": ""}),
    "API to words": (layer_breaches, {"api/a.py": "import agent_pty.words.b", "words/b.py": ""}),
    "pytest elsewhere": (misplaced_packages, {"words/a.py": "import pytest"}),
    "framework elsewhere": (misplaced_packages, {"api/a.py": "from agents import FunctionTool"}),
    "command line to adapter": (
        layer_breaches,
        {"cli/a.py": "import agent_pty.adapters.b", "adapters/b.py": ""},
    ),
    "no row": (layer_breaches, {"drawer/a.py": ""}),
    "cycle of two": (cycles, {"core/a.py": "from . import b", "core/b.py": "from . import a"}),
    "cycle through the package": (
        cycles,
        {"ops/__init__.py": "from agent_pty.ops.a import x", "ops/a.py": "from . import table"},
    ),
    "cycle after a guard": (
        cycles,
        {
            "core/a.py": "if TYPE_CHECKING:\n    import re\nelse:\n    from . import b",
            "core/b.py": "import agent_pty.core.a",
        },
    ),
    "clock": (impure_imports, {"core/a.py": "from time import monotonic"}),
    "files": (impure_imports, {"core/deep/a.py": "from pathlib import PurePath, Path"}),
    "environment": (impure_imports, {"core/a.py": "def f():\n    import os.path"}),
    "emulator elsewhere": (misplaced_packages, {"host/a.py": "from pyghostty import Terminal"}),
    "binding elsewhere": (misplaced_packages, {"store/a.py": "import cffi"}),
    "msgspec in client": (misplaced_packages, {"client/a.py": "import msgspec.json"}),
    "third party in keeper": (foreign_imports, {"keeper/a.py": "import psutil"}),
    "third party through ours": (
        foreign_imports,
        {"client/a.py": "from agent_pty.core.b import x", "core/b.py": "import re2"},
    ),
    "third party through a parent": (
        foreign_imports,
        {
            "client/a.py": "",
            "client/__init__.py": "from agent_pty.ops import x",
            "ops/__init__.py": "import re2",
        },
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_planted_breach_is_found(name: str, tmp_path: Path) -> None:
    """
    Each rule has been seen to fail; otherwise it would prove nothing.
    """
    check, files = BREACHES[name]

    assert check(plant(tmp_path, files))


SOUND = {
    "__init__.py": "if TYPE_CHECKING:\n    from agent_pty.api.a import Client",
    "api/a.py": "from agent_pty.client import b\nfrom agent_pty.ops import send\nimport pytest",
    "errors.py": "class Busy(Exception): ...",
    "core/a.py": "from pathlib import PurePosixPath\nfrom urllib.parse import quote\nimport re2",
    "core/b.py": "from . import a\nfrom agent_pty import __version__\nfrom ..errors import Busy",
    "core/c.py": "if TYPE_CHECKING:\n    from . import d",
    "core/d.py": "from . import c",
    "ops/__init__.py": "import msgspec\nfrom agent_pty.ops import send",
    "ops/send.py": "import agent_pty.core.b",
    "emulator/a.py": "import os\nimport pyghostty\nfrom cffi import FFI",
    "keeper/a.py": "import os, socket\nfrom agent_pty.core import c\nfrom .b import x",
    "keeper/b.py": "from agent_pty.errors import Busy",
    "host/a.py": "from agent_pty.emulator import a\nfrom agent_pty.keeper.a import y",
    "cli/main.py": "from agent_pty.daemon import a\nfrom agent_pty.client import b",
}


@pytest.mark.parametrize("check", CHECKS)
def test_a_sound_package_passes(check: Check, tmp_path: Path) -> None:
    """
    The rules let through what they are meant to let through.
    """
    assert check(plant(tmp_path, SOUND)) == []


def test_a_cycle_is_shown_as_a_path(tmp_path: Path) -> None:
    """
    The message names the modules of the cycle, in order, and not those that lead to it.
    """
    files = {
        "core/a.py": "from . import b",
        "core/b.py": "from . import c",
        "core/c.py": "from . import b",
    }

    found = cycles(plant(tmp_path, files))

    assert found == ["agent_pty.core.b -> agent_pty.core.c -> agent_pty.core.b"]
