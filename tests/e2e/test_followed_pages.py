"""The tutorial and the how-to pages are true: followed word for word, they show what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agent import Agent
from support.page import Reader, blocks, pressed

DOCS = Path(__file__).parents[2] / "docs"
# Those that a reader follows at a terminal; the pages about the SDKs have tests of their own.
FOLLOWED = [
    "INSTALL.md",
    "tutorial.md",
    *(
        f"how-to/{name}.md"
        for name in ("ci", "claude-code", "codex", "cursor", "http", "sdk-loops")
    ),
]


@pytest.mark.parametrize("page", FOLLOWED)
def test_trial_02_a_page_shows_what_a_reader_sees(agent: Agent, page: str, tmp_path: Path) -> None:
    """
    In an empty home and an empty directory every command prints what stands below it.
    """
    text = (DOCS / page).read_text(encoding="utf-8")

    assert any(block.kind == "console" for block in blocks(text))
    Reader(agent, tmp_path).follow(text)


@pytest.mark.parametrize(
    "text",
    [
        "```console\n$ echo two\none\n```\n",
        "```sh\necho shown only\n```\n",
        "```\nshown only\n```\n",
        "```text\nshown only\n```\n",
        "```console\n$ cat file\n```\n",
    ],
)
def test_trial_02_a_page_that_is_not_true_is_found(
    shared: Agent, text: str, tmp_path: Path
) -> None:
    """
    Another output, and a block that nobody runs, writes or marks as a model's words.
    """
    with pytest.raises(AssertionError):
        Reader(shared, tmp_path).follow(text)


def test_trial_02_a_block_with_a_name_is_a_file(shared: Agent, tmp_path: Path) -> None:
    """
    Its text is in the directory when the next command runs; a model's words are left alone.
    """
    script = "```sh a/b.sh\necho ran\n```\n"
    words = "```text model\nhm\n```\n"
    command = "```console\n$ sh a/b.sh\nran\n```\n"

    Reader(shared, tmp_path).follow(script + words + command)

    assert (tmp_path / "a" / "b.sh").read_text() == "echo ran\n"


def test_trial_02_keys_are_written_as_people_say_them() -> None:
    """
    A line is a text and Enter, or one control key.
    """
    assert pressed("open sesame Enter") == b"open sesame\r"
    assert pressed("Ctrl-]") == b"\x1d"
    with pytest.raises(AssertionError):
        pressed("sesame")
