"""CONTRIBUTING's recipe is true: an op is its file and its line in the table."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_pty import ops
from agent_pty.core.layout import Layout
from agent_pty.daemon.daemon import Daemon
from agent_pty.ops.op import Op
from agent_pty.store.home import prepare
from agent_pty.store.policy_store import KeptPolicy
from agent_pty.transports.caller import Caller, HandedOver, Streaming
from agent_pty.words import agent_pty
from agent_pty.words.reference import reference
from support.command_output import OUT, Ear

# As a contributor would write it: a request, a result, a handler, and the op.
GREET = '''
from typing import Annotated, Literal

from msgspec import Meta, Struct

from agent_pty.core.command import Command
from agent_pty.ops.context import Registry
from agent_pty.ops.op import Op, Request


class Greet(Request, frozen=True, kw_only=True):
    """Greet somebody."""

    whom: Annotated[str, Meta(description="who is greeted")]
    times: Annotated[int, Meta(ge=1, description="how often")] = 1
    how: Annotated[Literal["kindly", "loudly"], Meta(description="in which way")] = "kindly"
    politely: Annotated[bool, Meta(description="say good day")] = True


class Greeted(Struct, frozen=True, kw_only=True):
    """What was said."""

    words: str


async def greet(registry: Registry, request: Greet) -> Greeted:
    """Say it."""
    word = "Good day" if request.politely else "Hi"
    said = " ".join([f"{word} {request.whom}"] * request.times)
    return Greeted(words=said.upper() if request.how == "loudly" else said)


OP = Op(
    name="greet",
    answer="greeted",
    request=Greet,
    where="daemon",
    handler=greet,
    commands=(
        Command(
            text=lambda call, answer: answer["words"],
            examples=("agent-pty greet Ada --times 2",),
        ),
    ),
)
'''
CALLER = Caller(transport="unix", uid=0, pid=7)


@pytest.fixture
def greet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    """An op in a package of its own, with its line in the table."""
    package = tmp_path / "contributed"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "greet.py").write_text(GREET)
    monkeypatch.syspath_prepend(str(tmp_path))
    op: Op = importlib.import_module("contributed.greet").OP
    monkeypatch.setitem(ops.TABLE, op.name, op)
    agent_pty._known.cache_clear()
    yield op
    agent_pty._known.cache_clear()
    for name in [name for name in sys.modules if name.startswith("contributed")]:
        del sys.modules[name]


async def nothing(*_: object) -> None:
    """No client looks for the socket."""


def ask(home: Path, request: dict[str, Any]) -> Any:
    """Send a request to a daemon as it comes from the socket."""
    where = Layout(home=str(home), socket=f"{home}/s", log_dir=f"{home}/runs")
    prepare(where)

    async def story() -> bytes | Ear:
        daemon = Daemon(where, isolated=False, relisten=nothing, adopt=nothing, policy=KeptPolicy())
        answer = await daemon.handle(msgspec.json.encode(request), CALLER)
        assert not isinstance(answer, HandedOver)
        if isinstance(answer, Streaming):
            ear = Ear()
            await answer.pour(ear.hear)
            return ear
        return answer

    return asyncio.run(story())


def run(home: Path, *argv: str) -> tuple[int, str]:
    """Carry out a command line as the script sends it; return status and output."""
    asked = {"op": "words", "program": "agent-pty", "argv": argv, "cwd": "/"}
    ear = ask(home, asked)
    return ear.status, ear.text(OUT)


@pytest.mark.usefixtures("greet")
def test_it_answers_on_the_socket(tmp_path: Path) -> None:
    """
    Its fields are checked, its defaults apply, its answer has its name.
    """
    good = msgspec.json.decode(ask(tmp_path, {"op": "greet", "whom": "Ada"}))
    bad = msgspec.json.decode(ask(tmp_path, {"op": "greet", "whom": "Ada", "times": 0}))

    assert good["data"] == {"type": "greeted", "data": {"words": "Good day Ada"}}
    assert bad["code"] == "bad_request"


@pytest.mark.usefixtures("greet")
def test_it_is_on_the_command_line(tmp_path: Path) -> None:
    """
    A required field is an argument, the others are options; help and JSON come by themselves.
    """
    words = ("greet", "Ada", "--times", "2", "--how", "loudly", "--no-politely")

    plain, shown = run(tmp_path, *words), run(tmp_path, *words, "--json")
    help_text = run(tmp_path, "greet", "--help")[1]

    assert plain == (0, "HI ADA HI ADA\n")
    assert msgspec.json.decode(shown[1]) == {"words": "HI ADA HI ADA"}
    for expected in ("Greet somebody.", "how often (default: 1)", "agent-pty greet Ada --times 2"):
        assert expected in help_text
    assert run(tmp_path, "greet", "Ada", "--times", "few")[0] == 2


def test_it_is_in_the_reference(greet: Op) -> None:
    """
    With its sentence, its fields and its example.
    """
    section = reference().partition("\n## greet\n")[2]

    assert "Greet somebody." in section
    assert '| `how` | `"kindly"` or `"loudly"` | `"kindly"` | in which way |' in section
    assert greet.commands[0].examples[0] in section
