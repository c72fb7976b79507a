"""Requests that are wrong and clients that do not behave: a stable code, and nobody else notices.

Rows NET-10 to NET-13 of the reliability contract, and the codes as a table.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_pty import errors, ops
from agent_pty.ops.op import LARGEST_REQUEST
from support.agent import Agent
from support.raw_socket import exchange, wire

MEBIBYTE = 1024 * 1024


@pytest.fixture(autouse=True)
def bystander(shared: Agent) -> Iterator[None]:
    """Somebody else at work: whatever a test does, their session answers before and after."""
    if "bystander" not in {one["id"] for one in shared.ask("list")}:
        shared.new("bystander")
    with shared.connect_if_running() as open_before:
        check(open_before)
        yield
        check(open_before)
        assert "Traceback" not in Path(shared.layout.log).read_text()


def check(connection: Any) -> None:
    """Do a round trip through daemon, host and shell."""
    connection.ask("send", id="bystander", text="echo well-$((1+1))")
    connection.ask("wait", id="bystander", until="well-2", timeout_ms=30_000)


def request(**fields: Any) -> bytes:
    """Encode a request."""
    return json.dumps(fields).encode()


# -- codes

# The contract of every error: its code, and the status it gives the command line.
CODES = {
    "bad_config": 1,
    "bad_request": 1,
    "busy": 1,
    "daemon_error": 1,
    "daemon_running": 1,
    "daemon_unreachable": 1,
    "disk_full": 1,
    "evidence_unavailable": 1,
    "guard_unavailable": 1,
    "answer_gone": 1,
    "approval_required": 3,
    "error": 1,
    "exited": 5,
    "forbidden": 1,
    "fork_failed": 1,
    "fork_in_use": 1,
    "merge_conflict": 1,
    "unknown_fork": 1,
    "unmerged_work": 1,
    "usage": 2,
    "caller_error": 1,
    "host_lost": 6,
    "host_unresponsive": 6,
    "internal": 1,
    "key_reused": 1,
    "active_cell": 1,
    "interrupt_failed": 1,
    "not_offered": 1,
    "not_permitted": 1,
    "not_ready": 1,
    "not_waiting": 1,
    "operator_only": 3,
    "policy_denied": 3,
    "refused": 3,
    "secret_prompt": 3,
    "unknown_cell": 1,
    "session_exists": 1,
    "spawn_failed": 1,
    "timeout": 4,
    "tmux_failed": 1,
    "too_large": 1,
    "unauthorized": 1,
    "unknown_op": 1,
    "unknown_session": 1,
    "version_mismatch": 1,
}


def test_codes_are_a_contract() -> None:
    """
    No code comes, goes or changes its exit status unnoticed.
    """
    classes = every_class(errors.AgentPtyError)

    assert {cls.code: cls.exit_status for cls in classes} == CODES


def every_class(root: type[errors.AgentPtyError]) -> list[type[errors.AgentPtyError]]:
    """Return a class and all its descendants."""
    return [root, *(cls for child in root.__subclasses__() for cls in every_class(child))]


WRONG: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"hello", "bad_request"),
    "half JSON": (b'{"op":"list"', "bad_request"),
    "two values": (b'{"op":"list"} {"op":"list"}', "bad_request"),
    "array": (b"[]", "bad_request"),
    "string": (b'"list"', "bad_request"),
    "no op": (b"{}", "bad_request"),
    "op is null": (b'{"op":null}', "bad_request"),
    "op is a number": (b'{"op":1}', "bad_request"),
    "unknown op": (b'{"op":"explode"}', "unknown_op"),
    "op of 1 MB": (request(op="x" * MEBIBYTE), "unknown_op"),
    "op in capitals": (b'{"op":"LIST"}', "unknown_op"),
    "new without repo": (b'{"op":"new"}', "bad_request"),
    "rows 0": (request(op="new", repo="/tmp", rows=0), "bad_request"),
    "rows -1": (request(op="new", repo="/tmp", rows=-1), "bad_request"),
    "rows 100000": (request(op="new", repo="/tmp", rows=100_000), "bad_request"),
    "cols 0": (request(op="new", repo="/tmp", cols=0), "bad_request"),
    "cols 100000": (request(op="new", repo="/tmp", cols=100_000), "bad_request"),
    "rows true": (request(op="new", repo="/tmp", rows=True), "bad_request"),
    "rows 24.5": (request(op="new", repo="/tmp", rows=24.5), "bad_request"),
    "rows as text": (request(op="new", repo="/tmp", rows="24"), "bad_request"),
    "name ../x": (request(op="new", repo="/tmp", id="../x"), "bad_request"),
    "name taken": (request(op="new", repo="/tmp", id="bystander"), "session_exists"),
    "env as a list": (request(op="new", repo="/tmp", env=["A=1"]), "bad_request"),
    "env with a number": (request(op="new", repo="/tmp", env={"A": 1}), "bad_request"),
    "env name with =": (request(op="new", repo="/tmp", env={"A=B": "1"}), "bad_request"),
    "env with NUL": (request(op="new", repo="/tmp", env={"A": "\0"}), "bad_request"),
    "empty argv": (request(op="new", repo="/tmp", argv=[]), "bad_request"),
    "argv with NUL": (request(op="new", repo="/tmp", argv=["a\0b"]), "bad_request"),
    "shell and argv": (b'{"op":"new","repo":"/tmp","shell":"sh","argv":["sh"]}', "bad_request"),
    "unknown backend": (request(op="new", repo="/tmp", backend="screen"), "bad_request"),
    "relative repo": (request(op="new", repo="tmp"), "bad_request"),
    "no such program": (request(op="new", repo="/tmp", argv=["/no/such"]), "spawn_failed"),
    "no such repo": (request(op="new", repo="/no/such"), "spawn_failed"),
    "send without text": (request(op="send", id="bystander"), "bad_request"),
    "send of a number": (request(op="send", id="bystander", text=5), "bad_request"),
    "enter as text": (request(op="send", id="bystander", text="", enter="no"), "bad_request"),
    "lone surrogate": (b'{"op":"send","id":"bystander","text":"\\ud800"}', "bad_request"),
    "send to nobody": (request(op="send", id="nobody", text="x"), "unknown_session"),
    "screen of nobody": (request(op="screen", id="nobody"), "unknown_session"),
    "screen without id": (b'{"op":"screen"}', "bad_request"),
    "screen of a list": (request(op="screen", id=["bystander"]), "bad_request"),
    "screen of null": (request(op="screen", id=None), "bad_request"),
    "wait for nobody": (request(op="wait", id="nobody", until="x"), "unknown_session"),
    "kill nobody": (request(op="kill", id="nobody"), "unknown_session"),
    "rename nobody": (request(op="rename", id="nobody", name="x"), "unknown_session"),
    "rename to ../x": (request(op="rename", id="bystander", name="../x"), "bad_request"),
    "resize to 0": (request(op="resize", id="bystander", rows=0, cols=80), "bad_request"),
    "unknown signal": (request(op="signal", id="bystander", signal="SIGNOPE"), "bad_request"),
    "signal 0": (request(op="signal", id="bystander", signal=0), "bad_request"),
    "read before 0": (request(op="read", id="bystander", since=-1), "bad_request"),
    "read of 0 bytes": (request(op="read", id="bystander", max_bytes=0), "bad_request"),
    "bad grep": (request(op="read", id="bystander", grep="("), "bad_request"),
    "wait many nobody": (request(op="wait_many", ids=[], until="x"), "bad_request"),
    "wait many of one": (request(op="wait_many", ids="bystander", until="x"), "bad_request"),
    "empty key": (request(op="kill", id="nobody", key=""), "bad_request"),
    "key of 1 kB": (request(op="kill", id="nobody", key="k" * 1024), "bad_request"),
    "wait that is late": (
        request(op="wait", id="bystander", until="never", timeout_ms=0),
        "timeout",
    ),
    "newer client": (b'{"op":"list","v":2}', "version_mismatch"),
}


@pytest.mark.parametrize(("line", "code"), WRONG.values(), ids=WRONG)
def test_net_12_a_wrong_request_has_a_stable_code(shared: Agent, line: bytes, code: str) -> None:
    """
    Every mistake is answered with its code in one short line for people, and no traceback.
    """
    envelope = exchange(shared, line)

    assert (envelope["ok"], envelope["data"], envelope["code"]) == (False, None, code)
    assert set(envelope) == {"ok", "data", "error", "code", "details"}
    assert "Traceback" not in envelope["error"]
    assert "\n" not in envelope["error"]
    assert 0 < len(envelope["error"]) < 500


def test_net_12_an_unknown_field_is_ignored(shared: Agent) -> None:
    """
    A field of a later version does not make a request wrong.
    """
    envelope = exchange(shared, b'{"op":"list","colour":"blue","id":null}')

    assert envelope["ok"] is True


def test_a_wrong_request_does_not_end_the_connection(shared: Agent) -> None:
    """
    After an error the next request on the same connection is answered.
    """
    with wire(shared) as connection:
        connection.put(b"nonsense\n\n  \n")
        connection.post("list")

        assert connection.answer()["code"] == "bad_request"
        assert connection.answer()["ok"] is True


def test_no_failed_new_leaves_a_session(shared: Agent) -> None:
    """
    None of the wrong requests for a session has made one.
    """
    before = shared.ask("list")

    for line, _ in WRONG.values():
        if b'"new"' in line:
            exchange(shared, line)

    assert [one["id"] for one in shared.ask("list")] == [one["id"] for one in before]


# -- bytes


def nested(depth: int) -> bytes:
    """Return a request with arrays in arrays."""
    return b'{"op":"list","x":' + b"[" * depth + b"]" * depth + b"}"


HOSTILE: dict[str, tuple[bytes, str]] = {
    "100,000 deep": (nested(100_000), "bad_request"),
    "100,000 deep and open": (b"[" * 100_000, "bad_request"),
    "7 MB integer": (b'{"op":"list","v":' + b"1" * 7 * MEBIBYTE + b"}", "bad_request"),
    "10 MB integer": (b'{"op":"list","v":' + b"1" * 10 * MEBIBYTE + b"}", "too_large"),
    "NaN": (b'{"op":"list","v":NaN}', "bad_request"),
    "infinity": (b'{"op":"wait","id":"bystander","until":"x","timeout_ms":1e999}', "bad_request"),
    "byte order mark": (b'\xef\xbb\xbf{"op":"list"}', "bad_request"),
    "invalid UTF-8": (b'{"op":"\xff\xfe"}', "bad_request"),
    "overlong UTF-8": (b'{"op":"list","id":"\xc0\xaf"}', "bad_request"),
    "NUL": (b'{"op":"li\0st"}', "bad_request"),
    "only NUL": (b"\0", "bad_request"),
    "escaped NUL as name": (b'{"op":"screen","id":"\\u0000"}', "bad_request"),
    "carriage returns": (b"\r\r\rx\r", "bad_request"),
    "HTTP": (b"GET / HTTP/1.1", "bad_request"),
    "duplicate op, the last counts": (b'{"op":"list","op":"explode"}', "unknown_op"),
}


@pytest.mark.parametrize(("line", "code"), HOSTILE.values(), ids=HOSTILE)
def test_net_11_hostile_bytes_are_answered(shared: Agent, line: bytes, code: str) -> None:
    """
    Bytes made to break a parser get an answer, and the daemon lives.
    """
    pid = shared.ask("status")["pid"]

    envelope = exchange(shared, line)

    assert envelope["code"] == code
    assert shared.ask("status")["pid"] == pid


def test_net_10_a_line_of_100_mb_is_refused_at_the_cap(shared: Agent) -> None:
    """
    A line beyond 8 MiB is refused before it has arrived, and costs less than twice the cap.
    """
    daemon = shared.pid_of("daemon")
    before = peak_kb(daemon)

    with wire(shared) as connection:
        connection.put(b'{"op":"send","id":"bystander","text":"')
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.put(b"x" * MEBIBYTE)
        answer = connection.answer()

    assert answer["code"] == "too_large"
    assert peak_kb(daemon) - before < 2 * LARGEST_REQUEST / 1024


def test_text_of_100_mb_is_too_large(shared: Agent, tmp_path: Path) -> None:
    """
    The command line hears the reason, although it is still sending.
    """
    heavy = tmp_path / "heavy"
    heavy.write_bytes(b"x" * 100 * MEBIBYTE)

    said = shared.cli("send", "bystander", "--file", str(heavy), "--json")

    assert said.returncode == 1
    assert json.loads(said.stdout)["code"] == "too_large"
    assert said.stderr == "error: a request may have at most 8 MiB\n"


def peak_kb(pid: int) -> int:
    """Return the most memory a process ever had, in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


