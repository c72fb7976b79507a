"""The grammar of terminal output: keep the text and the controls that move or end it.

Rule of the file: every ESC starts a sequence of its own, wherever it is. A byte that cannot be part
of a sequence ends it without effect and is then interpreted by itself. So each ESC can be judged
alone, one compiled substitution does the work, and an unfinished sequence is a few carried bytes.
"""

import codecs
import re

from msgspec import Struct

# Sequences whose effect the transcript must know. The bound on parameters is part of the grammar:
# beyond it a sequence has no effect, so that an endless one needs no memory.
_EFFECT = (
    rb"\[[0-9;]{0,32}[@A-MPSTXZ`abdefru]"
    rb"|\[\?(?=[0-9;]{0,32}[hl])(?:[0-9;]*;)?(?:47|104[79])(?:;[0-9;]*)?[hl]"
    rb"|\[(?=[0-9;]{0,32}[hl])(?:[0-9;]*;)?4(?:;[0-9;]*)?[hl]"
)


def _no_effect(designations: bytes) -> re.Pattern[bytes]:
    """Match every sequence without effect; *designations* of character sets have one."""
    # The last byte of each form is optional: without it, the next byte has aborted the sequence.
    return re.compile(
        rb"\x1b(?:\[[0-9;:]*m"
        rb"|(?!" + _EFFECT + rb")\[[\x20-\x3f]*[\x40-\x7e]?"
        rb"|\][^\x07\x18\x1a\x1b]*[\x07\x18\x1a]?"
        rb"|[PX^_][^\x18\x1a\x1b]*[\x18\x1a]?"
        rb"|(?![\[\]PX^_DEM8c]|" + designations + rb")[\x20-\x2f]*[\x30-\x7e]?)"
    )


_NO_EFFECT = _no_effect(rb"[()]0")
_NO_EFFECT_ON_SETS = _no_effect(rb"[()][0-~]")
_LINE_DRAWING = re.compile(rb"\x1b[()]0")

_UNFINISHED = re.compile(
    rb"\x1b(?:(?P<plain>|\[\??[0-9;]{0,32}|[()])"
    rb"|(?P<csi>\[[\x20-\x3f]*)"
    rb"|(?P<charset>[\x20-\x2f]+)"
    rb"|(?P<osc>\][^\x07\x18\x1a]*)"
    rb"|(?P<string>[PX^_][^\x18\x1a]*))\Z"
)

# Replacements for an unfinished sequence of which only the end still matters: a form that has no
# effect, whatever follows, and that the same bytes finish.
_SHORT = {"csi": b"\x1b[<", "charset": b"\x1b ", "osc": b"\x1b]", "string": b"\x1bX"}

_LONE_RETURN = re.compile(rb"\r(?!\n)")
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_LINE_ENDS = bytes.maketrans(b"\v\f", b"\n\n")
_CONTROLS = bytes(byte for byte in (*range(0x20), 0x7F) if byte not in b"\b\t\n\v\f\r\x1b")
_CONTROLS_BUT_SHIFTS = _CONTROLS.translate(None, b"\x0e\x0f")


class EscapeFilter(Struct, array_like=True):
    """Turn raw output into text, tabs, line ends, returns, backspaces and sequences that matter.

    What comes out is valid UTF-8 and every ESC in it starts a whole sequence. Bytes may be split
    anywhere; the rest is kept, in bounded space.
    """

    split_character: bytes = b""
    split_sequence: bytes = b""

    def feed(self, data: bytes, *, sets: bool = False) -> bytes:
        """Answer what *data* completes, with every line end as a single LF.

        With *sets*, or if *data* designates line drawing, all designations of character sets and
        all shifts are kept: then they matter. `tput sgr0` sends one that does not, very often.
        """
        text = self._sequences(self._characters(data))
        if b"\x1b" in text:
            kept = _without_noise(text, _NO_EFFECT)
            # Searched after the noise is gone: most often no escape is left then.
            sets = sets or (b"\x1b" in kept and _LINE_DRAWING.search(kept) is not None)
            text = _without_noise(text, _NO_EFFECT_ON_SETS) if sets else kept
        if b"\xc2" in text:
            text = _C1.sub(b"", text)
        controls = _CONTROLS_BUT_SHIFTS if sets else _CONTROLS
        if _LONE_RETURN.search(text) is None:
            return text.translate(_LINE_ENDS, controls + b"\r")
        return text.translate(_LINE_ENDS, controls).replace(b"\r\n", b"\n")

    def _characters(self, data: bytes) -> bytes:
        """Replace what is not UTF-8, and hold back a character that may still be completed."""
        # Before anything is removed: bytes that a control kept apart must not become a character.
        if not self.split_character and data.isascii():
            return data
        data = self.split_character + data
        text, used = codecs.utf_8_decode(data, "replace", False)
        self.split_character = data[used:]
        return text.encode()

    def _sequences(self, data: bytes) -> bytes:
        """Prepend what was held back before, and hold back a sequence or line end cut in two."""
        if self.split_sequence:
            data = self.split_sequence + data
            self.split_sequence = b""
        start = data.rfind(b"\x1b")
        unfinished = _UNFINISHED.match(data, start) if start >= 0 else None
        if unfinished is not None:
            self.split_sequence = _SHORT.get(unfinished.lastgroup or "", unfinished[0])
            return data[:start]
        if data.endswith(b"\r"):
            self.split_sequence = b"\r"
            return data[:-1]
        return data


def _without_noise(text: bytes, no_effect: re.Pattern[bytes]) -> bytes:
    """Drop the sequences without effect, and write the two that are line ends as such."""
    # The most frequent one is removed in the fastest way. Its replacement ends a sequence as ESC
    # does, and is dropped later. Joining what `split` leaves is faster than `sub`, by a fifth.
    text = b"".join(no_effect.split(text.replace(b"\x1b[0m", b"\x18")))
    return text.replace(b"\x1bD", b"\n").replace(b"\x1bE", b"\n")
