"""The six `pty_*` tools, by the SDK's own client over `agent-pty mcp-stdio`."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import AGENT_PTY, Agent, alive, eventually, gateway_of, slay
from support.model import LONG, SECONDS, Model, bash, cursor, fact, output, python


@pytest.fixture(scope="module")
def model(shared: Agent) -> Iterator[Model]:
    """A model that the tests of this file share."""
    made = Model(shared)
    yield made
    made.leave()


def peak(pid: int) -> int:
    """Return the most memory that a process has had, in kB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0])


# -- what a tool is


def test_six_tools_with_their_parameters(model: Model) -> None:
    """
    Names and parameters are those of the seed; ours are optional.
    """
    listed = {tool.name: tool.input_schema for tool in model.tools()}

    required = {name: set(schema.get("required", ())) for name, schema in listed.items()}
    assert required == {
        "pty_exec": {"command"},
        "pty_start": {"command"},
        "pty_read": {"id"},
        "pty_send": {"id", "input"},
        "pty_list": set(),
        "pty_stop": {"id"},
    }
    assert {"command", "args", "cwd", "timeout_ms"} <= set(listed["pty_exec"]["properties"])
    assert {"command", "args", "cwd", "title"} <= set(listed["pty_start"]["properties"])
    assert {"id", "tail", "wait_ms", "since"} <= set(listed["pty_read"]["properties"])


def test_a_start_shows_what_the_program_shows_first(model: Model) -> None:
    """
    With wait_ms or until a start returns the first output, so that no read must follow.
    """
    script = "echo hello; read x; echo got $x; cat"

    shown = model.call("pty_start", command="sh", args=["-c", script], wait_ms=LONG)
    failing = model.call(
        "pty_start", command="sh", args=["-c", "echo no; exit 3"], until="exit", wait_ms=LONG
    )

    assert re.match(r"started p\d+: sh -c .*\nhello\n", shown)
    assert "[session: running]" in shown
    assert "\nno\n" in failing
    assert "[session: exited] [exit: 3]" in failing


@pytest.mark.parametrize("form", ["anthropic", "openai", "mcp"])
def test_the_definitions_have_less_than_4000_bytes(shared: Agent, form: str) -> None:
    """
    A model pays for the definitions at every turn.
    """
    done = shared.cli("tools", "--format", form)

    assert done.returncode == 0, done.stderr
    definitions = json.loads(done.stdout)
    assert len(definitions) == 6
    assert len(json.dumps(definitions).encode()) < 4000


