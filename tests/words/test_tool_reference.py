from __future__ import annotations

from pathlib import Path

from agent_pty.tools import definitions
from agent_pty.words.tools.reference import tool_reference
from agent_pty.words.tools.terminal import terminal_tools

PAGE = Path(__file__).parents[2] / "docs" / "reference-tools.md"


def section_of(name: str) -> str:
    """Return what the page says of one tool."""
    return tool_reference().partition(f"\n### {name}\n")[2].partition("\n### ")[0]


def test_trial_05_the_page_of_tools_is_written_from_their_declarations() -> None:
    """
    What the page says is what the tools are; if not, `make reference`.
    """
    assert PAGE.read_text() == tool_reference()


def test_trial_05_the_six_have_their_sections() -> None:
    """
    With the sentence and the parameters that a model gets, and those it must give named so.
    """
    for one in definitions("mcp"):
        section, schema = section_of(one["name"]), one["inputSchema"]
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert one["description"] in section
        assert [row.split("`")[1] for row in rows] == list(schema["properties"])
        needed = [row.split("`")[1] for row in rows if "| required |" in row]
        assert sorted(needed) == sorted(schema.get("required", []))


def test_trial_05_each_terminal_tool_has_its_section() -> None:
    """
    With all that its schema has: the fields of its op, and what the tool adds.
    """
    for tool in terminal_tools(None):
        section = section_of(tool.name)
        assert tool.description in section
        assert all(f"| `{name}` |" in section for name in tool.schema["properties"])
