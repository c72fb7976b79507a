"""Listens to words as `cli/k` does."""

from __future__ import annotations

OUT, ERR, EXIT = 1, 2, 3


class Ear:
    """Takes the frames of one command."""

    def __init__(self) -> None:
        self.stream = b""

    async def hear(self, data: bytes) -> None:
        """Take what comes."""
        self.stream += data

    @property
    def frames(self) -> list[tuple[int, bytes]]:
        """Kinds and payloads: a byte, four of length, the payload."""
        frames, stream = [], self.stream
        while stream:
            size = int.from_bytes(stream[1:5], "big")
            frames.append((stream[0], stream[5 : 5 + size]))
            stream = stream[5 + size :]
        return frames

    def text(self, kind: int) -> str:
        """Everything of one kind."""
        return b"".join(payload for one, payload in self.frames if one == kind).decode()

    @property
    def status(self) -> int:
        """The exit status, which comes last."""
        kind, payload = self.frames[-1]
        assert kind == EXIT
        return int(payload)
