"""The check of what is recorded: how much it is, and whether there is room for more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from agent_pty.cli.command import Invocation
from agent_pty.core.byte_size import shown_size

_LARGE = 5 * 10**9
_FULL = 0.9
_REMEDY = "`agent-pty gc --older-than 30d --export DIR` removes what is old"


def records(call: Invocation) -> str:
    """Say how large the log directory is; warn when it is time for `gc`."""
    directory = call.layout.log_dir
    if not os.path.isdir(directory):
        return "none yet"
    sizes = list(_sizes(directory))
    used = _share_in_use(directory)
    text = f"{len(sizes)} file(s), {shown_size(sum(sizes))}"
    warnings = []
    if sum(sizes) > _LARGE:
        warnings.append(f"{directory} is larger than {shown_size(_LARGE)}: {_REMEDY}")
    if used > _FULL:
        warnings.append(f"the disk of {directory} is {used:.0%} full: {_REMEDY}")
    damaged = sorted(name for name in os.listdir(directory) if ".damaged" in name)
    if damaged:
        warnings.append(
            f"{damaged[0]} was damaged, and the index written anew: look at it, then remove it"
        )
    return "; warning: ".join([text, *warnings])


def _sizes(directory: str) -> Iterator[int]:
    for path, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
                yield os.lstat(f"{path}/{name}").st_size


def _share_in_use(path: str) -> float:
    """Return how full a disk is for an ordinary user, as `df` shows it."""
    system = os.statvfs(path)
    used = system.f_blocks - system.f_bfree
    return used / ((used + system.f_bavail) or 1)