def test_python_programs_call_the_same_tools(shared: Agent) -> None:
    """
    `agent_pty.tools.call` returns the text of the tool; importing it loads next to nothing.
    """
    code = (
        "import sys; from agent_pty import tools; assert 'msgspec' not in sys.modules\n"
        "print(tools.call('pty_exec', {'command': 'echo', 'args': ['from python']}))\n"
        "print(tools.definitions('openai')[0]['function']['name'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=shared.env, capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("from python\n[session: exited] [exit: 0]")
    assert done.stdout.endswith("pty_exec\n")


# -- exit codes and output


@pytest.mark.parametrize(
    ("code", "said"), [("exit 0", "0"), ("exit 1", "1"), ("kill -9 $$", "signal 9")]
)
def test_exit_code_or_signal(model: Model, code: str, said: str) -> None:
    """
    An answer names the exit code or the signal.
    """
    text = model.call("pty_exec", command="sh", args=["-c", code])

    assert fact(text, "session") == "exited"
    assert fact(text, "exit") == said


def test_the_footer_is_the_last_two_lines(model: Model) -> None:
    """
    Output comes first and unchanged; state, exit, id and time follow, then the cursor.
    """
    text = model.call("pty_exec", command="echo", args=["a  b"])

    pattern = r"a  b\n\[session: exited\] \[exit: 0\] \[id: p\d+\] \[\d+\.\ds\]\n\[cursor: 5\]"
    assert re.fullmatch(pattern, text)


def test_a_program_that_writes_and_exits_at_once_loses_nothing(model: Model) -> None:
    """
    The last bytes before an exit are in the answer.
    """
    code = "import os; os.write(1, b'x' * 40000 + b'END'); os._exit(3)"

    text = model.call("pty_exec", command=sys.executable, args=["-c", code])

    assert "xEND" in text
    assert fact(text, "exit") == "3"


def test_characters_and_escapes_split_over_writes(model: Model) -> None:
    """
    A character or an escape sequence that arrives in pieces is one.
    """
    code = (
        "import os, tty\n"
        "for byte in 'a\\u20ac\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07b\\n'.encode():\n"
        "    os.write(1, bytes([byte]))\n"
    )

    text = model.call("pty_exec", command=sys.executable, args=["-c", code])

    assert output(text) == "a\u20acredb\n"


def test_ten_million_lines_with_bounded_memory(model: Model) -> None:
    """
    A flood is answered by its two ends. After a stop less is kept: what is missing is a gap.
    """
    name = model.start("sh", "-c", "seq 10000000")
    model.agent.ask("wait", id=name, until="exit", timeout_ms=SECONDS * 1000)

    text = model.call("pty_read", id=name, since=5)

    body = output(text)
    assert len(body.encode()) <= 51_200
    assert "bytes more left out. The two ends of it: /" in body
    assert body.endswith("\n9999999\n10000000\n")
    model.call("pty_stop", id=name)
    kept = output(model.call("pty_read", id=name, since=5))
    assert re.match(r"\[gap: \d+ bytes no longer retained\]\n", kept)
    assert len(kept.encode()) <= 51_300
    assert "\n10000000\n" in kept
    assert peak(gateway_of(model.agent)) < 256 * 1024


def test_long_output_names_the_file_that_has_all_of_it(model: Model) -> None:
    """
    Beyond 2000 lines the head and the tail are shown; the file named between them is complete.
    """
    text = model.call("pty_exec", command="seq", args=["9000"])

    note = next(line for line in text.splitlines() if line.startswith("[..."))
    path = Path(re.findall(r"/\S+\.txt", note)[0])
    assert path.read_text() == "".join(f"{number}\n" for number in range(1, 9001))
    assert "7000 lines" in note
    assert path.stat().st_mode & 0o777 == 0o600


# -- cursors


def test_a_cursor_from_the_future_is_empty_and_tells_the_true_one(model: Model) -> None:
    """
    Nothing is after the end; the answer says where that is.
    """
    name = model.start("sh", "-c", "echo one; read x")
    model.call("pty_read", id=name, until="one", wait_ms=LONG)

    text = model.call("pty_read", id=name, since=10**9)

    assert output(text) == ""
    assert cursor(text) == 4
    model.call("pty_stop", id=name)


def test_reads_are_idempotent_and_two_readers_do_not_disturb_each_other(model: Model) -> None:
    """
    The same `since` has the same answer, whoever else has read; only growth is added.
    """
    name = bash(model)
    first = model.call("pty_send", id=name, input="echo one\r", until="regex:^one", wait_ms=LONG)
    here = cursor(model.call("pty_read", id=name, until="prompt", wait_ms=LONG))

    model.call("pty_send", id=name, input="echo two\r", until="regex:^two", wait_ms=LONG)
    once = model.call("pty_read", id=name, since=here)
    again = model.call("pty_read", id=name, since=here)

    assert output(first).startswith("one\n")
    assert output(once) == output(again)
    assert "two" in output(once)
    assert "one" not in output(once)
    model.call("pty_stop", id=name)


def test_tail_with_since_is_the_last_lines_of_what_is_new(model: Model) -> None:
    """
    `tail` alone is the end of everything, with `since` the end of what is new.
    """
    name = model.start("sh", "-c", "seq 20; read x")
    model.call("pty_read", id=name, until="20", wait_ms=LONG)

    assert output(model.call("pty_read", id=name, tail=2)) == "19\n20\n"
    assert output(model.call("pty_read", id=name, since=3, tail=2)) == "19\n20\n"
    assert output(model.call("pty_read", id=name, since=48, tail=9)) == "20\n"
    model.call("pty_stop", id=name)


# -- time


def test_exec_past_its_timeout_goes_on_as_a_session(model: Model) -> None:
    """
    Nothing is killed: partial output, sessionId and cursor; the rest is read later.
    """
    code = "echo begun; read x; echo got $x; exit 5"

    text = model.call("pty_exec", command="sh", args=["-c", code], timeout_ms=1500)
    name = re.findall(r'sessionId="(\w+)"', text)[0]
    assert fact(text, "session") == "running"
    assert output(text).startswith("begun\n")
    model.call("pty_send", id=name, input="it", submit=True)
    rest = model.call("pty_read", id=name, since=cursor(text), until="exit", wait_ms=LONG)

    assert "got it\n" in output(rest)
    assert fact(rest, "session") == "exited"
    assert fact(rest, "exit") == "5"


def test_a_timeout_above_the_maximum_is_clamped_and_said(model: Model) -> None:
    """
    More than 300000 is no error.
    """
    text = model.call("pty_exec", command="true", timeout_ms=999_999)

    assert "timeout_ms is 300000 at most" in text


def test_wait_ms_ends_early(model: Model) -> None:
    """
    Output, then quiet, ends a wait long before its bound; so does an exit.
    """
    name = model.start("sh", "-c", "read x; echo answer; read y")
    sent = model.call("pty_send", id=name, input="go\r")

    seen = model.call("pty_read", id=name, since=cursor(sent), wait_ms=LONG)
    model.call("pty_send", id=name, input="go\r")
    ended = model.call("pty_read", id=name, since=cursor(seen), until="exit", wait_ms=LONG)

    assert "answer" in seen
    assert fact(ended, "session") == "exited"


def test_an_exec_that_ended_leaves_no_session_but_can_be_read(model: Model) -> None:
    """
    It is not in the list; its text and exit code are still known.
    """
    name = fact(model.call("pty_exec", command="sh", args=["-c", "echo late; exit 4"]), "id")

    listed = model.call("pty_list")
    text = model.call("pty_read", id=name)

    assert not re.search(rf"^{name} ", listed, re.MULTILINE)
    assert output(text) == "late\n"
    assert fact(text, "exit") == "4"


def test_an_id_is_not_used_again_soon(model: Model) -> None:
    """
    A model may remember the id of a session that is gone: it must not reach another program.
    """
    first = fact(model.call("pty_exec", command="true"), "id")

    second = fact(model.call("pty_exec", command="true"), "id")

    assert first != second


# -- input


@pytest.mark.parametrize("ending", ["\r", "\n", "\r\n", r"\r", r"\n", r"\r\n"])
def test_every_line_end_submits_once(model: Model, ending: str) -> None:
    """
    CR, LF and CR LF press Enter once, as characters or in escape notation.
    """
    name = model.start("sh", "-c", "read a; read b; echo got-$a-$b-")

    model.call("pty_send", id=name, input=f"one{ending}")
    model.call("pty_send", id=name, input=f"two{ending}")
    text = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    assert "got-one-two-" in text


def test_ctrl_c_ends_the_foreground_only(model: Model) -> None:
    """
    Ctrl-C, written as an escape, ends the running program, and the shell lives.
    """
    name = bash(model)
    model.call("pty_send", id=name, input="sh -c 'echo up; exec sleep 100'\r", until="regex:^up")

    model.call("pty_send", id=name, input=r"\x03")
    model.call("pty_read", id=name, until="prompt", wait_ms=LONG)
    text = model.call("pty_send", id=name, input="echo $?-\r", until="130-", wait_ms=LONG)

    assert fact(text, "session") == "running"
    model.call("pty_stop", id=name)


def test_keys_and_submit(model: Model) -> None:
    """
    Keys have names; `submit` presses Enter.
    """
    name = bash(model)
    model.call("pty_send", id=name, input="echo fro", submit=False)
    model.call("pty_send", id=name, input="g", submit=True, until="regex:^frog", wait_ms=LONG)

    text = model.call("pty_send", id=name, keys=["Up", "Enter"], until="regex:^frog", wait_ms=LONG)

    assert "frog" in text
    model.call("pty_stop", id=name)


def test_a_line_that_the_terminal_would_cut_is_refused(model: Model) -> None:
    """
    A program that reads lines gets at most 4095 bytes of one; more is refused, with the reason.
    """
    name = python(model, "print('ready'); print(len(input()))")
    model.call("pty_read", id=name, until="ready", wait_ms=LONG)

    text = model.refused("pty_send", id=name, input="x" * 5000 + "\r")
    model.call("pty_send", id=name, input="x" * 4000 + "\r")
    rest = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    assert "5000 bytes" in text
    assert output(rest).endswith("4000\n")


def test_send_after_exit_types_nothing_and_says_how_it_ended(model: Model) -> None:
    """
    It is no error: the answer has the state and the exit code.
    """
    name = model.start("sh", "-c", "exit 7")
    model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    text = model.call("pty_send", id=name, input="x\r")

    assert text.startswith("nothing was typed")
    assert fact(text, "exit") == "7"


def test_a_password_prompt_is_named_and_no_secret_is_typed(model: Model) -> None:
    """
    A prompt without a line end is delivered; with echo off it waits for a secret.
    """
    name = python(model, "import getpass; print(len(getpass.getpass('Password: ')))")
    seen = model.call("pty_read", id=name, until="Password: ", wait_ms=LONG)
    eventually(lambda: "[waiting: secret]" in model.call("pty_read", id=name))

    text = model.refused("pty_send", id=name, input="hunter2\r")

    assert output(seen).startswith("Password: ")
    assert f"agent-pty secret {name}" in text
    model.call("pty_stop", id=name)


# -- programs


def test_less_is_shown_as_a_screen(model: Model, tmp_path: Path) -> None:
    """
    While a program draws on the whole screen, a read shows that screen and says so.
    """
    if not shutil.which("less"):
        pytest.skip("less is not installed")
    (tmp_path / "lines").write_text("".join(f"line {n}\n" for n in range(500)))
    name = model.start("less", str(tmp_path / "lines"))

    text = model.call("pty_read", id=name, until="screen:line 3", wait_ms=LONG)
    ended = model.call("pty_send", id=name, input="q", until="exit", wait_ms=LONG)

    assert text.startswith("[screen: 40 rows, 120 columns; cursor in row 40")
    assert "line 30\n" in text
    assert fact(ended, "session") == "exited"


def test_vim_edits_a_file(model: Model, tmp_path: Path) -> None:
    """
    An editor takes text, keys and escapes.
    """
    vim = shutil.which("vim") or shutil.which("vi")
    if not vim:
        pytest.skip("vim is not installed")
    name = model.start(vim, "-u", "NONE", str(tmp_path / "note"))
    model.call("pty_read", id=name, until="screen:~", wait_ms=LONG)

    model.call("pty_send", id=name, input=r"ihello\x1b")
    model.call("pty_send", id=name, input=r":wq\r", until="exit", wait_ms=LONG)

    assert (tmp_path / "note").read_text() == "hello\n"


def test_a_python_repl_takes_several_lines(model: Model) -> None:
    """
    A function is one input, and its result comes back in the same call.
    """
    name = model.start(sys.executable, "-q")
    model.call("pty_read", id=name, until=">>> ", wait_ms=LONG)
    model.call("pty_send", id=name, input="def f(x):\n    return x * 2\n\n", wait_ms=2000)

    text = model.call("pty_send", id=name, input="f(21)\r", until="42", wait_ms=LONG)

    assert "42" in text
    model.call("pty_stop", id=name)


def test_git_log_with_the_users_pager_ends(model: Model, tmp_path: Path) -> None:
    """
    Pagers of the environment and of git's settings are switched off.
    """
    env = {**model.agent.env, "GIT_CONFIG_GLOBAL": "/dev/null"}
    for words in (
        ["init", "-q"],
        ["config", "core.pager", "less -+F -+X"],
        ["config", "pager.log", "less -+F -+X"],
        *(
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", n]
            for n in map(str, range(30))
        ),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, env=env, check=True)

    text = model.call("pty_exec", command="git", args=["log"], cwd=str(tmp_path))

    assert fact(text, "exit") == "0"
    assert text.count("Author:") == 30


def test_terminal_queries_are_answered(model: Model) -> None:
    """
    A program that asks where the cursor is gets its answer.
    """
    code = (
        "import os, tty; tty.setraw(0); os.write(1, b'\\x1b[6n'); got = b''\n"
        "while not got.endswith(b'R'): got += os.read(0, 1)\n"
        "print(repr(got))"
    )

    text = model.call("pty_exec", command=sys.executable, args=["-c", code], timeout_ms=LONG)

    assert r"b'\x1b[1;1R'" in text


# -- the end


def test_stop_ends_a_grandchild_in_a_session_of_its_own(model: Model) -> None:
    """
    The whole tree is ended, and how many processes that were is said; twice is no error.
    """
    name = model.start("sh", "-c", "setsid sh -c 'echo pid=$$=; exec sleep 1000' & wait")
    seen = model.call("pty_read", id=name, until="regex:pid=\\d+=", wait_ms=LONG)
    pid = int(re.findall(r"pid=(\d+)=", seen)[0])

    first = model.call("pty_stop", id=name)
    second = model.call("pty_stop", id=name)

    assert not alive(pid)
    assert f"stopped 2 processes of {name}\n" in first
    assert f"pid={pid}=" in first
    assert second.startswith(f"{name} is already stopped")
    assert fact(second, "exit") == fact(first, "exit")


def test_a_grandchild_that_keeps_the_terminal_open_does_not_delay_exec(model: Model) -> None:
    """
    The end of the program ends the call; what it left running is ended and named.
    """
    text = model.call(
        "pty_exec",
        command="sh",
        args=["-c", "trap '' HUP; sleep 1000 & echo left; exit 2"],
        timeout_ms=LONG,
    )

    assert output(text).startswith("left\n")
    assert fact(text, "exit") == "2"
    assert "ended what it left running" in text
    assert "sleep 1000" in text


def test_more_than_25_exited_sessions_stay_readable(model: Model) -> None:
    """
    The list shows at most 25 that have exited; older ones can still be read.
    """
    names = [model.start("echo", f"number {number}") for number in range(28)]
    for name in names:
        model.call("pty_read", id=name, until="exit", wait_ms=LONG)
    last = model.start("true")
    model.call("pty_read", id=last, until="exit", wait_ms=LONG)

    listed = model.call("pty_list")
    first = model.call("pty_read", id=names[0])

    assert 1 <= len(re.findall(r"^p\d+ exited", listed, re.MULTILINE)) <= 25
    assert output(first) == "number 0\n"
    assert fact(first, "exit") == "0"
    for name in (*names, last):
        model.call("pty_stop", id=name)


def test_an_exit_is_told_once_with_the_next_result(model: Model) -> None:
    """
    Any next result has one line about a session that has ended meanwhile; then no more.
    """
    name = model.start("sh", "-c", "read x; echo last words; exit 6")
    model.agent.ask("send", id=name, text="go")
    model.agent.ask("wait", id=name, until="exit", timeout_ms=LONG)

    first = model.call("pty_exec", command="true")
    second = model.call("pty_exec", command="true")
    model.call("pty_stop", id=name)

    assert re.search(rf"^\[{name} exited 6, .*last words\]$", first, re.MULTILINE)
    assert first.splitlines()[-1].startswith("[cursor: ")
    assert name not in second


def test_a_list_has_one_line_for_each_session_running_ones_first(model: Model) -> None:
    """
    State, age, quiet time, unread lines, command and title.
    """
    ended = model.start("true")
    model.call("pty_read", id=ended, until="exit", wait_ms=LONG)
    name = model.start("sh", "-c", "seq 3; read x", title="counter")
    model.agent.ask("wait", id=name, until="3", timeout_ms=LONG)

    lines = model.call("pty_list").splitlines()

    mine = next(line for line in lines if line.startswith(f"{name} "))
    pattern = rf"{name} running \d+s quiet \d+s unread 3 lines  sh -c .*  \(counter\)"
    assert re.fullmatch(pattern, mine)
    assert f"{ended} exited 0  true" in lines[lines.index(mine) :]
    for one in (ended, name):
        model.call("pty_stop", id=one)


# -- crashes


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV])
def test_a_session_outlives_its_host(model: Model, by: signal.Signals) -> None:
    """
    A host that crashes is replaced: output, cursor and program are as before.
    """
    name = model.start("sh", "-c", "echo alive; read x; echo got $x")
    seen = model.call("pty_read", id=name, until="alive", wait_ms=LONG)

    slay(model.agent.pid_of(name), by=by)
    again = model.call("pty_read", id=name, since=0)
    text = model.call("pty_send", id=name, input="it\r", until="exit", wait_ms=LONG)

    assert output(again) == output(seen) == "alive\n"
    assert "got it" in text
    assert fact(text, "exit") == "0"


