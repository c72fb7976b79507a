"""How a program is started so that it marks its prompts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# Scripts of ours that programs read, next to this module.
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """What to start, and its environment.

    A program with a *secret* finds it on descriptor 3, once, before its own start-up files run.
    A shell that can be asked finds there, too, where it writes what it exports (`dialect.answers`).
    """

    argv: list[str]
    env: dict[str, str]
    secret: str | None = None


# Takes argv, the environment of the program and the nonce. None: not interactive, or
# arguments that cannot be combined with ours; then the program is started as it is.
Inject = Callable[[Sequence[str], Mapping[str, str], str], Injected | None]
