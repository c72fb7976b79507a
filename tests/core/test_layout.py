import pytest

from agent_pty.core.layout import Layout, expanded, layout
from agent_pty.errors import DaemonError

USER = {"HOME": "/home/a"}


def test_everything_is_below_the_users_home() -> None:
    """
    Without a word from the user the socket lies beside the home, where the seed has it.
    """
    where = layout(USER, cwd="/work")

    assert where == Layout(
        home="/home/a/.agent-pty",
        socket="/home/a/.agent-pty.sock",
        log_dir="/home/a/.agent-pty/runs",
    )


def test_a_home_of_its_own_has_its_own_socket() -> None:
    """
    AGENT_PTY_HOME moves everything, so two homes never share a daemon.
    """
    where = layout({**USER, "AGENT_PTY_HOME": "/srv/pty/"}, cwd="/work")

    assert where == Layout(
        home="/srv/pty", socket="/srv/pty/agent-pty.sock", log_dir="/srv/pty/runs"
    )


def test_an_option_wins_over_the_environment() -> None:
    """
    The more someone meant this very call, the more it counts.
    """
    env = {**USER, "AGENT_PTY_SOCKET": "/run/env.sock"}

    assert layout(env, cwd="/").socket == "/run/env.sock"
    assert layout(env, cwd="/", socket="/run/option.sock").socket == "/run/option.sock"
    assert layout(env, cwd="/", log_dir="/logs").log_dir == "/logs"


def test_a_relative_path_is_meant_from_here() -> None:
    """
    Paths are absolute: the daemon works in another directory than its client.
    """
    where = layout({"AGENT_PTY_HOME": "here"}, cwd="/work", socket="x.sock", log_dir="~/logs")

    assert (where.home, where.socket, where.log_dir) == (
        "/work/here",
        "/work/x.sock",
        "/work/~/logs",
    )


def test_an_empty_variable_is_no_variable() -> None:
    """
    `AGENT_PTY_HOME=` is how shells say that there is none.
    """
    env = {**USER, "AGENT_PTY_HOME": "", "AGENT_PTY_SOCKET": ""}

    assert layout(env, cwd="/") == layout(USER, cwd="/")


@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"AGENT_PTY_HOME": "~/x"}])
def test_without_a_home_the_remedy_is_named(env: dict[str, str]) -> None:
    """
    Where `~` means nothing, the message says what to set.
    """
    with pytest.raises(DaemonError, match="set AGENT_PTY_HOME"):
        layout(env, cwd="/")


def test_a_home_needs_no_user() -> None:
    """
    A service without HOME can name a directory.
    """
    assert layout({"AGENT_PTY_HOME": "/srv/pty"}, cwd="/").home == "/srv/pty"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~", "/home/a"),
        ("~/x/y", "/home/a/x/y"),
        ("~b/x", "~b/x"),
        ("x/~/y", "x/~/y"),
        ("/x", "/x"),
        ("", ""),
    ],
)
def test_a_tilde_is_the_home_only_at_the_beginning(path: str, expected: str) -> None:
    """
    `~` and `~/...` are expanded; `~user` is left as typed.
    """
    assert expanded(path, USER) == expected
    assert expanded(path, {}) == path


def test_a_layout_survives_the_wire() -> None:
    """
    Three roots are sent; the rest follows from them on the other side.
    """
    where = layout(USER, cwd="/")

    assert Layout(**where.to_wire()) == where


def test_no_two_things_are_in_the_same_place() -> None:
    """
    Every path is different, and all but socket and logs lie in the home.
    """
    where = layout({"AGENT_PTY_HOME": "/h"}, cwd="/")
    paths = [
        where.run,
        where.log,
        where.session_index,
        where.daemon_lock,
        where.keeper_lock,
        where.start_lock,
        where.keeper_socket,
        where.key_ledger,
        where.sessions,
        where.host_socket("h1"),
        where.session("i1"),
        where.spec("i1"),
    ]

    assert len({*paths}) == len(paths)
    assert all(path.startswith("/h/") for path in paths)
