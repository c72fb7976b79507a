"""Proofs of real sessions: what the seed promises, and the rows HTM and LOG of the catalogue."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import threading
from pathlib import Path
from typing import Any

from support.agent import Agent, eventually
from support.git import Repository
from support.journal import file_of, payloads, recorded

LONG = 60_000


def prove(agent: Agent, name: str, **more: Any) -> dict[str, Any]:
    """Ask for a proof."""
    made: dict[str, Any] = agent.ask("proof", id=name, **more)
    return made


def proof_file(agent: Agent, name: str, ending: str) -> Path:
    """Return a part of a proof."""
    return Path(agent.layout.log_dir) / "proofs" / f"{name}.proof.{ending}"


# -- what the seed promises


def test_proof_prints_the_markdown_path_the_page_or_the_bundle(shared: Agent) -> None:
    """
    By default the path of the Markdown file, with --html that of the page, with --json everything.
    """
    shared.new("paths")
    shared.ask("run", id="paths", code="echo proved")

    plain, html = shared.cli("proof", "paths"), shared.cli("proof", "paths", "--html")
    both = shared.cli("proof", "paths", "--html", "--json")

    assert plain.stdout == f"{proof_file(shared, 'paths', 'md')}\n"
    assert html.stdout == f"{proof_file(shared, 'paths', 'html')}\n"
    bundle = json.loads(both.stdout)
    assert both.stdout == proof_file(shared, "paths", "json").read_text()
    assert bundle["cells"][0]["output"] == "proved"
    assert (plain.returncode, html.returncode, both.returncode) == (0, 0, 0)
    for key in ("json_path", "markdown_path", "html_path", "statement_path", "log_path"):
        assert stat.S_IMODE(os.stat(bundle[key]).st_mode) == 0o600, key
    assert "# agent-pty proof: paths" in proof_file(shared, "paths", "md").read_text()
    assert "agent-pty proof: paths" in proof_file(shared, "paths", "html").read_text()


def test_a_proof_is_recorded_after_it_and_not_in_it(shared: Agent) -> None:
    """
    The event is in the journal afterwards, with who asked; the next proof has it.
    """
    shared.new("noted", "cat")

    first = prove(shared, "noted")
    (event,) = payloads(shared, "noted", "proof")
    second = prove(shared, "noted")

    assert event["json_path"] == first["json_path"]
    assert recorded(shared, "noted")[first["event_count"]]["principal"]["transport"] == "unix"
    assert second["event_count"] > first["event_count"]


def test_a_session_that_is_gone_is_proved_too(agent: Agent) -> None:
    """
    Its journal is enough; the event is added to it, and it stays verified.
    """
    agent.new("gone")
    agent.ask("run", id="gone", code="echo last words")
    agent.ask("kill", id="gone")

    found = prove(agent, "gone")

    assert (found["state"], found["log_integrity"]["verdict"]) == ("exited", "verified")
    assert found["screen_source"] in {"observation", "recording"}
    assert len(payloads(agent, "gone", "proof")) == 1
    assert agent.cli("verify", "gone").returncode == 0
    agent.cli("stop")
    assert agent.cli("proof", "gone").returncode == 0  # by a daemon that never had it


def test_an_earlier_session_of_a_name_has_a_proof_of_its_own(agent: Agent) -> None:
    """
    Two sessions of one name: each has its files, and the event is in the right journal.
    """
    first = agent.new("twice", "cat")["instance"]
    agent.ask("kill", id="twice")
    second = agent.new("twice", "cat")["instance"]

    old, new = prove(agent, "twice", instance=first), prove(agent, "twice")

    assert (old["instance"], new["instance"]) == (first, second)
    assert old["json_path"] != new["json_path"]
    kinds = [one["kind"]["payload"].get("type") for one in recorded(agent, "twice", instance=first)]
    assert kinds.count("proof") == 1
    assert agent.cli("verify", "twice", "--instance", first).returncode == 0


def test_the_screen_is_there_although_nobody_waited(agent: Agent) -> None:
    """
    A session of cells only has no observation; the recording shows its screen.
    """
    agent.ask("new", id="quiet", repo="/tmp", argv=["/bin/bash", "--norc", "--noprofile"])
    agent.ask("run", id="quiet", code="echo seen-$((1+1))")

    found = prove(agent, "quiet")

    assert found["screen_source"] == "recording"
    assert "seen-2" in found["screen_tail"]


def test_the_work_tree_is_looked_at_for_the_proof(agent: Agent, tmp_path: Path) -> None:
    """
    What a command has just changed is in the proof, with its diff.
    """
    repository = Repository(tmp_path / "repo", tmp_path / "home").init().commit(a="one\n")
    agent.ask(
        "new",
        id="tree",
        repo=str(repository.path),
        argv=["/bin/bash", "--norc", "--noprofile"],
    )
    agent.ask("run", id="tree", code="echo two >> a.txt; touch b.txt")

    found = prove(agent, "tree", claims=["clean-tree"])

    assert {one["path"]: one["status"] for one in found["files_changed"]} == {
        "a.txt": "M",
        "b.txt": "??",
    }
    assert "+two" in found["git_diff"]
    assert found["claims"][0]["result"] == "false"


def test_an_unknown_session_has_no_proof(shared: Agent) -> None:
    """
    Nothing is proved of what never was; no file is left.
    """
    answer = shared.cli("proof", "nobody")

    assert answer.returncode != 0
    assert "unknown session nobody" in answer.stderr
    assert not proof_file(shared, "nobody", "json").exists()


def test_blocked_and_approved_actions_of_a_real_session_are_in_the_proof(agent: Agent) -> None:
    """
    A line that the gate refused is listed and flagged; approved once, that too, with who did it.
    """
    agent.new("gated")
    line = "printf 'ok\\n' # vault write"
    refused = agent.cli("send", "gated", line)
    token = agent.cli("approve", "gated", line, "--rule", "vault write").stdout.strip()
    assert agent.cli("send", "gated", line, "--approval", token).returncode == 0

    found = prove(agent, "gated", claims=["never:vault_write"])

    assert refused.returncode != 0
    assert f"blocked vault write: {line}" in found["risk_flags"]
    assert f"approved vault write: {line}" in found["risk_flags"]
    words = [one["what"] for one in found["approvals"]]
    assert "denied" in words
    assert words[-2:] == ["granted", "approved"]
    assert found["commands_run"].count(line) == 1
    assert found["gate_coverage"][0]["line"] in {"asked", "modelled"}
    assert found["policy_hash"]
    assert token not in proof_file(agent, "gated", "json").read_text()
    assert found["claims"][0]["result"] == "false"


# -- claims


def test_the_exit_status_says_whether_all_claims_hold(agent: Agent) -> None:
    """
    0: all are true; 1: one is false; 3: one cannot be decided; 2: one is no claim.
    """
    agent.new("claimed")
    agent.ask("run", id="claimed", code="true")

    def status(*claims: str) -> int:
        words = [word for claim in claims for word in ("--claim", claim)]
        return agent.cli("proof", "claimed", *words).returncode

    assert status("ran:true exit:0") == 0
    assert status("ran:true exit:0", "never:rm_rf") == 3
    assert status("ran:true exit:0", "never:rm_rf", "ran:false") == 1
    wrong = agent.cli("proof", "claimed", "--claim", "all:good")
    assert wrong.returncode == 2
    assert "a claim is one of" in wrong.stderr
    slip = agent.cli("proof", "claimed", "--claim", "never:rmrf")
    assert (slip.returncode, "did you mean rm_rf?" in slip.stderr) == (2, True)


def test_tests_passed_after_the_last_edit_is_a_fact(agent: Agent, tmp_path: Path) -> None:
    """
    A proof after the edit, which looks at the tree; the check; a proof: the claim is true.
    """
    repository = Repository(tmp_path / "repo", tmp_path / "home").init().commit(a="bad\n")
    agent.ask(
        "new",
        id="fixed",
        repo=str(repository.path),
        argv=["/bin/bash", "--norc", "--noprofile"],
    )
    agent.ask("run", id="fixed", code="echo good > a.txt")
    prove(agent, "fixed")
    agent.ask("run", id="fixed", code="grep -q good a.txt")

    done = agent.cli("proof", "fixed", "--claim", "ran:grep exit:0 after:last-change")

    assert done.returncode == 0, done.stderr
    assert "proof: true: ran:grep" in done.stderr


def _changed(agent: Agent, name: str) -> bool:
    return any(one["changed"] for one in payloads(agent, name, "snapshot_files"))


def _changed_by_now(agent: Agent, name: str) -> bool:
    """Have the tree looked at again if it was not: a look that took too long is given up."""
    agent.ask("wait", id=name, until="idle:3s", timeout_ms=60_000)
    if not _changed(agent, name):
        agent.ask("run", id=name, code="true")
    return _changed(agent, name)


# -- the catalogue


def test_htm_06_a_huge_diff_is_bounded(agent: Agent, tmp_path: Path) -> None:
    """
    HTM-06: 50 MB of diff leave a small bundle, which says how much is missing and its digest.
    """
    repository = Repository(tmp_path / "repo", tmp_path / "home").init().commit(big="0\n")
    (repository.path / "big.txt").write_text("0123456789abcdef\n" * 3_000_000)
    agent.ask(
        "new",
        id="huge",
        repo=str(repository.path),
        argv=["/bin/bash", "--norc", "--noprofile"],
    )
    eventually(lambda: _changed_by_now(agent, "huge"))

    found = prove(agent, "huge")

    left = found["omitted"]["git_diff"]
    assert "of which only the beginning is recorded" in left["note"]
    assert len(found["git_diff"]) <= 65_536
    sizes = [proof_file(agent, "huge", one).stat().st_size for one in ("json", "md", "html")]
    assert max(sizes) < 1_000_000


def test_htm_10_a_damaged_record_fails_loudly(agent: Agent) -> None:
    """
    HTM-10: the bundle is made, standard error says why not to trust it, the status is not 0.
    """
    agent.new("damaged", "cat")
    agent.ask("send", id="damaged", text="hello")
    agent.ask("kill", id="damaged")
    path = file_of(agent, "damaged")
    damaged = path.read_bytes().replace(b'"argv":["cat"]', b'"argv":["rat"]')
    path.write_bytes(damaged)

    done = agent.cli("proof", "damaged")

    assert done.returncode == 1
    assert "integrity: failed" in done.stderr
    assert "event 1: its hash does not match" in done.stderr
    assert "failed" in Path(done.stdout.strip()).read_text()
    assert path.read_bytes() == damaged  # evidence is never repaired


def test_htm_11_a_proof_of_a_flooding_session_is_of_one_moment(agent: Agent) -> None:
    """
    HTM-11: the bundle says its events; they are a prefix of the journal, all of them signed.
    """
    agent.new("flood")
    agent.ask("send", id="flood", text="while :; do seq 100000; done")
    agent.ask("wait", id="flood", until="99999", timeout_ms=LONG)

    found = [prove(agent, "flood") for _ in range(3)]

    agent.ask("kill", id="flood")
    journal = file_of(agent, "flood").read_bytes()
    for one in found:
        span = one["event_range"]
        prefix = journal[: span["journal_bytes"]]
        assert hashlib.sha256(prefix).hexdigest() == span["journal_sha256"]
        assert prefix.count(b"\n") == one["event_count"] == span["last"]
        assert one["log_integrity"]["verdict"] == "verified"


def test_log_38_a_copy_is_verified_by_another_user(agent: Agent, tmp_path: Path) -> None:
    """
    LOG-38: proof, journal, recording and public key copied elsewhere; no daemon, no home.
    """
    agent.new("copied")
    agent.ask("run", id="copied", code="echo here")
    agent.ask("kill", id="copied")
    found = prove(agent, "copied")
    shutil.copytree(Path(agent.layout.log_dir), tmp_path / "runs")
    (public,) = Path(agent.layout.keys).glob("*.pub")
    shutil.copy(public, tmp_path / "their.pub")
    stranger = Agent(tmp_path)

    done = stranger.cli(
        *("verify", f"{tmp_path}/runs/proofs/copied.proof.json"),
        *("--key", f"{tmp_path}/their.pub", "--json"),
    )

    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["head_hash"] == found["log_integrity"]["head_hash"]
    assert told["event_count"] == found["event_count"]
    assert {one["state"] for one in told["parts"]} == {"fits"}
    assert told["recording_segments"] >= 1


def test_a_changed_recording_is_named(agent: Agent, tmp_path: Path) -> None:
    """
    One byte of what the terminal showed, changed after the proof: the segment is named.
    """
    agent.new("shown")
    agent.ask("run", id="shown", code="echo here")
    prove(agent, "shown")
    shutil.copytree(Path(agent.layout.log_dir), tmp_path / "runs")
    (segment,) = (tmp_path / "runs").glob("recordings/*/*.cast")
    segment.write_bytes(segment.read_bytes().replace(b"here", b"hers", 1))

    path = f"{tmp_path}/runs/proofs/shown.proof.json"
    done = agent.cli("verify", path, "--json")

    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert "recording-000001.cast" in told["first_error"]


def test_many_proofs_and_replays_of_a_log_that_is_written_are_consistent(agent: Agent) -> None:
    """
    50 clients of each: every proof is of a prefix, every replay counts without a gap.
    """
    agent.new("busy")
    proofs: list[dict[str, Any]] = []
    lengths: list[int] = []
    threads = [
        *(threading.Thread(target=lambda: proofs.append(prove(agent, "busy"))) for _ in range(50)),
        *(
            threading.Thread(target=lambda: lengths.append(len(recorded(agent, "busy"))))
            for _ in range(50)
        ),
    ]

    for thread in threads:
        thread.start()
    for number in range(20):
        assert agent.ask("run", id="busy", code=f"echo {number}")["exit_code"] == 0
    for thread in threads:
        thread.join()

    assert (len(proofs), len(lengths)) == (50, 50)
    journal = file_of(agent, "busy").read_bytes()
    for one in proofs:
        span = one["event_range"]
        prefix = journal[: span["journal_bytes"]]
        assert hashlib.sha256(prefix).hexdigest() == span["journal_sha256"]
        assert one["log_integrity"]["verified"]


def test_an_answer_fits_and_the_file_has_everything(agent: Agent) -> None:
    """
    A bundle larger than an answer is cut over the socket, which says so, and whole in its file.
    """
    agent.new("large")
    for number in range(130):
        agent.ask("run", id="large", code=f"seq {number} 900")

    found = prove(agent, "large")

    whole = json.loads(proof_file(agent, "large", "json").read_text())
    assert len(json.dumps(found)) <= 256 * 1024
    assert found["left_out"]
    assert len(whole["cells"]) == 130
    assert whole["left_out"] == {}


def test_a_name_that_is_none_reaches_no_file(agent: Agent) -> None:
    """
    What is no name of a session is refused before a path is made of it.
    """
    agent.new("one", "cat")

    for name in ("../one", "one/../../x", ""):
        assert agent.cli("proof", name).returncode != 0, name
    assert not (Path(agent.layout.log_dir) / "proofs").exists()
