"""A span for each request: contract section 8, on every transport, whatever happens to the file."""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_pty.client.connection import connect
from agent_pty.errors import BadRequest, KeyReused
from support.agent import Agent, eventually, slay
from support.http import Http, serving
from support.mcp_wire import mcp_wire
from support.raw_socket import exchange, wire
from support.small_disk import small_disk
from support.surfaces import over_websocket
from support.traces import PARENT, TRACE, TRACEPARENT, TraceReader

CORPUS = Path(__file__).parents[1] / "corpora" / "redaction.jsonl"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
CONTRACT = ["trace_id", "span_id", "name", "started_at", "ended_at", "status", "attributes"]


@pytest.fixture
def traces(shared: Agent) -> TraceReader:
    """The spans that a test causes; the daemon and its session `work` are shared."""
    if "work" not in {one["id"] for one in shared.ask("list")}:
        shared.new("work", "/bin/cat")
    return TraceReader(shared)


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


# -- the shape


def test_a_request_leaves_a_span_before_its_answer(shared: Agent, traces: TraceReader) -> None:
    """
    Ids, name, times and status are as OpenTelemetry has them, the contract's fields first.
    """
    shared.ask("send", id="work", text="hello")

    [span] = traces.new()
    assert list(span) == CONTRACT
    assert re.fullmatch("[0-9a-f]{32}", span["trace_id"])
    assert re.fullmatch("[0-9a-f]{16}", span["span_id"])
    assert (span["name"], span["status"]) == ("terminal.send", "ok")
    assert TIME.fullmatch(span["started_at"])
    assert TIME.fullmatch(span["ended_at"])
    assert span["started_at"] <= span["ended_at"]
    assert span["attributes"].pop("duration_ms") > 0
    attributes = {"component": "agent-pty", "session.id": "work", "transport": "unix"}
    assert span["attributes"] == attributes


def test_a_failure_is_an_error_with_its_code(shared: Agent, traces: TraceReader) -> None:
    """
    The code of the envelope is in the span, and nothing of its text.
    """
    exchange(shared, b'{"op":"screen","id":"nobody"}')
    exchange(shared, b'{"op":"wait","id":"work","until":"regex:(","timeout_ms":1}')
    exchange(shared, b'{"op":"wait","id":"work","until":"never","timeout_ms":1}')

    found = [(one["status"], one["attributes"]["error.code"]) for one in traces.new()]
    assert found == [("error", code) for code in ("unknown_session", "bad_request", "timeout")]


@pytest.mark.parametrize(
    "payload", [b"no json", b"[]", b"{}", b'{"op":"no_such_op"}', b'{"op":"send","id":5}']
)
def test_what_is_no_request_has_a_name_of_its_own(
    shared: Agent, traces: TraceReader, payload: bytes
) -> None:
    """
    Of a request that cannot be read, or names no op, only the failure is known.
    """
    code = exchange(shared, payload)["code"]

    span = traces.one("unknown")
    assert span["attributes"]["error.code"] == code


def test_each_request_of_a_command_line_counts(shared: Agent, traces: TraceReader) -> None:
    """
    `words` itself leaves no span; what the command line asks for does.
    """
    shared.cli("screen", "work")
    shared.cli("kill", "work-no-1", "work-no-2")

    spans = traces.new()
    named = [(one["name"], one["attributes"].get("session.id")) for one in spans]
    assert named[0] == ("terminal.screen", "work")
    assert set(named) >= {("terminal.kill", "work-no-1"), ("terminal.kill", "work-no-2")}
    assert "terminal.words" not in {one["name"] for one in spans}
    assert len({one["trace_id"] for one in spans}) == len(spans)


def test_streams_and_the_end_of_the_daemon_leave_no_span(agent: Agent) -> None:
    """
    `attach`, `watch` and `shutdown` are not traced, as in the contract.
    """
    agent.new("work", "/bin/cat")
    traces = TraceReader(agent)

    for op in ("attach", "watch"):
        assert exchange(agent, json.dumps({"op": op, "id": "work"}).encode())["ok"]
    assert exchange(agent, b'{"op":"attach","id":"nobody"}')["code"] == "unknown_session"
    agent.cli("stop")

    assert traces.new() == []


