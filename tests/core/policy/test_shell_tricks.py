"""How a shell reads a line, where that is easily forgotten: what is hidden there is found.

The lines are data for a pure function. Nothing here is ever given to a shell.
"""

from __future__ import annotations

import pytest

from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import judged

REDIRECTIONS = [
    "rm 2>/dev/null -rf build",
    "rm -r 2>/dev/null -f build",
    "git push 2>&1 -f",
    "terraform >log apply",
    "2>/dev/null rm -rf build",
    "xargs <list rm -rf",
    "bash 2>x -c 'rm -rf build'",
    "terraform <<E apply\nx\nE",
    "rm 2> log 1>&2 -rf build",
    "! rm >x -rf build",
    "yes | terraform >log apply",
    "rm &>log -rf build",
]
SUBSTITUTIONS = [
    "echo $(( $(rm -rf build) ))",
    "echo $(( 1 + `rm -rf build` ))",
    "echo ${x//a/$(rm -rf build)}",
    "echo ${x#$(rm -rf build)}",
    "echo ${x:$(rm -rf build)}",
    "echo ${a[$(rm -rf build)]}",
    "echo ${x:-$(rm -rf build)}",
    'echo "${x:=$(rm -rf build)}"',
    "case $(rm -rf build) in x) ;; esac",
    "case x in $(rm -rf build)) ;; esac",
    "arr[$(rm -rf build)]=1",
    "export $(rm -rf build)",
    "ls 2> $(rm -rf build)",
    "ls >> $(rm -rf build)",
    "for x in $(rm -rf build); do :; done",
    "[[ -n $(rm -rf build) ]]",
    "(( x = $(rm -rf build) ))",
    "while [ $(rm -rf build) ]; do :; done",
    "cat <<E\n$(rm -rf build)\nE",
]
WORDS = [
    "r`:`m -rf build",
    "rm -r`:`f build",
    "rm$IFS$9-rf$IFS$9build",
    "rm${IFS}-rf${IFS}build",
    "{r,}m -rf build",
    "{r..r}m -rf build",
    "r{m,} -rf build",
    "{rm,-rf,build}",
    'r"m" -rf build',
    "r''m -r\"\"f build",
]
LINES = [
    "ls # x \\\nrm -rf build",
    'echo "don\'t"; r\\\nm -rf build',
    "# don't\nr\\\nm -rf build",
    "cat <<E\ndon't\nE\nr\\\nm -rf build",
    "rm \\\n  -rf \\\n  build",
]
STATE = [
    "x=rm; false && x=ls; $x -rf build",
    "x=rm; x=ls | cat; $x -rf build",
    "x=rm; (x=ls); $x -rf build",
    "x=rm; x=ls & $x -rf build",
    "x=rm; if false; then x=ls; fi; $x -rf build",
    "x=rm; while false; do x=ls; done; $x -rf build",
    "x=rm; f() { local x=ls; }; f; $x -rf build",
    "q() { rm -rf build; }; false && q() { ls; }; q",
    "x=ls; true && x=rm; $x -rf build",
]
ASSIGNMENTS = [
    "X='rm -rf build' bash -c '$X'",
    "f() { rm $OPTS build; }; OPTS=-rf f",
    "env X='rm -rf build' sh -c '$X'",
    "X=rm eval '$X -rf build'",
    "GIT_SSH_COMMAND='rm -rf build' git fetch",
    "PAGER='rm -rf build' man ls",
    "export GIT_EDITOR='rm -rf build'; git commit",
]
LOOPS = [
    "for x in a b c d e f g h -rf; do rm $x build; done",
    "for x in a b c d e f g h i j k l rm; do $x -rf build; done",
]
ARRAYS = [
    'set -- a rm -rf build; "${@:2}"',
    'x=(a rm -rf build); "${x[@]:1}"',
    'x=([0]=rm [1]=-rf [2]=build); "${x[@]}"',
    "x=qm; ${x/#q/r} -rf build",
    "x=rq; ${x/%q/m} -rf build",
    "IFS=,; c=rm,-rf,build; $c",
    "declare -n y=x; x=rm; $y -rf build",
    "declare -l x=RM; $x -rf build",
    "alias x='rm ' y='-rf build'\nx y",
]
FISH = [
    "echo (rm -rf build)",
    "rm (echo -rf) build",
    "function f; rm -rf build; end; f",
    "for x in a; rm -rf build; end",
    "switch x; case x; rm -rf build; end",
    "if true; rm -rf build; end",
]


@pytest.mark.parametrize(
    "line",
    [
        *(*REDIRECTIONS, *SUBSTITUTIONS, *WORDS, *LINES, *STATE),
        *(*ASSIGNMENTS, *LOOPS, *ARRAYS, *FISH),
    ],
)
def test_what_a_shell_would_run_is_found(line: str) -> None:
    """
    Each of these runs something of a family, though no word of it may look so.
    """
    assert judged(line, Scope()).action == "require_approval"


@pytest.mark.parametrize(
    "line",
    [
        "ls 2>/dev/null -la",
        "echo done >log 2>&1",
        "rm -r 2>/dev/null build",
        "git push 2>&1 | tee log",
        "terraform >log plan",
        "cat <<E > y\nrm -rf build\nE",
        "cat > y <<'E'\nrm -rf build\nE",
        "cat > y <<'E'; chmod +x y\nrm -rf build\nE",
        "cat > y <<'E' && chmod +x y\nrm -rf build\nE",
        "for x in a b c d e f g h i j; do echo $x; done",
        "for f in *.py; do python3 $f; done",
        "for x in 1 2 3 4 5 6 7 8 9 10; do rm -f part$x; done",
        "x=ls; false && x=cat; $x -la",
        "if [ -f x ]; then y=1; fi; echo $y",
        "X=1 make test",
        "PAGER='less -R' git log",
        "GIT_SSH_COMMAND='ssh -i key' git fetch",
        "EDITOR=vim crontab -e",
        "OPTS=-v make test",
        "echo $(( 1 + 2 ))",
        "echo ${x//a/b}",
        "case $x in a) echo a ;; *) echo b ;; esac",
        "arr[1]=x; echo ${arr[1]}",
        'echo "don\'t"; ls \\\n  -la',
        "# it's a comment\nls -la",
        "function f; echo hi; end; f",
        "for x in a b; echo $x; end",
        'set -- a b; echo "${@:2}"',
        'x=(a b); echo "${x[@]:1}"',
        "git log --pretty=format:'%h (%an)' -- src",
        "echo (date)",
        "ls {a,b}/*.txt",
        "find . -name '*.pyc' -delete",
        "make 2>&1 | grep -v warning > errors.txt",
        "local x=1; echo $x",
    ],
)
def test_what_is_harmless_stays_allowed(line: str) -> None:
    """
    The same forms without anything of a family in them.
    """
    assert judged(line, Scope()).action == "allow"
