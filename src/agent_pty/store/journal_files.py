"""Which journal is whose: `<name>.jsonl` is the newest, `<name>.<instance>.jsonl` an older one."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent_pty.core.name import checked

ENDING = ".jsonl"
# As much as a reader of events takes.
_LONGEST_LINE = 64 << 20
_INSTANCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def path_of(directory: str, name: str, instance: str | None = None) -> str:
    """Return the path of a journal: of the newest instance, or of an older one."""
    return f"{directory}/{name}{'' if instance is None else f'.{instance}'}{ENDING}"


def instance_of(path: str) -> str | None:
    """Return whose journal a file is, by its first line; None if that does not tell."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        return str(json.loads(file.readline(_LONGEST_LINE))["instance"])
    return None


def misplaced(path: str, name: str, names: Mapping[str, str]) -> str | None:
    """Say why a file is not the journal of the session *name*; None: nothing speaks against it.

    *names* are those under which the journals of instances were signed last, the newest at the end.
    """
    found, directory = instance_of(path), os.path.dirname(path)
    signed = [instance for instance, called in names.items() if called == name]
    if found is None:
        return "its first line does not say whose it is" if signed else None
    if signed and found not in signed:
        newest = signed[-1]
        elsewhere = find(directory, name, newest) or by_instance(directory).get(newest)
        if not elsewhere:
            return f"it is not that of instance {newest}, which was signed under this name"
    own = path_of(directory, names.get(found, name))
    if own != path and instance_of(own) == found:
        return f"it is a copy of that of session {names[found]}"
    return None


def make_room(directory: str, name: str, instance: str) -> None:
    """Move the journal of an earlier instance of this name out of the way."""
    path = path_of(directory, name)
    if not os.path.lexists(path):
        return
    found = instance_of(path)
    if found == instance or (found is None and os.path.getsize(path) == 0):
        return
    others = _older(directory, name, found or "unreadable")
    os.rename(path, next(other for other in others if not os.path.lexists(other)))


def _older(directory: str, name: str, instance: str) -> Iterator[str]:
    """Yield the paths that the journal of an older instance may have, the usual one first."""
    yield path_of(directory, name, instance)
    yield from (path_of(directory, name, f"{instance}-{number}") for number in itertools.count(2))


def find(directory: str, name: str, instance: str | None = None) -> str | None:
    """Return the path of an instance's journal, of the newest by default; None: there is none."""
    if instance is not None and not _INSTANCE.fullmatch(instance):
        return None
    newest = path_of(directory, checked(name))
    if instance is None or instance_of(newest) == instance:
        return newest if os.path.exists(newest) else None
    others = itertools.takewhile(os.path.exists, _older(directory, name, instance))
    # One whose first line is damaged is found by its name.
    return next((path for path in others if instance_of(path) in (instance, None)), None)


def names_of(directory: str) -> list[str]:
    """Return the names of all files of a directory that may be journals."""
    with contextlib.suppress(FileNotFoundError):
        found = os.listdir(directory)
        return sorted(name for name in found if name.endswith(ENDING))
    return []


def by_instance(directory: str) -> dict[str, list[str]]:
    """Return the paths of all journals of a directory by instance; every file is opened once."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names_of(directory):
        instance = instance_of(f"{directory}/{name}")
        if instance is not None:
            found[instance].append(f"{directory}/{name}")
    return dict(found)


@dataclass(frozen=True, slots=True)
class Located:
    """Where the journals of known sessions are, by instance, and journals of nobody known."""

    paths: dict[str, str]
    others: list[str]


def locate(directory: str, sessions: Iterable[tuple[str, str]]) -> Located:
    """Find the journals of sessions, given by name and instance.

    *sessions* must have every session that may own a journal, also those that run. Most files tell
    by their names whose they are; only the others are opened, so thousands cost milliseconds.
    """
    left, paths = set(names_of(directory)), dict[str, str]()
    claims: defaultdict[str, list[str]] = defaultdict(list)
    for name, instance in sessions:
        own = f"{name}.{instance}{ENDING}"
        if own in left:
            left.discard(own)
            paths[instance] = f"{directory}/{own}"
        else:
            claims[name + ENDING].append(instance)
    missing: set[str] = set()
    for file, instances in claims.items():
        owner = _owner(f"{directory}/{file}", instances) if file in left else None
        if owner is not None:
            left.discard(file)
            paths[owner] = f"{directory}/{file}"
        missing.update(one for one in instances if one != owner)
    others = []
    for path in (f"{directory}/{file}" for file in sorted(left)):
        owner = instance_of(path)
        if owner in missing and owner not in paths:
            paths[owner] = path
        elif owner is not None:
            others.append(path)
    return Located(paths, others)


def _owner(path: str, instances: list[str]) -> str | None:
    """Return whose journal the newest of a name is; it is opened if several may own it."""
    if len(instances) == 1:
        return instances[0]
    found = instance_of(path)
    return found if found in instances else None
