"""The `agent-pty` command: text for people, JSON for agents."""
