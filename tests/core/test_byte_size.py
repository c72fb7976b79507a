from __future__ import annotations

import pytest

from agent_pty.core.byte_size import shown_size, size_in_bytes
from agent_pty.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("100", 100), ("2kB", 2000), ("2KB", 2000), ("7 MB", 7_000_000), ("5GB", 5 * 10**9)],
)
def test_a_size_is_a_number_and_a_unit(text: str, expected: int) -> None:
    """
    Units are those of disks, by a thousand; a bare number is bytes.
    """
    assert size_in_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "GB", "5gb", "1.5GB", "-1", "5G", "1e3", "5GiB", "9" * 13])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    """
    The message has what was written, what it was for and how to write it.
    """
    with pytest.raises(BadRequest, match="write 500MB, 5GB or plain bytes") as caught:
        size_in_bytes(text, what="larger-than")

    assert str(caught.value).startswith(f'invalid larger-than "{text}"')


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (10**6, "1.0 MB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_a_size_is_shown_in_its_unit(count: int, text: str) -> None:
    """
    The largest unit of which there is one.
    """
    assert shown_size(count) == text
