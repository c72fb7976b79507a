"""The methods of the Python API are those of the op table."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_pty import AsyncClient, AsyncSession, Client, Session, ops
from agent_pty.api import generator
from agent_pty.api.generator import MODULES, Module
from agent_pty.api.results import result_type
from agent_pty.ops.op import Op, Request

GENERATED = Path(generator.__file__).parent / "generated"
ROOT = Path(__file__).parents[2]
RUFF = Path(sys.executable).parent / "ruff"
CLASSES = ((Client, Session), (AsyncClient, AsyncSession))
# What is easier to give in Python than on the wire.
EASIER = {
    "argv": Any,  # a text, too
    "repo": Any,  # default: the caller's directory
    "keys": str,  # one after the other
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.name))
def test_the_methods_are_written_from_the_table(module: Module) -> None:
    """
    The files are what the generator writes; if not, `make reference`.
    """
    formatted = subprocess.run(
        [RUFF, "format", "--config", ROOT / "pyproject.toml", "-"],
        input=generator.text_of(module),
        capture_output=True,
        text=True,
        check=True,
    )

    assert (GENERATED / f"{module.name}.py").read_text() == formatted.stdout


def names_for_types() -> dict[str, Any]:
    """Return the names that modules of the API import for annotations alone."""
    found: dict[str, Any] = {}
    for path in GENERATED.parent.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                block = ast.Module(body=node.body, type_ignores=[])
                exec(compile(block, path, "exec"), found)  # noqa: S102  only imports of ours
    return found


def plain(kind: Any) -> Any:
    """Return a type without annotations; a list is a sequence, and the order in a union is none."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return plain(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return frozenset(map(plain, arguments))
    if origin in (list, dict, Sequence, Mapping):
        several = {list: Sequence, dict: Mapping}.get(origin, origin)
        return (several, *map(plain, arguments))
    return kind


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    """Return what a parameter should have: an empty mapping cannot be a default, None can."""
    if field.name == "repo":
        return None
    if field.required:
        return inspect.Parameter.empty
    if field.default_factory is msgspec.NODEFAULT:
        return field.default
    return () if isinstance(field.default_factory(), list) else None


def breaches(table: Mapping[str, Op], classes: tuple[type, type]) -> list[str]:
    """Find ops without a method, and parameters that are not as the fields of the op."""
    found = []
    for op in table.values():
        if not op.offered("python"):
            continue
        fields = {one.name: one for one in msgspec.structs.fields(op.request)}
        of_session = "id" in fields and fields["id"].required
        method = getattr(classes[of_session], op.name, None)
        if method is None:
            found.append(f"{op.name}: no method")
            continue
        if of_session:
            del fields["id"]
        found += [f"{op.name}: {fault}" for fault in differences(method, fields)]
    return found


def differences(method: Any, fields: dict[str, msgspec.structs.FieldInfo]) -> list[str]:
    """Compare the parameters of a method with fields."""
    given = dict(inspect.signature(method).parameters)
    del given["self"]
    if given.keys() != fields.keys():
        return [f"{sorted(given)} instead of {sorted(fields)}"]
    hints = typing.get_type_hints(method, localns=names_for_types())
    faults = []
    for name, field in fields.items():
        if given[name].default != default_of(field):
            faults.append(f"{name} has the default {given[name].default!r}")
        wanted = EASIER.get(name, plain(field.type))
        seen = plain(hints[name])
        optional = default_of(field) is None and isinstance(seen, frozenset)
        if wanted not in (Any, seen) and not (optional and frozenset({wanted, type(None)}) == seen):
            faults.append(f"{name} is {seen}, not {wanted}")
    return faults


@pytest.mark.parametrize("classes", CLASSES, ids=["sync", "async"])
def test_every_op_has_its_method(classes: tuple[type, type]) -> None:
    """
    With the fields of the op as parameters: their names, types and defaults.
    """
    assert breaches(ops.TABLE, classes) == []


class Greet(Request, frozen=True, kw_only=True):
    """Say hello."""

    whom: str


class Louder(ops.send.Send, frozen=True, kw_only=True):
    """Type text into a session, as a person at the keyboard would."""

    volume: int = 3


class Silent(ops.send.Send, frozen=True, kw_only=True):
    """Type text into a session, as a person at the keyboard would."""

    enter: bool = False


class Numbered(ops.send.Send, frozen=True, kw_only=True):
    """Type text into a session, as a person at the keyboard would."""

    text: int  # type: ignore[assignment]  # a planted mistake


PLANTED: dict[str, tuple[str, type[Request]]] = {
    "greet: no method": ("greet", Greet),
    "'volume'": ("send", Louder),
    "enter has the default True": ("send", Silent),
    "text is <class 'str'>, not <class 'int'>": ("send", Numbered),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_difference_is_found(fault: str) -> None:
    """
    The check above has been seen to fail; otherwise it would prove nothing.
    """
    name, request = PLANTED[fault]
    op = Op(name=name, answer=name, request=request, where="session", handler=print)

    found = breaches({name: op}, CLASSES[0])

    assert [fault in one for one in found] == [True]


@pytest.mark.parametrize("classes", CLASSES, ids=["sync", "async"])
def test_a_method_returns_the_result_of_its_op(classes: tuple[type, type]) -> None:
    """
    As its handler declares it, except for handles with methods of their own.
    """
    names = names_for_types()
    for is_session in (False, True):
        for op in generator.methods_of(of_session=is_session):
            if op.name not in generator.HANDLES:
                hints = typing.get_type_hints(getattr(classes[is_session], op.name), localns=names)
                assert hints["return"] == result_type(op), op.name


def test_sync_and_async_have_the_same_methods() -> None:
    """
    What a program learns about one client is true of the other.
    """
    for sync, by_loop in zip(*CLASSES, strict=True):
        for name, method in vars(sync.__mro__[1]).items():
            if not name.startswith("_"):
                theirs = inspect.signature(getattr(by_loop, name)).parameters
                assert inspect.signature(method).parameters == theirs
