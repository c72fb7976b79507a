"""Text that is covered where it stands: the same cells, the same bytes, and no secret left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.redaction.mask import masked
from agent_pty.core.redaction.redactor import Redactor
from agent_pty.core.width import cells

GITHUB = "ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"
CORPUS = Path(__file__).parents[2] / "corpora" / "redaction.jsonl"


def covered(text: str, *, size: int = 1 << 20) -> str:
    """Redact in place what comes in pieces of one size."""
    data, redactor = text.encode(), Redactor(in_place=True)
    pieces = [redactor.feed(data[at : at + size]) for at in range(0, len(data), size)]
    return b"".join([*pieces, redactor.close()]).decode(errors="replace")


@given(st.text())
def test_a_mask_has_the_cells_and_bytes_of_what_it_covers(text: str) -> None:
    """
    Whatever is covered, what follows it on the screen and in the stream stays where it was.
    """
    data = text.encode("utf-8", "replace")

    mask = masked(data, b"[REDACTED:token]")

    assert len(mask) == len(data)
    assert cells(mask.decode()) == cells(data.decode())


@given(st.binary())
def test_a_mask_of_any_bytes_has_as_many(data: bytes) -> None:
    """
    Output need not be UTF-8.
    """
    assert len(masked(data)) == len(data)


def test_what_moves_the_cursor_stays() -> None:
    """
    A carriage return or a tab in a secret is still one.
    """
    assert masked(b"abc\rdef\tg", b"[REDACTED]") == b"***\r***\t*"


def test_the_line_around_a_secret_does_not_move() -> None:
    """
    The marker is shown where it fits, and filled up to the end of the secret.
    """
    assert covered(f"a {GITHUB} b\n") == f"a {'gh_[REDACTED]'.ljust(len(GITHUB), '*')} b\n"


def test_a_coloured_secret_is_covered_in_every_piece() -> None:
    """
    Escapes between the pieces of a secret stay, and nothing moves.
    """
    coloured = GITHUB[:12] + "\x1b[31m" + GITHUB[12:]

    shown = covered(f"{coloured} b\n")

    assert "Fake" not in shown
    assert "\x1b[31m" in shown
    assert len(shown) == len(coloured) + 3


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_red_01_every_secret_of_the_corpus_is_covered_in_place(size: int) -> None:
    """
    The same secrets are found, and the stream keeps its length.
    """
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    changed = 0
    for row in rows:
        text = row["text"].replace("\x1e", "")
        shown = covered(text, size=size)

        assert len(shown.encode()) == len(text.encode())
        changed += shown != text
    plain = sum(_changed(row["text"].replace("\x1e", "")) for row in rows)
    assert changed == plain > 0


def _changed(text: str) -> bool:
    redactor = Redactor()
    data = text.encode()
    return redactor.feed(data) + redactor.close() != data


def test_what_is_held_back_can_be_seen_covered() -> None:
    """
    A look at an unfinished line takes nothing away from it.
    """
    redactor = Redactor(in_place=True)
    assert redactor.feed(b"export TOKEN=abc") == b""

    assert redactor.peek() == b"export TOKEN=***"
    assert redactor.held == len(b"export TOKEN=abc")
    assert redactor.feed(b"def\n") == b"export TOKEN=******\n"


def test_the_secret_of_our_marks_is_covered() -> None:
    """
    Who could read it in a recording could forge the end of a command; it is no secret to count.
    """
    marked = "\x1b]133;D;0;apty=5186439c057b7777.1.2930519\x07$ \x1b]133;L;apty=518.1;0;rm x\x07\n"
    redactor = Redactor(in_place=True)

    shown = redactor.feed(marked.encode()).decode()

    assert "5186439c057b7777" not in shown
    assert "rm x" not in shown
    assert shown.startswith("\x1b]133;D;0;apty=[REDACTED")
    assert "\x07$ \x1b]133;L;" in shown
    assert redactor.counts == {}
