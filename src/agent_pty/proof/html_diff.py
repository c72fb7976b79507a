"""A git diff as HTML: a part for each file, added and removed lines in colours."""

from __future__ import annotations

from agent_pty.proof.html_element import Html, element, joined

_FILE = "diff --git "
_HEAD = ("index ", "--- ", "+++ ", "new file", "deleted file", "similarity", "rename ", "old mode")
_MOST_LINES = 4000


def diff_html(diff: str) -> Html:
    """Return all files of a diff."""
    lines = diff.split("\n")
    files: list[list[str]] = []
    for line in lines[:_MOST_LINES]:
        if line.startswith(_FILE) or not files:
            files.append([])
        files[-1].append(line)
    parts = [_file(one) for one in files if any(one)]
    left = len(lines) - _MOST_LINES
    if left > 0:
        parts.append(element("p", f"{left} more lines are in the JSON file", class_="muted"))
    return joined(*parts)


def _file(lines: list[str]) -> Html:
    name = lines[0].removeprefix(_FILE) if lines[0].startswith(_FILE) else "diff"
    added = sum(one.startswith("+") and not one.startswith("+++") for one in lines)
    removed = sum(one.startswith("-") and not one.startswith("---") for one in lines)
    title = element(
        "summary",
        element("code", _one_name(name)),
        " ",
        element("span", f"+{added}", class_="plus"),
        " ",
        element("span", f"-{removed}", class_="minus"),
    )
    body = joined(*(_line(one) for one in lines[1:] or lines))
    return element("details", title, element("pre", body, class_="diff"), class_="file", open="")


def _one_name(pair: str) -> str:
    """Return the name of a file that has the same before and after.

    >>> _one_name("a/x y b/x y"), _one_name("a/x b/y")
    ('x y', 'a/x b/y')
    """
    half = len(pair) // 2
    before, after = pair[:half], pair[half + 1 :]
    same = before.startswith("a/") and after.startswith("b/") and before[2:] == after[2:]
    return before[2:] if same else pair


def _line(line: str) -> Html:
    kind = None
    if line.startswith("@@"):
        kind = "hunk"
    elif line.startswith(_HEAD):
        kind = "head"
    elif line.startswith("+"):
        kind = "add"
    elif line.startswith("-"):
        kind = "del"
    return element("span", line + "\n", class_=kind)