def test_a_session_outlives_its_agent(agent: Agent) -> None:
    """
    A client that is killed ends nothing: the next one finds the session.
    """
    agent.new("sleeper", "sleep", "1000")
    request = {
        "name": "pty_start",
        "arguments": {"command": "sh", "args": ["-c", "echo up; read x"]},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request}
    with subprocess.Popen(
        [AGENT_PTY, "mcp-stdio"], env=agent.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(json.dumps(call).encode() + b"\n")
        client.stdin.flush()
        assert b"started p1" in client.stdout.readline()
        client.kill()

    agent.ask("wait", id="p1", until="up", timeout_ms=LONG)

    assert agent.info("p1")["state"] == "running"


def test_a_storm_of_signals_loses_nothing(model: Model) -> None:
    """
    Calls that signals interrupt are taken up again, in the program and in the host.
    """
    code = (
        "import signal\n"
        "signal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "input()\n"
        "for n in range(1500): print(n, flush=True)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
    )
    name = python(model, code)
    host = model.agent.pid_of(name)
    model.call("pty_send", id=name, input="go\r")
    for _ in range(300):
        os.kill(host, signal.SIGUSR1)

    text = model.call("pty_read", id=name, until="exit", wait_ms=LONG)

    assert output(text) == "go\n" + "".join(f"{n}\n" for n in range(1500))
    assert fact(text, "exit") == "0"


# -- errors and permissions


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "pty_exec",
            {"command": "ls -l | wc"},
            '{"command": "bash", "args": ["-lc", "ls -l | wc"]}',
        ),
        ("pty_start", {"command": "npm run dev"}, '"args": ["-lc", "npm run dev"]'),
        ("pty_exec", {}, "command"),
        ("pty_exec", {"command": 7}, 'for example: pty_exec {"command": "git"'),
        ("pty_read", {"id": "nobody"}, "no session 'nobody'"),
        ("pty_read", {"id": "p1", "lines": 3}, "lines"),
        ("pty_send", {"id": "p1", "input": ""}, "nothing to type"),
        ("pty_exec", {"command": "no-such-program"}, "nothing was started"),
    ],
)
def test_errors_are_instructions(
    model: Model, tool: str, arguments: dict[str, Any], said: str
) -> None:
    """
    An error says in one or two lines what to do instead.
    """
    text = model.refused(tool, **arguments)

    assert said in text
    assert len(text.splitlines()) <= 2


