from __future__ import annotations

from pathlib import Path

from agent_pty.cli.main import commands
from agent_pty.cli.reference import command_reference
from agent_pty.words.help import K_HELP, KM_HELP
from agent_pty.words.reference import listed_arguments

PAGE = Path(__file__).parents[2] / "docs" / "reference-cli.md"


def test_trial_05_the_page_of_commands_is_written_from_what_makes_their_help() -> None:
    """
    What the page says is what the commands are; if not, `make reference`.
    """
    assert PAGE.read_text() == command_reference()


def test_trial_05_every_command_has_its_section() -> None:
    """
    With its sentence, every argument that its help shows, its examples; k and km with their help.
    """
    page = command_reference()

    for one in commands().values():
        section = page.partition(f"\n### agent-pty {one.name}\n")[2].partition("\n### ")[0]
        assert one.summary in section
        for argument in listed_arguments(one):
            assert all(f"`{name}`" in section for name in argument.names)
        assert all(example in section for example in one.command.examples)
    assert K_HELP in page
    assert KM_HELP in page
