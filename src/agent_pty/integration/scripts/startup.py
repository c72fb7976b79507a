# agent-pty: Python and IPython run this file in the user's namespace (PYTHONSTARTUP), before the
# user's own. Rule of the file: no name, no docstring and no __future__ of ours stays there, so it
# runs the script with the marks in a namespace of its own. It imports only what is imported
# already: anything else could be a file of the user's in the current directory.
# ruff: noqa: D100, INP001

exec(  # noqa: S102
    compile(
        __import__("_frozen_importlib_external")
        .FileLoader("", __import__("os").environ["AGENT_PTY_SCRIPT"])
        .get_data(__import__("os").environ["AGENT_PTY_SCRIPT"]),
        __import__("os").environ["AGENT_PTY_SCRIPT"],
        "exec",
    ),
    {"__name__": "agent_pty_marks"},
)
