"""The `agent-pty` command: for people in words, for agents in JSON."""
