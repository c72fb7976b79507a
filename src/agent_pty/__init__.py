"""Persistent terminal sessions for AI agents.

The keeper holds, the hosts think, the daemon speaks: see ARCHITECTURE.md. Programs begin here:

    from agent_pty import Client

    with Client() as client, client.new("bash") as shell:
        print(shell.run("make test").exit_code)
"""

TYPE_CHECKING = False  # type checkers know it by its name; `typing` takes 5 ms to import
if TYPE_CHECKING:
    from agent_pty.api.async_client import AsyncClient
    from agent_pty.api.async_session import AsyncSession
    from agent_pty.api.client import Client
    from agent_pty.api.session import Session
    from agent_pty.errors import AgentPtyError

__version__ = "0.1.0"
__all__ = ["AgentPtyError", "AsyncClient", "AsyncSession", "Client", "Session", "__version__"]

# Loaded on first use: the keeper and the command line import this file, too.
_PUBLIC = {
    "AgentPtyError": "agent_pty.errors",
    "AsyncClient": "agent_pty.api.async_client",
    "AsyncSession": "agent_pty.api.async_session",
    "Client": "agent_pty.api.client",
    "Session": "agent_pty.api.session",
}


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415  needed here alone

    return getattr(importlib.import_module(_PUBLIC[name]), name)
