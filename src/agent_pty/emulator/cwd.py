"""The directory that the shell reports: from the bytes of OSC 7 to a path."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

_FILE = "file://"


def path_from(report: str) -> str | None:
    """Return the path in an OSC 7 *report*, or None if it has none.

    The host part is not checked: inside containers and over ssh it seldom matches ours,
    and the path is a hint for people, never something we open. A bare absolute path
    (OSC 9;9, OSC 1337) is taken as it is.
    """
    if report.startswith("/"):
        return report
    if not report.lower().startswith(_FILE):
        return None
    _, slash, path = report[len(_FILE) :].partition("/")
    if not slash:
        return None
    return "/" + unquote_to_bytes(path).decode("utf-8", "replace")
