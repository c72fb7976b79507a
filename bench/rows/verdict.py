"""How long a line is judged before it is typed, in this process: as the host does it."""

from __future__ import annotations

import random
from functools import partial

from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.shell_tree import prepare
from agent_pty.core.policy.verdict import judged
from bench.clock import timed
from bench.ground import Ground
from bench.series import Result, Series

# What agents type. {0} is another number in each, so that no line is judged twice.
_COMMANDS = (
    "ls -la /tmp/{0}",
    "echo 'a b' | grep x{0}",
    "for i in 1 2; do echo $i {0}; done",
    'git commit -m "step {0} $(date)"',
    "cd src{0} && make -j4 test",
    "if [ -f x{0} ]; then cat x{0}; fi",
    "X={0} python3 -m pytest -q tests",
    'docker run --rm -it alpine sh -c "ls /{0}"',
    "find . -name '*{0}.py' | xargs grep -n foo",
    "curl -s https://example.com/{0} | jq .a",
    'echo "$HOME/$USER ${{X:-{0}}}" > out.txt',
    'while read line; do echo "$line"; done < f{0}',
    "awk '{{print $1}}' f{0} | sort | uniq -c",
    "cat <<'EOF' > x{0}\nhello world\nrm is a word\nEOF",
    "git log --oneline | head -{0}",
    "kubectl get pods -n x{0}",
    "sed -i 's/a/{0}/' f",
    "python3 -c 'print({0})'",
)
_LINE = 4096
_LONG = 1_000_000


def run(ground: Ground) -> list[Result]:
    """Judge single commands, lines full of them, and one that is too long to be followed."""
    some = random.Random(1)  # noqa: S311  the same lines in every run
    prepare()
    lines = {
        "verdict, one command": [_filled(some, 1) for _ in range(ground.pick(5000, 500))],
        "verdict, 4 KB": [_filled(some, _LINE) for _ in range(ground.pick(1000, 100))],
        "verdict, 1 MB": ["ls -la; " * (_LONG // 8) for _ in range(ground.pick(20, 3))],
    }
    return [
        Result(
            row=row,
            unit="s",
            ours=Series(
                name="ours", values=[timed(partial(judged, one, Scope())) for one in texts]
            ),
        )
        for row, texts in lines.items()
    ]


def _filled(some: random.Random, size: int) -> str:
    """Return one command, or as many as there is room for."""
    line = _command(some)
    while len(line) + len(more := "\n" + _command(some)) <= size:
        line += more
    return line


def _command(some: random.Random) -> str:
    return some.choice(_COMMANDS).format(some.randrange(10**6))
