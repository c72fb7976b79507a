"""The policy that counts in a host: the daemon says which one it is."""

from __future__ import annotations

from agent_pty.core.policy.policy_file import BUILT_IN, Policy
from agent_pty.core.policy.shell_tree import prepare


class PolicyInForce:
    """One for all sessions of a host, so that a reload reaches every gate."""

    def __init__(self, policy: Policy = BUILT_IN) -> None:
        self.policy = policy
        prepare()

    def replace(self, policy: Policy) -> str:
        """Let another policy count; return the digest of the one before."""
        before, self.policy = self.policy.digest, policy
        return before
