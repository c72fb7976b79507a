"""Memory for the last bytes of a terminal: without a name, there as long as somebody holds it.

The keeper does not know what is in it: the host that reads the terminal gives it size and content.
"""

from __future__ import annotations

import errno
import os
import tempfile

_NAME = "agent-pty-spool"
# Since Linux 6.3: some systems allow no memory that could be executed.
_NOT_EXECUTABLE = 0x0008


def create_spool() -> int:
    """Return a new empty spool, which no program inherits; the caller owns the descriptor."""
    if not hasattr(os, "memfd_create"):  # macOS
        return create_unlinked_file()
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(_NAME, flags | _NOT_EXECUTABLE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return os.memfd_create(_NAME, flags)


def create_unlinked_file() -> int:
    """Return an empty file that has no name: what comes nearest where there is no memfd."""
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
