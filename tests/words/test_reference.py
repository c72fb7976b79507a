from __future__ import annotations

from pathlib import Path

from agent_pty import ops
from agent_pty.words.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_the_page_is_written_from_the_table() -> None:
    """
    What the page says is what the ops are; if not, `make reference`.
    """
    assert PAGE.read_text() == reference()


def test_every_op_has_its_section() -> None:
    """
    With a sentence, its fields and, if it has a command, an example.
    """
    page = reference()

    for op in ops.TABLE.values():
        section = page.partition(f"\n## {op.name}\n")[2].partition("\n## ")[0]
        assert " ".join((op.request.__doc__ or "").split()) in section
        assert all(f"| `{field}` |" in section for field in op.request.__struct_fields__)
        assert all(example in section for one in op.commands for example in one.examples)
