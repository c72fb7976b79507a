"""The environment of a program in a session. Pure: every environment is an argument.

It is the caller's own (PATH, VIRTUAL_ENV, LANG, SSH_AUTH_SOCK ...), without what describes the
caller's terminal, which is not the session's, and without our variables, which describe a session
or another daemon.
"""

from __future__ import annotations

from collections.abc import Mapping

Variables = Mapping[str, str]

# What our terminal is.
_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
# These describe another terminal: its size, its window, its multiplexer, its device, its name. With
# some of them start-up files load the shell integration of that terminal.
_FOREIGN = frozenset(
    {"COLUMNS", "LINES", "TERMCAP", "WINDOWID", "GPG_TTY", "SSH_TTY"}
    | {"TMUX", "TMUX_PANE", "STY", "WINDOW", "INSIDE_EMACS", "NVIM", "VIM_TERMINAL"}
    | {"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "VTE_VERSION", "XTERM_VERSION"}
    | {"LC_TERMINAL", "LC_TERMINAL_VERSION", "WT_SESSION", "WT_PROFILE_ID", "XTERM_SHELL"}
)
_FOREIGN_FAMILIES = ("ALACRITTY_", "GHOSTTY_", "ITERM_", "KITTY_", "KONSOLE_", "WEZTERM_", "ZELLIJ")
_OURS = "AGENT_PTY_"
_HOME = "AGENT_PTY_HOME"
# The directory in which something else was started, and bash's note of the last command.
_PASSING = frozenset({"OLDPWD", "PWD", "_"})

# Who reads the output of a session is no person who turns pages. PAGER is for every program; the
# others have their own variable, or a setting in a file that only this variable overrides.
_PAGERS = (
    *("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "PSQL_PAGER"),
    *("BAT_PAGER", "DELTA_PAGER", "GH_PAGER", "AWS_PAGER"),
)
NO_PAGER: Variables = dict.fromkeys(_PAGERS, "cat")


def adapted(environment: Variables) -> dict[str, str]:
    """Return an environment with our terminal in the place of another one.

    >>> adapted({"LANG": "C", "TERM": "dumb", "TMUX": "/tmp/s,1,0", "KITTY_PID": "7"})
    {'LANG': 'C', 'TERM': 'xterm-256color', 'COLORTERM': 'truecolor'}
    """
    kept = {name: value for name, value in environment.items() if not _is_foreign(name)}
    return {**kept, **_TERMINAL}


def of_program(callers: Variables | None, daemons: Variables, *, cwd: str) -> dict[str, str]:
    """Return what a program that starts in *cwd* inherits.

    It comes from the caller, and from the daemon if the caller has not sent its own. The daemon's
    home always counts: by it the program finds the daemon of its session.
    """
    chosen = dict(daemons) if callers is None else _without_ours(callers)
    if callers is not None and _HOME in daemons:
        chosen[_HOME] = daemons[_HOME]
    kept = {name: value for name, value in adapted(chosen).items() if name not in _PASSING}
    return {**kept, "PWD": cwd}


def _without_ours(environment: Variables) -> dict[str, str]:
    # A name can be empty: `env =x program` makes such an entry, and nothing can use it.
    return {
        name: value for name, value in environment.items() if name and not name.startswith(_OURS)
    }


def _is_foreign(name: str) -> bool:
    return name in _FOREIGN or name.startswith(_FOREIGN_FAMILIES)
