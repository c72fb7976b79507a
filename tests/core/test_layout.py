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
    assert layout(env, cwd="/", log_dir="/logs").socket == "/run/env.sock"


def test_a_relative_path_is_meant_from_here() -> None:
    """
    Paths are absolute: the daemon works in another directory than its client.
    """
    where = layout({"AGENT_PTY_HOME": "here"}, cwd="/work", socket="x.sock", log_dir="~/logs")

    assert (where.base, where.socket, where.log_dir) == (
        "/work/here",
        "/work/x.sock",
        "/work/~/logs",
    )


def test_trial_29_the_home_follows_from_the_socket() -> None:
    """
    The default socket has the default home; any other one has a home of its own in it.
    """
    default = layout(USER, cwd="/")
    first = layout(USER, cwd="/", socket="/tmp/a.sock")
    second = layout(USER, cwd="/", socket="/tmp/b.sock")

    assert layout(USER, cwd="/", socket="~/.agent-pty.sock") == default
    assert first == layout({**USER, "AGENT_PTY_SOCKET": "/tmp/a.sock"}, cwd="/")
    assert first.home.startswith(f"{default.home}/at/")
    assert len({default.home, first.home, second.home}) == 3
    assert first.log_dir == f"{first.home}/runs"
    assert first.base == default.home


def test_trial_29_the_name_of_a_home_never_changes() -> None:
    """
    The next version, and the next Python, must find the sessions of this one.
    """
    where = layout({"AGENT_PTY_HOME": "/h"}, cwd="/", socket="/tmp/a.sock")

    assert where.home == "/h/at/15d44ac68a"


def test_trial_29_a_home_of_another_socket_is_short() -> None:
    """
    The path of a socket has 107 bytes, however long the path from which the home follows.
    """
    where = layout(USER, cwd="/", socket=f"/{'x' * 90}/a.sock")

    assert len(where.keeper_socket) - len(f"{where.base}/run/keeper.sock") <= 14


def test_trial_29_a_log_directory_alone_names_its_socket() -> None:
    """
    Two log directories have two daemons; that of the default daemon has the default one.
    """
    first = layout(USER, cwd="/w", log_dir="logs")
    second = layout(USER, cwd="/w", log_dir="/other/logs")

    assert first == layout(USER, cwd="/", log_dir="/w/logs")
    assert (first.log_dir, second.log_dir) == ("/w/logs", "/other/logs")
    assert first.socket.startswith("/home/a/.agent-pty/at/")
    assert len({first.socket, second.socket, first.home, second.home}) == 4
    assert layout(USER, cwd="/", log_dir="~/.agent-pty/runs/") == layout(USER, cwd="/")


def test_trial_29_two_paths_of_one_socket_have_one_home() -> None:
    """
    Links are resolved by a function that the caller gives; the path itself stays as typed.
    """

    def real(path: str) -> str:
        return path.replace("/link/", "/tmp/")

    one = layout(USER, cwd="/", socket="/tmp/a.sock", real=real)
    other = layout(USER, cwd="/", socket="/link/a.sock", real=real)

    assert one.home == other.home
    assert other.socket == "/link/a.sock"


def test_trial_29_programs_find_the_daemon_of_their_session() -> None:
    """
    Only a daemon at another socket than the default one must be named in the environment.
    """
    assert layout(USER, cwd="/").variables == {}
    assert layout(USER, cwd="/", socket="/s").variables == {"AGENT_PTY_SOCKET": "/s"}


@pytest.mark.parametrize(
    ("env", "needed"),
    [
        (USER, {}),
        ({**USER, "AGENT_PTY_SOCKET": "/other"}, {}),
        ({"HOME": "/home/b"}, {"AGENT_PTY_SOCKET": "/home/a/.agent-pty.sock"}),
        ({}, {"AGENT_PTY_SOCKET": "/home/a/.agent-pty.sock"}),
    ],
)
def test_trial_22_a_caller_with_another_home_finds_the_daemon_too(
    env: dict[str, str], needed: dict[str, str]
) -> None:
    """
    The socket is named wherever the caller's own HOME would lead to another daemon, or nowhere.
    """
    assert layout(USER, cwd="/").variables_for(env) == needed


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
    The roots are sent; the rest follows from them on the other side.
    """
    for where in (layout(USER, cwd="/"), layout(USER, cwd="/", socket="/s")):
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
        where.log_dir_note,
        where.owner_note,
        where.log_lock,
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