def test_a_pattern_finds_lines_with_their_numbers(model: Model) -> None:
    """
    The count comes first; what is no regular expression is taken as text, and that is said.
    """
    name = model.start("sh", "-c", "echo 'f(x'; seq 100000; echo 'g(x'; read x")
    model.call("pty_read", id=name, until="g(x", wait_ms=LONG)

    numbered = model.call("pty_read", id=name, pattern="^5000?$")
    literal = model.call("pty_read", id=name, pattern="(x")

    assert output(numbered).splitlines()[1:] == ["501: 500", "5001: 5000"]
    assert output(numbered).startswith("[2 matching lines of 100002]")
    assert "is no regex, taken as text" in literal
    assert "1: f(x\n" in literal
    assert "100002: g(x\n" in literal
    model.call("pty_stop", id=name)


def test_deny_ask_and_allow_with_patterns(shared: Agent, model: Model) -> None:
    """
    The last pattern that matches counts; `ask` names the key and the file that grant it.
    """
    name = bash(model)
    config = Path(shared.layout.config)
    rules = '[permission.terminal_start]\n"*" = "ask"\n"echo *" = "allow"\n"echo no*" = "deny"\n'
    config.write_text(rules + '[permission.terminal_stop]\n"bash *" = "deny"\n')
    try:
        asked = model.refused("pty_exec", command="ls")
        allowed = model.call("pty_exec", command="echo", args=["yes"])
        denied = model.refused("pty_start", command="echo", args=["no", "way"])
        typed = model.refused("pty_send", id=name, input="rm -rf x\r")
        stopped = model.refused("pty_stop", id=name)
    finally:
        config.unlink()

    assert "terminal_start" in asked
    assert str(config) in asked
    assert output(allowed) == "yes\n"
    assert "is denied" in denied
    assert "terminal_start" in typed
    assert "terminal_stop" in stopped
    model.call("pty_stop", id=name)


