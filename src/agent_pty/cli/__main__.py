"""`python -m agent_pty.cli PROGRAM WORD...`: the full client, to which the script hands over."""

from __future__ import annotations

import sys


def start() -> int:
    """Run the program named first; `agent-pty` imports modules that `k` does not need."""
    program, *words = sys.argv[1:]
    if program == "agent-pty":
        from agent_pty.cli.main import main  # noqa: PLC0415

        return main(words)
    from agent_pty.cli import full  # noqa: PLC0415

    return full.main(program, words)


if __name__ == "__main__":
    sys.exit(start())
