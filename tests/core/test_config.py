"""`config.toml`: every key, and every mistake named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.inspect import Metadata, type_info
from msgspec.structs import FieldInfo, fields

from agent_pty.core.config import Config, parsed
from agent_pty.errors import BadConfig


def test_an_empty_file_means_the_defaults() -> None:
    """
    Nothing written is nothing changed.
    """
    assert parsed("", path="c") == Config()
    assert parsed("{}", path="c") == Config()


def test_toml_and_the_json_of_the_seed_mean_the_same() -> None:
    """
    Permissions may be written as the seed writes them.
    """
    toml = '[permission.terminal_start]\n"*" = "ask"\n"git *" = "allow"'
    json = '{"permission": {"terminal_start": {"*": "ask", "git *": "allow"}}}'

    assert parsed(toml, path="c") == parsed(json, path="c")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[gateway]\nwrm = true", "wrm"),
        ("[gatway]\nwarm = true", "gatway"),
        ('[gateway]\nwarm = "yes"', "gateway.warm"),
        ("[gateway]\nidle = 5", "gateway.idle"),
        ('[gateway]\nidle = "soon"', "gateway.idle"),
        ('[gateway]\nidle = "-1s"', "gateway.idle"),
        ('[permission]\nterminal_stop = "never"', "terminal_stop"),
        ('[sessions]\nidle_stop = "soon"', "sessions.idle_stop"),
        ('[permission.terminal_start]\n"*" = 1', "terminal_start"),
        ("gateway = 1", "gateway"),
        ("[gateway", "Expected"),
        ("{", "line 1"),
        ('{"a":' * 100_000, "c.toml"),
    ],
)
def test_a_mistake_is_named_with_its_file(text: str, named: str) -> None:
    """
    A key that is unknown or has a wrong value is an error that says which, and where.
    """
    with pytest.raises(BadConfig) as refused:
        parsed(text, path="/h/c.toml")

    assert "/h/c.toml" in str(refused.value)
    assert named in str(refused.value)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("90s", 90.0), ("10m", 600.0)])
def test_durations_are_written_as_everywhere(text: str, seconds: float) -> None:
    """
    The gateway's patience is a duration; 0 means that it never ends by itself.
    """
    assert parsed(f'[gateway]\nidle = "{text}"', path="c").gateway.idle_seconds == seconds


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("2h", 7200.0), ("1d", 86400.0)])
def test_how_long_sessions_may_be_idle(text: str, seconds: float) -> None:
    """
    Hours and days can be written, too; 0, the default, means that none is ended.
    """
    found = parsed(f'[sessions]\nidle_stop = "{text}"', path="c").sessions

    assert found.idle_stop_seconds == seconds
    assert Config().sessions.idle_stop_seconds == 0.0


def test_the_page_has_every_key_with_its_default() -> None:
    """
    docs/configuration.md is true: each key, its default and its meaning, and no other.
    """
    page = (Path(__file__).parents[2] / "docs/configuration.md").read_text()
    rows = [
        f"| `{table.name}.{key.name}` | `{json.dumps(key.default)}` | {_meaning(key)} |"
        for table in fields(Config)
        for key in fields(table.type)
    ]

    assert rows == [line for line in page.splitlines() if line.startswith("| `")]


def test_the_example_of_the_page_is_accepted() -> None:
    """
    What the page shows can be copied.
    """
    page = (Path(__file__).parents[2] / "docs/configuration.md").read_text()
    example = page.partition("```toml\n")[2].partition("```")[0]

    assert parsed(example, path="c").gateway.warm


def _meaning(key: FieldInfo) -> str:
    described = type_info(key.type)
    assert isinstance(described, Metadata)
    return str((described.extra_json_schema or {})["description"])
