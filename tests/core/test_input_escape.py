"""Escapes in what a model sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.input_escape import is_paste, only_controls, submitted, unescaped


@pytest.mark.parametrize(
    ("given_text", "meant"),
    [
        (r"\x03", "\x03"),
        ("\x03", "\x03"),
        (r"ls\r", "ls\r"),
        (r"\u00e9\t\e[A", "\u00e9\t\x1b[A"),
        (r"C:\\new", "C:\\new"),
        (r"\\x03", r"\x03"),
        (r"\q\xZZ\u12", r"\q\xZZ\u12"),
        (r"\ud800", r"\ud800"),
        ("end\\", "end\\"),
    ],
)
def test_escapes_are_read_once(given_text: str, meant: str) -> None:
    """
    An escape becomes its character once; a control character and what is no escape stay.
    """
    assert unescaped(given_text) == meant


@given(st.text())
def test_doubled_backslashes_protect_any_text(text: str) -> None:
    """
    Text whose backslashes are doubled arrives as it was.
    """
    assert unescaped(text.replace("\\", "\\\\")) == text


@pytest.mark.parametrize(
    ("text", "typed"),
    [("a\r\n", "a\r"), ("a\n", "a\r"), ("a\r", "a\r"), ("a\nb", "a\nb"), ("", ""), ("\n", "\r")],
)
def test_line_ends_that_submit_are_enter(text: str, typed: str) -> None:
    """
    CR LF, and a line feed at the end, press Enter; line feeds within a text stay.
    """
    assert submitted(text) == typed


def test_only_plain_lines_are_a_paste() -> None:
    """
    Several lines without control characters are a paste; keys never are.
    """
    assert is_paste("a\n\tb\r")
    assert not is_paste("a\r")
    assert not is_paste("a\rb\r")
    assert not is_paste("a\n\x1b[A")


def test_what_has_no_visible_character_is_no_secret() -> None:
    """
    Ctrl-C may be sent to a program that asks for a secret; letters may not.
    """
    assert only_controls("\x03")
    assert only_controls("")
    assert not only_controls("x\r")
