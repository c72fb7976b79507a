"""`verify` of a proof: on another machine, with only the public key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent_pty.cli.main import main
from support.proof import INSTANCE, ProvedSession


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A proof with its journal on another machine, whose user has no home of ours."""
    session = ProvedSession(tmp_path / "there")
    session.typed("make")
    session.ran("pytest", 0, output="ok")
    session.prove("ran:pytest exit:0")
    here = tmp_path / "here"
    shutil.copytree(session.proofs, here)
    shutil.copy(session.path, here)
    (public,) = (tmp_path / "there" / "keys").glob("*.pub")
    shutil.copy(public, here / "key.pub")
    monkeypatch.setenv("AGENT_PTY_HOME", str(tmp_path / "nothing"))
    return here


def verify(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> tuple[int, Any]:
    """Run the command; return its status and what it printed."""
    status = main(["verify", str(path), "--key", str(path.parent / "key.pub"), "--json", *more])
    return status, json.loads(capsys.readouterr().out)


def test_log_38_a_proof_is_verified_with_only_the_public_key(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    LOG-38: one command, offline; it prints key, event count and head.
    """
    status, found = verify(capsys, copied / "work.proof.json")
    text_status = main(["verify", str(copied / "work.proof.md"), "--key", str(copied / "key.pub")])
    text = capsys.readouterr().out

    assert (status, text_status, found["result"]) == (0, 0, "verified")
    assert found["claims"] == {"ran:pytest exit:0": "true"}
    assert [one["state"] for one in found["parts"]] == ["fits"] * 4
    for fact in (found["key_id"], f"{found['event_count']} events", found["head_hash"]):
        assert str(fact) in text


@pytest.mark.parametrize(
    "name",
    ["work.proof.json", "work.proof.md", "work.proof.html", "work.jsonl"],
)
def test_one_flipped_byte_in_any_part_is_named(
    name: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The first byte, the last one, and some between: the part that has it is named, and no other.
    """
    path = copied / name
    whole = path.read_bytes()
    for place in sorted({0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 2, len(whole) - 1}):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)

        status, found = verify(capsys, copied / "work.proof.json")

        wrong = [one["name"] for one in found["parts"] if one["state"] != "fits"]
        assert (status, wrong) == (1, [name]), place
        assert found["first_error"].startswith(name)


def test_one_flipped_bit_anywhere_in_a_compressed_recording_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Also in the frame of the compressed file, where the text stays the same.
    """
    session = ProvedSession(tmp_path)
    path = session.recorded(b'{"version":3}\n[0.1,"o","hello"]\n')
    session.prove()
    (public,) = (tmp_path / "keys").glob("*.pub")
    shutil.copy(public, session.proofs / "key.pub")
    monkeypatch.setenv("AGENT_PTY_HOME", str(tmp_path / "nothing"))
    whole = path.read_bytes()
    unseen = []
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)

        status, found = verify(capsys, session.proofs / "work.proof.json")

        if status != 1 or "recording-000001.cast: " not in found["first_error"]:
            unseen.append(bit)
    path.write_bytes(whole)

    assert verify(capsys, session.proofs / "work.proof.json")[0] == 0
    assert unseen == []


def test_htm_08_a_changed_field_of_the_json_fails(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    HTM-08: one field that says something else is enough.
    """
    path = copied / "work.proof.json"
    path.write_text(path.read_text().replace('"exit_code": 0', '"exit_code": 1', 1))

    status, found = verify(capsys, path)

    assert (status, found["result"]) == (1, "failed")
    assert found["first_error"] == "work.proof.json: it is not what was signed"


def test_a_changed_event_is_named_by_its_number(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Of a journal that differs the first bad event is told.
    """
    path = copied / "work.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"code":"pytest"', b'"code":"true;;"'))

    _, found = verify(capsys, copied / "work.proof.json")

    assert found["first_error"] == "work.jsonl: event 3: its hash does not match"


def test_a_part_that_is_gone_is_named_and_a_journal_that_was_not_copied_is_no_failure(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    JSON, Markdown and HTML belong together; the journal may have stayed where it was.
    """
    (copied / "work.jsonl").unlink()
    without_journal = verify(capsys, copied / "work.proof.json")
    (copied / "work.proof.html").unlink()
    without_page = verify(capsys, copied / "work.proof.json")

    assert without_journal[0] == 0
    assert without_journal[1]["parts"][-1]["state"] == "not_here"
    assert without_page[0] == 1
    assert without_page[1]["first_error"].startswith("work.proof.html: No such file")


def test_a_journal_that_has_grown_since_still_fits(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The statement is about the events up to the proof; later ones change nothing.
    """
    with (copied / "work.jsonl").open("ab") as file:
        file.write(b'{"later":1}\n')

    assert verify(capsys, copied / "work.proof.json")[0] == 0


def test_without_the_key_or_the_statement_nothing_is_verified(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A key that is not known, and a statement that is gone, are failures with their reason.
    """
    status = main(["verify", str(copied / "work.proof.json"), "--json"])
    unknown = json.loads(capsys.readouterr().out)
    (copied / "work.proof.intoto.jsonl").unlink()
    gone = verify(capsys, copied / "work.proof.json")

    assert status == 1
    assert "unknown key" in unknown["first_error"]
    assert gone[0] == 1
    assert "there is no signed statement" in gone[1]["first_error"]


def test_a_directory_of_proofs_is_verified_as_a_whole(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Every proof in it is checked; the worst one decides the exit status.
    """
    statement = (copied / "work.proof.intoto.jsonl").read_bytes()
    (copied / "other.proof.intoto.jsonl").write_bytes(statement[:-2] + b"\n")

    status = main(["verify", f"{copied}/", "--key", str(copied / "key.pub"), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert status == 1
    assert {one["name"]: one["result"] for one in found} == {
        "other.proof": "failed",
        "work.proof": "verified",
    }


def test_the_proof_of_a_damaged_record_is_not_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Its parts are what was signed, and what was signed is that the record is damaged.
    """
    session = ProvedSession(tmp_path)
    session.typed("one")
    session.evidence.sign("work", INSTANCE)
    session.path.write_bytes(session.path.read_bytes().replace(b"bash", b"dash"))
    session.prove(sign=False)
    (public,) = (tmp_path / "keys").glob("*.pub")

    status = main(
        ["verify", str(session.proofs / "work.proof.json"), "--key", str(public), "--json"]
    )

    found = json.loads(capsys.readouterr().out)
    assert status == 1
    assert found["first_error"].startswith("it is the proof of a damaged record: event 1:")


def test_a_file_that_was_put_beside_the_statement_of_another_proof_fails(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A statement under another name vouches for nothing that has that name.
    """
    shutil.copy(copied / "work.proof.intoto.jsonl", copied / "evil.proof.intoto.jsonl")
    (copied / "evil.proof.json").write_text('{"session_id":"evil"}')

    status, found = verify(capsys, copied / "evil.proof.json")

    assert (status, found["result"]) == (1, "failed")
    assert "evil.proof.json" in json.dumps(found)


def test_a_journal_that_claims_to_be_another_sessions_is_named(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Only a line whose own digest fits can say so: a newer session that has the name.
    """
    journal = copied / "work.jsonl"
    journal.write_bytes(journal.read_bytes().replace(INSTANCE.encode(), b"x" * len(INSTANCE), 1))

    status, found = verify(capsys, copied / "work.proof.json")

    assert (status, found["result"]) == (1, "failed")
    assert "work.jsonl" in json.dumps(found["parts"])