def test_a_request_whose_caller_left_was_cancelled(shared: Agent, traces: TraceReader) -> None:
    """
    A caller that hangs up while it waits gets no answer; the span says so.
    """
    with wire(shared) as caller:
        caller.post("wait", id="work", until="never", timeout_ms=60_000)
        shared.ask("list")  # the wait is being worked on

    eventually(lambda: b"cancelled" in Path(shared.layout.traces).read_bytes())
    span = traces.one("wait")
    assert (span["status"], span["attributes"]["error.code"]) == ("error", "cancelled")


def test_what_a_request_asks_of_hosts_are_its_children(shared: Agent, traces: TraceReader) -> None:
    """
    `exec` waits and reads in a host: their spans name its span as their parent.
    """
    shared.ask("exec", argv=["true"], repo="/tmp")
    shared.ask("wait_many", ids=["work"], until="idle:1ms")

    spans = traces.new()
    roots = {one["name"]: one for one in spans if "parent_span_id" not in one}
    assert set(roots) == {"terminal.exec", "terminal.wait_many"}
    parents = {one["span_id"]: one for one in roots.values()}
    children = [one for one in spans if "parent_span_id" in one]
    assert {one["name"] for one in children} == {"terminal.wait", "terminal.read"}
    for child in children:
        assert child["trace_id"] == parents[child["parent_span_id"]]["trace_id"]
        assert child["attributes"]["transport"] == "daemon"


