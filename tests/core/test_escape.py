import pytest

from agent_pty.core.escape import EscapeFilter


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (b"a\tb\r\nc\rd\be", b"a\tb\nc\rd\be"),
        (b"a\r\x1b[m\nb\r\x00\nc", b"a\nb\nc"),
        (b"\x1b[1;2mx\x1b[2K\x1b[5Cy", b"x\x1b[2K\x1b[5Cy"),
        (b"\x1b[?25l\x1b[?1049h\x1b[?25;47l\x1b[?1048h", b"\x1b[?1049h\x1b[?25;47l"),
        (b"\x1b[>1u\x1b[u\x1b[ @\x1b[@\x1b[1:2K", b"\x1b[u\x1b[@"),
        (b"\x1b[%bK" % (b"1" * 32), b"\x1b[%bK" % (b"1" * 32)),
        (b"\x1b[%bK" % (b"1" * 33), b""),
        (b"\x1bM\x1b7\x1b8\x1bc\x1b(D\x1bD", b"\x1bM\x1b8\x1bc\n"),
    ],
)
def test_only_what_has_an_effect_is_kept(written: bytes, kept: bytes) -> None:
    """
    Text, line controls and sequences that move or erase pass; all others are dropped.
    """
    assert EscapeFilter().feed(written) == kept


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (b"\x1b", b"[m", b""),
        (b"\x1b[12", b";3H", b"\x1b[12;3H"),
        (b"\x1b[3", b"\x1b[0mx", b"x"),
        (b"\x1b[3", b"\nx", b"\nx"),
        (b"\x1b]0;a", b"b\x07c", b"c"),
        (b"\x1b]0;a\x1b", b"\\c", b"c"),
        (b"\x1bPa\x07", b"b\x1b\\c", b"c"),
        (b"\x1bPa", b"\x07b\x1b\\c", b"c"),
        (b"\x1b]a\r", b"b\x07c", b"c"),
        (b"\x1b(", b"Bx", b"x"),
        (b"\r", b"\nx", b"\nx"),
        (b"\xe6\xbc", b"\xa2", "漢".encode()),
        (b"\xe6\xbc", b"x", "\ufffdx".encode()),
    ],
)
def test_what_is_unfinished_waits_for_its_end(first: bytes, second: bytes, kept: bytes) -> None:
    """
    A sequence or a character may arrive in parts, and gives nothing before its last one.
    """
    escape_filter = EscapeFilter()

    assert escape_filter.feed(first) == b""
    assert escape_filter.feed(second) == kept
    assert escape_filter == EscapeFilter()


@pytest.mark.parametrize(
    "start", [b"\x1b[?1;2", b"\x1b[ ", b"\x1b[5<", b"\x1b(", b"\x1b]", b"\x1b^"]
)
def test_an_unfinished_sequence_is_held_in_few_bytes(start: bytes) -> None:
    """
    Once only the end of a sequence matters, its content is forgotten, byte by byte or at once.
    """
    content = b"!" if start == b"\x1b(" else b"1"
    stepwise, at_once = EscapeFilter(), EscapeFilter()

    at_once.feed(start + content * 1000)
    for byte in start + content * 1000:
        stepwise.feed(bytes([byte]))

    assert stepwise == at_once
    assert len(at_once.split_sequence) <= 3
