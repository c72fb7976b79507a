from __future__ import annotations

import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.agent import Agent
from support.counts import counts
from support.k import K

pytestmark = pytest.mark.timeout(600)

PROGRAMS = {"bash": "echo {}", "zsh": "echo {}", "fish": "echo {}", "dash": "echo {}"}
PROGRAMS["python3"] = "print({})"


@counts(100, 2000)
@pytest.mark.parametrize("program", PROGRAMS)
def test_many_cells_in_a_row(shared: Agent, program: str, count: int) -> None:
    """
    Every one of 2,000 cells has exactly its own output, by marks, and none times out.
    """
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    k = K(shared)
    k.new(f"many-{program}", program)
    wrong = []
    with shared.connect() as connection:
        for number in range(count):
            code = PROGRAMS[program].format(number)
            cell = connection.ask("run", id=f"many-{program}", code=code)
            if (cell["status"], cell["output"], cell["frame"]) != ("done", str(number), "marks"):
                wrong.append(cell)

    assert not wrong
    k.run("kill", f"many-{program}")


def _exactly(k: K, name: str, code: str, expected: str) -> None:
    done = k.run("run", "-t", "50", name, code)

    # Not compared by assert: pytest would explain the difference of 50 MB.
    if done.stdout != expected:
        pytest.fail(f"{len(done.stdout)} characters instead of {len(expected)}: {done.stderr}")


def test_a_million_lines_are_exact(shared: Agent) -> None:
    """
    `seq 1 1000000` comes back as it was written.
    """
    k = K(shared)
    k.new("seq")

    _exactly(k, "seq", "seq 1 1000000", "".join(f"{number}\n" for number in range(1, 1_000_001)))


@counts(50_000, 500_000)
def test_much_text_is_exact(shared: Agent, count: int) -> None:
    """
    50 MB of random lines come back byte for byte, in text and in JSON.
    """
    some = random.Random(4)  # noqa: S311  the same text in every run
    text = "".join(f"{some.getrandbits(396):099x}\n" for _ in range(count))
    (shared.home / "random.txt").write_text(text)
    k = K(shared)
    k.new(f"random-{count}")

    _exactly(k, f"random-{count}", "cat random.txt", text)
    if (
        k.json("run", "-j", "-t", "50", f"random-{count}", "cat random.txt")["output"] + "\n"
        != text
    ):
        pytest.fail("the JSON has another text")


def test_one_long_line_is_exact(shared: Agent) -> None:
    """
    A line of a megabyte is not cut.
    """
    line = "x" * 1_000_000 + "\n"
    (shared.home / "line.txt").write_text(line)
    k = K(shared)
    k.new("line")

    _exactly(k, "line", "cat line.txt", line)


def test_equal_lines_end_nothing(shared: Agent) -> None:
    """
    Eight equal lines and a pause are output like any other, and stay in their cell.
    """
    k = K(shared)
    k.new("equal")

    same = "same\n" * 8
    _exactly(k, "equal", "yes same | head -8; sleep 1; echo END", f"{same}END\n")
    _exactly(k, "equal", "echo next", "next\n")


def test_a_large_output_is_in_a_file(shared: Agent) -> None:
    """
    Its beginning and end are in the answer, all of it in a file, however often that is asked for.
    """
    k = K(shared)
    k.new("large")
    cell = shared.ask("run", id="large", code="seq 1 50000")
    again = [shared.ask("peek", id="large", spill=True)["path"] for _ in range(20)]

    whole = "\n".join(str(number) for number in range(1, 50_001))
    assert (cell["truncated"], cell["size"], set(again)) == (True, len(whole), {cell["path"]})
    assert cell["output"].startswith("1\n2\n")
    assert cell["output"].endswith("\n50000")
    assert Path(cell["path"]).read_text() == whole
    assert Path(cell["path"]).stat().st_mode & 0o777 == 0o600


def _cells(agent: Agent, name: str) -> list[str]:
    with agent.connect_if_running() as connection:
        connection.ask("new", id=name, repo="/tmp", argv=["bash"])
        return [
            connection.ask("run", id=name, code=f"echo {name}-{number}; cd /")["output"]
            for number in range(10)
        ]


def test_fifty_sessions_at_once(shared: Agent) -> None:
    """
    Fifty sessions run cells at the same time, and each gets its own output.
    """
    shared.connect().close()
    names = [f"crowd{number}" for number in range(50)]
    with ThreadPoolExecutor(len(names)) as pool:
        outputs = dict(zip(names, pool.map(lambda name: _cells(shared, name), names), strict=True))

    assert outputs == {name: [f"{name}-{number}" for number in range(10)] for name in names}
