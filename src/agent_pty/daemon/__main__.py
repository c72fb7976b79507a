"""`python -m agent_pty.daemon '{...}'`: a daemon in the background beside an older keeper."""

from __future__ import annotations

import json
import os
import sys

from agent_pty.daemon.serve import main


def start() -> None:
    """Leave the caller's session and serve."""
    arguments = json.loads(sys.argv[1])
    ready = arguments.pop("ready")
    os.set_inheritable(ready, False)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    main({"layout": arguments, "ready": ready})


if __name__ == "__main__":
    start()
