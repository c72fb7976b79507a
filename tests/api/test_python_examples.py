"""Examples in docstrings and on the page about Python are true."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty import AsyncClient, Client, api
from support.agent import Agent

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
MODULES = sorted(
    f"agent_pty.api.{path.stem}"
    for path in Path(api.__path__[0]).glob("*.py")
    if ">>>" in path.read_text()
)


@pytest.fixture
def user(agent: Agent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Client]:
    """A client of the daemon that `Client()` means, with a session `work`."""
    for name in ("HOME", "AGENT_PTY_HOME"):
        monkeypatch.setenv(name, str(agent.home))
    monkeypatch.delenv("AGENT_PTY_SOCKET", raising=False)
    monkeypatch.chdir(tmp_path)
    agent.new("work")
    with Client() as client:
        yield client


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_run(name: str, user: Client) -> None:
    """
    Each prints what it says.
    """
    known = {"Client": Client, "AsyncClient": AsyncClient, "asyncio": asyncio, "client": user}
    said = io.StringIO()

    runner = doctest.DocTestRunner()
    module = importlib.import_module(name)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        example.globs |= known
        runner.run(example, out=said.write)

    assert runner.tries > 0
    assert runner.failures == 0, said.getvalue()


@pytest.mark.usefixtures("user")
def test_the_examples_on_the_page_run(tmp_path: Path) -> None:
    """
    One after the other, as a reader would type them.
    """
    (tmp_path / "Makefile").write_text("test:\n\t@echo 3 passed\n")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    known: dict[str, Any] = {}

    try:
        for number, block in enumerate(blocks):
            name = f"{PAGE.name}, block {number}"
            exec(compile(block, name, "exec"), known)  # noqa: S102  our own page
    finally:
        known["client"].close()

    assert len(blocks) > 5
