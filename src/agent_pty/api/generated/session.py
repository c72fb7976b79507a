"""The ops of one session. Written by `make reference`; do not edit."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence

    from agent_pty.api.attachment import Attachment
    from agent_pty.api.watching import Watching
    from agent_pty.ops.batch import Done
    from agent_pty.ops.cell import Done as CellDone
    from agent_pty.ops.cell import Past
    from agent_pty.ops.cell_model import CellFact, CellReport, OutputExcerpt, OutputPage
    from agent_pty.ops.doing import DoingNow
    from agent_pty.ops.fork import Forked
    from agent_pty.ops.fork_diff import ForkCompared
    from agent_pty.ops.fork_merge import ForkMerged
    from agent_pty.ops.forks import ForkRemoved
    from agent_pty.ops.keys import Pasted, Pressed
    from agent_pty.ops.model import Changes, Killed, Observation, Reading, Screen
    from agent_pty.ops.mouse import Clicked
    from agent_pty.ops.past_screen import PastScreen
    from agent_pty.ops.proof_model import Bundle
    from agent_pty.ops.registry import Renamed
    from agent_pty.ops.resize import Resized
    from agent_pty.ops.screen import Found, Rendered
    from agent_pty.ops.secret import Entered
    from agent_pty.ops.send import Sent
    from agent_pty.ops.signal import Interrupted, Signalled
    from agent_pty.ops.tmux import Released


class SessionOperations(abc.ABC):
    """The ops of one session."""

    id: str

    @abc.abstractmethod
    def ask(self, op: str, /, **fields: Any) -> Any:
        """Return the answer of an op; fields that are None are left out."""

    @abc.abstractmethod
    def stream(self, op: str, /, **fields: Any) -> Any:
        """Open a stream."""

    def send(
        self,
        text: str,
        *,
        approval: str | None = None,
        wait_approval_ms: int = 0,
        enter: bool = True,
        raw: bool = False,
        key: str | None = None,
    ) -> Sent:
        """Type text into a session, as a person at the keyboard would."""
        answer: Sent = self.ask(
            "send",
            approval=approval,
            wait_approval_ms=wait_approval_ms,
            text=text,
            enter=enter,
            raw=raw,
            key=key,
        )
        return answer

    def keys(
        self,
        *keys: str,
        repeat: int = 1,
        delay_ms: int = 0,
        screen: bool = False,
        timeout_ms: int = 3000,
        key: str | None = None,
    ) -> Pressed:
        """Press keys by name, encoded as the program in the session expects them now."""
        answer: Pressed = self.ask(
            "keys",
            keys=keys,
            repeat=repeat,
            delay_ms=delay_ms,
            screen=screen,
            timeout_ms=timeout_ms,
            key=key,
        )
        return answer

    def paste(self, text: str, *, enter: bool = False, key: str | None = None) -> Pasted:
        """Paste text: bracketed if the program asked for that; the text cannot end the paste
        itself.
        """
        answer: Pasted = self.ask("paste", text=text, enter=enter, key=key)
        return answer

    def click(
        self,
        *,
        row: int | None = None,
        col: int | None = None,
        text: str | None = None,
        button: Literal["left", "middle", "right"] = "left",
        count: int = 1,
        mods: Sequence[Literal["ctrl", "alt", "shift"]] = (),
        key: str | None = None,
    ) -> Clicked:
        """Click in a session, at a cell or in the middle of visible text."""
        answer: Clicked = self.ask(
            "click", row=row, col=col, text=text, button=button, count=count, mods=mods, key=key
        )
        return answer

    def wheel(
        self,
        direction: Literal["up", "down", "left", "right"],
        *,
        row: int = 0,
        col: int = 0,
        count: int = 1,
        key: str | None = None,
    ) -> Clicked:
        """Turn the mouse wheel over a cell."""
        answer: Clicked = self.ask(
            "wheel", direction=direction, row=row, col=col, count=count, key=key
        )
        return answer

    def drag(
        self, row: int, col: int, to_row: int, to_col: int, *, key: str | None = None
    ) -> Clicked:
        """Press the left button at one cell, move to another and release it."""
        answer: Clicked = self.ask("drag", row=row, col=col, to_row=to_row, to_col=to_col, key=key)
        return answer

    def batch(self, steps: Sequence[Mapping[str, Any]], *, key: str | None = None) -> Done:
        """Run several ops on one session, one after the other, until one fails."""
        answer: Done = self.ask("batch", steps=steps, key=key)
        return answer

    def run(
        self,
        code: str,
        *,
        approval: str | None = None,
        wait_approval_ms: int = 0,
        timeout_ms: int = 30000,
        spill: bool = True,
        until: str | Sequence[str] = (),
        key: str | None = None,
    ) -> CellReport:
        """Run code in the shell or REPL of a session and return its output and exit code."""
        answer: CellReport = self.ask(
            "run",
            approval=approval,
            wait_approval_ms=wait_approval_ms,
            code=code,
            timeout_ms=timeout_ms,
            spill=spill,
            until=until,
            key=key,
        )
        return answer

    def answer(
        self, text: str, *, timeout_ms: int = 30000, spill: bool = True, key: str | None = None
    ) -> CellReport:
        """Type a line into the cell that waits; return at its next question or its end."""
        answer: CellReport = self.ask(
            "answer", text=text, timeout_ms=timeout_ms, spill=spill, key=key
        )
        return answer

    def fire(
        self,
        code: str,
        *,
        approval: str | None = None,
        wait_approval_ms: int = 0,
        timeout_ms: int = 300000,
        key: str | None = None,
    ) -> CellReport:
        """Start code in the shell or REPL of a session and return at once; `poll` has the
        result.
        """
        answer: CellReport = self.ask(
            "fire",
            approval=approval,
            wait_approval_ms=wait_approval_ms,
            code=code,
            timeout_ms=timeout_ms,
            key=key,
        )
        return answer

    def poll(
        self, *, cell: str | None = None, spill: bool = True, key: str | None = None
    ) -> CellReport:
        """Collect the result of a cell, or report that it still runs."""
        answer: CellReport = self.ask("poll", cell=cell, spill=spill, key=key)
        return answer

    def peek(self, *, cell: str | None = None, spill: bool = False) -> CellReport:
        """Show a cell and its output so far, without collecting its result."""
        answer: CellReport = self.ask("peek", cell=cell, spill=spill)
        return answer

    def output(self, cell: str, *, since: int = 0, max_bytes: int = 262144) -> OutputPage:
        """Read a cell's output in pages; that of the last cell even after it was collected."""
        answer: OutputPage = self.ask("output", cell=cell, since=since, max_bytes=max_bytes)
        return answer

    def excerpt(self, cell: str, *, since: int = 0, fit: int = 8000) -> OutputExcerpt:
        """Read the beginning and the end of a cell's output, and how many lines are between
        them.
        """
        answer: OutputExcerpt = self.ask("excerpt", cell=cell, since=since, fit=fit)
        return answer

    def ready(self, *, timeout_ms: int = 20000) -> CellDone:
        """Wait until the shell or REPL of a session is at its prompt."""
        answer: CellDone = self.ask("ready", timeout_ms=timeout_ms)
        return answer

    def cell(self, cell: str) -> CellFact:
        """Return the last known status of a cell, even after its result was collected."""
        answer: CellFact = self.ask("cell", cell=cell)
        return answer

    def notify(self, message: str, *, who: str = "?", key: str | None = None) -> CellDone:
        """Add a note to a session's history, for people who watch it."""
        answer: CellDone = self.ask("notify", message=message, who=who, key=key)
        return answer

    def history(self, *, lines: int = 25) -> Past:
        """Read the last lines of a session, with the events of its cells between them."""
        answer: Past = self.ask("history", lines=lines)
        return answer

    def screen(self) -> Screen:
        """Read the visible screen of a session: text, cursor, modes, prompt, errors and URLs."""
        answer: Screen = self.ask("screen")
        return answer

    def changes(self, since: str) -> Changes:
        """Read only the rows that changed since an earlier screen."""
        answer: Changes = self.ask("changes", since=since)
        return answer

    def find(self, text: str) -> builtins.list[Found]:
        """Find text on the screen and return its rows and columns, for example to click there."""
        answer: builtins.list[Found] = self.ask("find", text=text)
        return answer

    def render(
        self,
        *,
        format: Literal["text", "ansi", "html", "svg", "png"] = "text",
        scrollback: int = 0,
        palette: str = "legible",
    ) -> Rendered:
        """Return the screen as text, ANSI, HTML, SVG or PNG."""
        answer: Rendered = self.ask("render", format=format, scrollback=scrollback, palette=palette)
        return answer

    def screen_at(
        self,
        at: str,
        *,
        instance: str | None = None,
        format: Literal["text", "ansi", "html"] = "text",
    ) -> PastScreen:
        """Return the screen of a session as it was at a past moment, also of one that is gone."""
        answer: PastScreen = self.ask("screen_at", at=at, instance=instance, format=format)
        return answer

    def read(
        self,
        *,
        since: int | None = None,
        tail: int | None = None,
        max_bytes: int = 262144,
        grep: str | None = None,
        numbered: bool = False,
    ) -> Reading:
        """Read the transcript: the exact output without escape sequences, from a cursor on."""
        answer: Reading = self.ask(
            "read", since=since, tail=tail, max_bytes=max_bytes, grep=grep, numbered=numbered
        )
        return answer

    def wait(
        self,
        until: str | Sequence[str],
        *,
        timeout_ms: int = 30000,
        fail_on: str | Sequence[str] = (),
        since: int | None = None,
        files: bool = True,
        key: str | None = None,
    ) -> Observation:
        """Wait until a condition is true: text appears, output stops or the program ends."""
        answer: Observation = self.ask(
            "wait",
            until=until,
            timeout_ms=timeout_ms,
            fail_on=fail_on,
            since=since,
            files=files,
            key=key,
        )
        return answer

    def doing(self) -> DoingNow:
        """Say what a session does: idle, busy, waiting for input, for a secret or for an
        approval.
        """
        answer: DoingNow = self.ask("doing")
        return answer

    def attach(
        self,
        *,
        read_only: bool = False,
        history_bytes: int = 12000,
        title: bool = False,
        clipboard: bool = False,
        raw: bool = False,
        repaint: bool = False,
        viewer: str | None = None,
        rows: int | None = None,
        cols: int | None = None,
        alternate: bool = False,
        notice: str | None = None,
    ) -> Attachment:
        """Show a session live in this terminal and, unless read-only, type into it."""
        answer: Attachment = self.stream(
            "attach",
            read_only=read_only,
            history_bytes=history_bytes,
            title=title,
            clipboard=clipboard,
            raw=raw,
            repaint=repaint,
            viewer=viewer,
            rows=rows,
            cols=cols,
            alternate=alternate,
            notice=notice,
        )
        return answer

    def watch(self, *, events: Sequence[str] | None = None, since: int | None = None) -> Watching:
        """Follow the events of one session or of all, one JSON object per line."""
        answer: Watching = self.stream("watch", events=events, since=since)
        return answer

    def secret(self, value: str) -> Entered:
        """Ask for a secret at this terminal, without showing it, and type it into a session."""
        answer: Entered = self.ask("secret", value=value)
        return answer

    def replay(
        self, *, instance: str | None = None, after: int = 0
    ) -> builtins.list[builtins.dict[str, Any]]:
        """Return what was recorded of a session: what was typed, by whom, and what came of it."""
        answer: builtins.list[builtins.dict[str, Any]] = self.ask(
            "replay", instance=instance, after=after
        )
        return answer

    def proof(self, *, instance: str | None = None, claims: Sequence[str] = ()) -> Bundle:
        """Write a proof of a session: what was typed, what came of it, which files changed."""
        answer: Bundle = self.ask("proof", instance=instance, claims=claims)
        return answer

    def kill(self, *, key: str | None = None) -> Killed:
        """End a session with its whole process tree, and free its name."""
        answer: Killed = self.ask("kill", key=key)
        return answer

    def rename(self, name: str, *, key: str | None = None) -> Renamed:
        """Give a session another name."""
        answer: Renamed = self.ask("rename", name=name, key=key)
        return answer

    def fork(
        self, name: str, *, copy_worktree: bool = False, count: int = 1, key: str | None = None
    ) -> Forked:
        """Start a session that continues from another: same program, directory, size,
        environment.
        """
        answer: Forked = self.ask(
            "fork", name=name, copy_worktree=copy_worktree, count=count, key=key
        )
        return answer

    def fork_diff(self, other: str) -> ForkCompared:
        """Compare two forks, or a fork and its source: files, cells and outcomes side by side."""
        answer: ForkCompared = self.ask("fork_diff", other=other)
        return answer

    def fork_merge(
        self, *, dry_run: bool = False, tree: str | None = None, key: str | None = None
    ) -> ForkMerged:
        """Apply what was changed in a fork to the files of its source, all of it or nothing."""
        answer: ForkMerged = self.ask("fork_merge", dry_run=dry_run, tree=tree, key=key)
        return answer

    def fork_remove(self, *, force: bool = False, key: str | None = None) -> ForkRemoved:
        """Remove a fork: its work tree or copy, and its branch; never anything of its source."""
        answer: ForkRemoved = self.ask("fork_remove", force=force, key=key)
        return answer

    def release(self, *, key: str | None = None) -> Released:
        """Give an adopted pane back to its tmux, untouched; the session ends, the program does
        not.
        """
        answer: Released = self.ask("release", key=key)
        return answer

    def interrupt(self, *, key: str | None = None) -> Interrupted:
        """Press Ctrl-C in a session; a running cell that ignores it is ended by signals."""
        answer: Interrupted = self.ask("interrupt", key=key)
        return answer

    def signal(
        self, signal: str | int, *, everyone: bool = False, key: str | None = None
    ) -> Signalled:
        """Send a signal to the program in the foreground of a session, or to all its processes."""
        answer: Signalled = self.ask("signal", signal=signal, everyone=everyone, key=key)
        return answer

    def resize(
        self, rows: int, cols: int, *, viewer: str | None = None, key: str | None = None
    ) -> Resized:
        """Change the size of a session's terminal; its program is notified."""
        answer: Resized = self.ask("resize", rows=rows, cols=cols, viewer=viewer, key=key)
        return answer
