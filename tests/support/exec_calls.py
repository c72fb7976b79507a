"""Programs for tests that execute `/bin/echo` in every way the kernel offers.

Run as `python3 exec_calls.py HOW WORD`. Those of other ABIs are machine code that is put into
memory below 4 GiB, because no 32-bit program may be installed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
import threading

_LOW_MEMORY = 0x40  # MAP_32BIT
_AT_EMPTY_PATH = 0x1000


def _below_4_gib() -> tuple[int, mmap.mmap]:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _LOW_MEMORY
    memory = mmap.mmap(-1, 8192, flags, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)), memory


def _narrow_call(word: str, code: bytes) -> int:
    """Call execve with pointers of 32 bits by machine *code*, which gets them in ebx, ecx, edx."""
    base, memory = _below_4_gib()
    path, given = b"/bin/echo\0", word.encode() + b"\0"
    memory[1024 : 1024 + len(path)] = path
    memory[2048 : 2048 + len(given)] = given
    memory[3072 : 3072 + 12] = struct.pack("=III", base + 1024, base + 2048, 0)
    memory[4000:4004] = struct.pack("=I", 0)
    call = code.replace(b"PATH", struct.pack("=I", base + 1024))
    call = call.replace(b"ARGV", struct.pack("=I", base + 3072))
    call = call.replace(b"ENVP", struct.pack("=I", base + 4000))
    memory[: len(call)] = call
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(base)()
    return -result


def i386(word: str) -> int:
    """Push rbx; mov eax, 11; mov ebx, ecx, edx; int 0x80; pop rbx; ret."""
    code = b"\x53\xb8\x0b\0\0\0\xbbPATH\xb9ARGV\xbaENVP\xcd\x80\x5b\xc3"
    return _narrow_call(word, code)


def x32(word: str) -> int:
    """Mov eax, 0x40000208; mov edi, esi, edx; syscall; ret."""
    return _narrow_call(word, b"\xb8\x08\x02\0\x40\xbfPATH\xbeARGV\xbaENVP\x0f\x05\xc3")


def execveat(word: str) -> int:
    """Execute the file of a descriptor."""
    descriptor = os.open("/bin/echo", os.O_RDONLY)
    argv = (ctypes.c_char_p * 3)(b"echo", word.encode(), None)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(322, descriptor, b"", argv, None, _AT_EMPTY_PATH)
    return ctypes.get_errno()


def thread(word: str) -> int:
    """Execute from a thread that is not the first one."""
    errors: list[int] = []

    def call() -> None:
        try:
            os.execv("/bin/echo", ["echo", word])
        except OSError as error:
            errors.append(error.errno or 0)

    other = threading.Thread(target=call)
    other.start()
    other.join()
    return errors[0]


def spawn(word: str) -> int:
    """Spawn it, as posix_spawn does, and wait for it."""
    try:
        child = os.posix_spawn("/bin/echo", ["echo", word], {})
    except OSError as error:
        return error.errno or 0
    os.waitpid(child, 0)
    return 0


if __name__ == "__main__":
    ways = {"i386": i386, "x32": x32, "execveat": execveat, "thread": thread, "spawn": spawn}
    print(f"errno-{ways[sys.argv[1]](sys.argv[2])}", flush=True)  # noqa: T201
