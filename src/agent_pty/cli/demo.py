"""`demo`: a broken project is repaired in a real session, and what happened is proved.

It needs no daemon and leaves none: it has one of its own for these seconds.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from agent_pty.cli.command import Invocation, client_command, pretty, write
from agent_pty.cli.private_daemon import private_daemon
from agent_pty.client.connection import Connection
from agent_pty.client.directory import here
from agent_pty.core.command import Command, part
from agent_pty.core.layout import Layout, expanded, layout
from agent_pty.core.name import LONGEST
from agent_pty.errors import Usage

_ROWS, _COLS = 24, 100
_WAIT_MS = 10_000
# Should this process and the one that looks after it both be killed, the session ends by itself.
_IDLE_STOP_MS = 30_000
_FAILED, _PASSED, _SUCCESS = "demo checks failed", "demo checks passed", "agent-pty-demo-success"
_FILES = {
    "README.md": "# A broken project\n\n`sh ./check.sh` says whether it works.\n",
    "answer.txt": "broken\n",
    "check.sh": f"""if [ "$(cat answer.txt)" = fixed ]; then
    echo "{_PASSED}"
else
    echo "{_FAILED}"
    exit 1
fi
""",
}
_CHECK = "sh ./check.sh || true"
_REPAIR = f"echo fixed > answer.txt && sh ./check.sh && echo {_SUCCESS}"
_IDENTITY = ("-c", "user.name=agent-pty demo", "-c", "user.email=demo@agent-pty.invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a demo is."""

    session: str
    run_dir: str

    @property
    def workspace(self) -> str:
        return f"{self.run_dir}/workspace"

    @property
    def log_dir(self) -> str:
        return f"{self.run_dir}/logs"

    @property
    def report(self) -> str:
        return f"{self.run_dir}/demo-report.md"


def demo(call: Invocation) -> int:
    """Make a project, repair it, prove it, and say where everything is."""
    o = call.options
    root = os.path.join(here(), expanded(o.root, os.environ)) if o.root else _usual_root()
    place = _place(root, o.name)
    _make_project(place.workspace)
    with private_daemon(_layout(place)) as connection:
        seen, proof = _repaired(connection, place, shell=expanded(o.shell, os.environ))
    result = _result(place, seen, proof)
    _write_report(place, result)
    write(pretty(result) if call.json else _text(result))
    return 0


def _usual_root() -> str:
    home = os.environ.get("AGENT_PTY_HOME") or "~/.agent-pty"
    return os.path.join(here(), expanded(home, os.environ), "demos")


def _place(root: str, name: str) -> _Place:
    session = re.sub("[^A-Za-z0-9_-]", "-", name)[:LONGEST].strip("-") or "demo"
    now = dt.datetime.now(dt.UTC).strftime("%Y%m%d-%H%M%S")
    made = _Place(session=session, run_dir=f"{root}/{session}-{now}-{secrets.token_hex(4)}")
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        for path in (made.run_dir, made.workspace, made.log_dir):
            os.mkdir(path, 0o700)
    except OSError as error:
        raise Usage(f"--root {root}: {error.strerror}: {error.filename}") from error
    return made


def _layout(place: _Place) -> Layout:
    """Return a home of its own for the daemon; it signs with the key of the user's."""
    env = {name: value for name, value in os.environ.items() if name != "AGENT_PTY_SOCKET"}
    return layout(env, cwd=here(), log_dir=place.log_dir)


def _make_project(workspace: str) -> None:
    for name, text in _FILES.items():
        with open(f"{workspace}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    _git(workspace, "-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    _git(workspace, "add", "--all")
    _git(workspace, *_IDENTITY, "commit", "--quiet", "--message=demo baseline")


def _git(workspace: str, *words: str) -> None:
    """Run git as it comes, without anything that the user has set for other repositories."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    try:
        subprocess.run(
            ["git", *words],
            cwd=workspace,
            env={**kept, **plain},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        raise Usage("the demo needs git, which is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Usage(f"git {words[0]}: {error.stderr.decode(errors='replace').strip()}") from error


def _repaired(
    connection: Connection, place: _Place, *, shell: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Have the check fail, repair, and pass; return the last look and the proof."""
    name = place.session
    connection.ask(
        "new",
        id=name,
        repo=place.workspace,
        shell=shell,
        rows=_ROWS,
        cols=_COLS,
        env={"PS1": "$ ", "HISTFILE": os.devnull},
        idle_stop_ms=_IDLE_STOP_MS,
    )
    for line, expected in ((_CHECK, _FAILED), (_REPAIR, _SUCCESS)):
        connection.ask("send", id=name, text=line, enter=True)
        seen = connection.ask("wait", id=name, until=expected, timeout_ms=_WAIT_MS)
    proof = connection.ask("proof", id=name)
    # If anything above fails or is interrupted, the session ends with its daemon: the connection
    # may have an answer under way then, which would be taken for that of another request.
    connection.ask("kill", id=name)
    return seen, proof


def _result(place: _Place, seen: dict[str, Any], proof: dict[str, Any]) -> dict[str, Any]:
    """Return the contract's fields, in its order."""
    return {
        "status": "ok",
        "session_id": place.session,
        "run_dir": place.run_dir,
        "workspace": place.workspace,
        "log_dir": place.log_dir,
        "event_log_path": f"{place.log_dir}/{place.session}.jsonl",
        "proof_json_path": proof["json_path"],
        "proof_markdown_path": proof["markdown_path"],
        "proof_html_path": proof["html_path"],
        "report_path": place.report,
        "screen_tail": seen["screen"]["text"],
    }


def _write_report(place: _Place, result: dict[str, Any]) -> None:
    text = f"""# agent-pty demo: {place.session}

agent-pty demo complete

- workspace: {place.workspace}
- proof: {result["proof_markdown_path"]}
- proof html: {result["proof_html_path"]}
- event log: {result["event_log_path"]}

## Screen Tail

```text
{result["screen_tail"]}
```
"""
    with open(place.report, "w", encoding="utf-8") as file:
        file.write(text)


def _text(result: dict[str, Any]) -> str:
    opener = "open" if sys.platform == "darwin" else "xdg-open"
    return f"""agent-pty demo complete
workspace: {result["workspace"]}
report: {result["report_path"]}
proof: {result["proof_markdown_path"]}
proof html: {result["proof_html_path"]}
event log: {result["event_log_path"]}

A check failed, was repaired in a session and passed. See it in a browser:
  {opener} {shlex.quote(result["proof_html_path"])}
"""


COMMANDS = (
    client_command(
        "demo",
        "Repair a small broken project in a real session, and prove what happened.\n\n"
        "Makes a git repository, runs a check that fails, repairs it from inside the session, "
        "waits for the check that passes, and writes a report, the proof and the event log. Needs "
        "no daemon and leaves none.",
        Command(
            parts=(
                part("root", "--root", metavar="DIR", help="default: ~/.agent-pty/demos"),
                part("name", "--name", default="demo", help="name of the session (default: demo)"),
                part(
                    "shell", "--shell", default="/bin/sh", metavar="PATH", help="default: /bin/sh"
                ),
            ),
            examples=("agent-pty demo", "agent-pty demo --root /tmp/demos --json"),
        ),
    ),
)
