"""What of typed text is recorded, and when."""

from __future__ import annotations

from agent_pty.host.evidence.cleaning import Cleaner
from agent_pty.host.evidence.typed_text import TypedText


def test_a_piece_is_held_back_until_its_line_ends() -> None:
    """
    The piece that ends a line is recorded with all that was held back of it.
    """
    typed = TypedText(Cleaner())
    first = typed.piece(b"TOKEN=hun", unseen=False)
    typed.recorded(first)
    last = typed.piece(b"ter2\r", unseen=False)

    assert (first.text, first.held) == (b"", 9)
    assert last.text == b"TOKEN=[REDACTED]\r"


def test_what_was_refused_is_not_recorded_later() -> None:
    """
    Input that could not be recorded was not typed, so the next line does not contain it.
    """
    typed = TypedText(Cleaner())
    typed.piece(b"echo refused; ", unseen=False)

    assert typed.piece(b"echo done\r", unseen=False).text == b"echo done\r"


def test_what_is_not_shown_is_recorded_as_its_length() -> None:
    """
    A password leaves nothing but how long it is.
    """
    assert TypedText(Cleaner()).piece(b"secret\r", unseen=True).text == b"[no-echo input, 7 bytes]"


def test_red_04_the_rest_of_a_piece_after_the_end_of_its_line_is_held_back() -> None:
    """
    A secret that begins there may go on with the next piece.
    """
    typed = TypedText(Cleaner())
    first = typed.piece(b"ls\rX ghp_0123456789ab", unseen=False)
    typed.recorded(first)
    last = typed.piece(b"cdefghijklmnopqrstuvwxyzABCD\r", unseen=False)

    assert (first.text, first.held) == (b"ls\r", 18)
    assert b"ghp_" not in last.text
    assert b"cdefgh" not in last.text


def test_red_07_a_private_key_that_is_typed_line_by_line() -> None:
    """
    From its beginning to its end, and nothing after that.
    """
    typed = TypedText(Cleaner())
    body = [b"MIIEpAIBAAKCAQEA" + b"q7Zx" * 12] * 3
    lines = [b"-----BEGIN PRIVATE KEY-----", *body, b"-----END PRIVATE KEY-----", b"echo done"]

    recorded = []
    for line in lines:
        piece = typed.piece(line + b"\r", unseen=False)
        typed.recorded(piece)
        recorded.append(piece.text)

    assert b"q7Zx" not in b"".join(recorded)
    assert recorded[-1] == b"echo done\r"


def test_a_key_that_was_refused_has_not_begun() -> None:
    """
    What could not be recorded was not typed, so the next line is no part of a key.
    """
    typed = TypedText(Cleaner())
    typed.piece(b"-----BEGIN PRIVATE KEY-----\r", unseen=False)

    assert typed.piece(b"make\r", unseen=False).text == b"make\r"


def test_red_07_a_private_key_whose_host_died_while_it_was_typed() -> None:
    """
    The next host knows that it is in the middle of a key.
    """
    kept: list[tuple[bytes, int]] = []
    first = TypedText(Cleaner(), lambda held, lines: kept.append((held, lines)))
    body = b"MIIEpAIBAAKCAQEA" + b"q7Zx" * 12
    for line in (b"-----BEGIN PRIVATE KEY-----\r", body + b"\r", body[:20]):
        first.recorded(first.piece(line, unseen=False))

    held, key_lines = kept[-1]
    second = TypedText(Cleaner())
    second.resume(len(held), held, key_lines)
    recorded = []
    for line in (body[20:] + b"\r", b"q7Zx==\r", b"-----END PRIVATE KEY-----\r", b"make\r"):
        piece = second.piece(line, unseen=False)
        second.recorded(piece)
        recorded.append(piece.text)

    assert b"q7Zx" not in b"".join(recorded)
    assert recorded[-1] == b"make\r"
