"""What a reader was shown of the unfinished line, and how much of that is unchanged.

Rule of the file: the text that was shown is compared with the text at the same place of the stream
now, no matter what wrote it and how often. A prompt drawn again with the same text has not changed.
"""

from msgspec import Struct


class Observation(Struct, array_like=True):
    """Text that was shown, and the part of it that can no longer change."""

    shown: int = 0
    settled: int = 0  # leading bytes that were committed as they were shown
    open: bytes = b""  # what follows them and may still change

    def begin(self, pending: bytes) -> None:
        """Forget the last observation; *pending* is what the reader sees now."""
        self.shown = len(pending)
        self.settled = 0
        self.open = pending

    def settle(self, committed: bytes) -> None:
        """Compare with newly committed text, which never changes again."""
        if not (committed and self.open):
            return
        same = common_length(self.open, committed)
        self.settled += same
        self.open = self.open[same:] if same == len(committed) else b""

    def intact(self, pending: bytes) -> int:
        """Count the leading bytes shown that are unchanged, in committed text or in *pending*."""
        return self.settled + common_length(self.open, pending)


def common_length(one: bytes, other: bytes) -> int:
    """Count the leading bytes that both have in common."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
