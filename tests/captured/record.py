"""Record what real programs write to a terminal: run `python tests/captured/record.py`.

Each program runs in a pty of 24x80 in a fresh directory with fixed content, and is typed
to like by a person: keys are sent when the screen shows the sign they wait for. The bytes
up to the last sign are kept as NAME.bytes and the screen then shown as NAME.txt. Look at a
new NAME.txt before you commit it: it says what is right from then on.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from agent_pty.emulator import Emulator

HERE: Final = Path(__file__).parent
ROWS, COLS = 24, 80
PATIENCE: Final = 10.0

Sign = Callable[[Emulator], bool]


class Step(NamedTuple):
    """A sign on the screen, and what to type when it shows."""

    sign: Sign
    keys: bytes


class Program(NamedTuple):
    """A program, what to type to it, and the sign at which the recording ends."""

    argv: Sequence[str]
    steps: Sequence[Step]
    end: Sign | None
    scrub: Callable[[bytes], bytes] = bytes


def shows(text: str) -> Sign:
    """Return the sign that *text* is on the screen."""
    return lambda emulator: text in emulator.text()


def file_is_open(emulator: Emulator) -> bool:
    """Tell whether vim shows the file and waits in its first corner."""
    cursor = emulator.cursor
    return "count.py" in emulator.lines()[-1] and cursor.visible and cursor.row == cursor.col == 0


def in_insert_mode(emulator: Emulator) -> bool:
    """Tell whether vim shows its mode and waits in the text."""
    return "-- INSERT --" in emulator.lines()[-1] and emulator.cursor.visible


def without_numbers(data: bytes) -> bytes:
    """Make every number outside escape sequences 0, and every user `user`."""
    pieces = re.split(rb"(\x1b\[[0-9;?]*[A-Za-z]|\x1b\([A-Z0-9])", data)
    pieces[::2] = [re.sub(rb"[0-9]", b"0", piece) for piece in pieces[::2]]
    return b"".join(pieces).replace(b"root", b"user")


STORY = "".join(
    f"{n:3} a line of the story, which is number {n * 7 % 10} of its kind\n" for n in range(1, 61)
)
SCRIPT = '''"""Count to ten: zählt bis 十."""


def count(limit: int = 10) -> list[int]:
    # A comment, a string and a number, so that there is something to colour.
    return [number for number in range(1, limit + 1) if number != "none"]
'''

PROGRAMS: Final = {
    "vim": Program(
        argv=["vim", "-u", "NONE", "-N", "--cmd", "syntax on", "-c", "set nu ruler", "count.py"],
        steps=[
            Step(shows("1,1"), b"Gofresh = count(3)"),
            Step(shows("fresh = count(3)"), b""),
        ],
        end=in_insert_mode,
    ),
    "vim-left": Program(
        argv=["sh", "-c", "echo before; vim -u NONE -N count.py; echo after"],
        steps=[Step(file_is_open, b":q\r")],
        end=None,
    ),
    "less": Program(
        argv=["less", "story.txt"],
        steps=[Step(shows("story.txt"), b"G"), Step(shows("(END)"), b"?14\r")],
        end=shows(" 14 a line"),
    ),
    "top": Program(
        argv=["sh", "-c", "sleep 60 & top -d 60 -p $!"],
        steps=[],
        end=shows("sleep"),
        scrub=without_numbers,
    ),
    "git-log": Program(
        argv=[
            "git",
            "--no-pager",
            "log",
            "--graph",
            "--color",
            "--stat",
            "--format=%C(yellow)%h%C(auto)%d%C(reset) %s (%an)",
        ],
        steps=[],
        end=None,
    ),
    "git-clone": Program(
        argv=["git", "clone", "--progress", "--no-local", ".", "copy"], steps=[], end=None
    ),
    "bash": Program(
        argv=["bash", "--noprofile", "--norc", "-i"],
        steps=[
            Step(shows("$"), b"echo one two thr\t\x1bb\x01printf '%s-' \x05 three\x1b[D\x1b[DXY\r"),
            Step(shows("-thrXYee-"), b"stty size; seq 8\r"),
        ],
        end=lambda emulator: emulator.text().endswith("\n7\n8\n$"),
    ),
}


def environment(home: str) -> dict[str, str]:
    """Return an environment that says nothing about this machine."""
    git = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in AUTHOR}
    return git | {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "HOME": home,
        "PS1": "$ ",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


AUTHOR: Final = (
    ("NAME", "Ada Ünal"),
    ("EMAIL", "ada@example.org"),
    ("DATE", "2024-01-02T03:04:05Z"),
)


def prepare(directory: str) -> None:
    """Fill *directory* with the files and the history that the programs show."""
    (Path(directory) / "story.txt").write_text(STORY)
    (Path(directory) / "count.py").write_text(SCRIPT)
    for command in (
        "git init -q -b main",
        "git add count.py && git commit -qm 'Count to ten'",
        "git checkout -qb side && git add story.txt && git commit -qm 'Tell a story: 物語'",
        "git checkout -q main && echo 'done = 1' >> count.py && git commit -qam 'Be done'",
        "git merge -q --no-ff side -m 'Merge the story'",
    ):
        subprocess.run(
            ["sh", "-ec", command], cwd=directory, env=environment(directory), check=True
        )


def read_until(master: int, emulator: Emulator, sign: Sign | None) -> bytes:
    """Read until *sign* shows, or without one until the program ends; answer its questions."""
    taken = b""
    while sign is None or not sign(emulator):
        ready, _, _ = select.select([master], [], [], PATIENCE)
        if not ready:
            raise TimeoutError(f"the sign did not come; the screen is:\n{emulator.text()}")
        try:
            data = os.read(master, 65536)
        except OSError:  # Linux reports the end of a pty as EIO, not as an empty read.
            data = b""
        if not data:
            return taken
        taken += data
        emulator.feed(data)
        os.write(master, emulator.take_replies())
    return taken


def record(program: Program, directory: str) -> bytes:
    """Run *program* and return what it wrote."""
    child, master = pty.fork()
    if child == 0:
        os.chdir(directory)
        # Before the program starts, or it would lay out its first screen for 0x0.
        termios.tcsetwinsize(0, (ROWS, COLS))
        os.execvpe(program.argv[0], list(program.argv), environment(directory))
    try:
        emulator, taken = Emulator(rows=ROWS, cols=COLS), b""
        for step in program.steps:
            taken += read_until(master, emulator, step.sign)
            os.write(master, step.keys)
        return program.scrub(taken + read_until(master, emulator, program.end))
    finally:
        os.close(master)
        os.waitpid(child, 0)


def main(names: Sequence[str]) -> None:
    """Record the programs *names*, or all of them."""
    for name in names or PROGRAMS:
        with tempfile.TemporaryDirectory() as directory:
            prepare(directory)
            data = record(PROGRAMS[name], directory).replace(directory.encode(), b"/work")
        emulator = Emulator(rows=ROWS, cols=COLS)
        emulator.feed(data)
        (HERE / f"{name}.bytes").write_bytes(data)
        (HERE / f"{name}.txt").write_text("\n".join(emulator.lines()).rstrip("\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
