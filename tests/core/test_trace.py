"""Spans as values: what a `traceparent` says, and what is written of a request."""

from __future__ import annotations

import json

import pytest

from agent_pty.core.trace import Span, SpanContext, context_of, line, session_shown

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
CONTEXT = SpanContext(trace_id=TRACE, span_id="00f067aa0ba902b7", sampled=True)
# 2026-11-17T07:12:26.468564999Z
STARTED = 1_794_899_546_468_564_999


def make_span(**changes: object) -> Span:
    """Return a span that succeeded, but for *changes*."""
    plain: dict[str, object] = {
        "context": CONTEXT,
        "parent_span_id": None,
        "op": "send",
        "session": "work",
        "transport": "unix",
        "started_ns": STARTED,
        "ended_ns": STARTED + 1_234_567_890,
        "error_code": None,
    }
    return Span(**{**plain, **changes})  # type: ignore[arg-type]  # fields of several types


# -- traceparent


@pytest.mark.parametrize(
    ("text", "sampled"),
    [
        (f"00-{TRACE}-{PARENT}-01", True),
        (f"00-{TRACE}-{PARENT}-00", False),
        (f"00-{TRACE}-{PARENT}-03", True),
        (f"00-{TRACE}-{PARENT}-02", False),
        (f"cc-{TRACE}-{PARENT}-01", True),
        (f"01-{TRACE}-{PARENT}-01-what-the-future-adds", True),
        (f"fe-{TRACE}-{PARENT}-01-", True),
    ],
)
def test_a_traceparent_names_trace_and_parent(text: str, sampled: bool) -> None:  # noqa: FBT001  a fact
    """
    Later versions are read as far as they are known; of the flags only `sampled` counts.
    """
    assert context_of(text) == SpanContext(trace_id=TRACE, span_id=PARENT, sampled=sampled)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        5,
        [f"00-{TRACE}-{PARENT}-01"],
        "",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}-01-",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-001",
        f"01-{TRACE}-{PARENT}-01more",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE[1:]}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}0-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{PARENT}-0g",
        f"00-{TRACE[:-1]}\u0661-{PARENT}-01",
        f" 00-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01\n",
        f"00-{TRACE}-{PARENT}-01, 00-{TRACE}-{PARENT}-01",
    ],
)
def test_a_wrong_traceparent_is_none(wrong: object) -> None:
    """
    What W3C Trace Context calls invalid is as if it were not there.
    """
    assert context_of(wrong) is None


def test_a_traceparent_that_is_passed_on_has_no_other_characters() -> None:
    """
    What a caller adds behind the fields of a later version never becomes part of a request.
    """
    found = context_of(f'01-{TRACE}-{PARENT}-01-","op":"kill"')

    assert found is not None
    assert found.traceparent == f"00-{TRACE}-{PARENT}-01"


# -- lines


def test_a_line_has_the_fields_of_the_contract_in_their_order() -> None:
    """
    The seven fields of the contract come first, then ours, which are left out if they say nothing.
    """
    written = json.loads(line(make_span(), missing=0))

    assert written == {
        "trace_id": TRACE,
        "span_id": "00f067aa0ba902b7",
        "name": "terminal.send",
        "started_at": "2026-11-17T07:12:26.468564Z",
        "ended_at": "2026-11-17T07:12:27.703132Z",
        "status": "ok",
        "attributes": {
            "component": "agent-pty",
            "session.id": "work",
            "transport": "unix",
            "duration_ms": 1234.567,
        },
    }
    assert list(written)[:7] == [
        *["trace_id", "span_id", "name", "started_at", "ended_at", "status", "attributes"]
    ]
    assert list(written["attributes"])[:2] == ["component", "session.id"]


def test_a_line_says_what_is_not_as_usual() -> None:
    """
    A failure has its code, a child its parent, and what is missing before a line is counted in it.
    """
    span = make_span(error_code="unknown_session", session=None, parent_span_id=PARENT)

    data = line(span, missing=3)

    written = json.loads(data)
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 1
    assert (written["status"], written["missing"]) == ("error", 3)
    assert written["parent_span_id"] == PARENT
    assert written["attributes"]["error.code"] == "unknown_session"
    assert "session.id" not in written["attributes"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("work", "work"),
        ("a.b_c-1", "a.b_c-1"),
        (None, None),
        (7, None),
        ("", None),
        ("two words", None),
        ("a\nb", None),
        ("x" * 65, None),
        ("ghp_" + "a1B2" * 9, "gh_[REDACTED]"),
    ],
)
def test_red_18_of_a_caller_only_the_name_of_a_session_is_shown(
    name: object, shown: str | None
) -> None:
    """
    What cannot be a name is left out, and a name that looks like a secret is redacted.
    """
    assert session_shown(name) == shown
