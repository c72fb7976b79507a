"""What a bundle says of a journal: each kind of event at its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.git_snapshot import LeftOut
from agent_pty.core.evidence.tmux_event import OutputGap
from agent_pty.core.policy.policy_file import BUILT_IN
from support.proof import BY_AGENT, BY_HUMAN, ProvedSession, flags

CONTRACT = [
    *("session_id", "generated_at", "event_count", "commands_run", "files_changed", "risk_flags"),
    *("latest_git_status", "git_diff", "screen_tail", "log_integrity", "log_path", "json_path"),
    *("markdown_path", "html_path"),
]


@pytest.fixture
def session(tmp_path: Path) -> ProvedSession:
    """A session whose journal the test writes."""
    return ProvedSession(tmp_path)


def test_the_contracts_fields_come_first_and_in_its_order(session: ProvedSession) -> None:
    """
    A program written for the seed finds its fields where it looks for them.
    """
    session.prove()

    found = json.loads(session.text("json"))

    assert list(found)[: len(CONTRACT)] == CONTRACT
    keys = ["verified", "event_count", "head_hash", "first_error"]
    assert list(found["log_integrity"])[:4] == keys


def test_commands_run_are_what_was_typed_and_started(session: ProvedSession) -> None:
    """
    Each input that has text is one, trimmed; each start of a program is one; nothing else is.
    """
    session.typed("  ls -la ")
    session.typed("")
    session.ran("make\nmake test")

    found = session.prove().commands_run

    assert found == ["bash # cwd=/src", "ls -la", "make\nmake test"]


def test_cells_have_what_came_of_them(session: ProvedSession) -> None:
    """
    Code, exit code, duration, the end of the output, who ran it, and which programs the guard saw.
    """
    begun, ended = session.ran("pytest", 1, output="1 failed")
    session.note(events.GuardedPrograms(programs={"/usr/bin/python3": 2}, cell_id="cell1"))
    session.note(events.CellStarted(cell_id="open", code="sleep 9"))

    first, second = session.prove().cells

    assert (first.code, first.exit_code, first.duration_ms) == ("pytest", 1, 12)
    assert (first.output, first.by) == ("1 failed", "agent over unix, uid 7")
    assert (first.started_event, first.finished_event) == (begun, ended)
    assert first.programs == {"/usr/bin/python3": 2}
    assert (second.cell_id, second.status, second.exit_code) == ("open", None, None)


def test_files_before_the_session_and_reverted_ones_are_told_apart(session: ProvedSession) -> None:
    """
    A file that was changed already, or is unchanged in the end, is listed, and says so.
    """
    session.tree(" M old.py\n")
    session.tree(" M old.py\n M new.py\n?? tmp\n")
    session.tree(" M old.py\n M new.py\n", diff="diff --git a/new.py b/new.py\n")

    found = session.prove()

    told = {one.path: (one.status, one.before, one.reverted) for one in found.files_changed}
    assert told == {
        "new.py": ("M", False, False),
        "old.py": ("M", True, False),
        "tmp": ("??", False, True),
    }
    assert found.latest_git_status == " M old.py\n M new.py\n"
    assert found.git_diff == "diff --git a/new.py b/new.py\n"


def test_approvals_and_denials_are_listed_and_flagged(session: ProvedSession) -> None:
    """
    What a rule refused, who permitted it, and what was then done, in the contract's words.
    """
    session.note(
        events.PolicyDenied(
            command="terraform apply",
            rule="terraform apply",
            span=[0, 15],
            reason="it applies",
            policy_hash="p1",
            gate="line",
            request="r1",
        ),
        BY_AGENT,
    )
    session.note(
        events.PolicyApprovalCreated(
            command="terraform apply",
            rule="terraform apply",
            approval_id="r1",
            expires_at="",
            approver=BY_HUMAN,
            policy_hash="p1",
        )
    )
    session.note(
        events.PolicyApproved(
            command="terraform apply",
            rule="terraform apply",
            approval_id="r1",
            span=None,
            approver=BY_HUMAN,
            policy_hash="p1",
            how="token",
        )
    )

    found = session.prove()

    assert [one.what for one in found.approvals] == ["denied", "granted", "approved"]
    assert [one.by for one in found.approvals][1:] == ["human over unix, uid 7"] * 2
    assert "blocked terraform apply: terraform apply" in found.risk_flags
    assert "approved terraform apply: terraform apply" in found.risk_flags


def test_coverage_says_which_fences_stood_from_when(session: ProvedSession) -> None:
    """
    Without an event about them nothing is known; each later one begins another stretch.
    """
    assert session.prove().gate_coverage == []
    first = session.guarded("strict")
    second = session.guarded(None)

    found = session.prove()

    stretches = [(one.from_event, one.line, one.guard) for one in found.gate_coverage]
    assert stretches == [(first, "asked", "strict"), (second, "asked", None)]
    assert found.policy_hash == BUILT_IN.digest


def test_programs_that_a_rule_is_about_have_their_arguments(session: ProvedSession) -> None:
    """
    Every exec that the guard stopped or let go is there with its argv; the others are counted.
    """
    session.note(
        events.GuardedExec(
            argv=["kubectl", "delete", "pod"],
            cwd="/src",
            pid=9,
            rule="kubectl delete",
            result="denied",
            cell_id=None,
        )
    )
    session.note(events.GuardedPrograms(programs={"/bin/ls": 3}, cell_id=None))
    session.note(events.GuardedPrograms(programs={"/bin/ls": 1}, cell_id=None))

    found = session.prove()

    assert [one.argv for one in found.guarded_execs] == [["kubectl", "delete", "pod"]]
    assert found.programs_run == {"/bin/ls": 4}
    assert flags(found, "guard") == ["guard denied kubectl delete: kubectl delete pod"]


def test_who_attached_and_who_typed_is_told(session: ProvedSession) -> None:
    """
    People and agents are told apart, with how often each typed, and from when to when.
    """
    session.note(events.AttachHuman(read_only=False), BY_HUMAN)
    first = session.typed("ls", BY_HUMAN)
    session.typed("make", BY_AGENT)
    last = session.typed("exit", BY_HUMAN)

    found = session.prove()

    assert [one.by for one in found.attached] == ["human over unix, uid 7"]
    human, agent = found.typed
    assert (human.kind, human.inputs, human.first_event, human.last_event) == (
        *("human", 2, first, last),
    )
    assert (agent.kind, agent.inputs) == ("agent", 1)


DOUBTS: dict[str, tuple[events.Action, str]] = {
    "gap": (events.Gap(missing={"exited": 1}, refused=2, reason="full"), "gap in the record"),
    "delivery": (events.Outcome(of=1, result="unknown"), "inputs whose delivery is unknown: 1"),
    "secret": (events.SecretEntered(bytes=8), "secrets entered: 1"),
    "mark": (events.MarkForged(count=3), "forged marks: 3"),
    "host": (events.Lost(diagnosis="killed"), "host lost: killed"),
    "exit": (events.Exited(exit_code=3, signal=None), "nonzero exit status 3"),
    "signal": (events.Exited(exit_code=None, signal=9), "ended by signal 9"),
    "output": (OutputGap(reason="away"), "gap in the output, of unknown size: away"),
    "recording": (events.RecordingGap(bytes=None, reason="full"), "gap in the recording"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_a_reviewer_must_know_is_a_risk_flag(name: str, session: ProvedSession) -> None:
    """
    What makes the record less than whole, or ended badly, is said first.
    """
    event, flag = DOUBTS[name]
    session.note(event)

    assert flags(session.prove(), flag)


def test_secrets_are_counted_by_kind(session: ProvedSession) -> None:
    """
    How many secrets were taken out before writing is the sum over all events.
    """
    session.note(events.Notify(who="a", message="x"), redacted={"github": 2})
    session.note(events.Notify(who="a", message="y"), redacted={"github": 1, "pem": 1})

    assert session.prove().secrets_redacted == {"github": 3, "pem": 1}


def test_what_is_too_long_is_left_out_with_its_digest(session: ProvedSession) -> None:
    """
    Of thousands of commands the first and the last are there, and a digest of the others.
    """
    for number in range(6000):
        session.typed(f"echo {number} {'x' * 60}")
    session.tree(
        " M a\n", diff="d", left_out={"diff": LeftOut(bytes=50_000_000, sha256="ab", read=1)}
    )

    found = session.prove()

    left = found.omitted["commands_run"]
    assert found.commands_run[1].startswith("echo 0 ")
    assert found.commands_run[-1].startswith("echo 5999 ")
    assert left.count == 6001 - len(found.commands_run)
    assert len(left.sha256 or "") == 64
    assert (found.omitted["git_diff"].count, found.omitted["git_diff"].sha256) == (50_000_000, "ab")
    assert len(session.text("json")) < 1_000_000


def test_an_event_of_another_build_is_counted_and_not_lost(session: ProvedSession) -> None:
    """
    A line whose kind this build does not know is said to be unreadable; the chain is still whole.
    """

    class Strange(events.Action, frozen=True, kw_only=True, tag="strange"):
        pass

    session.note(Strange())

    found = session.prove()

    assert found.log_integrity.verified
    assert found.log_integrity.unreadable_events == 1
    assert "events that cannot be read: 1" in found.risk_flags


def test_the_verdict_is_that_of_the_signatures(session: ProvedSession) -> None:
    """
    All events signed: verified; some of them: verified to a checkpoint, and the contract's yes.
    """
    first = session.prove().log_integrity
    session.typed("ls")
    second = session.prove(sign=False).log_integrity

    assert (first.verdict, first.signed_count) == ("verified", 1)
    assert (second.verdict, second.signed_count) == ("verified_to_checkpoint", 1)
    assert second.verified


def test_htm_10_a_damaged_record_is_proved_and_says_so(session: ProvedSession) -> None:
    """
    HTM-10: a bundle of a broken log is made; each part says so first, with the first error.
    """
    session.typed("echo one")
    session.typed("echo two")
    session.evidence.sign("work", "00112233aabbccdd")
    text = session.path.read_text()
    number = json.loads(text.splitlines()[1])["sequence"]
    session.path.write_text(text.replace('"sequence":2', '"sequence":2 '))

    found = session.prove(sign=False)

    assert (found.log_integrity.verified, found.log_integrity.verdict) == (False, "failed")
    assert found.log_integrity.first_error == f"event {number}: its hash does not match"
    assert flags(found, "the record is damaged")
    assert "echo two" in found.commands_run
    assert "**The record of this session is damaged" in session.text("md")[:120]
    page = session.text("html")
    assert page.index("Log integrity: failed") < page.index("<section")


def test_a_recording_that_is_too_large_to_be_compared_is_flagged(session: ProvedSession) -> None:
    """
    The proof does not read it, and says who does.
    """
    session.note(events.Recording(segment=1, bytes=300_000_000, sha256="0" * 64, sealed=True))

    found = session.prove()

    assert flags(found, "the recording is too large") == [
        "the recording is too large to be compared here: agent-pty verify does it"
    ]
    assert found.log_integrity.verified
