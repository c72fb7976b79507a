"""Policy files: rules of one's own before the built-in ones, taken as a whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_pty.core.policy.policy_file import Policy, parsed_policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import judged
from agent_pty.errors import BadConfig

# The example of the seed, word for word.
SEED = {
    "builtin_rules": True,
    "rules": [
        {"label": "block secret writes", "pattern": "(?i)secret-token", "action": "deny"},
        {"label": "allow tmp cleanup", "pattern": "rm -rf /tmp/agent-pty-safe", "action": "allow"},
    ],
}


def policy(**content: Any) -> Policy:
    """Read a policy."""
    return parsed_policy(json.dumps(content).encode(), path="p.json")


@pytest.mark.parametrize(
    ("text", "action", "rule"),
    [
        ("rm -rf /tmp/agent-pty-safe", "allow", "allow tmp cleanup"),
        ("rm -rf /tmp/agent-pty-safe; rm -rf x", "require_approval", "rm -rf"),
        ("rm -rf x # rm -rf /tmp/agent-pty-safe", "require_approval", "rm -rf"),
        ("rm -rf /tmp/agent-pty-safe/../..", "require_approval", "rm -rf"),
        ("sudo rm -rf /tmp/agent-pty-safe", "allow", None),
        ("echo Secret-Token", "deny", "block secret writes"),
        ("ls # secret-token", "deny", "block secret writes"),
        ("rm -rf /tmp/agent-pty-safe; echo secret-token", "deny", "block secret writes"),
        ("git push -f", "require_approval", "git push --force"),
        ("ls", "allow", None),
    ],
)
def test_the_policy_of_the_seed(text: str, action: str, rule: str | None) -> None:
    """
    An exception covers one sub-command, whole, and excuses no other; deny comes first.
    """
    verdict = judged(text, Scope(), policy(**SEED))

    assert verdict.action == action
    assert action == "allow" or verdict.rule == rule


def test_rules_by_arguments() -> None:
    """
    `**` stands for any number of them; wrappers do not hide the program.
    """
    rules = policy(
        builtin_rules=False,
        rules=[{"label": "deploy", "argv": ["make", "**", "deploy*"], "action": "deny"}],
    )

    assert judged("sudo make -j4 deploy-prod", Scope(), rules).action == "deny"
    assert judged("make test", Scope(), rules).action == "allow"
    assert judged("rm -rf x", Scope(), rules).action == "allow"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"rulez": []}, "parse policy p.json: Object contains unknown field `rulez`"),
        ({"rules": [{"label": "x"}]}, "rule 'x' needs pattern or argv"),
        ({"rules": [{"label": "x", "pattern": "("}]}, "compile policy regex (: "),
        ({"rules": [{"label": "x", "pattern": ".*", "action": "allow"}]}, "would allow everything"),
        ({"rules": [{"label": "x", "pattern": "a", "action": "no"}]}, "parse policy p.json: "),
        (
            {"rules": [{"label": "x", "pattern": "a+", "matches": ["bbb"]}]},
            "rule 'x' does not match its example 'bbb'",
        ),
        (
            {"rules": [{"label": "x", "argv": ["a", "**"], "passes": ["a b"]}]},
            "rule 'x' matches its example 'a b'",
        ),
    ],
    ids=["key", "nothing", "regex", "everything", "action", "example", "counterexample"],
)
def test_a_mistake_is_named(content: dict[str, Any], said: str) -> None:
    """
    A file with one mistake is not taken at all.
    """
    with pytest.raises(BadConfig) as raised:
        policy(**content)

    assert said in str(raised.value)


def test_a_policy_is_known_by_its_digest() -> None:
    """
    The same file has the same name in evidence.
    """
    assert policy(**SEED).digest == policy(**SEED).digest != policy().digest
