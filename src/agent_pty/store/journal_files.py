"""Which journal is whose: `<name>.jsonl` is the newest, `<name>.<instance>.jsonl` an older one."""

from __future__ import annotations

import contextlib
import json
import os
import re

from agent_pty.core.name import checked

_ENDING = ".jsonl"
_LONGEST_LINE = 1 << 20
_INSTANCE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def path_of(directory: str, name: str, instance: str | None = None) -> str:
    """Return the path of a journal: of the newest instance, or of an older one."""
    return f"{directory}/{name}{'' if instance is None else f'.{instance}'}{_ENDING}"


def instance_of(path: str) -> str | None:
    """Return whose journal a file is, by its first line; None if that does not tell."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError), open(path, "rb") as file:
        return str(json.loads(file.readline(_LONGEST_LINE))["instance"])
    return None


def make_room(directory: str, name: str, instance: str) -> None:
    """Move the journal of an earlier instance of this name out of the way."""
    path = path_of(directory, name)
    if not os.path.lexists(path):
        return
    found = instance_of(path)
    if found == instance or (found is None and os.path.getsize(path) == 0):
        return
    other = path_of(directory, name, found or "unreadable")
    number = 1
    while os.path.lexists(other):
        number += 1
        other = path_of(directory, name, f"{found or 'unreadable'}-{number}")
    os.rename(path, other)


def find(directory: str, name: str, instance: str | None = None) -> str | None:
    """Return the path of an instance's journal, of the newest by default; None: there is none."""
    if instance is not None and not _INSTANCE.fullmatch(instance):
        return None
    newest = path_of(directory, checked(name))
    if instance is None or instance_of(newest) == instance:
        return newest if os.path.exists(newest) else None
    other = path_of(directory, name, instance)
    return other if os.path.exists(other) else None


def all_of(directory: str) -> list[str]:
    """Return the paths of all journals of a directory."""
    with contextlib.suppress(FileNotFoundError):
        names = sorted(name for name in os.listdir(directory) if name.endswith(_ENDING))
        paths = [f"{directory}/{name}" for name in names]
        return [path for path in paths if instance_of(path) is not None]
    return []


def find_anywhere(directory: str, instance: str) -> str | None:
    """Return the path of an instance's journal, whatever its name is now; None: it is gone."""
    return next((path for path in all_of(directory) if instance_of(path) == instance), None)
