from agent_pty.core.environment import NO_PAGER, adapted, of_program

DAEMON = {
    "HOME": "/home/d",
    "PATH": "/daemon",
    "AGENT_PTY_HOME": "/home/d/ap",
    "AGENT_PTY_IDLE": "9s",
}
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def test_another_terminal_is_replaced_by_ours() -> None:
    """
    Size, multiplexer, device and name of another terminal go; what only looks similar stays.
    """
    foreign = {
        "TERM": "dumb",
        "COLUMNS": "7",
        "TMUX": "x",
        "SSH_TTY": "/dev/pts/1",
        "KITTY_PID": "1",
    }
    similar = {"TERMINFO": "/ti", "SSH_AUTH_SOCK": "/agent", "LINES_OF_CODE": "9", "MY_TMUX": "y"}

    assert adapted({**foreign, **similar}) == {**similar, **TERMINAL}


def test_trial_22_a_program_inherits_from_its_caller() -> None:
    """
    Of the daemon's environment only its home is left, by which a program finds the daemon.
    """
    callers = {"PATH": "/caller", "AGENT_PTY_HOME": "/other", "AGENT_PTY_SESSION": "s", "": "x"}

    assert of_program(callers, DAEMON, cwd="/src") == {
        "PATH": "/caller",
        "AGENT_PTY_HOME": "/home/d/ap",
        "PWD": "/src",
        **TERMINAL,
    }


def test_without_a_caller_it_inherits_from_the_daemon() -> None:
    """
    A request that brings no environment gets the daemon's; an empty one is an environment, too.
    """
    assert of_program(None, DAEMON, cwd="/") == {**DAEMON, "PWD": "/", **TERMINAL}
    assert of_program({}, {}, cwd="/") == {"PWD": "/", **TERMINAL}


def test_where_something_else_was_started_is_not_inherited() -> None:
    """
    PWD is the directory of the program; the directory before it and the last command are unknown.
    """
    callers = {"PWD": "/a", "OLDPWD": "/b", "_": "/usr/bin/k"}

    assert of_program(callers, {}, cwd="/src") == {"PWD": "/src", **TERMINAL}


def test_every_pager_is_cat() -> None:
    """
    `cat` is a pager that prints everything at once.
    """
    assert set(NO_PAGER.values()) == {"cat"}
    assert {"PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"} <= {*NO_PAGER}
