"""How to leave a full-screen program that was started by mistake."""

from __future__ import annotations

_KEYS = {
    "vim": "escape : q ! enter",
    "vi": "escape : q ! enter",
    "nvim": "escape : q ! enter",
    "view": "escape : q ! enter",
    "less": "q",
    "more": "q",
    "man": "q",
    "most": "q",
    "top": "q",
    "watch": "ctrl-c",
    "fzf": "escape",
    "htop": "q",
    "btop": "q",
    "tig": "q",
    "nano": "ctrl-x n",
    "pico": "ctrl-x n",
    "emacs": "ctrl-x ctrl-c",
    "mc": "f10",
    "screen": "ctrl-a d",
    "tmux: client": "ctrl-b d",
}


def how_to_quit(program: str) -> str:
    """Return one line for a caller that did not expect *program*, with the keys that end it.

    >>> how_to_quit("less")
    'less has the whole screen; leave it with keys: q'
    """
    name, keys = program or "the program", quit_keys(program)
    if not keys:
        return f"{name} has the whole screen; try keys: q, escape or ctrl-c, or interrupt it"
    return f"{name} has the whole screen; leave it with keys: {' '.join(keys)}"


def quit_keys(program: str) -> list[str]:
    """Return the keys that end *program* and save nothing; empty if they are not known.

    >>> quit_keys("vim.basic")
    ['escape', ':', 'q', '!', 'enter']
    """
    base = program.partition(".")[0]
    return (_KEYS.get(program) or _KEYS.get(base, "")).split()
