"""The budgets of the design that concern what exists: met or missed, with figure and limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.series import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One budget against one figure."""

    what: str
    figure: str
    limit: str
    met: bool


# Returns None if whom it compares with took no part.
_Figure = Callable[[Result], float | None]


def _below(row: str, what: str, limit: float, of: _Figure) -> _Rule:
    return _Rule(row=row, what=what, limit=limit, of=of, least=False)


def _above(row: str, what: str, limit: float, of: _Figure) -> _Rule:
    return _Rule(row=row, what=what, limit=limit, of=of, least=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    row: str
    what: str
    limit: float
    of: _Figure
    least: bool

    def verdict(self, result: Result) -> Verdict:
        """Compare; what was not measured is not met."""
        figure = self.of(result)
        met = figure is not None and (figure >= self.limit if self.least else figure <= self.limit)
        return Verdict(
            what=self.what,
            figure="not measured" if figure is None else f"{figure:.3g}",
            limit=f"{'at least' if self.least else 'at most'} {self.limit:g}",
            met=met,
        )


def _p50_ms(result: Result) -> float:
    return result.ours.median * 1000


def _p99_ms(result: Result) -> float:
    return result.ours.percentile(99) * 1000


def _median(result: Result) -> float:
    return result.ours.median


def _share(result: Result) -> float | None:
    return result.ratio(result.peers[0]) if result.peers else None


def _times(peer: str) -> _Figure:
    """How many times faster than one of the peers."""

    def of(result: Result) -> float | None:
        found = next((one for one in result.peers if one.name == peer), None)
        return result.ratio(found) if found is not None else None

    return of


def _means(peer: str) -> _Figure:
    """The same by the means of all rounds."""

    def of(result: Result) -> float | None:
        found = next((one for one in result.peers if one.name == peer), None)
        return found.mean / result.ours.mean if found is not None else None

    return of


def _more_ms(result: Result) -> float:
    """How many milliseconds more than what stands beside it."""
    return (result.ours.median - result.peers[0].median) * 1000


def _of_first(result: Result) -> float:
    """How many times as long as what stands beside it."""
    return result.ours.median / result.peers[0].median


def _of_first_p99(result: Result) -> float:
    """The same, of the slowest hundredth of each."""
    return result.ours.percentile(99) / result.peers[0].percentile(99)


def _of_python(result: Result) -> float | None:
    """How many times as long as starting Python."""
    times = _times("python")(result)
    return 1 / times if times else None


def _of_sdk(result: Result) -> float | None:
    """How many times as long as importing the MCP SDK."""
    times = _times("mcp import")(result)
    return 1 / times if times else None


def _cold(row: str, command: str, limit: float) -> _Rule:
    return _below(row, f"{command}, times as long as python3 -c pass", limit, _of_python)


RULES = (
    _above(
        "k run echo hello", "k run, times faster than agent-tty (means)", 5, _means("agent-tty")
    ),
    _cold("cold CLI", "agent-pty status", 1.5),
    _cold("list, CLI", "agent-pty list", 1.5),
    _cold("screen, CLI", "agent-pty screen", 1.5),
    _cold("send, CLI", "agent-pty send", 1.5),
    _cold("k poll", "k poll", 1.25),
    _below("k new", "k new to usable prompt, ms", 60, _p50_ms),
    _above("50 MB by k run", "50 MB by k run, times faster than agent-tty", 5, _times("agent-tty")),
    _below("send + screen, open", "send + screen over an open socket, p50 in ms", 2.5, _p50_ms),
    _below("screen, open", "screen of a quiet session, open socket, p50 in ms", 1, _p50_ms),
    _below("screen, back to back", "... asked again at once, p50 in ms", 1, _p50_ms),
    _below("wait wake-up, open", "output to wait answered, p50 in ms", 5, _p50_ms),
    _below("wake-up, 200 active", "... with 200 active sessions, p50 in ms", 5, _p50_ms),
    _below("wake-up, 200 active", "... with 200 active sessions, p99 in ms", 50, _p99_ms),
    _below("MCP ready, warm", "MCP ready, warm gateway, p50 in ms", 150, _p50_ms),
    _below("MCP ready, cold", "MCP ready, cold, times as long as importing the SDK", 1.25, _of_sdk),
    _below("schema of the tools", "schema of the six tools, bytes", 4000, _median),
    _above("PTY drain, plain", "drain, share of a bare loop, plain text", 0.5, _share),
    _above("PTY drain, colours", "drain, share of a bare loop, colours", 0.25, _share),
    _above("redaction, build log", "redaction of plain logs, MB/s", 50, _median),
    _above("redaction, server log", "... with identifiers and some secrets, MB/s", 50, _median),
    _below("verdict, one command", "verdict on a command, p99 in ms", 5, _p99_ms),
    _below("verdict, 4 KB", "verdict on 4 KB full of commands, p99 in ms", 5, _p99_ms),
    _below("verdict, 1 MB", "verdict on 1 MB, p99 in ms", 100, _p99_ms),
    _below("append at event 200,000", "append, times as long as at event 100", 2, _of_first),
    _below("append at event 200,000", "... p99 against p99", 2, _of_first_p99),
    _above("evidence, 50 MB plain", "evidence, share of the output before, plain", 0.7, _share),
    _above("evidence, 50 MB colours", "evidence, share of the output before, colours", 0.7, _share),
    _above("evidence, k run", "evidence, share of the k run rate before", 0.85, _share),
    _below("exec, guarded", "guard, more ms for an exec, p50", 0.5, _more_ms),
    _below("exec, guarded, flood", "... beside a flood, p50", 2, _more_ms),
    _below("memory with 1", "1 session, all our processes, MB", 65, _median),
    _below("memory with 20", "20 sessions, all our processes, MB", 80, _median),
    _below("memory per further session", "each further idle session, MB", 1, _median),
    _below("slowest send beside 100 readers", "slowest send beside readers, ms", 100, _p50_ms),
    _below("10,000 pending waits", "10,000 pending waits, % of a core", 5, _median),
    _below("ten tasks, calls", "ten tasks by k, calls", 149, _median),
    _above("ten tasks, calls", "ten tasks, times fewer calls than tmux", 2, _times("tmux")),
    _above("ten tasks, bytes", "ten tasks, times fewer bytes than tmux", 4, _times("tmux")),
    _below("kill of a tree", "kill of a tree, p99 in ms", 1000, _p99_ms),
)


def verdicts(results: Sequence[Result]) -> Iterator[Verdict]:
    """Judge what was measured; a budget without its row is left out."""
    by_row = {result.row: result for result in results}
    for rule in RULES:
        if rule.row in by_row:
            yield rule.verdict(by_row[rule.row])