# -- clients


def test_a_client_that_stops_in_the_middle_of_a_line_holds_up_nobody(shared: Agent) -> None:
    """
    Half a request stays unanswered; others are answered, and so is it once it is complete.
    """
    with wire(shared) as slow:
        slow.put(b'{"op":"li')
        with shared.connect_if_running() as other:
            check(other)
        slow.put(b'st"}\n')

        assert slow.answer()["ok"] is True


def test_a_client_that_never_reads_holds_up_nobody(shared: Agent) -> None:
    """
    Who asks for more than they read is not worked for; the daemon's memory stays bounded.
    """
    daemon = shared.pid_of("daemon")
    shared.new("wordy")
    shared.ask("send", id="wordy", text="seq 100000; echo end-$((1+1))")
    shared.ask("wait", id="wordy", until="end-2", timeout_ms=30_000)
    question = request(op="read", id="wordy", since=0) + b"\n"
    before = peak_kb(daemon)

    with wire(shared) as deaf:
        deaf.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                deaf.put(question)
        with shared.connect_if_running() as other:
            for _ in range(100):
                check(other)

        assert peak_kb(daemon) - before < 16 * 1024


def test_requests_on_one_connection_are_answered_in_order(shared: Agent) -> None:
    """
    A client may send many requests before it reads; the answers come in the same order.
    """
    names = [f"nobody-{number}" for number in range(500)]

    with wire(shared) as eager:
        eager.put(b"".join(request(op="screen", id=name) + b"\n" for name in names))

        assert [eager.answer()["details"]["id"] for _ in names] == names


def test_net_13_a_half_closed_client_gets_its_answer(shared: Agent) -> None:
    """
    Who has sent everything and closed that side still gets the answer, even of a wait.
    """
    with wire(shared) as half:
        half.put(request(op="wait", id="bystander", until="late-2", timeout_ms=30_000))
        half.socket.shutdown(socket.SHUT_WR)
        shared.ask("send", id="bystander", text="echo late-$((1+1))")

        assert half.answer()["data"]["data"]["matched"] == "late-2"
        assert half.answer() is None


def test_a_client_that_only_connects_costs_nothing(shared: Agent) -> None:
    """
    A hundred connections that never say a word keep nobody from being answered.
    """
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(wire(shared))

        with shared.connect_if_running() as other:
            check(other)


# What a type cannot say: each field may be missing, but not all of them.
_NEED_ONE_OF_TWO = frozenset({"approve", "gc"})


@pytest.mark.parametrize(
    "name",
    sorted(name for name, op in ops.TABLE.items() if op.offered("socket") and name != "shutdown"),
)
def test_every_op_says_which_field_is_missing(shared: Agent, name: str) -> None:
    """
    An op that needs something refuses an empty request; one that needs nothing answers it.
    """
    needs = name in _NEED_ONE_OF_TWO or any(
        field.required for field in msgspec.structs.fields(ops.TABLE[name].request)
    )

    envelope = exchange(shared, request(op=name))

    assert envelope["ok"] is not needs
    assert not needs or envelope["code"] == "bad_request"
    assert not needs or "field" in envelope["error"]
