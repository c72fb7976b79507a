"""Write the typed methods of the Python API from the op table: `python -m agent_pty.api.generator`.

An op is a method of the same name, and its fields are parameters of the same name, type and
default. An op of one session is a method of the session, which fills in its `id`. What differs
from that, because it is easier for a Python program, is declared at the top of this file.
"""

from __future__ import annotations

import os
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from agent_pty import ops
from agent_pty.api.results import result_type
from agent_pty.ops.op import Op

# Of the client, and of a session as well, which fills in its name.
OF_BOTH = frozenset({"watch"})
# The answer is a handle with methods of its own.
HANDLES = {"new": "NewSession", "watch": "Watching", "attach": "Attachment"}
# A text is split into words as a shell would do it.
PROGRAM = "argv"
# Optional here: the default is the caller's directory.
DIRECTORY = "repo"
# The default is the caller's own.
ENVIRONMENT = "environment"
# Given one after the other: keys("escape", "enter").
VARIADIC = frozenset({"keys"})

# Functions of `caller` that fill them in.
_FILLED = {PROGRAM: "program", DIRECTORY: "directory", ENVIRONMENT: "own_environment"}
_DIRECTORY_TYPE = "str | os.PathLike[str] | None"
_WIDTH = 86
_HEAD = '''\
"""{summary} Written by `make reference`; do not edit."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any{literal}
{ours}
if TYPE_CHECKING:
{typing}


class {name}(abc.ABC):
    """{summary}"""

{id}    @abc.abstractmethod
    {a}def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op; fields that are None are left out."""

    @abc.abstractmethod
    {a}def stream(self, op: str, /, **fields: Any) -> Any:
        """Open a stream."""

'''


@dataclass(frozen=True, kw_only=True)
class Module:
    """One file to write."""

    name: str
    of_session: bool
    is_async: bool

    @property
    def prefix(self) -> str:
        """Begin the name of each class with this."""
        return "Async" if self.is_async else ""

    @property
    def class_name(self) -> str:
        """Name the class in it."""
        return f"{self.prefix}{'Session' if self.of_session else 'Client'}Operations"


MODULES = tuple(
    Module(
        name=f"{'async_' if is_async else ''}{'session' if of_session else 'client'}",
        of_session=of_session,
        is_async=is_async,
    )
    for is_async in (False, True)
    for of_session in (False, True)
)


