"""Spans for a collector: the daemon speaks OTLP with a real HTTP server, or says why not."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from support.agent import Agent, eventually
from support.collector import Collector, collecting
from support.raw_socket import exchange
from support.traces import PARENT, TRACE, TRACEPARENT, TraceReader


def configure(agent: Agent, address: str) -> None:
    """Have the next daemon of a user export to this address."""
    (agent.home / "config.toml").write_text(f'[traces]\notlp = "{address}"\n')


def loaded(pid: int) -> bool:
    """Whether a process has loaded a library that speaks OTLP."""
    return "/google/_upb/" in Path(f"/proc/{pid}/maps").read_text()


def daemon_log(agent: Agent) -> list[str]:
    """Return the lines of the log that are about the export."""
    lines = Path(agent.layout.log).read_text().splitlines()
    return [line for line in lines if "export" in line]


def otlp(agent: Agent) -> dict[str, Any]:
    """Return what `status` tells of the export."""
    found: dict[str, Any] = agent.ask("status")["otlp"]
    return found


def received(collector: Collector, name: str) -> Span:
    """Wait until one span of that name has come."""
    eventually(lambda: any(one.name == name for one in collector.spans))
    [span] = [one for one in collector.spans if one.name == name]
    return span


def attributes(span: Span) -> dict[str, Any]:
    """Return the attributes of a received span as plain values."""
    return {
        one.key: one.value.double_value
        if one.value.HasField("double_value")
        else one.value.string_value
        for one in span.attributes
    }


def nanoseconds(text: str) -> int:
    """Return the time of a line in nanoseconds."""
    at = dt.datetime.fromisoformat(text)
    return int(at.replace(microsecond=0).timestamp()) * 1_000_000_000 + at.microsecond * 1000


def test_a_collector_gets_the_same_spans_as_the_file(agent: Agent) -> None:
    """
    Ids, parent, name, times, status and attributes are those of the line.
    """
    with collecting() as collector:
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")
        asked = {"op": "send", "id": "work", "text": "x", "traceparent": TRACEPARENT}
        exchange(agent, json.dumps(asked).encode())
        exchange(agent, b'{"op":"screen","id":"nobody"}')

        spans = [received(collector, f"terminal.{op}") for op in ("new", "send", "screen")]

        lines = {one["name"]: one for one in TraceReader.all_of(agent)}
        for span in spans:
            line = lines[span.name]
            assert span.trace_id.hex() == line["trace_id"]
            assert span.span_id.hex() == line["span_id"]
            assert span.parent_span_id.hex() == line.get("parent_span_id", "")
            assert span.start_time_unix_nano // 1000 * 1000 == nanoseconds(line["started_at"])
            assert span.end_time_unix_nano // 1000 * 1000 == nanoseconds(line["ended_at"])
            assert attributes(span) == line["attributes"]
        ok, error = Status.StatusCode.STATUS_CODE_OK, Status.StatusCode.STATUS_CODE_ERROR
        assert [one.status.code for one in spans] == [ok, ok, error]
        assert spans[2].status.message == ""
        assert (spans[1].trace_id.hex(), spans[1].parent_span_id.hex()) == (TRACE, PARENT)
        assert set(collector.paths) == {"/v1/traces"}
        resource = {
            one.key: one.value.string_value for one in collector.received[0].resource.attributes
        }
        assert resource["service.name"] == "agent-pty"
        assert otlp(agent) == {
            "endpoint": f"{collector.url}/v1/traces",
            "unsent": 0,
            "problem": None,
        }
        assert f"traces exported to {collector.url}/v1/traces\n" in agent.cli("status").stdout


def test_what_was_not_sent_yet_is_sent_when_the_daemon_ends(agent: Agent) -> None:
    """
    `stop` right after a request loses no span, also if the collector takes its time.
    """
    with collecting() as collector:
        collector.delay = 1.0
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")
        for _ in range(600):  # more than are sent at once
            agent.ask("trace_path")
        agent.cli("stop")

        written = [one["span_id"] for one in TraceReader.all_of(agent)]
        assert len(written) > 600
        assert sorted(one.span_id.hex() for one in collector.spans) == sorted(written)


def test_a_trace_that_is_not_sampled_is_not_sent(agent: Agent) -> None:
    """
    Whoever began the trace decides whether it is collected; the file has the line all the same.
    """
    with collecting() as collector:
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")
        unsampled = TRACEPARENT.removesuffix("01") + "00"
        exchange(agent, json.dumps({"op": "trace_path", "traceparent": unsampled}).encode())
        agent.ask("doing", id="work")

        received(collector, "terminal.doing")

        assert "terminal.trace_path" in {one["name"] for one in TraceReader.all_of(agent)}
        assert "terminal.trace_path" not in {one.name for one in collector.spans}


def test_headers_come_from_the_environment(agent: Agent) -> None:
    """
    What a collector wants as a password is in the variable that OpenTelemetry defines for it.
    """
    agent.env["OTEL_EXPORTER_OTLP_HEADERS"] = "api-key=secret-of-the-collector"
    with collecting() as collector:
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")

        received(collector, "terminal.new")

        assert collector.headers["api-key"] == "secret-of-the-collector"
        assert "secret-of-the-collector" not in json.dumps(agent.ask("status"))


def test_nothing_is_loaded_unless_it_is_configured(agent: Agent) -> None:
    """
    Without a collector no process of ours imports the packages; with one only the daemon does.
    """
    agent.new("work", "/bin/cat")
    ours = [agent.pid_of(role) for role in ("daemon", "keeper", "work")]
    before = [loaded(pid) for pid in ours]
    assert agent.ask("status")["otlp"] is None
    agent.cli("stop")

    with collecting() as collector:
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")
        received(collector, "terminal.new")
        after = [loaded(agent.pid_of(role)) for role in ("daemon", "keeper", "work")]

    assert before == [False, False, False]
    assert after == [True, False, False]


def test_a_collector_that_is_not_there_disturbs_nobody(agent: Agent) -> None:
    """
    `status`, `doctor` and one line of the log say why; when it comes, spans are sent again.
    """
    with collecting() as nobody:
        pass
    configure(agent, nobody.url)
    agent.new("work", "/bin/cat")

    eventually(lambda: otlp(agent)["problem"] is not None)

    assert "Connection refused" in otlp(agent)["problem"]
    assert "Connection refused" in agent.cli("status").stdout
    doctor = agent.cli("doctor")
    assert doctor.returncode == 1
    assert f"- traces: failed (not exported to {nobody.url}/v1/traces: " in doctor.stdout
    assert len(daemon_log(agent)) == 1
    with collecting(nobody.port) as collector:
        eventually(lambda: otlp(agent)["problem"] is None and bool(collector.spans))
    assert daemon_log(agent)[1:] == [f"daemon: traces are exported to {nobody.url}/v1/traces again"]


def test_a_collector_that_refuses_is_named_with_its_answer(agent: Agent) -> None:
    """
    Spans that a collector does not take are counted, and said once.
    """
    with collecting() as collector:
        collector.status = 404
        configure(agent, collector.url)
        agent.new("work", "/bin/cat")

        eventually(lambda: otlp(agent)["unsent"] > 3)

        found = otlp(agent)
        assert "code: 404, reason: Not Found" in found["problem"]
        shown = re.search(r"exported to (\S+), (\d+) not sent: ", agent.cli("status").stdout)
        assert shown is not None
        assert shown[1] == f"{collector.url}/v1/traces"
        assert found["unsent"] <= int(shown[2]) <= otlp(agent)["unsent"]
        assert len(daemon_log(agent)) == 1


def test_a_dead_collector_does_not_hold_up_the_end(agent: Agent) -> None:
    """
    `stop` hardly waits for a collector that takes nothing, and the log says what was lost.
    """
    with collecting() as nobody:
        pass
    configure(agent, nobody.url)
    agent.new("work", "/bin/cat")
    eventually(lambda: otlp(agent)["problem"] is not None)

    stopped = agent.cli("stop")

    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    assert daemon_log(agent)[-1].endswith(f"spans were not exported to {nobody.url}/v1/traces")


@pytest.mark.parametrize("address", ["collector:4318", "http://user:hidden@127.0.0.1:4318"])
def test_a_wrong_address_is_said_and_the_daemon_starts(agent: Agent, address: str) -> None:
    """
    The mistake is in the log once, in `status` and in `doctor`, without what may be a password.
    """
    configure(agent, address)

    agent.new("work", "/bin/cat")
    status = agent.ask("status")

    assert "traces.otlp: write an address" in status["traces_problem"]
    assert f"{agent.home}/config.toml" in status["traces_problem"]
    assert "traces.otlp: write an address" in agent.cli("doctor").stdout
    assert len(daemon_log(agent)) == 1
    assert "hidden" not in Path(agent.layout.log).read_text() + json.dumps(status)
    assert status["traces_missing"] == 0


def test_a_missing_package_is_said_and_the_daemon_starts(agent: Agent, tmp_path: Path) -> None:
    """
    Without the extra every request is answered; what is missing and the remedy are told.
    """
    # As if it were not installed: the name is taken by a module that cannot be imported.
    blocked = tmp_path / "sitecustomize.py"
    blocked.write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    agent.env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    configure(agent, "http://127.0.0.1:4318")
    # Clients start daemons with -I, which ignores PYTHONPATH.
    serve = [sys.executable, "-m", "agent_pty.cli.main", "serve"]
    daemon = subprocess.Popen(serve, env=agent.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert daemon.stdout is not None
    assert b"listening" in daemon.stdout.readline()
    try:
        agent.new("work", "/bin/cat")
        eventually(lambda: otlp(agent)["problem"] is not None)

        problem = otlp(agent)["problem"]

        assert "opentelemetry" in problem
        assert problem.endswith("which is not installed: pip install 'agent-pty[otel]'")
        assert "pip install 'agent-pty[otel]'" in agent.cli("doctor").stdout
        assert otlp(agent)["unsent"] > 0
    finally:
        agent.cli("stop")
        daemon.communicate(timeout=60)
