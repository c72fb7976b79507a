# agent-pty: Python and IPython run this file in the user's namespace (PYTHONSTARTUP), before the
# user's own. Rule of the file: no name, no docstring and no __future__ of ours stays there, so it
# runs the script with the marks in a namespace of its own.
# ruff: noqa: D100, INP001

exec(  # noqa: S102
    compile(
        "".join(__import__("linecache").getlines(__import__("os").environ["AGENT_PTY_SCRIPT"])),
        __import__("os").environ["AGENT_PTY_SCRIPT"],
        "exec",
    ),
    {"__name__": "agent_pty_marks"},
)