@dataclass(kw_only=True)
class _Source:
    """The methods of a class, and the names that they need."""

    module: Module
    imports: dict[str, set[str]] = field(default_factory=dict)
    plain_imports: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)

    def named(self, module: str, name: str) -> str:
        """Return *name*, which is imported for types only; two of that name get longer ones."""
        taken = [other for other, names in self.imports.items() if name in names]
        if taken and taken != [module]:
            long = module.rpartition(".")[2].capitalize() + name
            self.imports.setdefault(module, set()).add(f"{name} as {long}")
            return long
        self.imports.setdefault(module, set()).add(name)
        return name

    def type_of(self, kind: Any, *, given: bool) -> str:
        """Write a type: *given* by the caller, or returned."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            return self.type_of(arguments[0], given=given)
        if origin in (typing.Union, types.UnionType):
            parts = [self.type_of(one, given=given) for one in arguments]
            return " | ".join(sorted(parts, key=lambda part: part == "None"))
        if origin is Literal:
            self.uses.add("Literal")
            return f"Literal[{', '.join(repr(value) for value in arguments)}]"
        if origin is Sequence:  # it comes as a list
            origin = list
        if origin in (list, dict):
            inner = ", ".join(self.type_of(one, given=given) for one in arguments)
            return f"{self._container(origin, given=given)}[{inner}]"
        return self._simple(kind)

    def _container(self, origin: type, *, given: bool) -> str:
        if given:
            return self.named("collections.abc", "Sequence" if origin is list else "Mapping")
        # `list` alone would be the method of that name.
        self.plain_imports.add("builtins")
        return f"builtins.{origin.__name__}"

    def _simple(self, kind: Any) -> str:
        if kind in (None, type(None)):
            return "None"
        if kind is Any or kind.__module__ == "builtins":
            return "Any" if kind is Any else str(kind.__name__)
        return self.named(kind.__module__, kind.__name__)


def fields_of(op: Op, *, of_session: bool) -> list[msgspec.structs.FieldInfo]:
    """Return the fields that the caller of a method gives, the program first, the key last."""
    found = [
        one for one in msgspec.structs.fields(op.request) if not (of_session and one.name == "id")
    ]
    return sorted(found, key=lambda one: (one.name != PROGRAM, one.name == "key"))


def methods_of(*, of_session: bool) -> list[Op]:
    """Return the ops that are methods of the client, or of a session."""
    return [
        op
        for op in ops.TABLE.values()
        if op.offered("python")
        and (_needs_session(op) == of_session or (of_session and op.name in OF_BOTH))
    ]


def _needs_session(op: Op) -> bool:
    return any(one.name == "id" and one.required for one in msgspec.structs.fields(op.request))


def _parameters(op: Op, source: _Source) -> Iterator[str]:
    given = fields_of(op, of_session=source.module.of_session)
    places = [one for one in given if _is_positional(one)]
    options = [one for one in given if not _is_positional(one)]
    yield "self"
    for one in places:
        yield _parameter(one, source)
    if options and not any(one.name in VARIADIC for one in places):
        yield "*"
    for one in options:
        yield _parameter(one, source)


def _is_positional(one: msgspec.structs.FieldInfo) -> bool:
    return one.name == PROGRAM or (one.required and one.name != DIRECTORY)


def _parameter(one: msgspec.structs.FieldInfo, source: _Source) -> str:
    kind = source.type_of(one.type, given=True)
    if one.name in VARIADIC:
        return f"*{one.name}: str"
    if one.name == DIRECTORY:
        source.plain_imports.add("os")
        return f"{one.name}: {_DIRECTORY_TYPE} = None"
    if one.name == PROGRAM:
        kind = f"str | {kind}"
    if one.required:
        return f"{one.name}: {kind}"
    default = _default(one)
    if default == "None" and not kind.endswith("None"):
        kind += " | None"
    return f"{one.name}: {kind} = {default}"


def _default(one: msgspec.structs.FieldInfo) -> str:
    if one.default_factory is msgspec.NODEFAULT:
        return repr(one.default)
    return "None" if isinstance(one.default_factory(), Mapping) else "()"


def _argument(one: msgspec.structs.FieldInfo, source: _Source) -> str:
    if one.name not in _FILLED:
        return f"{one.name}={one.name}"
    source.uses.add(_FILLED[one.name])
    return f"{one.name}={_FILLED[one.name]}({one.name})"


def _method(op: Op, source: _Source) -> str:
    module = source.module
    arguments = [_argument(one, source) for one in fields_of(op, of_session=module.of_session)]
    asked = ", ".join([f'"{op.name}"', *arguments])
    head = f"{'async ' if module.is_async else ''}def {op.name}"
    wait = "await " if module.is_async else ""
    handle = HANDLES.get(op.name)
    kind = module.prefix + handle if handle else source.type_of(result_type(op), given=False)
    if handle:
        source.uses.add(kind)
    answer = kind if not handle or op.stream else source.type_of(result_type(op), given=False)
    call = f"self.stream({asked})" if op.stream else f"self.ask({asked})"
    value = "answer" if not handle or op.stream else f"{kind}(self, answer)"
    return "\n".join(
        [
            f"    {head}({', '.join(_parameters(op, source))}) -> {kind}:",
            *_docstring(op),
            f"        answer: {answer} = {wait}{call}",
            f"        return {value}",
            "",
        ]
    )


def _docstring(op: Op) -> Iterator[str]:
    """Yield the first paragraph of the help text; the rest is about the command line."""
    text = " ".join((op.request.__doc__ or "").partition("\n\n")[0].split())
    if len(text) <= _WIDTH:
        yield f'        """{text}"""'
        return
    lines = textwrap.wrap(text, _WIDTH)
    yield f'        """{lines[0]}'
    yield from (f"        {line}" for line in lines[1:])
    yield '        """'


def _ours(source: _Source) -> str:
    """Write what is imported when the module is."""
    prefix = "async_" if source.module.is_async else ""
    used = {
        f"{prefix}session": [f"{source.module.prefix}NewSession"],
        "caller": sorted(_FILLED.values()),
    }
    lines = []
    for name, names in sorted(used.items()):
        wanted = [one for one in names if one in source.uses]
        if wanted:
            lines.append(f"from agent_pty.api.{name} import {', '.join(wanted)}")
    return "\n".join(["", *lines, ""]) if lines else ""


def _typing_imports(source: _Source) -> str:
    prefix = "async_" if source.module.is_async else ""
    for handle in ("Watching", "Attachment"):
        name = source.module.prefix + handle
        if name in source.uses:
            source.named(f"agent_pty.api.{prefix}{handle.lower()}", name)
    lines = [f"import {name}" for name in sorted(source.plain_imports)]
    lines += _froms(source, "collections")
    lines += ["", *_froms(source, "agent_pty")]
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _froms(source: _Source, top: str) -> list[str]:
    lines = []
    for module, names in sorted(source.imports.items()):
        if module.startswith(top):
            plain = sorted(name for name in names if " as " not in name)
            renamed = sorted(names - set(plain))
            groups = [*renamed, ", ".join(plain)]
            lines += [f"from {module} import {group}" for group in groups if group]
    return lines


def text_of(module: Module) -> str:
    """Return a module; it must still be formatted."""
    source = _Source(module=module)
    methods = [_method(op, source) for op in methods_of(of_session=module.of_session)]
    head = _HEAD.format(
        summary="The ops of one session." if module.of_session else "The ops of the daemon.",
        literal=", Literal" if "Literal" in source.uses else "",
        ours=_ours(source),
        typing=_typing_imports(source),
        name=module.class_name,
        a="async " if module.is_async else "",
        id="    id: str\n\n" if module.of_session else "",
    )
    return head + "\n".join(methods)


def main() -> None:
    """Write every module."""
    place = os.path.join(os.path.dirname(__file__), "generated")
    for module in MODULES:
        with open(os.path.join(place, f"{module.name}.py"), "w", encoding="utf-8") as file:
            file.write(text_of(module))


if __name__ == "__main__":
    main()
