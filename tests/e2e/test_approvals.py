"""Approvals: what one is bound to, who may give it, and how it is shown."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_pty.core.policy.approver_secret import secret_digest
from agent_pty.errors import AgentPtyError, ApprovalRequired, BadRequest, OperatorOnly
from support.agent import AGENT_PTY, Agent, eventually, slay
from support.http import serving
from support.journal import payloads, recorded
from support.k import K
from support.surfaces import opened

RM = "rm -rf build"
PUSH = "git push --force origin topic"


@pytest.fixture(scope="module")
def user(shared: Agent) -> Agent:
    """A user whose sessions the tests of this file share."""
    return shared


def session(user: Agent, name: str, directory: Path) -> str:
    """Start a shell in a directory that may be lost."""
    (directory / "build").mkdir(exist_ok=True)
    words = ["/bin/bash", "--norc", "--noprofile"]
    user.ask("new", id=name, repo=str(directory), argv=words)
    user.ask("ready", id=name)
    return name


def approved(user: Agent, name: str, command: str = RM, **fields: Any) -> str:
    """Approve a command and return its token."""
    token: str = user.ask("approve", id=name, command=command, **fields)["token"]
    return token


def spend(user: Agent, name: str, token: str, command: str = RM) -> None:
    """Send a command with a token."""
    user.ask("send", id=name, text=command, approval=token)


def why_not(user: Agent, name: str, token: str, command: str = RM) -> str:
    """Return why a token is not accepted."""
    with pytest.raises(ApprovalRequired) as caught:
        spend(user, name, token, command)
    return str(caught.value.details["token"])


def gone(directory: Path) -> None:
    """Return once the command has done its work."""
    eventually(lambda: not (directory / "build").exists())


# -- what it is bound to


def test_app_01_an_approved_command_runs_once_and_is_recorded(user: Agent, tmp_path: Path) -> None:
    """
    Created and spent, with the id, the digest of the bytes, the directory, rule and approver.
    """
    name = session(user, "app01", tmp_path)

    spend(user, name, approved(user, name))

    gone(tmp_path)
    (created,) = payloads(user, name, "policy_approval_created")
    (spent,) = payloads(user, name, "policy_approved")
    assert created["approval_id"] == spent["approval_id"]
    assert spent["rule"] == "rm -rf"
    assert spent["cwd"] == str(tmp_path)
    assert len(spent["sha256"]) == 64
    assert spent["approver"]["transport"] == "unix"
    assert spent["policy_hash"] == user.ask("policy")["hash"]


def test_app_02_a_token_is_spent_once(user: Agent, tmp_path: Path) -> None:
    """
    The second use is refused, and recorded.
    """
    name = session(user, "app02", tmp_path)
    token = approved(user, name)
    spend(user, name, token)
    gone(tmp_path)

    assert why_not(user, name, token) == "it was used already"
    (denied,) = payloads(user, name, "policy_approval_denied")
    assert "it was used already" in denied["reason"]


def test_app_02_two_at_once_cannot_spend_one_token(user: Agent, tmp_path: Path) -> None:
    """
    Of ten that spend it at the same moment, one does.
    """
    name = session(user, "app02-race", tmp_path)
    command = "echo spent # vault write"
    token = approved(user, name, command)
    results: list[bool] = []

    def attempt() -> None:
        try:
            spend(user, name, token, command)
            results.append(True)
        except AgentPtyError:
            results.append(False)

    threads = [threading.Thread(target=attempt) for _ in range(10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert sorted(results) == [False] * 9 + [True]


def test_app_04_a_token_is_for_one_session(user: Agent, tmp_path: Path) -> None:
    """
    Another session does not know it.
    """
    first = session(user, "app04-a", tmp_path)
    second = session(user, "app04-b", tmp_path)

    assert why_not(user, second, approved(user, first)) == "no approval has this token"


def test_app_05_a_token_is_for_one_directory(user: Agent, tmp_path: Path) -> None:
    """
    After `cd` the same words mean something else.
    """
    name = session(user, "app05", tmp_path)
    token = approved(user, name)
    (tmp_path / "other").mkdir()
    user.ask("run", id=name, code="cd other")

    assert why_not(user, name, token) == f"it is for the directory {tmp_path}"


@pytest.mark.parametrize(
    "command",
    [f"{RM} ", f"{RM}\u00a0", f"{RM}\u200b", "rm  -rf build", "rm -rf bu\u0456ld", f"{RM}; true"],
    ids=["blank", "no-break", "zero-width", "two blanks", "look-alike", "another command"],
)
def test_app_07_a_command_that_differs_by_anything_is_another_one(
    user: Agent, tmp_path: Path, command: str
) -> None:
    """
    The bytes must be the same.
    """
    name = session(user, f"app07-{abs(hash(command))}", tmp_path)

    assert why_not(user, name, approved(user, name), command) == "it is for another command"


def test_app_10_a_token_has_its_time(user: Agent, tmp_path: Path) -> None:
    """
    Afterwards it is not accepted.
    """
    name = session(user, "app10", tmp_path)
    token = approved(user, name, ttl_ms=1)

    def over() -> bool:
        return why_not(user, name, token) == "its time is over"

    assert over()


@pytest.mark.parametrize("ttl", [0, -1, 10 * 365 * 24 * 3600 * 1000, 1e309, "NaN"])
def test_app_11_a_time_without_sense_is_refused(user: Agent, tmp_path: Path, ttl: Any) -> None:
    """
    At least a millisecond, at most a day.
    """
    name = session(user, f"app11-{abs(hash(ttl))}", tmp_path)

    with pytest.raises((BadRequest, ValueError)):
        approved(user, name, ttl_ms=ttl)


def test_app_20_a_token_is_for_one_instance(user: Agent, tmp_path: Path) -> None:
    """
    Another session of the same name is another session.
    """
    name = session(user, "app20", tmp_path)
    token = approved(user, name)
    user.ask("kill", id=name)
    session(user, "app20", tmp_path)

    assert why_not(user, name, token) == "no approval has this token"


def test_app_21_what_comes_after_an_approved_line_is_not_approved(
    user: Agent, tmp_path: Path
) -> None:
    """
    Neither a second line nor what stood on the line before.
    """
    name = session(user, "app21", tmp_path)
    token = approved(user, name)
    with pytest.raises(ApprovalRequired):
        user.ask("send", id=name, text=f"{RM}\rtouch more", approval=token, raw=True)
    user.ask("send", id=name, text="touch before; ", enter=False)

    assert why_not(user, name, token) == "it is for another command"
    assert (tmp_path / "build").exists()


# -- who may give it


def test_app_12_agents_cannot_approve(user: Agent, tmp_path: Path) -> None:
    """
    Over HTTP, WebSocket and MCP a caller counts as an agent; the op is there, and says so.
    """
    name = session(user, "app12", tmp_path)
    with serving(user) as http, opened(user, http) as surfaces:
        codes = {
            surface: ask("approve", {"id": name, "command": RM}).get("code")
            for surface, ask in surfaces.items()
        }

    agents = {"http", "websocket", "mcp stdio", "mcp http"}
    assert {one for one, code in codes.items() if code == OperatorOnly.code} == agents


def test_app_12_a_policy_may_let_agents_approve(agent: Agent, tmp_path: Path) -> None:
    """
    The seed's open behaviour, on request; the record says so.
    """
    policy = agent.home / "policy.json"
    policy.write_text('{"self_approval": true}')
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{policy}"\n')
    name = session(agent, "open", tmp_path)

    done = agent.ask("run", id=name, code=f"{AGENT_PTY} approve {name} '{RM}'")
    spend(agent, name, done["output"].strip())

    gone(tmp_path)
    (created,) = payloads(agent, name, "policy_approval_created")
    assert created["self_approval"] is True


def test_app_13_approving_inside_of_the_session_is_refused(user: Agent, tmp_path: Path) -> None:
    """
    An agent that types `agent-pty approve` into its own terminal gets nothing, and it is recorded.
    """
    name = session(user, "app13", tmp_path)

    done = user.ask("run", id=name, code=f"{AGENT_PTY} approve {name} '{RM}'")

    assert done["exit_code"] == 3
    assert payloads(user, name, "policy_approval_denied")[0]["rule"] == "operator only"


@pytest.mark.parametrize(
    ("approver", "said"), [("tty", "demands a terminal"), ("secret", "secret")]
)
def test_an_operator_may_have_to_show_something(
    agent: Agent, tmp_path: Path, approver: str, said: str
) -> None:
    """
    A terminal of their own, or a secret whose digest the policy has.
    """
    policy = agent.home / "policy.json"
    digest = secret_digest("open sesame", bytes(16))
    policy.write_text(json.dumps({"approver": approver, "approver_secret": digest}))
    (agent.home / "config.toml").write_text(f'[policy]\nfile = "{policy}"\n')
    name = session(agent, "shows", tmp_path)

    done = agent.cli("approve", name, RM)

    assert done.returncode == 3
    assert said in done.stderr
    if approver == "secret":
        assert agent.cli("approve", name, RM, "--secret", "open sesame").returncode == 0


# -- requests


def test_a_refused_command_can_be_approved_and_sent_again(user: Agent, tmp_path: Path) -> None:
    """
    The refusal has the request; after the approval the same command runs once.
    """
    name = session(user, "request", tmp_path)
    with pytest.raises(ApprovalRequired) as caught:
        user.ask("send", id=name, text=RM)
    request = caught.value.details["request"]
    assert [one["id"] for one in user.ask("approvals", id=name)] == [request]

    done = user.cli("approve", "--request", request)
    user.ask("send", id=name, text=RM)

    gone(tmp_path)
    assert done.returncode == 0
    assert user.ask("approvals", id=name) == []
    with pytest.raises(ApprovalRequired):
        user.ask("send", id=name, text=RM)


@pytest.mark.parametrize("op", ["send", "run"])
def test_whoever_waits_for_an_approval_goes_on_by_itself(
    user: Agent, tmp_path: Path, op: str
) -> None:
    """
    Nothing is held meanwhile: the session takes other input.
    """
    name = session(user, f"waits-{op}", tmp_path)
    fields = {"text": RM} if op == "send" else {"code": RM}
    with user.begin(op, id=name, wait_approval_ms=60_000, **fields) as answer:
        eventually(lambda: len(user.ask("approvals", id=name)) == 1)
        user.ask("send", id=name, text="touch meanwhile")
        eventually((tmp_path / "meanwhile").exists)

        (one,) = user.ask("approvals", id=name)
        user.ask("approve", request=one["id"])

        assert answer()["ok"] is True
    gone(tmp_path)


def test_whoever_waits_is_told_that_it_was_denied(user: Agent, tmp_path: Path) -> None:
    """
    At once, with the same code as the refusal.
    """
    name = session(user, "waits-denied", tmp_path)
    with user.begin("send", id=name, text=RM, wait_approval_ms=60_000) as answer:
        eventually(lambda: len(user.ask("approvals", id=name)) == 1)
        (one,) = user.ask("approvals", id=name)

        done = user.cli("deny", "--request", one["id"])

        envelope = answer()
    assert done.stdout == f"denied {one['id']}\n"
    assert envelope["code"] == "approval_required"
    assert "was denied by an operator" in envelope["error"]
    assert "approve --request" not in envelope["details"]["remedy"]
    assert payloads(user, name, "policy_approval_denied")[0]["approval_id"] == one["id"]


def test_k_run_waits_for_an_approval_too(user: Agent, tmp_path: Path) -> None:
    """
    `k run -w` goes on when an operator has decided.
    """
    name = session(user, "k-waits", tmp_path)
    waiting = K(user).start("run", "-w", "60", name, RM)
    eventually(lambda: len(user.ask("approvals", id=name)) == 1)

    (one,) = user.ask("approvals", id=name)
    user.ask("approve", request=one["id"])

    waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    gone(tmp_path)


def test_the_start_of_a_program_can_be_approved(user: Agent, tmp_path: Path) -> None:
    """
    The same request works once after that.
    """
    (tmp_path / "build").mkdir()
    fields = {"repo": str(tmp_path), "argv": ["rm", "-rf", "build"]}
    with pytest.raises(ApprovalRequired) as caught:
        user.ask("exec", **fields)

    user.ask("approve", request=caught.value.details["request"])
    user.ask("exec", **fields)

    assert not (tmp_path / "build").exists()
    with pytest.raises(ApprovalRequired):
        user.ask("exec", **fields)


def test_requests_outlive_a_host(user: Agent, tmp_path: Path) -> None:
    """
    What was asked for and approved before the death of a host counts after it.
    """
    name = session(user, "outlives", tmp_path)
    token = approved(user, name)
    slay(user.pid_of(name))

    eventually(lambda: user.ask("ready", id=name)["id"] == name)
    spend(user, name, token)

    gone(tmp_path)


# -- how it is shown and kept


def test_app_15_nothing_hides_in_what_an_operator_is_shown(user: Agent, tmp_path: Path) -> None:
    """
    Escapes, bidi and zero-width characters are escaped; length, tail and a warning are shown.
    """
    name = session(user, "app15", tmp_path)
    hidden = f"{RM} '\u202e\u200bgnp.x' {' ' * 10_000}; touch tail"
    with pytest.raises(ApprovalRequired):
        user.ask("send", id=name, text=hidden)

    shown = user.cli("approvals", name).stdout

    assert "\u202e" not in shown
    assert "\\u202e\\u200b" in shown
    assert "; touch tail" in shown
    assert f"{len(hidden)} characters" in shown
    assert "were escaped" in shown
    assert "many blanks" in shown


def test_app_17_tokens_cannot_be_guessed(user: Agent, tmp_path: Path) -> None:
    """
    They are long, and after ten wrong ones none is looked at for a minute.
    """
    name = session(user, "app17", tmp_path)
    token = approved(user, name)

    reasons = [why_not(user, name, f"{token[:-1]}{number % 10}x") for number in range(12)]

    assert len(token) >= 32
    assert reasons[0] == "no approval has this token"
    assert "wrong tokens within a minute" in reasons[-1]
    assert "wrong tokens within a minute" in why_not(user, name, token)


def in_files(user: Agent, text: str) -> list[str]:
    """Return the files of a home that have a text in them."""
    files = [one for one in user.home.rglob("*") if one.is_file() and not one.is_symlink()]
    return [str(one) for one in files if text.encode() in one.read_bytes()]


def test_app_18_a_token_is_in_no_file_and_no_answer(user: Agent, tmp_path: Path) -> None:
    """
    Its digest is; whoever reads our files cannot use it.
    """
    name = session(user, "app18", tmp_path)
    token = approved(user, name)
    spend(user, name, token)
    gone(tmp_path)
    # A command line sends a key, under which answers are kept.
    typed = user.cli("approve", name, RM).stdout.strip()
    assert len(typed) > 20
    assert in_files(user, typed) == []

    assert in_files(user, token) == []
    assert token not in json.dumps([recorded(user, name), user.ask("list"), user.ask("approvals")])


def test_app_18_the_file_is_for_its_owner_alone(user: Agent, tmp_path: Path) -> None:
    """
    Mode 0600.
    """
    name = session(user, "app18-mode", tmp_path)
    approved(user, name)

    instance = user.info(name)["instance"]
    path = Path(user.layout.session(instance)) / "approvals.json"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_seeds_example_works_word_for_word(user: Agent, tmp_path: Path) -> None:
    """
    A comment that names a family counts as declared intent.
    """
    name = session(user, "codex-1", tmp_path)
    command = "printf 'approved\\n' # vault write"

    refused = user.cli("send", name, command)
    token = user.cli("approve", name, command).stdout.strip()
    sent = user.cli("send", name, command, "--approval", token)
    again = user.cli("send", name, command, "--approval", token)

    assert "vault write requires approval before it can be sent to the PTY" in refused.stderr
    assert (sent.returncode, sent.stdout) == (0, "sent\n")
    assert again.returncode == 3
    user.ask("wait", id=name, until="regex:(?m)^approved$", timeout_ms=30_000)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ls"], "command does not match a policy rule requiring approval"),
        ([PUSH, "--rule", "rm -rf"], 'approval rule "rm -rf" does not match command policy'),
    ],
)
def test_what_needs_no_approval_gets_none(
    user: Agent, tmp_path: Path, words: list[str], said: str
) -> None:
    """
    In the words of the contract.
    """
    name = session(user, f"needless-{len(words)}", tmp_path)

    done = user.cli("approve", name, *words)

    assert done.returncode == 1
    assert said in done.stderr
