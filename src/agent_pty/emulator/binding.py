"""libghostty-vt, loaded: the `ffi` and `lib` that the rest of this package calls.

The shared library comes from the pyghostty wheel, but the package itself is never
imported: parsing its complete declarations takes 250 ms.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from agent_pty.emulator.compiled import ffi as _compiled

ffi: Any = _compiled
NULL: Any = ffi.NULL


def _library() -> str:
    spec = importlib.util.find_spec("pyghostty")
    if spec is None or spec.origin is None:
        raise ImportError("pyghostty is not installed; it brings the terminal library")
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return os.path.join(os.path.dirname(spec.origin), "_lib", f"libghostty-vt.{suffix}")


lib: Any = ffi.dlopen(_library())


class GhosttyError(RuntimeError):
    """The library refused a call that cannot fail with correct arguments."""


def check(result: int, what: str) -> None:
    """Raise unless *result* is success."""
    if result:
        raise GhosttyError(f"{what} failed with {result}")


def sized(ctype: str) -> Any:
    """Return a new struct whose leading `size` field is set, as the library demands."""
    struct = ffi.new(f"{ctype} *")
    struct.size = ffi.sizeof(ctype)
    return struct


def owned(create: Callable[..., int], free: Callable[[Any], None], *arguments: Any) -> Any:
    """Return what *create* makes, freed by *free* on release or garbage collection."""
    out = ffi.new("void **")
    check(create(NULL, out, *arguments), "create")
    return ffi.gc(out[0], free)


def take_allocated(call: Callable[..., int], what: str, *arguments: Any) -> bytes:
    """Return a copy of the bytes that *call* allocates, and free the original."""
    pointer, length = ffi.new("uint8_t **"), ffi.new("size_t *")
    check(call(*arguments, NULL, pointer, length), what)
    try:
        return bytes(ffi.buffer(pointer[0], length[0]))
    finally:
        lib.ghostty_free(NULL, pointer[0], length[0])


def string(value: Any) -> str:
    """Copy a borrowed `GhosttyString`; what is not UTF-8 becomes replacement characters."""
    return raw(value).decode("utf-8", "replace")


def raw(value: Any) -> bytes:
    """Copy the bytes of a borrowed `GhosttyString`."""
    return bytes(ffi.buffer(value.ptr, value.len)) if value.len else b""
