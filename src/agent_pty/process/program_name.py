"""What a process is called: as it was started, and by its program, if that was by a link."""

from __future__ import annotations

import os
import re

from agent_pty.process import table

# These run programs of other names: scripts, or themselves under many names.
_HOSTS = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|bun|deno|lua|luajit|php|java|sh|dash|bash|zsh|fish|ksh"
    r"|busybox|toybox|coreutils|env)[0-9.-]*"
)
# The kernel keeps so much of a name.
_KEPT = 15


def command_name(pid: int) -> str:
    """Return what a process was started as, or calls itself; empty if it has ended."""
    return table.read(pid, "comm").decode(errors="replace").strip()


def program_name(pid: int) -> str:
    """Return the name of a process's program; empty if the process has ended.

    `editor` and `pager` are links. A process that has given itself a name keeps it.
    """
    name = command_name(pid)
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:  # it has ended, or is the program of another user
        return name
    started = os.path.basename(table.read(pid, "cmdline").partition(b"\0")[0]).decode(
        errors="replace"
    )
    is_link = name != program[:_KEPT] and name == started[:_KEPT]
    return program if is_link and not _HOSTS.fullmatch(program) else name
