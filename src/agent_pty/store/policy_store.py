"""Where the policy in force is kept: a copy of its text, so that editing the file changes nothing.

The copy is in the directory of what runs, and goes with it: a daemon that follows a dead one uses
the rules that its sessions began with.
"""

from __future__ import annotations

import os

import msgspec

from agent_pty import log
from agent_pty.core.layout import Layout, expanded
from agent_pty.core.policy.policy_file import BUILT_IN, Policy, parsed_policy
from agent_pty.errors import BadConfig
from agent_pty.store import atomic, config, home

VERSION = 1


class KeptPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy file as it was read; without a *path* only the built-in rules count."""

    version: int = VERSION
    path: str | None = None
    text: str | None = None
    # Put there for a daemon that is about to start.
    offered: bool = False

    def policy(self) -> Policy:
        """Return the rules."""
        if self.text is None:
            return BUILT_IN
        return parsed_policy(self.text.encode(), path=self.path or "the policy")


def read(path: str | None) -> KeptPolicy:
    """Read a policy file and see that it has no mistake; None: only the built-in rules count."""
    if path is None:
        return KeptPolicy()
    try:
        with open(path, encoding="utf-8") as file:
            kept = KeptPolicy(path=path, text=file.read())
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadConfig(f"read policy {path}: {why}", path=path) from error
    kept.policy()
    return kept


def begin(layout: Layout, given: str | None) -> KeptPolicy:
    """Return the policy for a daemon that starts: *given*, or as before, or as configured."""
    return _kept(layout, expected(layout) if given is None else read(given))


def expected(layout: Layout) -> KeptPolicy:
    """Return the policy of the daemon that runs, or of one that would be started now."""
    kept = _copy(layout)
    if kept is not None and (kept.offered or home.left_behind(layout)):
        return msgspec.structs.replace(kept, offered=False)
    configured = _configured(layout)
    return read(expanded(configured, os.environ) if configured else None)


def _kept(layout: Layout, wanted: KeptPolicy) -> KeptPolicy:
    """Keep a policy unless it is kept already; a full disk does not keep a daemon from starting."""
    if wanted != _copy(layout):
        try:
            keep(layout, wanted)
        except OSError as error:
            log.line(f"daemon: the policy is not kept for the next daemon: {error}")
    return wanted


def _configured(layout: Layout) -> str:
    """Return the path in the settings; with a mistake in that file, the built-in rules count."""
    try:
        return config.load(layout).policy.file
    except BadConfig as error:
        log.line(f"daemon: only the built-in rules count: {error}")
        return ""


def offer(layout: Layout, path: str) -> None:
    """Let the next daemon use a policy file."""
    keep(layout, msgspec.structs.replace(read(path), offered=True))


def _copy(layout: Layout) -> KeptPolicy | None:
    try:
        with open(layout.policy_copy, "rb") as file:
            kept = msgspec.json.decode(file.read(), type=KeptPolicy)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        why = f"{layout.policy_copy} cannot be read: {error}"
        raise BadConfig(f"{why}; start the daemon with serve --policy FILE") from error
    kept.policy()
    return kept


def keep(layout: Layout, kept: KeptPolicy) -> KeptPolicy:
    """Keep a policy for the daemons after this one."""
    atomic.replace(layout.policy_copy, msgspec.json.encode(kept))
    return kept
