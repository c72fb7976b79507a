"""A repository's configuration, and the little of it that a look may take over. Pure.

Rule of the file: only the settings named here pass, and only with the values named here. None of
them names a program. So a mistake in reading a file can make a look inexact, but run nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Settings = Mapping[str, str]

# Others write these files: whatever is in them, the time to read one must grow with its size only.
_SECTION = re.compile(
    r'[ \t]*+\[[ \t]*+([A-Za-z0-9.-]++)[ \t]*+(?:"((?:[^"\\\n]|\\.)*+)")?[ \t]*+\]'
)
_KEY = re.compile(r"[ \t]*+([A-Za-z][A-Za-z0-9-]*+)[ \t]*+(=[ \t]*+)?")
_PIECE = re.compile(r'"((?:[^"\\\n]|\\(?:.|\n))*+)"|\\(?:.|\n)|([^"\\#;\n]++)')
_ESCAPE = re.compile(r"\\(.|\n)")
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}
_FILTER = re.compile(r"filter\.(.*)\.(?:clean|process)", re.DOTALL)

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0", "")
_SWITCH = dict.fromkeys(_TRUE, "true") | dict.fromkeys(_FALSE, "false")
_UNTRACKED = dict.fromkeys(_TRUE, "normal") | dict.fromkeys(_FALSE, "no")
# What decides whether a file counts as changed, and which files are looked at; how it is written,
# and how we write it.
_HARMLESS: dict[str, Mapping[str, str]] = {
    "core.filemode": _SWITCH,
    "core.symlinks": _SWITCH,
    "core.ignorecase": _SWITCH,
    "core.precomposeunicode": _SWITCH,
    "core.trustctime": _SWITCH,
    "core.checkstat": {"default": "default", "minimal": "minimal"},
    "core.autocrlf": _SWITCH | {"input": "input"},
    "core.sparsecheckout": _SWITCH,
    "core.sparsecheckoutcone": _SWITCH,
    "index.sparse": _SWITCH,
    "status.showuntrackedfiles": _UNTRACKED | {"normal": "normal", "all": "all"},
}
# How the repository is stored: this counts only in its own file.
_FORMAT: dict[str, Mapping[str, str]] = {
    "core.repositoryformatversion": {"0": "0", "1": "1"},
    "extensions.objectformat": {"sha1": "sha1", "sha256": "sha256"},
}
# What the others concern is not used by a look, or is found without git.
_EXTENSIONS = (
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
)
_OURS = {
    "core.bare": "false",
    "core.fsmonitor": "false",
    "core.hookspath": "/dev/null",
    "core.safecrlf": "false",
    # A larger file is not compared line by line: git would hold it in memory twice.
    "core.bigfilethreshold": "64m",
}


def parsed(text: str) -> dict[str, str]:
    r"""Return the settings of one file, the last of each name; included files are not read.

    >>> parsed('[core]\n\tbare # yes\n[filter "LFS"] Clean = "a b" c\n')
    {'core.bare': 'true', 'filter.LFS.clean': 'a b c'}
    """
    return dict(_settings(text.removeprefix("\ufeff").replace("\r\n", "\n")))


def _settings(text: str) -> Iterator[tuple[str, str]]:
    section, at = "", 0
    while at < len(text):
        if head := _SECTION.match(text, at):
            section, at = head[1].lower(), head.end()
            if head[2] is not None:
                section += "." + _ESCAPE.sub(r"\1", head[2])
        elif (key := _KEY.match(text, at)) and section:
            value, at = _value(text, key.end())
            yield f"{section}.{key[1].lower()}", value if key[2] else "true"
        else:
            at = _next_line(text, at)


def _value(text: str, at: int) -> tuple[str, int]:
    """Read a value up to the end of its line; return where the next line begins."""
    pieces: list[str] = []
    blanks = ""
    while piece := _PIECE.match(text, at):
        at = piece.end()
        quoted, plain = piece.groups()
        said = plain or _ESCAPE.sub(_character, piece[0] if quoted is None else quoted)
        # Blanks at the end of the line count only in quotes.
        kept = said.rstrip(" \t") if plain else said
        if kept or not plain:
            pieces += [blanks, kept]
            blanks = ""
        blanks += said[len(kept) :]
    return "".join(pieces), _next_line(text, at)


def _character(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[1])


def _next_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def is_true(settings: Settings, name: str) -> bool:
    """Whether a setting is there, and true."""
    return settings.get(name, "").lower() in _TRUE


def unknown_format(settings: Settings) -> str | None:
    """Name what we do not know of the way in which the repository is stored."""
    version = settings.get("core.repositoryformatversion", "0")
    if version not in _FORMAT["core.repositoryformatversion"]:
        return f"core.repositoryformatversion {version}"
    # Before version 1 git itself ignores those that it does not know.
    names = [name for name in settings if name.startswith("extensions.") and version != "0"]
    return next((name for name in names if name.partition(".")[2] not in _EXTENSIONS), None)


def filters(*files: Settings) -> set[str]:
    """Name the filters that pass files through a program on their way into the repository."""
    programs = [_FILTER.fullmatch(name) for settings in files for name in settings]
    return {found[1] for found in programs if found is not None}


def private_config(user: Settings, repository: Settings, paths: Settings) -> str:
    """Write the configuration for a look; *paths* are settings that name a file to be read."""
    taken = {
        **_harmless(user, _HARMLESS),
        **_harmless(repository, _HARMLESS | _FORMAT),
        **paths,
        **_OURS,
    }
    return "".join(_written(name, value) for name, value in taken.items())


def _harmless(settings: Settings, table: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    found = {name: words.get(settings.get(name, "-").lower()) for name, words in table.items()}
    return {name: value for name, value in found.items() if value is not None}


def _written(name: str, value: str) -> str:
    section, _, key = name.partition(".")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{escaped}"\n'
