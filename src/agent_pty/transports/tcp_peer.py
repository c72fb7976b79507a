"""Whose socket is at the other end of a TCP connection on this machine, as the kernel tells."""

from __future__ import annotations

import ipaddress
import struct

_TABLES = {4: "/proc/net/tcp", 6: "/proc/net/tcp6"}
_ESTABLISHED = "01"
_WORD = 8  # hexadecimal digits of 32 bits


def uid_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the uid that owns the client's end; None if the kernel does not tell.

    A connection that its program has closed has no owner any more. The kernel shows such a one
    as root's, without an inode: it counts as unknown.
    """
    wanted = (_written(*client), _written(*server))
    table = _TABLES[ipaddress.ip_address(client[0]).version]
    try:
        with open(table, encoding="ascii") as file:
            rows = [line.split() for line in file][1:]
    except OSError:  # macOS
        return None
    for row in rows:
        local, remote, state, uid, inode = row[1], row[2], row[3], row[7], row[9]
        if (local, remote) == wanted and state == _ESTABLISHED and inode != "0":
            return int(uid)
    return None


def _written(address: str, port: int) -> str:
    """Return an address as the kernel writes it: words of 32 bits in the machine's byte order."""
    packed = ipaddress.ip_address(address).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:0{_WORD}X}" for word in words) + f":{port:04X}"
