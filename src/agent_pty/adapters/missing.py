"""What is said when the framework of an adapter is not installed."""

from __future__ import annotations


def missing(package: str, why: ImportError) -> ImportError:
    """Return the error in one line, with its cause and the remedy; *package* is also our extra.

    >>> print(missing("anthropic", ImportError("No module named 'anthropic'")))
    No module named 'anthropic': this adapter needs it; pip install 'agent-pty[anthropic]'
    """
    return ImportError(
        f"{why}: this adapter needs it; pip install 'agent-pty[{package}]'", name=why.name
    )
