"""The gate in front of real sessions: what is stopped, where, and what is said about it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.errors import (
    ApprovalRequired,
    BadConfig,
    OperatorOnly,
    PolicyDenied,
    Refused,
    WaitTimeout,
)
from support.agent import AGENT_PTY, Agent, eventually
from support.http import Http, serving
from support.journal import payloads, recorded
from support.k import K
from support.person import human
from support.surfaces import opened

RM = "rm -rf build"
SHELLS = ("bash", "zsh", "fish", "dash")
UP, LEFT, TAB = "\x1b[A", "\x1b[D", "\t"
_TRIES = 6


@pytest.fixture(scope="module")
def k(shared: Agent) -> K:
    """A caller whose sessions the tests of this file share."""
    return K(shared)


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """The HTTP surface of the same daemon."""
    with serving(shared) as served:
        yield served


def tree(tmp_path: Path) -> Path:
    """Return a directory that may be lost."""
    (tmp_path / "build").mkdir()
    return tmp_path


def refused(agent: Agent, session: str, text: str, **fields: Any) -> ApprovalRequired:
    """Send a text that must be refused until somebody approves it."""
    with pytest.raises(ApprovalRequired) as caught:
        agent.ask("send", id=session, text=text, **fields)
    return caught.value


def echoed(agent: Agent, session: str, word: str) -> None:
    """Return once a session has printed a word: what was typed before has been taken.

    A shell that gives up its line loses what is typed before its next prompt; it is typed again.
    """
    for _ in range(_TRIES):
        agent.ask("send", id=session, text=f"echo {word[:1]}''{word[1:]}")
        try:
            agent.ask("wait", id=session, until=f"regex:(?m)^{word}$", timeout_ms=5000)
        except WaitTimeout:
            continue
        return
    raise AssertionError(f"{session} never printed {word}")


# -- nothing is typed


@pytest.mark.parametrize("shell", SHELLS)
def test_pol_04_a_refused_send_puts_no_byte_into_the_terminal(
    k: K, tmp_path: Path, shell: str
) -> None:
    """
    The tree stays, and not even the echo of the line is on the screen.
    """
    session = k.new(f"pol04-{shell}", shell)
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    before = k.agent.ask("read", id=session)["cursor"]

    error = refused(k.agent, session, RM)

    echoed(k.agent, session, "later")
    assert error.details["rule"] == "rm -rf"
    assert "rm -rf" not in k.agent.transcript(session, since=before)
    assert (tmp_path / "build").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_pol_05_a_line_in_pieces_is_judged_as_a_whole(k: K, tmp_path: Path, shell: str) -> None:
    """
    Whatever the pieces are, the Enter is refused, and the caller is told what stands there.
    """
    session = k.new(f"pol05-{shell}", shell)
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    for piece in RM:
        k.agent.ask("send", id=session, text=piece, enter=False)

    error = refused(k.agent, session, "")

    assert error.details["line"] == RM
    k.agent.ask("keys", id=session, keys=["ctrl-c"])
    echoed(k.agent, session, "after")
    assert (tmp_path / "build").exists()


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(f"m -rf buildr{LEFT * 11}\x01r\x05\x7f", id="cursor"),
        pytest.param("x rm -rf build\x1bb\x1bb\x1bb\x7f\x7f\x05", id="words"),
        pytest.param(f"rm -rf bui{TAB}", id="completion"),
    ],
)
def test_pol_05_editing_keys_are_judged_by_what_the_shell_says(
    k: K, tmp_path: Path, keys: str
) -> None:
    """
    The keys are typed without their Enter; the line that they make is refused and cleared.
    """
    name = f"pol05-keys-{abs(hash(keys))}"
    session = k.new(name, "bash")
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")

    error = refused(k.agent, session, keys, raw=True)

    assert error.details["cleared"] is True
    echoed(k.agent, session, "alive")
    assert (tmp_path / "build").exists()


def test_pol_05_a_line_in_vi_mode_is_asked_of_the_shell(k: K, tmp_path: Path) -> None:
    """
    Letters are commands there: only the shell knows what they make.
    """
    session = k.new("pol05-vi", "bash")
    k.agent.ask("run", id=session, code=f"set -o vi; cd {tree(tmp_path)}")
    k.agent.ask("send", id=session, text="m -rf build\x1b", enter=False, raw=True)

    error = refused(k.agent, session, "0ir", raw=True)

    assert error.details["rule"] in ("rm -rf", "opaque execution")
    echoed(k.agent, session, "alive")
    assert (tmp_path / "build").exists()


# -- every way in


def test_pol_06_a_person_who_attaches_is_asked_and_may_say_yes(k: K, tmp_path: Path) -> None:
    """
    One key decides; the record names the person at the terminal who approved it.
    """
    session = k.agent.new("pol06-yes")["id"]
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    with human(k.agent, "attach", session) as person:
        person.sees("$")
        person.type(RM.encode() + b"\r")
        person.sees("needs an approval")

        person.type(b"y")

        eventually(lambda: not (tmp_path / "build").exists())
    approved = payloads(k.agent, session, "policy_approved")
    assert [one["how"] for one in approved] == ["attach"]
    assert approved[0]["approver"]["terminal"] is True


def test_pol_06_a_person_who_attaches_may_say_no(k: K, tmp_path: Path) -> None:
    """
    Any other key leaves the line as it is, and it has not run.
    """
    session = k.agent.new("pol06-no")["id"]
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    with human(k.agent, "attach", session) as person:
        person.sees("$")
        person.type(RM.encode() + b"\r")
        person.sees("needs an approval")

        person.type(b"n")
        person.until(lambda: "needs an approval" not in person.screen.text())
        person.type(b"echo o''k\r")
        person.sees("ok")

    assert (tmp_path / "build").exists()


def test_pol_06_what_is_piped_into_attach_is_judged_as_an_agents(k: K, tmp_path: Path) -> None:
    """
    Nobody is there to be asked: it is refused, and the next line still runs.
    """
    session = k.new("pol06-pipe", "bash")
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")

    done = k.agent.cli("attach", session, "--timeout", "2s", stdin=f"{RM}\n")

    assert done.returncode == 0
    assert (tmp_path / "build").exists()
    assert payloads(k.agent, session, "policy_denied")


def test_pol_07_every_surface_gives_the_same_verdict(k: K, http: Http, tmp_path: Path) -> None:
    """
    The same code and rule over the socket, HTTP, WebSocket, MCP, Python and the command line.
    """
    session = k.new("pol07", "bash")
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    with opened(k.agent, http) as surfaces:
        answers = [ask("send", {"id": session, "text": RM}) for ask in surfaces.values()]
    said = k.agent.cli("send", session, RM, "--json")

    found = {(one["code"], one["details"]["rule"]) for one in [*answers, json.loads(said.stdout)]}
    assert found == {("approval_required", "rm -rf")}
    assert said.returncode == 3
    assert (tmp_path / "build").exists()


def test_pol_07_k_answers_in_the_words_of_the_contract(k: K) -> None:
    """
    One object, status 1, and no cell.
    """
    session = k.new("pol07-k", "bash")

    done = k.run("run", "-j", session, RM)

    words = "rm -rf requires approval before it can be sent to the PTY"
    assert json.loads(done.stdout) == {"status": "error", "output": words}
    assert done.returncode == 1
    assert "agent-pty approve --request" in done.stderr
    assert json.loads(k.run("run", "-j", session, "echo next").stdout)["output"] == "next"


def test_pol_08_the_gate_is_the_same_inside_the_daemon(agent: Agent, tmp_path: Path) -> None:
    """
    Without processes of their own, sessions have the same gate.
    """
    agent.env["AGENT_PTY_ISOLATION"] = "off"
    agent.new("one")
    agent.ask("run", id="one", code=f"cd {tree(tmp_path)}")

    assert refused(agent, "one", RM).details["rule"] == "rm -rf"


@pytest.mark.parametrize("op", ["new", "exec"])
def test_pol_09_arguments_of_a_program_are_judged(shared: Agent, tmp_path: Path, op: str) -> None:
    """
    What is started is judged as what is typed.
    """
    where = tree(tmp_path)
    with pytest.raises(ApprovalRequired) as caught:
        shared.ask(op, repo=str(where), argv=["rm", "-rf", "build"])

    assert caught.value.details["rule"] == "rm -rf"
    assert (where / "build").exists()


@pytest.mark.parametrize(
    "env",
    [
        {"BASH_ENV": "/tmp/evil.sh"},
        {"LD_PRELOAD": "/tmp/evil.so"},
        {"PROMPT_COMMAND": "rm -rf build"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_pol_09_variables_that_run_something_are_judged(
    shared: Agent, tmp_path: Path, env: dict[str, str]
) -> None:
    """
    A variable can make every shell run a file before anything is typed.
    """
    with pytest.raises(ApprovalRequired):
        shared.ask("new", repo=str(tmp_path), argv=["/bin/bash"], env=env)


def test_pol_09_a_shell_from_the_repository_is_asked_about(shared: Agent, tmp_path: Path) -> None:
    """
    Whoever works in a repository may have written it.
    """
    shell = tmp_path / "shell"
    shell.write_text("#!/bin/sh\nexec sh\n")
    shell.chmod(0o755)

    with pytest.raises(ApprovalRequired):
        shared.ask("new", repo=str(tmp_path), shell=str(shell))


# -- rules of one's own


def policed(agent: Agent, **policy: Any) -> Path:
    """Give a user a policy file, before their daemon starts."""
    path = agent.home / "policy.json"
    path.write_text(json.dumps(policy))
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{path}"\n')
    return path


SAFE = {"label": "safe", "pattern": "rm -rf /tmp/safe", "action": "allow"}
SECRET = {"label": "no secrets", "pattern": "secret-token", "action": "deny"}


@pytest.mark.parametrize(
    "text",
    ["rm -rf /tmp/safe /home", "rm -rf /tmp/safe; rm -rf ~", "rm -rf /tmp/safe/../x"],
)
def test_pol_12_13_an_exception_covers_one_whole_command(agent: Agent, text: str) -> None:
    """
    It covers nothing beside it.
    """
    policed(agent, rules=[SAFE])
    agent.new("one")

    assert refused(agent, "one", text).details["rule"] == "rm -rf"
    agent.ask("send", id="one", text="rm -rf /tmp/safe")


def test_pol_15_what_is_denied_cannot_be_approved(agent: Agent) -> None:
    """
    Neither by a token nor by a request.
    """
    policed(agent, rules=[SECRET])
    agent.new("one")

    with pytest.raises(PolicyDenied, match=r"no secrets is denied by policy$"):
        agent.ask("send", id="one", text="echo secret-token")
    with pytest.raises(PolicyDenied, match="cannot be approved"):
        agent.ask("approve", id="one", command="echo secret-token")
    assert agent.ask("approvals") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "parse policy"),
        ('{"rules": [{"label": "x", "pattern": "("}]}', "compile policy regex"),
        ('{"rules": [{"label": "x", "pattern": "a", "action": "no"}]}', "parse policy"),
        (
            '{"rules": [{"label": "x", "pattern": "a"}, {"label": "x", "pattern": "b"}]}',
            "2 rules have the label 'x'",
        ),
    ],
    ids=["no JSON", "no pattern", "no action", "one label twice"],
)
def test_pol_16_a_policy_with_a_mistake_is_refused_whole(
    agent: Agent, text: str, said: str
) -> None:
    """
    A daemon does not start with it, and one that runs keeps the rules that it has.
    """
    path = agent.home / "bad.json"
    path.write_text(text)

    started = agent.cli("serve", "--policy", str(path))
    agent.new("one")
    before = agent.ask("policy")
    with pytest.raises(BadConfig, match="policy"):
        agent.ask("policy_reload", path=str(path))

    assert started.returncode != 0
    assert said in started.stderr
    assert agent.ask("policy") == before
    assert refused(agent, "one", RM).details["rule"] == "rm -rf"


def test_pol_18_editing_the_file_changes_nothing_until_an_operator_reloads_it(
    agent: Agent,
) -> None:
    """
    The change is recorded in every session, with the digests of both.
    """
    path = policed(agent)
    agent.new("one")
    path.write_text(json.dumps({"builtin_rules": False}))
    assert refused(agent, "one", RM).details["rule"] == "rm -rf"

    done = agent.cli("policy", "reload", "--json")

    told = json.loads(done.stdout)
    agent.ask("send", id="one", text="rm -rf /tmp/ap-none")
    recorded = payloads(agent, "one", "policy_reloaded")
    assert [(one["old_hash"], one["new_hash"]) for one in recorded] == [
        (told["old_hash"], told["new_hash"])
    ]


def test_pol_18_the_policy_outlives_the_daemon(agent: Agent) -> None:
    """
    The next daemon uses the rules that the sessions began with, whatever the file says now.
    """
    path = policed(agent, rules=[SECRET])
    agent.new("one")
    path.write_text("{}")
    before = agent.ask("policy")["hash"]

    agent.cli("restart", "--keep")

    assert agent.ask("policy")["hash"] == before
    with pytest.raises(PolicyDenied):
        agent.ask("send", id="one", text="echo secret-token")


def test_pol_19_a_pattern_cannot_take_for_ever(agent: Agent) -> None:
    """
    Patterns are matched in linear time.
    """
    policed(agent, rules=[{"label": "slow", "pattern": "(a+)+$", "action": "deny"}])
    agent.new("one")
    began = time.monotonic()

    agent.ask("send", id="one", text=f"echo {'a' * 3000}b")

    assert time.monotonic() - began < 30


def test_pol_20_a_command_of_a_megabyte_is_judged_or_asked_about(k: K) -> None:
    """
    What is too long to follow, and names a program of a family, needs an approval.
    """
    session = k.new("pol20", "bash")

    error = refused(k.agent, session, f"echo {'x ' * 500_000}; {RM}")

    assert error.details["rule"] in ("rm -rf", "opaque execution")


@pytest.mark.parametrize("count", [60, 10_000])
def test_pol_21_no_number_of_commands_hides_one(k: K, count: int) -> None:
    """
    There is no limit after which commands pass.
    """
    session = k.new(f"pol21-{count}", "bash")

    error = refused(k.agent, session, f"{'true; ' * count}{RM}")

    assert error.details["rule"] in ("rm -rf", "opaque execution")


# -- what a shell joins, recalls and forgets


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_pol_23_lines_that_the_shell_joins_are_judged_together(
    k: K, tmp_path: Path, shell: str
) -> None:
    """
    An open quote, then the rest of the command in the next send.
    """
    session = k.new(f"pol23-{shell}", shell)
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    k.agent.ask("send", id=session, text="eval 'rm \\")

    error = refused(k.agent, session, "-rf build'")

    assert error.details["rule"] in ("rm -rf", "opaque execution")
    k.agent.ask("keys", id=session, keys=["ctrl-c"])
    echoed(k.agent, session, "after")
    assert (tmp_path / "build").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_pol_23_lines_typed_while_a_command_runs_are_judged_together(
    k: K, tmp_path: Path, shell: str
) -> None:
    """
    The prompt after that command is not the end of a line that was typed before it was drawn.
    """
    session = k.new(f"pol23-ahead-{shell}", shell)
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}; mkfifo go; PS2='more? '")
    k.agent.ask("send", id=session, text="echo runs-$((1+1)); cat go")
    k.agent.ask("wait", id=session, until="runs-2")
    k.agent.ask("send", id=session, text="eval 'rm \\")
    (tmp_path / "go").write_text("gone\n", encoding="utf-8")
    k.agent.ask("wait", id=session, until="more? ")

    error = refused(k.agent, session, "-rf build'")

    assert error.details["rule"] in ("rm -rf", "opaque execution")
    k.agent.ask("keys", id=session, keys=["ctrl-c"])
    echoed(k.agent, session, "after")
    assert (tmp_path / "build").exists()


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("python3", 'import os; os.system("rm -rf build")'),
        ("node", 'require("child_process").execSync("rm -rf build")'),
        ("sqlite3", ".shell rm -rf build"),
    ],
)
def test_pol_25_escapes_of_repls_into_a_shell_are_judged(k: K, program: str, code: str) -> None:
    """
    By `send` and as a cell; other text there is the program's own affair.
    """
    session = k.new(f"pol25-{program}", program)

    assert refused(k.agent, session, code).details["rule"] == "rm -rf"
    with pytest.raises(Refused):
        k.agent.ask("run", id=session, code=code)


def test_pol_25_an_editor_takes_any_text_but_no_escape(k: K, tmp_path: Path) -> None:
    """
    To write a script is not to run it.
    """
    session = k.new("pol25-vim", "bash")
    k.agent.ask("send", id=session, text=f"vim -u NONE {tmp_path}/script")
    eventually(lambda: k.agent.ask("screen", id=session)["alternate_screen"])
    k.agent.ask("send", id=session, text=f"i{RM}\nmore")

    k.agent.ask("keys", id=session, keys=["escape"])
    error = refused(k.agent, session, f":!{RM}")

    assert error.details["rule"] == "rm -rf"
    k.agent.ask("send", id=session, text=":wq")
    eventually((tmp_path / "script").exists)
    assert RM in (tmp_path / "script").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_pol_27_a_line_that_is_recalled_is_judged_again(k: K, tmp_path: Path, shell: str) -> None:
    """
    An approval was for one use: the same line from the history needs another one.
    """
    session = k.new(f"pol27-{shell}", shell)
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")
    token = k.agent.ask("approve", id=session, command=RM)["token"]
    k.agent.ask("send", id=session, text=RM, approval=token)
    eventually(lambda: not (tmp_path / "build").exists())
    (tmp_path / "build").mkdir()
    echoed(k.agent, session, "between")

    error = refused(k.agent, session, f"{UP}{UP}", raw=True)

    # fish answers late while it searches its history; then nobody knows the line.
    assert error.details["rule"] in ("rm -rf", "opaque execution")
    echoed(k.agent, session, "after")
    assert (tmp_path / "build").exists()


def test_pol_27_history_expansion_is_asked_about(k: K) -> None:
    """
    Only the shell knows what `!!` stands for; until it is switched on, it stands for itself.
    """
    session = k.new("pol27-bang", "bash")
    k.agent.ask("send", id=session, text="echo 'a!b' hi!there")
    k.agent.ask("send", id=session, text="set -H")

    assert refused(k.agent, session, "!!").details["rule"] == "opaque execution"


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(f"{RM}\x15echo o''k", id="ctrl-u"),
        pytest.param(f"{RM}{chr(0x7F) * len(RM)}echo o''k", id="backspace"),
    ],
)
def test_pol_29_a_line_that_was_changed_to_a_harmless_one_runs(k: K, keys: str) -> None:
    """
    What was deleted does not count.
    """
    session = k.new(f"pol29-{abs(hash(keys))}", "bash")

    k.agent.ask("send", id=session, text=keys, raw=True)

    k.agent.ask("wait", id=session, until="regex:(?m)^ok$", timeout_ms=30_000)


def test_pol_29_a_line_that_was_given_up_does_not_count(k: K) -> None:
    """
    After Ctrl-C the line is empty.
    """
    session = k.new("pol29-ctrl-c", "bash")
    k.agent.ask("send", id=session, text=RM, enter=False)
    k.agent.ask("keys", id=session, keys=["ctrl-c"])

    echoed(k.agent, session, "fresh")


def test_pol_31_a_paste_cannot_end_itself(k: K, tmp_path: Path) -> None:
    """
    The mark of its end is taken out of the text, so nothing in it is an Enter.
    """
    session = k.new("pol31", "bash")
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")

    k.agent.ask("paste", id=session, text=f"true\x1b[201~\r{RM}\r")

    eventually(lambda: "true" in k.agent.ask("screen", id=session)["text"])
    assert (tmp_path / "build").exists()


def test_pol_32_control_bytes_are_judged_as_keys(k: K, tmp_path: Path) -> None:
    """
    They stay allowed, because `send` has no other Ctrl-C, and are recorded.
    """
    session = k.new("pol32", "bash")
    k.agent.ask("run", id=session, code=f"cd {tree(tmp_path)}")

    assert refused(k.agent, session, f"x\x15{RM}", raw=True).details["rule"] == "rm -rf"
    assert (tmp_path / "build").exists()


# -- who may


@pytest.mark.parametrize(
    "words", ["approve inner 'rm -rf build'", "stop", "policy reload", "gc --older-than 1d"]
)
def test_pol_35_operators_ops_are_refused_inside_of_a_session(agent: Agent, words: str) -> None:
    """
    Whoever is inside is recognised by their process, and the attempt is recorded.
    """
    agent.new("inner")

    done = agent.ask("run", id="inner", code=f"{AGENT_PTY} {words}; echo code=$?")

    assert "code=3" in done["output"]
    assert "inside of session inner" in done["output"]
    recorded = payloads(agent, "inner", "policy_approval_denied")
    assert [one["rule"] for one in recorded] == ["operator only"]


def test_pol_35_a_process_that_left_its_session_is_still_inside(agent: Agent) -> None:
    """
    Neither another kernel session nor an empty environment helps.
    """
    agent.new("inner")
    hidden = f"env -i HOME={agent.home} AGENT_PTY_HOME={agent.home} setsid -w"

    done = agent.ask("run", id="inner", code=f"{hidden} {AGENT_PTY} approve inner '{RM}'; echo $?")

    assert "inside of session inner" in done["output"]


def test_pol_36_a_refusal_says_what_where_and_what_next(k: K) -> None:
    """
    The rule, the place in the line, and how to ask.
    """
    session = k.new("pol36", "bash")

    error = refused(k.agent, session, f"cd /tmp && {RM} && ls")

    start, end = error.details["span"]
    assert error.code == "approval_required"
    assert f"cd /tmp && {RM} && ls"[start:end] == RM
    assert f"--request {error.details['request']}" in error.details["remedy"]


@pytest.mark.parametrize("text", [RM, "git push -f", "ls", "kubectl -n x delete pod y"])
def test_pol_37_a_dry_run_says_what_send_would(k: K, text: str) -> None:
    """
    The same rule, and nothing is typed.
    """
    session = k.new(f"pol37-{abs(hash(text))}", "bash")
    checked = json.loads(k.agent.cli("policy", "check", text, "--json").stdout)

    try:
        k.agent.ask("send", id=session, text=text)
        rule = None
    except Refused as error:
        rule = error.details["rule"]

    assert checked.get("rule") == rule


# -- secrets


def test_an_agent_may_not_answer_a_prompt_that_hides_what_is_typed(k: K) -> None:
    """
    The refusal names the way by which a person enters it.
    """
    session = k.new("secret-agent", "bash")
    k.agent.ask("send", id=session, text="read -rsp 'Password: ' word; echo got ${#word}")
    eventually(lambda: k.agent.ask("doing", id=session)["what"] == "secret")

    with pytest.raises(Refused, match=f"agent-pty secret {session}") as caught:
        k.agent.ask("send", id=session, text="hunter2")

    assert caught.value.code == "secret_prompt"


def test_a_person_enters_a_secret_that_is_nowhere_else(k: K) -> None:
    """
    The program gets it; the record has its length.
    """
    session = k.new("secret-person", "bash")
    k.agent.ask("send", id=session, text="read -rsp 'Password: ' word; echo got ${#word}")
    eventually(lambda: k.agent.ask("doing", id=session)["what"] == "secret")
    with human(k.agent, "secret", session) as person:
        person.sees("secret for session")

        person.type(b"correct horse\r")

        person.sees("entered")
    k.agent.ask("wait", id=session, until="got 13", timeout_ms=30_000)
    assert "correct horse" not in json.dumps(recorded(k.agent, session))
    assert [one["bytes"] for one in payloads(k.agent, session, "secret_entered")] == [13]


def test_a_secret_is_not_taken_from_a_pipe(k: K) -> None:
    """
    What comes through one may have been seen by a model.
    """
    done = k.agent.cli("secret", "any", stdin="hunter2\n")

    assert done.returncode == 2
    assert "by a person at a terminal" in done.stderr


def test_a_secret_is_refused_where_nobody_asks_for_one(k: K) -> None:
    """
    Typed at a prompt it would be shown, and run.
    """
    session = k.new("secret-none", "bash")
    with human(k.agent, "secret", session) as person:
        person.sees("secret for session")

        person.type(b"word\r")

        person.sees("does not ask for a secret")


def test_operators_only_over_http(k: K, http: Http) -> None:
    """
    Over HTTP a caller counts as an agent, whoever they are.
    """
    session = k.new("http-agent", "bash")
    envelope = http.send(
        body=json.dumps({"op": "approve", "id": session, "command": RM}).encode()
    ).envelope

    assert envelope["code"] == OperatorOnly.code


def test_a_served_policy_that_differs_from_what_runs_is_refused(agent: Agent) -> None:
    """
    Both are named.
    """
    path = agent.home / "other.json"
    path.write_text(json.dumps({"rules": [SAFE]}))
    agent.new("one")

    done = agent.cli("serve-http", "--addr", "127.0.0.1:0", "--policy", str(path))

    assert done.returncode == 1
    assert "the built-in rules" in done.stderr
    assert str(path) in done.stderr


def test_reload_takes_the_file_as_a_word_too(agent: Agent) -> None:
    """
    `policy test FILE` takes it like that; a file that is named must not be ignored.
    """
    path = agent.home / "rules.json"
    path.write_text(json.dumps({"rules": [SAFE]}))
    broken = agent.home / "broken.json"
    broken.write_text('{"rulez": []}')
    agent.new("one")

    refused_file = agent.cli("policy", "reload", str(broken))
    taken = agent.cli("policy", "reload", str(path))

    assert refused_file.returncode != 0
    assert "rulez" in refused_file.stderr
    assert taken.stdout.startswith(f"{path}: ")
    assert agent.ask("policy")["path"] == str(path)


# -- a host dies


def lose_host(agent: Agent, session: str) -> None:
    """Kill a session's host, and return when another one has it."""
    pid = agent.pid_of(session)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: agent.info(session)["host_pid"] not in (None, pid))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("before", "after"), [("rm -r", "f build"), ("rm -r \\\n", "-f build")], ids=["line", "lines"]
)
def test_a_line_is_not_forgotten_with_the_host_that_began_it(
    agent: Agent, tmp_path: Path, shell: str, before: str, after: str
) -> None:
    """
    Its beginning was allowed, because nothing ran: its end must not be judged alone.
    """
    name = "work"
    agent.ask("new", id=name, repo=str(tree(tmp_path)), argv=[shell])
    echoed(agent, name, "ready")
    agent.ask("send", id=name, text=before, enter=False)

    lose_host(agent, name)

    refused(agent, name, after)
    assert (tmp_path / "build").exists()


def test_an_alias_is_not_forgotten_with_the_host_that_saw_it(agent: Agent, tmp_path: Path) -> None:
    """
    Nor is a variable, and the record does not say that they are.
    """
    name = "work"
    agent.ask("new", id=name, repo=str(tree(tmp_path)), argv=["bash"])
    agent.ask("send", id=name, text="alias q='rm -rf'; X=rm")
    echoed(agent, name, "ready")

    lose_host(agent, name)

    refused(agent, name, "q build")
    refused(agent, name, "$X -rf build")
    assert (tmp_path / "build").exists()
    assert [one["reason"] for one in payloads(agent, name, "gate")] == [None, None]
