from __future__ import annotations

import pytest

from agent_pty.core.evidence.claim import BadClaim, CleanTree, Never, Ran, parsed_claim


def test_the_claims_of_the_documentation_are_read() -> None:
    """
    Each form of the grammar, with its options in any order.
    """
    text = "ran:pytest exit:0 after:last-change"
    turned = "ran:'make test' after:last-change exit:2"

    assert parsed_claim(text) == Ran(
        text=text, words=("pytest",), exit_code=0, after_last_change=True
    )
    assert parsed_claim(turned) == Ran(
        text=turned, words=("make", "test"), exit_code=2, after_last_change=True
    )
    assert parsed_claim("never:rm_rf") == Never(text="never:rm_rf", rule="rm_rf")
    assert parsed_claim("never:'rm -rf'") == Never(text="never:'rm -rf'", rule="rm_rf")
    assert parsed_claim("clean-tree") == CleanTree(text="clean-tree")


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "ran:", "never:", "tests-pass", "ran:x exit:many", "ran:x since:now"),
        *("never:a b", "clean-tree now", "ran:'x", "ran:x after:event-3"),
    ],
)
def test_anything_else_is_refused_with_the_grammar(text: str) -> None:
    """
    A word that is not known is never taken for a claim that holds.
    """
    with pytest.raises(BadClaim, match=r"a claim is one of: \"ran:COMMAND"):
        parsed_claim(text)
