"""The repeat mode of the original: five Enters after the code, five prompts after its output."""

from __future__ import annotations

from typing import Final

ENTERS: Final = 5


def before_prompts(text: str, prompt: str) -> str | None:
    """Return the text before the prompts at the end of *text*; None if there are too few prompts.

    *prompt* is the one before the code. Between prompts there is a line end, or only a blank if
    the terminal echoed the Enters before the program ran (dash). Without a prompt, five equal
    lines must suffice.
    """
    mark = _once(prompt)
    if not mark:
        return _before_equal_lines(text)
    rest, count = text.rstrip(), 0
    while rest.endswith(mark):
        rest = rest[: -len(mark)].rstrip(" \n")
        count += 1
    if count < ENTERS:
        return None
    return text[: len(rest)]


def _once(prompt: str) -> str:
    """Return one prompt if the Enters of the last cell have left several in a row."""
    words = prompt.split()
    return words[0] if len(set(words)) == 1 else prompt.strip()


def echoed_enters(text: str) -> int:
    """Count the Enters at the start of *text*: a terminal in line mode echoes them first."""
    head = text[:ENTERS]
    return len(head) - len(head.lstrip("\n"))


def _before_equal_lines(text: str) -> str | None:
    lines = text.split("\n")
    last = lines[-ENTERS:]
    if len(last) < ENTERS or len(set(last)) > 1:
        return None
    return "\n".join(lines[:-ENTERS])
