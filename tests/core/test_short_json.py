"""What is left of an object that must fit: its keys, and a report of what was cut."""

from __future__ import annotations

from agent_pty.core.short_json import json_size, newest, shortened

TEXT = "".join(f"line {number}\n" for number in range(200))
SPANS = [{"line": number, "text": "x" * 20} for number in range(100)]


def test_what_fits_is_not_touched() -> None:
    """
    Within the budget an object is the same.
    """
    answer = {"text": TEXT, "spans": SPANS}

    assert shortened(answer, json_size(answer), rest="ask") is answer


def test_trial_19_lists_are_cut_before_texts() -> None:
    """
    First lists and modes lose what does not fit, then texts; each loss is counted.
    """
    answer = {"rows": 24, "screen": {"text": TEXT, "spans": SPANS, "modes": {"insert": False}}}
    small, smaller = (shortened(answer, room, rest="ask") for room in (4000, 600))

    assert json_size(small) <= 4000
    assert small["screen"]["text"] == TEXT
    assert small["left_out"] == {"screen.spans": 100 - len(small["screen"]["spans"])}
    assert json_size(smaller) <= 600
    assert smaller["rows"] == 24
    assert smaller["screen"]["text"].endswith("line 199\n")
    assert set(smaller["left_out"]) == {"screen.spans", "screen.modes", "screen.text"}
    assert answer["screen"] == {"text": TEXT, "spans": SPANS, "modes": {"insert": False}}


def test_the_newest_entries_are_kept() -> None:
    """
    Of a list as many of the last entries are kept as fit.
    """
    entries = [{"n": number} for number in range(100)]
    kept = newest(entries, 100)

    assert kept
    assert kept == entries[-len(kept) :]
    assert json_size(kept) <= 100 < json_size(entries[-len(kept) - 2 :])
    assert newest(entries, 10_000) == entries