def test_the_line_that_a_refusal_names_grants_the_call(shared: Agent, model: Model) -> None:
    """
    What the user is asked to write into the file allows this call and no other one.
    """
    config = Path(shared.layout.config)
    rules = '[permission.terminal_start]\n"*" = "ask"\n'
    config.write_text(rules)
    try:
        refused = model.refused("pty_exec", command="echo", args=['a "b"'])
        line = refused.partition("or to write ")[2].partition(" as the last line of")[0]
        config.write_text(rules + line + "\n")
        granted = model.call("pty_exec", command="echo", args=['a "b"'])
        model.refused("pty_exec", command="echo", args=["c"])
    finally:
        config.unlink()

    assert output(granted) == 'a "b"\n'


def test_sessions_are_those_of_every_other_surface(shared: Agent, model: Model) -> None:
    """
    What a tool starts is in `agent-pty list`, in the client's directory, 40 by 120.
    """
    name = bash(model)

    info = shared.info(name)
    model.agent.ask("new", id="by-others", repo="/tmp", argv=["sleep", "1000"])
    listed = model.call("pty_list")
    model.call("pty_stop", id="by-others")

    assert (info["rows"], info["cols"]) == (40, 120)
    assert info["workspace"] == os.path.realpath(os.getcwd())
    assert "by-others running" in listed
    model.call("pty_stop", id=name)
