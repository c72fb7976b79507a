"""The tools that models call: those of the op table, and the six `pty_*` tools."""
