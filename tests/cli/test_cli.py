"""The command line: the contract's words, exit statuses, and what every flag does."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_pty.cli.main import commands, main
from agent_pty.words.parser import parse, parser
from support.agent import AGENT_PTY, Agent, eventually
from support.person import human
from support.raw_socket import exchange

USAGE = 2
ENDED = 5
COMMANDS = commands()


def wait(agent: Agent, name: str, until: str) -> Any:
    """Wait for a sign of the program."""
    return agent.ask("wait", id=name, until=until, timeout_ms=30_000)


def quiet(agent: Agent, name: str, script: str) -> None:
    """Start a program that echoes nothing, prints, and then waits for input."""
    agent.new(name, "/bin/sh", "-c", f"stty -echo; {script}; echo set-up; exec cat")
    wait(agent, name, "set-up")


# -- words


def test_new_send_kill_say_what_they_did(shared: Agent) -> None:
    """
    The human output of the plain commands is one fixed line.
    """
    said = [
        shared.cli("new", "--name", "words", "--repo", "/tmp").stdout,
        shared.cli("send", "words", "true").stdout,
        shared.cli("interrupt", "words").stdout,
        shared.cli("resize", "words", "--rows", "30", "--cols", "90").stdout,
        shared.cli("rename", "words", "phrases").stdout,
        shared.cli("kill", "phrases").stdout,
        shared.cli("kill", "phrases").stdout,
    ]

    assert said == [
        "created session words\n",
        "sent\n",
        "interrupted\n",
        "resized words to 30x90\n",
        "renamed words to phrases\n",
        "killed\n",
        "killed\n",
    ]


def test_stop_says_stopped(agent: Agent) -> None:
    """
    `stop` prints one word; a second one finds nobody and fails.
    """
    agent.connect().close()

    first, second = agent.cli("stop"), agent.cli("stop")

    assert (first.returncode, first.stdout) == (0, "stopped\n")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.startswith(f"error: connect to {agent.layout.socket}: ")


def test_screen_is_printed_as_it_is(shared: Agent) -> None:
    """
    Text has no newline added, markdown is a fenced block, json is the screen object in one line.
    """
    quiet(shared, "screen", "printf 'one  two\\n```\\n'")

    text = shared.cli("screen", "screen").stdout
    markdown = shared.cli("screen", "screen", "--format", "markdown").stdout
    compact = shared.cli("screen", "screen", "--format", "json").stdout

    assert text == "one  two\n```\nset-up"
    assert markdown == "````text\none  two\n```\nset-up\n````\n"
    assert compact.startswith('{"rows":24,"cols":80,"text":"one')
    assert compact == shared.cli("screen", "screen", "--json").stdout


@pytest.mark.parametrize("words", [["screen", "ends"], ["wait", "ends", "--until", "set-up"]])
def test_trial_25_a_text_answer_ends_with_a_newline_on_a_terminal(
    shared: Agent, words: list[str]
) -> None:
    """
    The shell's next prompt does not stand at the end of the answer.
    """
    if not any(one["id"] == "ends" for one in shared.ask("list")):
        quiet(shared, "ends", "true")

    with human(shared, *words) as person:
        assert person.leaves() == 0

    assert person.seen.endswith(b"set-up\r\n")
    assert shared.cli(*words).stdout.endswith("set-up")


def test_the_screen_object_has_the_keys_of_the_contract(shared: Agent) -> None:
    """
    The contract's five keys come first, ours after them, those that say something.
    """
    located = "\\033]7;file:///srv\\a\\033]2;mine\\a"
    quiet(shared, "keys", f"printf '{located}'; echo Error: see https://example.org/x")

    screen = json.loads(shared.cli("screen", "keys", "--json").stdout)

    assert list(screen)[:5] == ["rows", "cols", "text", "spans", "semantic"]
    assert {"cursor", "title", "cwd", "alternate_screen", "modes"} <= set(screen)
    assert screen["semantic"]["urls"] == ["https://example.org/x"]
    assert screen["semantic"]["error_lines"] == [0]


def test_wait_prints_the_screen(shared: Agent) -> None:
    """
    After the matching line `wait` prints the screen it saw, without a newline added.
    """
    quiet(shared, "wait-screen", "echo hello")

    said = shared.cli("wait", "wait-screen", "--until", "set-up")

    assert (said.returncode, said.stdout) == (0, "matched set-up: set-up\nhello\nset-up")


def test_list_has_a_line_for_each_session(agent: Agent) -> None:
    """
    A line has name, state, pid and workspace; one that has ended also tells how.
    """
    agent.new("b-live", "/bin/cat")
    agent.new("a-dead", "/bin/sh", "-c", "exit 7")
    wait(agent, "a-dead", "exit")
    pids = {one["id"]: one["process_id"] for one in agent.ask("list")}

    said = agent.cli("list").stdout

    assert said == (
        f"a-dead active=false pid={pids['a-dead']} workspace=/tmp exit=7\n"
        f"b-live active=true pid={pids['b-live']} workspace=/tmp\n"
    )


def test_list_of_nothing_is_nothing(agent: Agent) -> None:
    """
    Without sessions there is no line, and in JSON an empty array.
    """
    assert agent.cli("list").stdout == ""
    assert agent.cli("list", "--json").stdout == "[]\n"


def test_list_json_has_the_keys_of_the_contract(shared: Agent) -> None:
    """
    The contract's metadata comes first and in its order; values of variables are not shown.
    """
    shared.new("metadata", "/bin/cat", env={"SECRET": "hunter2"})

    said = shared.cli("list", "--json").stdout
    found = next(one for one in json.loads(said) if one["id"] == "metadata")

    contract = "id workspace shell env rows cols started_at process_id active log_path backend"
    assert list(found)[:12] == [*contract.split(), "tmux_session"]
    assert {"host_pid", "pid", "state", "exit_code"} <= set(found)
    assert list(found["env"]) == ["SECRET"]
    assert "hunter2" not in said


@pytest.mark.parametrize("text", ["x", "1.5s", "2h", "-1", "", "1 s", "ms"])
def test_a_bad_duration_says_how_to_write_one(shared: Agent, text: str) -> None:
    """
    A duration is an integer with `ms`, `s` or `m`; anything else is named and refused.
    """
    said = shared.cli("wait", "anyone", "--until", "x", f"--timeout={text}")

    assert said.returncode == 1
    assert said.stderr == (
        f'error: invalid timeout "{text}": write 500ms, 30s, 5m or plain seconds\n'
    )


@pytest.mark.parametrize("text", ["0ms", "0s", "0m", "0", " 0s "])
def test_durations_have_three_units(shared: Agent, text: str) -> None:
    """
    Milliseconds, seconds, minutes, and a bare number for seconds; blanks around do not matter.
    """
    if text == "0ms":
        shared.new("durations", "/bin/cat")

    said = shared.cli("wait", "durations", "--until", "x", "--timeout", text)

    assert said.returncode == 4


# -- help, usage, places


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """
    `--help` has a sentence, `--json`, and at least one example.
    """
    assert main([name, "--help"]) == 0

    help_text = capsys.readouterr().out
    assert "--json" in help_text
    assert COMMANDS[name].summary.splitlines()[0] in " ".join(help_text.split())
    assert max(map(len, help_text.partition("examples:\n")[0].splitlines())) <= 80
    assert f"agent-pty {name}" in help_text.partition("examples:\n")[2]


@pytest.mark.parametrize(
    "example", [example for one in COMMANDS.values() for example in one.command.examples]
)
def test_every_example_is_a_command_line(example: str) -> None:
    """
    What `--help` shows can be typed.
    """
    program, name, *words = shlex.split(example.rpartition(" | ")[2])

    parse(parser(COMMANDS[name]), words)

    assert program == "agent-pty"


def test_the_first_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """
    `agent-pty --help` has a line for each command, and the exit statuses.
    """
    assert main(["--help"]) == 0

    help_text = capsys.readouterr().out
    assert all(f"\n  {name} " in help_text for name in COMMANDS)
    assert "Exit status: 0 done;" in help_text


@pytest.mark.parametrize("words", [[], ["help"]], ids=["bare", "help"])
def test_trial_25_bare_and_help_show_the_help(agent: Agent, words: list[str]) -> None:
    """
    Without a command, and with `help`, the first help page is shown, and no daemon is started.
    """
    said = agent.cli(*words)

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == agent.cli("--help").stdout
    assert agent.processes() == []


def test_trial_25_help_takes_a_command(agent: Agent) -> None:
    """
    `help COMMAND` is the help page of that command; of an unknown one it is an error.
    """
    known, unknown = agent.cli("help", "attach"), agent.cli("help", "explode")

    assert (known.returncode, known.stdout) == (0, agent.cli("attach", "--help").stdout)
    assert unknown.returncode == USAGE
    assert "explode" in unknown.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["explode"],
        ["new", "--rows", "many"],
        ["new", "--backend", "screen"],
        ["new", "--env", "NOVALUE"],
        ["new", "--name"],
        ["send"],
        ["send", "work"],
        ["send", "work", "text", "--file", "/etc/hostname"],
        ["send", "work", "--file", "/no/such/file"],
        ["wait", "work"],
        ["wait", "work", "--until", "x", "--unt", "x"],
        ["resize", "work", "--rows", "3"],
        ["screen", "work", "--format", "png"],
        ["read", "work", "--tail", "few"],
        ["rename", "work"],
        ["list", "--socket"],
    ],
    ids=" ".join,
)
def test_wrong_usage_has_status_2(shared: Agent, words: list[str]) -> None:
    """
    A command line that cannot be right ends with 2 and says why.
    """
    said = shared.cli(*words)

    assert said.returncode == USAGE
    assert "error: " in said.stderr
    assert said.stdout == ""


def test_the_socket_is_given_before_or_after_the_command(agent: Agent) -> None:
    """
    `--socket` means the same on both sides of the command, and the later one wins.
    """
    before = agent.cli("--socket", "/tmp/no-a.sock", "status", "--json")
    after = agent.cli("status", "--json", "--socket", "/tmp/no-b.sock")
    both = agent.cli("--socket", "/tmp/no-a.sock", "status", "--json", "--socket", "/tmp/no-b.sock")

    sockets = [json.loads(said.stdout)["socket"] for said in (before, after, both)]
    assert sockets == ["/tmp/no-a.sock", "/tmp/no-b.sock", "/tmp/no-b.sock"]


def test_a_daemon_of_another_socket_is_another_way_in(agent: Agent) -> None:
    """
    A daemon started for a socket is found at that socket.
    """
    path = f"{agent.home}/elsewhere.sock"

    made = agent.cli("new", "--name", "there", "--repo", "/tmp", "--socket", path)
    seen = agent.cli("--socket", path, "list")
    stopped = agent.cli("stop", "--socket", path)

    assert made.stdout == "created session there\n"
    assert seen.stdout.startswith("there active=true")
    assert stopped.stdout == "stopped\n"


def test_errors_in_json_are_one_object(shared: Agent) -> None:
    """
    With `--json` a failure is an object on standard output and a line on standard error.
    """
    said = shared.cli("screen", "nobody", "--json")

    failed = json.loads(said.stdout)
    assert said.returncode == 1
    assert said.stderr.startswith("error: unknown session nobody\nhint: ")
    assert (failed["ok"], failed["code"]) == (False, "unknown_session")
    assert failed["details"] == {"id": "nobody"}


@pytest.mark.parametrize("words", [["send", "work", "-"], ["send", "work", b"\xff"]])
def test_bytes_that_are_no_text_are_refused(shared: Agent, words: list[str | bytes]) -> None:
    """
    Input that is not UTF-8 is an error in one line, from standard input and from an argument.
    """
    said = subprocess.run(
        [AGENT_PTY, *words],
        env=shared.env,
        input=b"echo \xff",
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert said.returncode == 1
    assert said.stderr == b"error: text, names and paths must be valid UTF-8\n"


# -- new


def test_names_are_generated(agent: Agent) -> None:
    """
    Without a name the shortest free one is taken, and a freed one is used again.
    """
    new = ["new", "--repo", "/tmp", "--", "/bin/cat"]

    first, second = agent.cli(*new).stdout, agent.cli(*new).stdout
    agent.cli("kill", "s1")
    third = agent.cli(*new).stdout

    assert [first, second, third] == [
        "created session s1\n",
        "created session s2\n",
        "created session s1\n",
    ]


def test_new_starts_here_in_the_default_shell(shared: Agent) -> None:
    """
    Without arguments a session is a shell in the directory of the caller.
    """
    name = json.loads(shared.cli("new", "--json").stdout)["id"]

    found = shared.info(name)

    assert found["workspace"] == os.getcwd()
    assert found["shell"] in ("/bin/bash", "/usr/bin/bash", "/bin/sh")


def test_a_program_gets_its_arguments_unchanged(shared: Agent) -> None:
    """
    What stands after `--` is the program and its arguments, options and blanks included.
    """
    shared.cli("new", "--name", "argv", "--", "/usr/bin/printf", "<%s>", "--name", "a  b", "$HOME")

    wait(shared, "argv", "exit")

    assert shared.cli("read", "argv").stdout == "<--name><a  b><$HOME>"


def test_the_environment_is_added_to(shared: Agent) -> None:
    """
    `--env` may be repeated, values may contain `=`, and the session knows its own name.
    """
    script = 'echo "$A|$B|$AGENT_PTY_SESSION|$TERM"'
    shared.cli(
        *("new", "--name", "env", "--env", "A=x=y", "--env", "B="),
        *("--", "/bin/sh", "-c", script),
    )

    wait(shared, "env", "exit")

    assert shared.cli("read", "env").stdout == "x=y||env|xterm-256color\n"


def test_size_and_title_are_given_at_the_start(shared: Agent) -> None:
    """
    The program sees the size from its first moment, people see the title.
    """
    shared.cli(
        *("new", "--name", "sized", "--rows", "33", "--cols", "111", "--title", "a label"),
        *("--", "/bin/stty", "size"),
    )

    wait(shared, "sized", "exit")

    assert shared.cli("read", "sized").stdout == "33 111\n"
    assert shared.info("sized")["title"] == "a label"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "/no/such/program"], "spawn shell /no/such/program: No such file or directory"),
        (
            ["--isolate", "--", "/no/such/program"],
            "spawn shell /no/such/program: No such file or directory",
        ),
        (["--", "/etc/passwd"], "spawn shell /etc/passwd: Permission denied"),
        (["--", "/tmp"], "spawn shell /tmp: Permission denied"),
        (["--repo", "/no/such/place"], "cannot start in /no/such/place: No such file or directory"),
        (["--shell", "/no/such/shell"], "spawn shell /no/such/shell: No such file or directory"),
    ],
)
def test_a_bad_program_leaves_nothing_behind(shared: Agent, words: list[str], message: str) -> None:
    """
    A session that cannot start is an error with its reason; no session, file or process remains.
    """
    # As many sessions as make the daemon start every host it ever will.
    crowd = [shared.ask("new", repo="/tmp", argv=["/bin/cat"])["id"] for _ in range(4)]
    processes, files = set(shared.processes()), set(os.listdir(shared.layout.sessions))

    said = shared.cli("new", "--name", "bad", *words)

    assert (said.returncode, said.stderr) == (1, f"error: {message}\n")
    assert "bad" not in {one["id"] for one in shared.ask("list")}
    assert set(os.listdir(shared.layout.sessions)) <= files
    eventually(lambda: set(shared.processes()) <= processes)
    for name in (shared.new("bad", "/bin/cat")["id"], *crowd):
        shared.ask("kill", id=name)


# -- send


def test_enter_is_a_carriage_return(shared: Agent) -> None:
    """
    A program in raw mode gets what a keyboard would send.
    """
    script = "stty raw -echo; echo up; head -c 2 | od -An -tx1"
    shared.new("enter", "/bin/sh", "-c", script)
    wait(shared, "enter", "up")

    shared.cli("send", "enter", "x")

    assert "78 0d" in wait(shared, "enter", "exit")["stdout_tail"]


def test_no_enter_presses_none(shared: Agent) -> None:
    """
    With `--no-enter` the text stays on the line until somebody presses Enter.
    """
    quiet(shared, "no-enter", "true")

    shared.cli("send", "no-enter", "half ", "--no-enter")
    shared.cli("send", "no-enter", "and half")
    wait(shared, "no-enter", "half and half")

    assert shared.cli("read", "no-enter", "--tail", "1").stdout == "half and half\n"


def test_text_comes_from_a_file_or_from_standard_input(shared: Agent, tmp_path: Path) -> None:
    """
    `--file` types the content of a file, `-` what stands on standard input.
    """
    quiet(shared, "sources", "true")
    (tmp_path / "text").write_text("from a file")

    shared.cli("send", "sources", "--file", str(tmp_path / "text"))
    wait(shared, "sources", "from a file")
    shared.cli("send", "sources", "-", stdin="from standard input")
    wait(shared, "sources", "from standard input")

    assert shared.cli("read", "sources", "--tail", "2").stdout == (
        "from a file\nfrom standard input\n"
    )


def test_several_lines_are_one_bracketed_paste(shared: Agent) -> None:
    """
    A program that asked for bracketed paste gets several lines as one paste.
    """
    quiet_paste = "stty -echo; printf '\\033[?2004h'; echo up; exec cat -v"
    shared.new("paste", "/bin/sh", "-c", quiet_paste)
    wait(shared, "paste", "up")

    shared.cli("send", "paste", "one\ntwo")

    assert "^[[200~one\ntwo^[[201~\n" in wait(shared, "paste", "two")["stdout_tail"]


def test_several_lines_are_plain_lines_for_who_did_not_ask(shared: Agent) -> None:
    """
    A program that knows nothing of bracketed paste gets the lines alone.
    """
    shared.new("no-paste", "/bin/sh", "-c", "stty -echo; echo up; exec cat -v")
    wait(shared, "no-paste", "up")

    shared.cli("send", "no-paste", "one\ntwo")

    assert wait(shared, "no-paste", "two")["stdout_tail"] == "up\none\ntwo\n"


def test_several_lines_run_in_bash(shared: Agent) -> None:
    """
    A pasted script runs whole: a loop over three lines is one command.
    """
    shared.new("script")

    shared.cli("send", "script", "for n in 1 2 3; do\n  echo turn-$((n*n))\ndone")

    seen = wait(shared, "script", "turn-9")
    assert "turn-1\nturn-4\nturn-9\n" in seen["stdout_tail"]


def test_nothing_is_typed_into_an_ended_session(shared: Agent) -> None:
    """
    Who types into a session that has ended is told how it ended.
    """
    shared.new("ended", "/bin/sh", "-c", "exit 7")
    wait(shared, "ended", "exit")

    said = shared.cli("send", "ended", "hello?")

    assert said.returncode == ENDED
    assert said.stderr == (
        "error: session ended has ended (exit code 7): nothing can be typed into it\n"
        "hint: agent-pty kill ended frees its name\n"
    )


# -- read


@pytest.fixture(scope="module")
def written(shared: Agent) -> str:
    """A session that wrote five lines and waits."""
    shared.new("written", "/bin/sh", "-c", "stty -echo; printf 'a\\nb\\t.  \\nc\\nd\\ne'; cat")
    wait(shared, "written", "regex:d\\ne")
    return "written"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "a\nb\t.  \nc\nd\ne"),
        (["--since", "2"], "b\t.  \nc\nd\ne"),
        (["--since", "0", "--max-bytes", "7"], "a\nb\t.  "),
        (["--tail", "2"], "d\ne"),
        (["--tail", "0"], ""),
        (["--tail", "99"], "a\nb\t.  \nc\nd\ne"),
        (["--grep", "[bd]"], "b\t.  \nd\n"),
        (["--since", "2", "--grep", "^[ac]$"], "c\n"),
        (["--since", "9999"], ""),
    ],
    ids=" ".join,
)
def test_read_gives_the_exact_text(
    shared: Agent, written: str, words: list[str], text: str
) -> None:
    """
    Tabs, trailing blanks and an unfinished last line are there; each flag cuts what it says.
    """
    assert shared.cli("read", written, *words).stdout == text


def test_read_in_json_tells_where_to_go_on(shared: Agent, written: str) -> None:
    """
    A page carries cursor, gap and the state of the session; the next begins at its cursor.
    """
    first = json.loads(shared.cli("read", written, "--max-bytes", "4", "--json").stdout)
    rest = json.loads(shared.cli("read", written, "--since", str(first["cursor"]), "--json").stdout)

    assert (first["text"], first["more"], first.get("gap")) == ("a\nb\t", True, None)
    assert (rest["text"], rest["more"], rest["state"]) == (".  \nc\nd\ne", False, "running")


def test_read_of_much_text_is_whole(shared: Agent) -> None:
    """
    Without a limit the command line reads page after page until the end.
    """
    shared.new("long", "/usr/bin/seq", "200000")
    wait(shared, "long", "exit")

    assert shared.cli("read", "long").stdout == "".join(f"{n}\n" for n in range(1, 200_001))


@pytest.fixture(scope="module")
def numbers(shared: Agent) -> str:
    """Return everything that the session `numbers` wrote, more than a megabyte."""
    shared.new("numbers", "/usr/bin/seq", "-f", "%08.0f", "150000")
    wait(shared, "numbers", "exit")
    return "".join(f"{n:08}\n" for n in range(1, 150_001))


@pytest.mark.parametrize("most", [7, 300_000, 1_000_000, 10_000_000])
def test_must_hold_3_read_returns_as_many_bytes_as_asked_for(
    shared: Agent, numbers: str, most: int
) -> None:
    """
    `--max-bytes` is neither more nor less, if there is so much; as text and as one JSON object.
    """
    plain = shared.cli("read", "numbers", "--max-bytes", str(most)).stdout
    page = json.loads(shared.cli("read", "numbers", "--max-bytes", str(most), "--json").stdout)

    assert plain == numbers[:most]
    assert page["text"] == numbers[:most]
    assert list(page) == ["text", "cursor", "more", "state", "exit_code", "begin"]
    assert (page["more"], page["begin"], page["exit_code"]) == (most < len(numbers), 0, 0)
    rest = shared.ask("read", id="numbers", since=page["cursor"], max_bytes=9)["text"]
    assert rest == numbers[most : most + 9]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_must_hold_3_a_tail_and_a_search_return_as_many_bytes(
    shared: Agent, numbers: str, form: list[str]
) -> None:
    """
    With `--tail` the bytes are those of the last lines, with `--grep` those of lines that match.
    """

    def said(*words: str) -> str:
        printed = shared.cli("read", "numbers", *words, *form).stdout
        return str(json.loads(printed)["text"]) if form else printed

    found = "".join(line for line in numbers.splitlines(keepends=True) if line[7] in "13579")

    assert said("--tail", "100000", "--max-bytes", "2000000") == numbers[-900_000:]
    assert said("--tail", "3", "--max-bytes", "2000000") == numbers[-27:]
    assert said("--grep", "[13579]$", "--max-bytes", "600000") == found[:600_000]
    assert said("--grep", "[13579]$", "--max-bytes", "20") == found[:20]


# -- keys


def test_a_repeated_key_types_nothing(shared: Agent) -> None:
    """
    The second `send` with a key gets the first one's answer, marked, and nothing is typed.
    """
    quiet(shared, "keyed", "true")
    line = b'{"op":"send","id":"keyed","text":"once","key":"k1"}'

    first, second = exchange(shared, line), exchange(shared, line)
    shared.cli("send", "keyed", "end")
    wait(shared, "keyed", "end")

    assert "replayed" not in first
    assert second == {**first, "replayed": True}
    assert shared.cli("read", "keyed", "--grep", "once").stdout == "once\n"


def test_a_key_works_on_the_command_line(shared: Agent) -> None:
    """
    `--key` makes a repeated `new` return the same session, and other content an error.
    """
    new = ["new", "--repo", "/tmp", "--key", "same", "--name"]

    first = shared.cli(*new, "unique", "--", "/bin/cat")
    second = shared.cli(*new, "unique", "--", "/bin/cat")
    other = shared.cli(*new, "other", "--", "/bin/cat", "--json")

    assert first.stdout == second.stdout == "created session unique\n"
    assert other.returncode == 1
    assert other.stderr == "error: key 'same' was used before with other content; use a new key\n"
    assert "other" not in {one["id"] for one in shared.ask("list")}


def test_a_key_remembers_a_failure(shared: Agent) -> None:
    """
    A request that failed is not tried again under its key.
    """
    line = b'{"op":"new","repo":"/no/such","id":"never","key":"failed"}'

    first, second = exchange(shared, line), exchange(shared, line)

    assert first["code"] == "spawn_failed"
    assert second == {**first, "replayed": True}


# -- control


def test_rename_keeps_what_was_written(shared: Agent) -> None:
    """
    A renamed session is the same one; its old name is free, a taken name is refused.
    """
    quiet(shared, "old", "echo history")
    shared.new("taken", "/bin/cat")

    refused = shared.cli("rename", "old", "taken")
    shared.cli("rename", "old", "young")

    assert refused.stderr.startswith("error: session taken already exists\nhint: ")
    assert shared.cli("read", "young").stdout == "history\nset-up\n"
    assert shared.cli("screen", "old").stderr.startswith("error: unknown session old\n")
    shared.new("old", "/bin/cat")


def test_resize_reaches_the_program(shared: Agent) -> None:
    """
    After `resize` the program sees the new size, and so does the screen.
    """
    shared.new("resized")

    shared.cli("resize", "resized", "--rows", "31", "--cols", "97")
    shared.ask("send", id="resized", text="stty size")

    seen = wait(shared, "resized", "31 97")
    assert (seen["screen"]["rows"], seen["screen"]["cols"]) == (31, 97)
    assert shared.info("resized")["cols"] == 97


def test_interrupt_stops_the_foreground_program(shared: Agent) -> None:
    """
    `interrupt` ends what runs and leaves the shell.
    """
    shared.new("busy")
    # The program that must die says that it is up.
    shared.ask("send", id="busy", text="sh -c 'echo up-$((1+1)); exec sleep 60'")
    wait(shared, "busy", "up-2")

    shared.cli("interrupt", "busy")
    shared.ask("send", id="busy", text="echo status-$?")

    assert "status-130" in wait(shared, "busy", "regex:status-[0-9]+")["match"]


def test_signal_reaches_the_foreground_program_only(shared: Agent) -> None:
    """
    `signal` goes to the program in the foreground and names it; the shell lives on.
    """
    shared.new("signalled")
    shared.ask("send", id="signalled", text="sh -c 'echo up-$((1+1)); exec sleep 60'")
    wait(shared, "signalled", "up-2")

    said = shared.cli("signal", "signalled", "term", "--json")
    shared.ask("send", id="signalled", text="echo status-$?")

    done = json.loads(said.stdout)
    assert done["signal"] == "SIGTERM"
    assert shared.info("signalled")["pid"] not in done["pids"]
    assert wait(shared, "signalled", "regex:status-[0-9]+")["match"] == "status-143"


@pytest.mark.parametrize("name", ["HUP", "SIGHUP", "hup", "1"])
def test_signals_have_names_and_numbers(shared: Agent, name: str) -> None:
    """
    A signal is given by name, with or without SIG, in any case, or by number.
    """
    session = f"signal-{name}"
    shared.new(session, "/bin/cat")
    pid = shared.info(session)["pid"]

    said = shared.cli("signal", session, name)

    assert said.stdout == f"signalled SIGHUP to {pid}\n"
    assert wait(shared, session, "exit")["exit_status"] == 129


# -- exited sessions


def test_ended_sessions_stay_readable_until_25_newer_ones_have_ended(agent: Agent) -> None:
    """
    The output of the last 25 sessions that ended can be read; an older one is gone.
    """
    for number in range(25):
        agent.new(f"e{number}", "/bin/echo", f"word {number}")
        wait(agent, f"e{number}", "exit")
    oldest = agent.cli("read", "e0").stdout

    agent.new("one-more", "/bin/echo")
    wait(agent, "one-more", "exit")
    eventually(lambda: len(agent.ask("list")) == 25)

    assert oldest == "word 0\n"
    assert agent.cli("read", "e0").stderr.startswith("error: unknown session e0\n")
    assert agent.cli("read", "e1").stdout == "word 1\n"
    eventually(lambda: len(os.listdir(agent.layout.sessions)) == 25)


def test_a_running_session_is_never_evicted(agent: Agent) -> None:
    """
    However many sessions end, one that runs stays.
    """
    agent.new("runs", "/bin/cat")
    for number in range(30):
        agent.new(f"e{number}", "/bin/true")
        wait(agent, f"e{number}", "exit")

    eventually(lambda: len(agent.ask("list")) == 26)

    assert agent.info("runs")["active"] is True


# -- pictures, and flags of what is not built yet


def test_trial_26_a_picture_has_the_colours_of_the_palette_that_is_named(shared: Agent) -> None:
    """
    `--palette` holds for SVG and HTML; without it the default is used; others are listed.
    """
    quiet(shared, "colours", r"printf '\033[31mred\n'")
    plain, named = shared.home / "plain.svg", shared.home / "named.svg"

    for path, more in ((plain, []), (named, ["--palette", "xterm"])):
        shared.cli("screen", "colours", "--svg", str(path), *more)
    page = shared.cli("screen", "colours", "--format", "html", "--palette", "vga").stdout
    unknown = shared.cli("screen", "colours", "--svg", str(plain), "--palette", "pink")

    assert "#d62c2c" in plain.read_text()
    assert "#cd0000" in named.read_text()
    assert "#aa0000" in page
    assert unknown.returncode == 1
    assert "no palette 'pink': choose one of legible, xterm, vga, tango, " in unknown.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--png", "x.jpg"], "--png x.jpg: it saves PNG, not .jpg: name the file .png"),
        (["--png", "X.JPEG"], "it saves PNG, not .jpeg"),
        (["--svg", "x.png"], "--svg x.png: it saves SVG, not .png: name the file .svg"),
        (["--svg", "x.svg", "--png", "x.svg"], "--png x.svg: it saves PNG, not .svg"),
        (["--palette", "xterm"], "--palette is for --png, --svg and --format html"),
    ],
)
def test_trial_26_a_picture_is_not_saved_under_a_name_that_misleads(
    shared: Agent, tmp_path: Path, words: list[str], reason: str
) -> None:
    """
    A name that ends like another format is refused with the reason, and no file is written.
    """
    done = subprocess.run(
        [AGENT_PTY, "screen", "anything", *words],
        cwd=tmp_path,
        env=shared.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == USAGE
    assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []
