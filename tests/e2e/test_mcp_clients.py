"""MCP clients that make mistakes, change their mind, die, or flood; and what they are told."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from support.agent import Agent, ended, eventually, slay
from support.mcp_wire import mcp_wire

LONG = 600_000
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "0"},
}


def code_of(message: dict[str, Any]) -> int:
    """Return the code of an error."""
    code: int = message["error"]["code"]
    return code


def connections(pid: int) -> int:
    """Count the sockets of a process."""
    found = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}', -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        ('{"jsonrpc":"2.0","id":1,', -32700),
        ("[" * 100_000, -32700),
        ("\x00", -32700),
    ],
)
def test_net_23_mistakes_have_the_codes_of_json_rpc(shared: Agent, line: str, code: int) -> None:
    """
    What is no message, no method or has wrong parameters is refused, and the next is answered.
    """
    with mcp_wire(shared) as client:
        client.greet()
        client.put(line.encode())
        refused = client.answer()
        client.post("ping", 2)

        assert code_of(refused) == code
        assert client.answer() == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_net_23_a_second_greeting_and_none_at_all(shared: Agent) -> None:
    """
    `initialize` may be said twice, and a plain client need not say it: both are served.
    """
    with mcp_wire(shared) as twice, mcp_wire(shared) as never:
        twice.greet()
        twice.post("initialize", 1, **HELLO)
        never.call(1, "terminal.list")
        never.call(2, "no such tool")

        assert twice.answer()["result"]["serverInfo"]["name"] == "agent-pty"
        assert never.answer()["result"]["structuredContent"]["type"] == "sessions"
        assert never.answer()["result"]["isError"] is True


def test_net_23_a_message_that_is_too_long_is_refused(shared: Agent) -> None:
    """
    A line above the limit is refused and does not end the client.
    """
    with mcp_wire(shared) as client:
        client.greet()
        client.call(1, "terminal.send", id="x", text="x" * (9 * 1024 * 1024))
        refused = client.answer()
        client.post("ping", 2)

        assert code_of(refused) == -32600
        assert client.answer()["id"] == 2


def test_net_25_a_cancelled_wait_ends_in_the_daemon(shared: Agent) -> None:
    """
    Its connection is closed, no answer comes for it, and the end of the input is the end.
    """
    shared.new("cancelled", "cat")
    with mcp_wire(shared) as client:
        client.greet()
        client.call(1, "terminal.list")
        client.answer()
        daemon = shared.pid_of("daemon")
        before = connections(daemon)
        for number in range(100, 150):
            client.call(number, "terminal.wait", id="cancelled", until="never", timeout_ms=LONG)
        eventually(lambda: connections(daemon) > before + 30)

        for number in range(100, 150):
            client.post("notifications/cancelled", requestId=number)
        eventually(lambda: connections(daemon) < before + 10)
        client.call(20, "terminal.send", id="cancelled", text="never")
        client.call(21, "terminal.list")
        answered = client.answers(2)
        client.stdin.close()

        assert sorted(answered) == [20, 21]
        assert client.stdout.read() == b""
        assert client.process.wait(60) == 0


@pytest.mark.parametrize("how", ["closes its side", "dies"])
def test_net_26_a_client_that_leaves_ends_its_server_and_no_session(
    shared: Agent, how: str
) -> None:
    """
    The wire ends with its client, even if a wait has no answer; the session lives on.
    """
    session = f"left-{how.split(maxsplit=1)[0]}"
    shared.new(session, "cat")
    with mcp_wire(shared) as client:
        client.greet()
        client.call(1, "terminal.screen", id=session)
        client.answer()
        daemon = shared.pid_of("daemon")
        before = connections(daemon)
        if how == "dies":
            for number in range(100, 150):
                client.call(number, "terminal.wait", id=session, until="never", timeout_ms=LONG)
            eventually(lambda: connections(daemon) > before + 30)

        client.stdin.close()
        if how == "dies":
            client.stdout.close()
        ended(client.process.pid)

        eventually(lambda: connections(daemon) < before + 10)
        assert shared.info(session)["active"] is True


def test_net_26_what_a_plain_client_has_sent_is_dropped_with_it(shared: Agent) -> None:
    """
    Its requests run one by one: when it is gone, the one that waits ends, and no other begins.
    """
    shared.new("dropped", "cat")
    with mcp_wire(shared) as client:
        client.greet()  # there is a gateway
    gateway = shared.ask("status")["gateway"]["pid"]
    before = connections(gateway)
    with mcp_wire(shared) as client:
        client.call(1, "terminal.screen", id="dropped")
        client.answer()
        client.call(2, "terminal.wait", id="dropped", until="regex:^go", timeout_ms=LONG)
        client.call(3, "terminal.send", id="dropped", text="too late")
        slay(client.process.pid)

    eventually(lambda: connections(gateway) <= before + 1)
    shared.ask("send", id="dropped", text="go on")
    shared.ask("wait", id="dropped", until="regex:^go on$", timeout_ms=LONG)

    assert "too late" not in shared.transcript("dropped")


def test_net_27_text_for_models_has_nothing_that_a_terminal_obeys(shared: Agent) -> None:
    """
    Escapes, bidirectional overrides and invisible characters are shown, not passed on.
    """
    hostile = "a\x1b[31mb\u202ec\u200bd\x9b2Je"
    shared.new("hostile", "printf", "%s", hostile + "\n")
    with mcp_wire(shared) as client:
        client.greet()
        client.call(1, "terminal.wait", id="hostile", until="exit", timeout_ms=LONG)
        client.call(2, "terminal.screen", id="hostile")
        client.call(3, "pty_exec", command="printf", args=["%s", hostile])
        answers = client.answers(3)

    for answer in answers.values():
        text = answer["result"]["content"][0]["text"]
        assert not {"\x1b", "\u202e", "\u200b", "\x9b"} & set(text), ascii(text)


def test_net_29_a_daemon_that_cannot_start_is_an_error_with_a_remedy(agent: Agent) -> None:
    """
    Without a daemon the command says what is wrong and what helps, and ends.
    """
    (agent.home / "config.toml").write_text("[gateway]\nunknown = 1\n")

    ran = agent.cli("mcp-stdio", stdin='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "config.toml" in ran.stderr
    assert "unknown" in ran.stderr


def test_net_29_a_daemon_that_is_down_is_started(agent: Agent) -> None:
    """
    A daemon that died, with its keeper, is replaced by the next call of a tool.
    """
    agent.new("before", "cat")
    with mcp_wire(agent) as client:
        client.greet()
        slay(agent.pid_of("keeper"), agent.pid_of("daemon"))
        client.call(1, "terminal.list")

        answer = client.answer()
        assert not answer["result"].get("isError"), answer


def test_fifty_waits_of_a_plain_wire_end_together(shared: Agent) -> None:
    """
    Waits of one client run beside each other, and only JSON-RPC comes out.
    """
    shared.new("fifty", "cat")
    with mcp_wire(shared) as client:
        client.greet()
        for number in range(1, 51):
            client.call(number, "terminal.wait", id="fifty", until="now", timeout_ms=LONG)
        client.call(51, "terminal.send", id="fifty", text="now")
        answers = client.answers(51)

    assert sorted(answers) == list(range(1, 52))
    assert not any(answer["result"].get("isError") for answer in answers.values())


def test_what_is_on_standard_output_is_json_rpc_alone(shared: Agent) -> None:
    """
    Nothing but messages comes out, whatever comes in.
    """
    with mcp_wire(shared) as client:
        for line in (b"nonsense", b"\xff\xfe", b"{}", b'"x"', b"", b"null"):
            client.put(line)
        client.post("ping", 1)
        client.stdin.close()
        lines = client.stdout.read().splitlines()

    assert [json.loads(line)["jsonrpc"] for line in lines] == ["2.0"] * 6
