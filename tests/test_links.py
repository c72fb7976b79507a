"""What our pages refer to exists: files, headings, and targets of make."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted(DOCS.rglob("*.md")),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_NAMED = re.compile(r"(?<![\w/.])docs/[\w./-]*\w")
_MAKE = re.compile(r"(?:`|^ *)make ([a-z0-9-]+)", re.MULTILINE)


def broken(page: Path, text: str) -> Iterator[str]:
    """Yield what a page with this text refers to and nobody finds."""
    for link in _LINK.findall(text):
        if not _ELSEWHERE.match(link) and not _is_there(page, link):
            yield link
    yield from (path for path in _NAMED.findall(text) if not (ROOT / path).exists())
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    yield from (f"make {name}" for name in _MAKE.findall(text) if name not in targets)


def _is_there(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page if not path else Path(os.path.normpath(page.parent / path))
    if not target.exists():
        return False
    return not heading or heading in slugs(target.read_text(encoding="utf-8"))


def slugs(text: str) -> set[str]:
    """Return how the headings of a page are linked."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_trial_06_what_a_page_refers_to_exists(page: Path) -> None:
    """
    Every relative link with its heading, every path below docs/, every target of make.
    """
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[a](protocol.md#nowhere)", ["protocol.md#nowhere"]),
        ("[a](#nowhere)", ["#nowhere"]),
        ("see `docs/nowhere.md`.", ["docs/nowhere.md"]),
        ("`make nothing`", ["make nothing"]),
        ("`make e3e`", ["make e3e"]),
        ("[a](protocol.md#http) [b](https://example.com) [c](how-to/) docs/protocol.md", []),
    ],
)
def test_trial_06_what_does_not_exist_is_found(text: str, found: list[str]) -> None:
    """
    A planted breach of each kind, and a page that is right.
    """
    assert list(broken(DOCS / "page.md", text)) == found


def test_trial_06_the_index_leads_to_every_page() -> None:
    """
    A page that nobody can find is not there.
    """
    index = DOCS / "README.md"
    linked = {Path(os.path.normpath(DOCS / link)) for link in _LINK.findall(index.read_text())}
    loops = DOCS / "how-to" / "sdk-loops.md"
    linked |= {
        Path(os.path.normpath(loops.parent / one)) for one in _LINK.findall(loops.read_text())
    }

    assert [page for page in DOCS.rglob("*.md") if page != index and page not in linked] == []
