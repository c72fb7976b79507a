from __future__ import annotations

import json

import pytest

from agent_pty.words.tools.definition import FORMATS, Format, definitions
from support.agent import Agent


@pytest.mark.parametrize("form", FORMATS)
def test_trial_07_the_command_prints_the_definitions_as_python_returns_them(
    shared: Agent, form: Format
) -> None:
    """
    Nothing is left out of them: an API may refuse a schema without its empty `properties`.
    """
    printed = json.loads(shared.cli("tools", "--format", form).stdout)

    assert printed == definitions(form)
