"""What of typed text is recorded, and when."""

from __future__ import annotations

from agent_pty.host.evidence.typed_text import TypedText


def test_a_piece_is_held_back_until_its_line_ends() -> None:
    """
    The piece that ends a line is recorded with all that was held back of it.
    """
    typed = TypedText()
    first = typed.piece(b"TOKEN=hun", unseen=False)
    typed.recorded(first)
    last = typed.piece(b"ter2\r", unseen=False)

    assert (first.text, first.held) == (b"", 9)
    assert last.text == b"TOKEN=[REDACTED]\r"


def test_what_was_refused_is_not_recorded_later() -> None:
    """
    Input that could not be recorded was not typed, so the next line does not contain it.
    """
    typed = TypedText()
    typed.piece(b"echo refused; ", unseen=False)

    assert typed.piece(b"echo done\r", unseen=False).text == b"echo done\r"


def test_what_is_not_shown_is_recorded_as_its_length() -> None:
    """
    A password leaves nothing but how long it is.
    """
    assert TypedText().piece(b"secret\r", unseen=True).text == b"[no-echo input, 7 bytes]"
