"""Code of other languages: whether it calls a shell, and with what."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_pty.core.policy.field import HOLE

# Names that run a program when they are called, whatever they belong to.
_NAMES = r"(?:system|exec(?:File)?(?:Sync)?|spawn(?:Sync)?|popen\w*)"
# What starts another program, or runs text as code. A name alone does nothing: it is called, with
# or without parentheses, or passed on; `platform.system()` has no text to run.
_CALLS_OUT = re.compile(
    r"\bos\.(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*|execute)\b|\bsubprocess\b|\bcreate_subprocess_\w+|\bpty\.spawn"
    rf"|\b{_NAMES}\s*\((?!\s*\))|\b{_NAMES}\s*[\"'$@]|\b{_NAMES}\s+[\w%\[*{{<]"
    rf"|[.:&]{_NAMES}\b(?!\s*\(\s*\))|\bimport\b[^;\n]{{0,200}}\b(?:{_NAMES}|exec\w+|spawn\w+)\b"
    r"|['\"](?:[\w.:]*[.:])?(?:system|exec\w*|spawn\w*|popen\w*|passthru|shell_exec|proc_open)['\"]"
    r"|\bcommands\.get|\bchild_process\b|\bqx\b|%x\W|`|\bIO\.popen\b|\bshell_exec\b|\bpassthru\b"
    r"|\bproc_open\b|\bpcntl_exec|\bio\.popen\b|\bOpen3\b|\bDeno\.(?:run|Command)\b"
    r"|\bBun\.(?:spawn|\$)|\bdo shell script\b|\b__import__\b|\bimport_module\s*\(|\bgetRuntime\b"
    r"|\beval\s*\((?!\s*\))|\beval\s*(?:[\"'$]|q)"
)
# Perl runs what stands before or after the bar.
_OPENS_PIPE = re.compile(
    r"\bopen\b[\s(]*(?:my\s+)?\$?\w+\s*,\s*[\"'](?:\s*-?\||[^\"']{0,500}\|-?\s*[\"'])"
)
# A name that is put together; it matters where a module is at hand that runs programs.
_LOOKS_UP = re.compile(r"\bgetattr\s*\(|__dict__|__getattribute__|\bvars\s*\(|\bglobals\s*\(")
_RISKY_MODULE = re.compile(r"\b(?:os|pty|builtins|__builtins__|sys\.modules)\b")
_MAKES_TEXT = re.compile(
    r"b64decode|base64|fromhex|unhexlify|\bchr\s*\(|rot.?13|\batob\b|Buffer\.from|\bpack\s*\("
    r"|fromCharCode|\[::-1\]|\breverse\b|urllib|requests\.|http\.|\bfetch\s*\(|\bopen\s*\(|\bread\("
    r"|environ|argv|getenv|ENV\["
)
_DELETES = re.compile(
    r"\brmtree\b|\brm_rf?\b|\brm_r\b|\bremove_tree\b|\bremove_dir\b|\bremovedirs\b|\bdelTree\b"
    r"|\b(?:rm|rmSync|rmdir|rmdirSync|remove|removeSync)\s*\([^)]{0,500}\brecursive\s*:\s*(?:true|!0)"
    r"|\brimraf\b|\bemptyDirSync\b|\bremove_entry\w*"
)
_LITERAL = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`((?:[^`\\]|\\.)*)`"
    r"|\b(?:qx|q|qq|%x|%w|%q)\s*[({\[|/!](.*?)[)}\]|/!]",
    re.DOTALL,
)
# A literal that is surely only text: on one line, with a blank, nothing in it is replaced, and the
# quotes are not those of a pattern or a comment, which would turn inside and outside around.
_PROSE = re.compile(
    r"(?<![\w/\\'\"])[rRbBuU]{0,2}(?:'(?=[^'\n]*\s)((?:[^'\\\n]|\\.)*)'"
    r"|\"(?=[^\"\n]*\s)((?:[^\"\\\n]|\\.)*)\")(?![\w/\\'\"])"
)
_REPLACED = re.compile(r"[#$@]\{")
# The text right after a call, even if the quotes before it were misread.
_ARGUMENT = re.compile(rf"\b{_NAMES}\b[\s(\[]*([\"'])(.{{0,4000}}?)(?<!\\)\1", re.DOTALL)
_MOST_LITERALS = 60
_MOST_JOINED = 12
_NEARBY = 6
_NOT_KNOWN = "code of another language runs text that is not known"


@dataclass(frozen=True, slots=True)
class Code:
    """What a program in another language does: shell *texts*, deletions, or what nobody knows."""

    texts: tuple[str, ...] = ()
    opaque: str | None = None
    deletes: bool = False


UNKNOWN = Code(opaque=_NOT_KNOWN)


def of_code(code: str) -> Code:
    """Return what code does; an empty program does nothing."""
    if not code.strip(HOLE):
        return UNKNOWN if HOLE in code else Code()
    return calls_out(code) if _may_call(code) else Code(deletes=_deletes(code))


def _may_call(code: str) -> bool:
    bare = _PROSE.sub(lambda found: found[0] if _REPLACED.search(found[0]) else "''", code)
    if _CALLS_OUT.search(bare) or _OPENS_PIPE.search(code):
        return True
    return _LOOKS_UP.search(bare) is not None and _RISKY_MODULE.search(bare) is not None


def _deletes(code: str) -> bool:
    return _DELETES.search(_without_literals(code)) is not None


def _without_literals(code: str) -> str:
    """Return code with empty strings: text that is only printed is not done."""
    return _LITERAL.sub("''", code)


def calls_out(code: str) -> Code:
    """Return what code gives to a shell: every literal of it, alone and together."""
    literals = _literals(code)
    plain, cut = literals[:_MOST_LITERALS], literals[_MOST_LITERALS:]
    made = _MAKES_TEXT.search(_without_literals(code)) is not None or not plain
    inner = [of_code(one) for one in plain if len(one) < len(code) and _may_call(one)]
    return Code(
        texts=(*plain, *_together(plain), *(text for one in inner for text in one.texts)),
        opaque=_NOT_KNOWN if made or cut else None,
        deletes=_deletes(code) or any(one.deletes for one in inner),
    )


def _literals(code: str) -> list[str]:
    found = [
        next((one for one in found.groups() if one is not None), "")
        for found in _LITERAL.finditer(code)
    ]
    found += [one[2] for one in _ARGUMENT.finditer(code)]
    found = [one.strip("| ") for one in found]  # to open a pipe is to run a command
    plain = [one.replace("\\'", "'").replace('\\"', '"').replace("\\n", "\n") for one in found]
    return list(dict.fromkeys(plain)) if len(plain) > _MOST_LITERALS else plain


def _together(plain: list[str]) -> list[str]:
    """Return literals joined with those after them: all for the first ones, then only the next."""
    ends = [len(plain) if at < _MOST_JOINED else at + _NEARBY for at in range(len(plain))]
    return [glue.join(plain[at:end]) for at, end in enumerate(ends) for glue in ("", " ")]
