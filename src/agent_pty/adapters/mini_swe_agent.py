"""An environment for mini-swe-agent: every action runs in one shell, which lives on.

`cd`, exports, functions and background jobs of an action are there in the next one. In a
configuration: `environment_class: agent_pty.adapters.mini_swe_agent.AgentPtyEnvironment`.
"""

from __future__ import annotations

import os
import platform
import shlex
import weakref
from typing import Any, Self

from agent_pty.adapters.missing import missing
from agent_pty.api.client import Client
from agent_pty.api.session import NewSession, Session
from agent_pty.errors import (
    AgentPtyError,
    DaemonUnreachable,
    InterruptFailed,
    SessionEnded,
    UnknownSession,
)
from agent_pty.ops.cell_model import CellReport, Status

try:
    from minisweagent.exceptions import Submitted
    from pydantic import BaseModel, Field
except ImportError as error:
    raise missing("mini-swe-agent", error) from None

__all__ = ["AgentPtyEnvironment", "AgentPtyEnvironmentConfig"]

# The first line of the output by which an agent of mini-swe-agent submits its work.
_SUBMITS = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
# mini-swe-agent's word for "there is no exit code"; the reason stands in `exception_info`.
_NO_CODE = -1
# Many programs cut their lines at the width of the terminal.
_ROWS, _COLS = 40, 200
_ENDED = "the shell and its variables are gone: the next command runs in a new one"


class AgentPtyEnvironmentConfig(BaseModel):
    """What may be configured; `cwd`, `env` and `timeout` mean what they mean in `local`."""

    cwd: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    timeout: int = 30
    # Without start-up files: an alias such as `rm -i` would ask a person.
    shell: list[str] = Field(default_factory=lambda: ["bash", "--norc", "--noprofile"])
    # The name of the session, for `agent-pty attach NAME`; by default one is chosen.
    session: str | None = None
    # The home of the daemon; by default it is the one that `agent-pty` uses here.
    home: str | None = None
    # Leave the session running after the program.
    keep: bool = False


class AgentPtyEnvironment:
    """Runs actions in a session; `cleanup`, a `with` block or the end of the program ends it."""

    def __init__(self, **fields: Any) -> None:
        self.config = AgentPtyEnvironmentConfig(**fields)
        self._client = Client(home=self.config.home)
        self._shell: NewSession | None = None
        self._end: weakref.finalize[..., Any] | None = None
        weakref.finalize(self, self._client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def execute(
        self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None
    ) -> dict[str, Any]:
        """Run a command where the one before it left off, or in *cwd*; return what came of it.

        A command that takes longer than *timeout* seconds, or waits for the keyboard, is
        interrupted; the shell lives on.
        """
        seconds = self.config.timeout if timeout is None else timeout
        try:
            seen = self._moved_and_run(action.get("command", ""), cwd, seconds)
        except AgentPtyError as error:
            seen = self._failed(error)
        _raise_if_submitted(seen)
        return seen

    def get_template_vars(self, **more: Any) -> dict[str, Any]:
        """Return what prompts may name: the configuration, the system, the environment."""
        return {**self.config.model_dump(), **platform.uname()._asdict(), **os.environ, **more}

    def serialize(self) -> dict[str, Any]:
        """Return what a trajectory says about its environment."""
        kind = type(self)
        config = {
            "environment": self.config.model_dump(mode="json"),
            "environment_type": f"{kind.__module__}.{kind.__name__}",
        }
        return {"info": {"config": config}}

    def cleanup(self) -> None:
        """End the shell with all that runs in it, unless it is to be kept."""
        self._shell = None
        if self._end is not None:
            self._end()
        self._client.close()

    def _moved_and_run(self, command: str, cwd: str, seconds: int) -> dict[str, Any]:
        if cwd:
            moved = self._run(f"cd -- {shlex.quote(cwd)}", seconds)
            if moved["returncode"] != 0:
                return moved
        return self._run(command, seconds)

    def _run(self, command: str, seconds: int) -> dict[str, Any]:
        shell = self._started()
        cell = shell.run(command, timeout_ms=seconds * 1000)
        why = _reason(cell, seconds)
        if cell.status in {Status.RUNNING, Status.TIMEOUT, Status.WAITING}:
            output, note = self._interrupted(shell, cell)
            return _seen(output, _NO_CODE, f"{why}; {note}")
        output = _whole(shell, cell)
        if cell.error == "exited":
            self._forget()
        return _seen(output, _NO_CODE if cell.exit_code is None else cell.exit_code, why)

    def _started(self) -> NewSession:
        """Return the shell, a new one if there is none."""
        if self._shell is None:
            wanted = self.config
            self._shell = self._client.new(
                wanted.shell,
                repo=wanted.cwd or None,
                id=wanted.session,
                env=wanted.env,
                rows=_ROWS,
                cols=_COLS,
                pager=False,
                title="mini-swe-agent",
            )
            if not wanted.keep:
                self._end = weakref.finalize(self, _end, self._client.socket, self._shell.id)
        return self._shell

    def _interrupted(self, shell: Session, cell: CellReport) -> tuple[str, str]:
        """Stop the command, if need be with its shell; return its output, and say which."""
        try:
            stopped = shell.interrupt().cell
        except InterruptFailed:
            self._forget()
            return cell.output, f"it did not stop when interrupted; {_ENDED}"
        return _whole(shell, stopped or cell), "it was interrupted"

    def _failed(self, error: AgentPtyError) -> dict[str, Any]:
        if isinstance(error, SessionEnded | UnknownSession):
            self._forget()
            return _seen("", _NO_CODE, f"not run: {error}; {_ENDED}")
        return _seen("", _NO_CODE, str(error))

    def _forget(self) -> None:
        """Remove a session whose shell is of no use any more."""
        if self._shell is not None:
            _end(self._client.socket, self._shell.id)
        if self._end is not None:
            self._end.detach()
        self._shell = None


def _end(socket: str, name: str) -> None:
    """End a session, if it and its daemon are still there."""
    try:
        with Client(socket=socket, start=False) as client:
            client.session(name).kill()
    except (DaemonUnreachable, UnknownSession):
        return  # then there is nothing left to end


def _reason(cell: CellReport, seconds: int) -> str:
    """Say why there is no exit code, or what else the model must know; mostly nothing."""
    if cell.status is Status.WAITING:
        return f"the command waits for the keyboard ({cell.waiting_for})"
    if cell.status in {Status.RUNNING, Status.TIMEOUT}:
        return f"the command did not end within {seconds} s"
    if cell.error == "exited":
        return _ENDED
    if cell.exit_code is None:
        return cell.error or cell.hint or "the exit code is unknown"
    return ""


def _whole(shell: Session, cell: CellReport) -> str:
    """Return all of the output: a patch that is submitted may be long."""
    if not cell.truncated:
        return cell.output
    parts, since, more = [], 0, True
    while more:
        page = shell.output(cell.cell_id, since=since)
        parts.append(f"[{page.lost} bytes are no longer kept]\n" if page.lost else "")
        parts.append(page.text)
        since, more = page.next, page.more
    return "".join(parts)


def _seen(output: str, code: int, why: str) -> dict[str, Any]:
    return {"output": output, "returncode": code, "exception_info": why}


def _raise_if_submitted(seen: dict[str, Any]) -> None:
    first, _, rest = seen["output"].lstrip().partition("\n")
    if first.strip() != _SUBMITS or seen["returncode"] != 0:
        return
    extra = {"exit_status": "Submitted", "submission": rest}
    raise Submitted({"role": "exit", "content": rest, "extra": extra})
