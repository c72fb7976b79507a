"""Persistent terminal sessions for AI agents.

The keeper holds, the hosts think, the daemon speaks: see ARCHITECTURE.md.
"""

__version__ = "0.1.0"
