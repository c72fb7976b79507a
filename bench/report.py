"""The table that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.budget import Verdict
from bench.series import Result, Series, Unit

_HEAD = f"{'row':<27} {'who':<15} {'p50':>11} {'p95':>11} {'ratio':>7}  note"


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each contestant of each row. A ratio above 1: ours is so much better."""
    yield _HEAD
    yield "-" * len(_HEAD)
    for result in results:
        yield _line(result.row, result.ours, result.unit, "")
        for peer in result.peers:
            ratio = result.ratio(peer)
            yield _line("", peer, result.unit, "-" if ratio is None else f"{ratio:.2f}x")
        for name in result.without:
            yield f"{'':<27} {name:<15} {'-':>11} {'-':>11} {'-':>7}"


def details(results: Sequence[Result]) -> Iterator[str]:
    """Yield what some rows add up."""
    for result in results:
        if result.detail:
            yield from ("", *result.detail)


def _line(row: str, series: Series, unit: Unit, ratio: str) -> str:
    p50, p95 = shown(series.median, unit), shown(series.percentile(95), unit)
    line = f"{row:<27} {series.name:<15} {p50:>11} {p95:>11} {ratio:>7}  {series.note}"
    return line.rstrip()


def shown(figure: float, unit: Unit) -> str:
    """Return a figure with its unit; seconds in the unit that reads best.

    >>> shown(0.0000421, "s"), shown(0.00123, "s"), shown(12.5, "s")
    ('42.1 µs', '1.23 ms', '12.50 s')
    >>> shown(64.25, "MB"), shown(1234, "bytes")
    ('64.25 MB', '1,234 bytes')
    """
    if unit == "s" and figure < 0.0001:
        return f"{figure * 1e6:.3g} µs"
    if unit == "s" and figure < 1:
        return f"{figure * 1000:.3g} ms" if figure >= 0.1 else f"{figure * 1000:.2f} ms"
    if unit in ("calls", "bytes"):
        return f"{figure:,.0f} {unit}"
    return f"{figure:.2f} {unit}"


def budgets(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each budget."""
    for one in verdicts:
        state = "met" if one.met else "missed"
        yield f"{state:<7} {one.what:<55} {one.figure:>8}   ({one.limit})"
