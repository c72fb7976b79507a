"""The ratios as a picture: a bar per peer and row, on a logarithmic scale around 1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from bench.series import Result

_LEFT, _WIDTH, _BAR, _GAP = 330, 560, 14, 10
_DECADES = 3
_COLOURS = ("#b3452c", "#2c7a4b")
_STYLE = "text{font:12px sans-serif;fill:#222}.row{font-weight:bold}.axis{stroke:#bbb}"


def svg(results: Sequence[Result], *, caption: str) -> str:
    """Return a picture. Right of 1 ours is better, left of it the peer."""
    bars = list(_bars(results))
    height = 60 + sum(_BAR + 4 + (_GAP if first else 0) for first, *_ in bars)
    body = [*_axis(height), *_drawn(bars)]
    size = f'width="{_LEFT + _WIDTH + 90}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="10" y="20">{escape(caption)}</text>' + "".join(body) + "</svg>\n"
    )


def _bars(results: Sequence[Result]) -> Iterator[tuple[bool, str, str, float]]:
    """Yield whether it is the first of its row, the row, the peer and the ratio."""
    for result in results:
        first = True
        for peer in result.peers:
            ratio = result.ratio(peer)
            if ratio:
                yield first, result.row, peer.name, ratio
                first = False


def _place(ratio: float) -> float:
    share = math.log10(ratio) / (2 * _DECADES) + 0.5
    return _LEFT + _WIDTH * min(1.0, max(0.0, share))


def _axis(height: int) -> Iterator[str]:
    for power in range(-_DECADES, _DECADES + 1):
        x = _place(10.0**power)
        yield f'<line class="axis" x1="{x:.0f}" y1="44" x2="{x:.0f}" y2="{height - 8}"/>'
        yield f'<text x="{x:.0f}" y="40" text-anchor="middle">{10.0**power:g}x</text>'


def _drawn(bars: Sequence[tuple[bool, str, str, float]]) -> Iterator[str]:
    y = 46
    for first, row, peer, ratio in bars:
        if first:
            y += _GAP
            yield f'<text class="row" x="10" y="{y + 11}">{escape(row)}</text>'
        start, end = sorted((_place(1.0), _place(ratio)))
        colour = _COLOURS[ratio >= 1]
        yield f'<text x="{_LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(peer)}</text>'
        yield (
            f'<rect x="{start:.1f}" y="{y}" width="{max(1.0, end - start):.1f}" '
            f'height="{_BAR}" fill="{colour}"/>'
        )
        yield f'<text x="{_LEFT + _WIDTH + 8}" y="{y + 11}">{ratio:.2f}x</text>'
        y += _BAR + 4
