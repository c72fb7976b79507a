"""An adapter whose framework is not installed says so in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    "anthropic_sdk": ("anthropic", "anthropic"),
    "mini_swe_agent": ("mini-swe-agent", "minisweagent"),
    "openai_agents": ("openai-agents", "agents"),
}


@pytest.mark.parametrize("adapter", EXTRAS)
def test_a_missing_framework_is_named_with_its_remedy(adapter: str) -> None:
    """
    The import fails with one line that names the module and what to install.
    """
    extra, module = EXTRAS[adapter]
    absent = f"import sys; sys.modules[{module!r}] = None; import agent_pty.adapters.{adapter}"

    done = subprocess.run(
        [sys.executable, "-c", absent], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert module in last
    assert f"pip install 'agent-pty[{extra}]'" in last
    assert "During handling" not in done.stderr
    assert done.stderr.count("Traceback") == 1