def test_spans_of_many_callers_do_not_mix(shared: Agent, traces: TraceReader) -> None:
    """
    Each request of many callers at once has one whole line, with ids of its own.
    """

    def ask() -> None:
        with connect(shared.layout, start=False) as connection:
            for _ in range(50):
                connection.ask("list")

    callers = [threading.Thread(target=ask) for _ in range(8)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()

    spans = traces.new("list")
    assert len(spans) == 400
    assert len({one["trace_id"] for one in spans}) == 400
    assert len({one["span_id"] for one in spans}) == 400


# -- the trace of the caller


def _by_socket(agent: Agent, _http: Http, traceparent: Any) -> None:
    exchange(agent, json.dumps({"traceparent": traceparent, "op": "list"}).encode())


def _by_body(_agent: Agent, http: Http, traceparent: Any) -> None:
    http.ask("list", traceparent=traceparent)


def _by_header(_agent: Agent, http: Http, traceparent: Any) -> None:
    assert http.ask("list", headers={"traceparent": str(traceparent)}).status == 200


def _by_websocket(_agent: Agent, http: Http, traceparent: Any) -> None:
    over_websocket(http, "list", {"traceparent": traceparent})


def _by_mcp(agent: Agent, _http: Http, traceparent: Any) -> None:
    with mcp_wire(agent) as client:
        client.greet()
        called = {"name": "terminal.list", "arguments": {}}
        client.post("tools/call", 1, **called, _meta={"traceparent": traceparent})
        assert "result" in client.answer()


WAYS = {
    "unix": _by_socket,
    "http": _by_body,
    "http header": _by_header,
    "websocket": _by_websocket,
    "mcp": _by_mcp,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_trace_of_the_caller_is_continued(
    shared: Agent, http: Http, traces: TraceReader, way: str
) -> None:
    """
    A `traceparent` gives the trace and the parent, on every transport.
    """
    WAYS[way](shared, http, TRACEPARENT)

    span = traces.one("list")
    assert (span["trace_id"], span["parent_span_id"]) == (TRACE, PARENT)
    assert span["attributes"]["transport"] == way.partition(" ")[0]
    assert span["span_id"] != PARENT


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", ["nonsense", f"00-{'0' * 32}-{PARENT}-01", 5, {"a": [1]}])
def test_a_wrong_traceparent_is_ignored(
    shared: Agent, http: Http, traces: TraceReader, way: str, wrong: object
) -> None:
    """
    It is never an error; the request begins a trace of its own.
    """
    WAYS[way](shared, http, wrong)

    span = traces.one("list")
    assert span["status"] == "ok"
    assert span["trace_id"] != TRACE
    assert "parent_span_id" not in span


def test_a_header_adds_nothing_but_the_trace(
    shared: Agent, http: Http, traces: TraceReader
) -> None:
    """
    What stands in a header behind the known fields does not become part of the request.
    """
    shared.new("spared", "/bin/cat")
    added = f'01-{TRACE}-{PARENT}-01-","op":"kill","id":"spared'

    answer = http.ask("list", headers={"traceparent": added})

    assert answer.envelope["data"]["type"] == "sessions"
    assert traces.one("list")["parent_span_id"] == PARENT
    assert shared.info("spared")["active"] is True


@pytest.mark.parametrize("body", [b"{}", b"{ }", b"[]", b'"}"', b"}", b"", b'{"op":"list"', b"{"])
def test_a_header_does_not_change_what_is_wrong_with_a_body(http: Http, body: bytes) -> None:
    """
    A body that is no request gets the same error with the header and without.
    """
    plain = http.send(body=body)

    traced = http.send(body=body, headers={"traceparent": TRACEPARENT})

    assert plain.status == traced.status == 400
    assert plain.body == traced.body


def test_the_trace_of_a_command_line_is_that_of_its_requests(
    shared: Agent, traces: TraceReader
) -> None:
    """
    A `words` request with a `traceparent` leaves no span; its requests have that parent.
    """
    argv = ["screen", "nobody"]  # after which its hint asks for the list
    words = {"op": "words", "program": "agent-pty", "argv": argv, "cwd": "/tmp"}
    fields = {"session": None, "parent": "test", "terminals": [False] * 3}
    with wire(shared) as line:
        line.post(**words, **fields, traceparent=TRACEPARENT)  # type: ignore[arg-type]
        assert line.answer()["ok"]
        while line.piece():
            pass

    spans = traces.new()
    assert [one["name"] for one in spans] == ["terminal.screen", "terminal.list"]
    assert {(one["trace_id"], one["parent_span_id"]) for one in spans} == {(TRACE, PARENT)}


@pytest.mark.parametrize("op", ["send", "rename"])
def test_a_request_that_is_repeated_may_have_another_traceparent(
    agent: Agent, traces: TraceReader, op: str
) -> None:
    """
    The trace is no part of what a key stands for: hosts and daemon know the request again.
    """
    del traces
    agent.new("one", "/bin/cat")
    fields = {"send": {"text": "once"}, "rename": {"name": "two"}}[op]
    asked = {"op": op, "id": "one", "key": "k", **fields}
    others = [f"00-{TRACE}-{number:016x}-01" for number in (1, 2)]

    answers = [
        exchange(agent, json.dumps({**asked, "traceparent": one}).encode()) for one in others
    ]

    assert [one["ok"] for one in answers] == [True, True]
    assert answers[1]["replayed"] is True
    with pytest.raises(KeyReused):
        agent.ask(**{**asked, "id": {"send": "one", "rename": "two"}[op], "text": "x", "name": "x"})


# -- secrets


def test_red_18_no_text_of_a_request_is_in_the_trace(shared: Agent, traces: TraceReader) -> None:
    """
    Whatever field of whatever op has a secret, and whatever error repeats it, no span has it.
    """
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    for row in rows:
        text = row["text"]
        for asked in _requests_with(text):
            exchange(shared, json.dumps(asked).encode())
    shared.cli("send", "work", rows[0]["text"])
    shared.cli("read", rows[0]["text"])

    spans = traces.new()
    secrets = {row["secret"] for row in rows if row["should_redact"]}
    written = json.dumps([{**one, "trace_id": "", "span_id": ""} for one in spans])
    assert len(spans) > 8 * len(rows)
    assert [one for one in secrets if one in written] == []


def _requests_with(text: str) -> list[dict[str, Any]]:
    """Return requests that have a text in each field that may have one, also wrong ones."""
    return [
        {"op": "send", "id": "work", "text": text},
        {"op": "paste", "id": "work", "text": text},
        {"op": "send", "id": text, "text": text},
        {"op": text, "id": "work"},
        {"op": "list", "traceparent": text, "key": text, text: text},
        {"op": "wait", "id": "work", "until": f"regex:({text}", "timeout_ms": 1},
        {"op": "wait", "id": "work", "until": text, "timeout_ms": 1},
        {"op": "exec", "argv": [text, text], "repo": "/tmp", "env": {"TOKEN": text}},
        {"op": "new", "id": "other", "argv": ["cat"], "repo": text},
        {"op": "rename", "id": "work", "name": text},
        {"op": "send", "id": 5, "text": text},
    ]


# -- the file


def test_trace_path_is_the_path_alone(shared: Agent, traces: TraceReader) -> None:
    """
    The op answers with a string, the command prints it, and the file is private.
    """
    path = f"{shared.home}/runs/traces.jsonl"

    envelope = exchange(shared, b'{"op":"trace_path"}')
    printed = shared.cli("trace-path")

    data = {"type": "trace_path", "data": path}
    assert envelope == {"ok": True, "data": data, "error": None}
    assert (printed.stdout, printed.stderr, printed.returncode) == (f"{path}\n", "", 0)
    assert shared.cli("trace-path", "--json").stdout == f'"{path}"\n'
    assert len(traces.new("trace_path")) == 3
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_status_says_where_the_trace_is(shared: Agent, traces: TraceReader) -> None:
    """
    `trace_path` of the contract is filled, and people see it on the second line.
    """
    del traces
    path = f"{shared.home}/runs/traces.jsonl"

    status = json.loads(shared.cli("status", "--json").stdout)

    assert list(status)[:5] == ["socket", "running", "session_count", "trace_path", "error"]
    assert (status["trace_path"], status["traces_missing"]) == (path, 0)
    assert shared.cli("status").stdout.splitlines()[1] == f"trace log: {path}"
    assert f"- traces: ok ({path})" in shared.cli("doctor").stdout


@pytest.mark.parametrize("name", ["traces", "traces.1", "TRACES"])
def test_no_session_has_the_journal_of_the_trace(
    shared: Agent, traces: TraceReader, name: str
) -> None:
    """
    A session whose journal would be the trace file is refused, and no session is renamed so.
    """
    with pytest.raises(BadRequest, match=f"bad session name '{name}': .* choose another"):
        shared.new(name, "/bin/cat")
    with pytest.raises(BadRequest, match=f"bad session name '{name}'"):
        shared.ask("rename", id="work", name=name)

    assert [one["attributes"]["error.code"] for one in traces.new()] == ["bad_request"] * 2


def test_a_removed_trace_is_made_again(agent: Agent) -> None:
    """
    Whoever removes the file while the daemon runs loses only what was in it.
    """
    agent.new("work", "/bin/cat")
    os.unlink(agent.layout.traces)

    agent.ask("list")

    assert [one["name"] for one in TraceReader.all_of(agent)] == ["terminal.list"]


def test_the_next_daemon_goes_on_in_the_same_file(agent: Agent) -> None:
    """
    Spans of a daemon that was killed stay, and those of the next one follow.
    """
    agent.new("work", "/bin/cat")
    agent.ask("screen", id="work")

    slay(agent.pid_of("daemon"))
    agent.ask("doing", id="work")

    names = [one["name"] for one in TraceReader.all_of(agent)]
    assert names.index("terminal.screen") < names.index("terminal.doing")


def test_a_request_that_the_next_daemon_answers_has_one_span(agent: Agent) -> None:
    """
    A caller that waits through `restart --keep` asks twice and is answered once.
    """
    agent.new("other", "/bin/cat")
    gate, begun = agent.home / "gate", agent.home / "begun"
    os.mkfifo(gate)
    called = agent.start("exec", "--", "sh", "-c", f"touch {begun}; cat {gate}")
    eventually(begun.exists)

    agent.cli("restart", "--keep")
    gate.write_text("go\n")

    assert called.communicate(timeout=60)[0] == "go\n"
    spans = TraceReader.all_of(agent)
    ended = [(one["name"], one["status"]) for one in spans if one["name"] != "terminal.status"]
    assert ended[-3:] == [(f"terminal.{op}", "ok") for op in ("wait", "read", "exec")]
    assert [name for name, _ in ended].count("terminal.exec") == 1
    assert "cancelled" not in json.dumps(spans)
    assert "host_lost" not in json.dumps(spans)


def test_a_full_disk_disturbs_no_request(agent: Agent) -> None:
    """
    Requests are answered, `status` counts the spans that are missing, and the next line has that.
    """
    del agent
    with small_disk(4) as disk:
        user = Agent(disk.path)
        try:
            user.new("work", "/bin/cat")
            disk.fill()
            missing = _ask_until(user, lambda status: status["traces_missing"] > 5)
            told = user.cli("status").stdout
            doctor = user.cli("doctor").stdout
            disk.free()
            user.ask("list")

            [line] = [one for one in TraceReader.all_of(user) if "missing" in one]
            status = user.ask("status")
            assert missing["traces_problem"].endswith("No space left on device")
            assert re.search(r"^traces missing: \d+\ntraces: .*No space left", told, re.MULTILINE)
            assert re.search("- traces: failed .*No space left on device", doctor)
            assert line["missing"] == status["traces_missing"] > missing["traces_missing"]
            assert status["traces_problem"] is None
        finally:
            user.cli("stop")
            user.reap()


def _ask_until(agent: Agent, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def look() -> bool:
        found[:] = [agent.ask("status")]
        return enough(found[0])

    eventually(look)
    return found[0]
