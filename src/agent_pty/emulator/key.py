"""The bytes a terminal sends for a key, in the modes the program has set."""

from __future__ import annotations

from typing import Any, Final

from agent_pty.emulator.binding import check, ffi, lib, owned
from agent_pty.emulator.keyboard import BITS, Modifiers, Stroke, stroke
from agent_pty.emulator.mode import kitty_keyboard

_BUFFER: Final = 128
_MAX_TEXT: Final = 1024
_CONTROLS: Final = frozenset("@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_")


def encode_key(terminal: Any, key: str, *, mods: Modifiers, text: str) -> bytes:
    """Return what the program expects to read when the key is pressed."""
    described = stroke(key, mods=mods, text=text[:_MAX_TEXT])
    encoder = owned(lib.ghostty_key_encoder_new, lib.ghostty_key_encoder_free)
    event = owned(lib.ghostty_key_event_new, lib.ghostty_key_event_free)
    try:
        lib.ghostty_key_encoder_setopt_from_terminal(encoder, terminal)
        # The event borrows the text, so it must outlive the encoding.
        utf8 = ffi.new("char[]", described.text.encode())
        _describe(event, described, utf8)
        encoded = _encoded(encoder, event, room=_BUFFER + len(utf8))
    finally:
        ffi.release(event)
        ffi.release(encoder)
    return _classic(described, encoded, kitty=kitty_keyboard(terminal) != 0)


def _classic(described: Stroke, encoded: bytes, *, kitty: bool) -> bytes:
    """Return the control byte where the library prefers `CSI ... u` although nobody asked for it.

    That form distinguishes Ctrl-I from Tab, Ctrl-M from Enter and Ctrl-[ from Escape for programs
    that can read it; a shell cannot, and would print the rest of the sequence.
    """
    control = chr(described.unshifted).upper() if described.unshifted else ""
    if described.text == "@":
        control = "@"
    # A plain `u`, and Alt with it, end like that form but are none.
    is_sequence = encoded.startswith(b"\x1b[") and encoded.endswith(b"u")
    if kitty or not is_sequence or control not in _CONTROLS:
        return encoded
    prefix = b"\x1b" if described.mods & BITS["alt"] else b""
    return prefix + bytes([ord(control) & 0x1F])


def _describe(event: Any, described: Stroke, utf8: Any) -> None:
    lib.ghostty_key_event_set_action(event, lib.GHOSTTY_KEY_ACTION_PRESS)
    lib.ghostty_key_event_set_key(event, described.place)
    lib.ghostty_key_event_set_mods(event, described.mods)
    lib.ghostty_key_event_set_consumed_mods(event, described.consumed)
    lib.ghostty_key_event_set_utf8(event, utf8, len(utf8) - 1)
    lib.ghostty_key_event_set_unshifted_codepoint(event, described.unshifted)


def _encoded(encoder: Any, event: Any, *, room: int) -> bytes:
    buffer, length = ffi.new("char[]", room), ffi.new("size_t *")
    check(lib.ghostty_key_encoder_encode(encoder, event, buffer, room, length), "encode key")
    return bytes(ffi.buffer(buffer, length[0]))
