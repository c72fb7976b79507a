"""Claims: true, false or undecidable, and the events that show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_pty.core.evidence import event as events
from agent_pty.core.evidence.claim import BadClaim
from agent_pty.core.policy.policy_file import BUILT_IN, parsed_policy
from support.proof import ProvedSession

TESTED = "ran:pytest exit:0 after:last-change"
NO_PUSH = "never:git_push_force"


@pytest.fixture
def session(tmp_path: Path) -> ProvedSession:
    """A session whose journal the test writes."""
    return ProvedSession(tmp_path)


# -- ran


def test_tests_that_passed_after_the_last_change_are_a_fact(session: ProvedSession) -> None:
    """
    A change, then a run of the tests that ended with 0: true, with the events of all three.
    """
    session.tree()
    changed = session.tree(" M a.py\n", diff="+fixed\n")
    begun, ended = session.ran("pytest -q")

    (claim,) = session.prove(TESTED).claims

    assert (claim.result, claim.events) == ("true", [changed, begun, ended])


def test_the_last_run_counts(session: ProvedSession) -> None:
    """
    Tests that passed first and failed later did not pass.
    """
    session.tree()
    session.ran("pytest", 0)
    begun, ended = session.ran("pytest", 1)

    (claim,) = session.prove(TESTED).claims

    assert (claim.result, claim.events) == ("false", [begun, ended])


def test_a_command_that_nobody_ran_is_false(session: ProvedSession) -> None:
    """
    Neither a cell nor a typed line runs it, and the record is whole.
    """
    session.ran("echo pytest")

    assert session.answers("ran:pytest") == ["false"]


UNDECIDED = {
    "typed, so nobody knows how it ended": lambda one: one.typed("pytest"),
    "of unknown exit code": lambda one: one.ran("pytest", None),
    "with another command after it": lambda one: one.ran("pytest; true"),
    "not ended": lambda one: one.note(events.CellStarted(cell_id="c", code="pytest")),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_an_exit_code_that_is_not_known_decides_nothing(name: str, session: ProvedSession) -> None:
    """
    What the record cannot show is neither true nor false.
    """
    session.tree()
    UNDECIDED[name](session)

    assert session.answers("ran:pytest exit:0") == ["undecidable"]


HIDDEN = (
    *('bash -c "pytest; true"', 'echo "$(pytest)"', 'eval "pytest || true"'),
    *(r"find . -maxdepth 0 -exec pytest \;", "setsid -f pytest"),
)


@pytest.mark.parametrize("line", HIDDEN)
def test_the_exit_code_of_what_ran_the_command_is_not_its_own(
    line: str, session: ProvedSession
) -> None:
    """
    A shell, a substitution or `find` ends with 0 though the command in it failed.
    """
    session.ran(line, 0)

    (claim,) = session.prove("ran:pytest exit:0").claims

    assert claim.result == "undecidable"
    assert "need not be this command's" in claim.reason


NOT_REACHED = (
    *("false && pytest", "true || pytest", "if false; then pytest; fi"),
    *("while false; do pytest; done", "case x in y) pytest;; esac"),
)


@pytest.mark.parametrize("line", NOT_REACHED)
def test_a_command_that_a_line_may_have_skipped_is_undecidable(
    line: str, session: ProvedSession
) -> None:
    """
    The line has it, and it never ran.
    """
    session.ran(line, 1 if line.startswith("false") else 0)

    (claim,) = session.prove("ran:pytest").claims

    assert (claim.result, claim.reason) == (
        "undecidable",
        "the line has it; whether it ran is not known",
    )


def test_what_the_guard_counted_in_the_cell_ran(session: ProvedSession) -> None:
    """
    The guard saw the program itself, also if it reports after the end; not its arguments.
    """
    session.guarded("strict")
    session.ran("true && pytest -q || true", 0)
    programs = {"/src/.venv/bin/pytest": 1}
    session.note(events.GuardedPrograms(programs=programs, cell_id="cell1"))

    assert session.answers("ran:pytest", "ran:'pytest -q'", "ran:pytest exit:0") == [
        *("true", "undecidable", "undecidable")
    ]


def test_a_run_that_is_certain_stays_a_fact(session: ProvedSession) -> None:
    """
    A later line that may have skipped the command does not undo it; how it ended last is open.
    """
    session.ran("pytest", 0)
    session.ran("false && pytest", 1)

    assert session.answers("ran:pytest", "ran:pytest exit:0") == ["true", "undecidable"]


def test_a_cell_that_was_refused_ran_nothing(session: ProvedSession) -> None:
    """
    A cell that ended as an error may never have reached the shell.
    """
    session.ran("pytest", None, status="error")

    assert session.answers("ran:pytest") == ["undecidable"]


def test_a_time_that_was_up_is_no_success(session: ProvedSession) -> None:
    """
    `timeout` passes the exit code on; its own 124 is not 0, and not the command's.
    """
    session.ran("timeout 60 pytest", 0)
    passed = session.answers("ran:pytest exit:0")
    session.ran("timeout 60 pytest", 124)

    assert passed == ["true"]
    assert session.answers("ran:pytest exit:0", "ran:pytest exit:124") == ["false", "undecidable"]


def test_a_change_that_was_seen_later_may_be_older(session: ProvedSession) -> None:
    """
    A look at the tree that ends after the tests may show what was there before them.
    """
    session.tree()
    session.ran("pytest")
    session.tree(" M a.py\n", diff="+x\n")

    assert session.answers(TESTED) == ["undecidable"]


def test_a_second_change_after_the_tests_is_younger(session: ProvedSession) -> None:
    """
    Two looks after the tests that differ: the second one shows an edit that was not tested.
    """
    session.tree()
    session.ran("pytest")
    session.tree(" M a.py\n", diff="+x\n")
    session.typed("vim a.py")
    changed = session.tree(" M a.py\n", diff="+y\n")

    (claim,) = session.prove(TESTED).claims

    assert claim.result == "false"
    assert changed in claim.events


def test_caches_that_the_tests_left_are_no_edit(session: ProvedSession) -> None:
    """
    New files that git does not know, and nothing typed since the tests began: their own work.
    """
    session.tree()
    session.ran("pytest")
    session.tree("?? .pytest_cache/\n")

    assert session.answers(TESTED) == ["true"]


def test_without_a_work_tree_nothing_is_known_of_changes(session: ProvedSession) -> None:
    """
    A directory without git has no snapshots.
    """
    session.ran("pytest")

    assert session.answers(TESTED, "ran:pytest exit:0") == ["undecidable", "true"]


# -- never


def test_never_is_true_only_where_the_guard_saw_everything(session: ProvedSession) -> None:
    """
    Strict from the start: true; otherwise nobody knows what the programs themselves ran.
    """
    session.guarded("strict")
    session.ran("make")

    assert session.answers(NO_PUSH) == ["true"]


@pytest.mark.parametrize("guard", ["builds", None])
def test_never_is_undecidable_beyond_the_lines_typed(
    guard: str | None, session: ProvedSession
) -> None:
    """
    A guard that looks at builds only, or none: no typed line is of the rule, and that is all.
    """
    session.guarded(guard)
    session.ran("make")

    assert session.answers(NO_PUSH) == ["undecidable"]


def test_a_guard_that_came_late_or_went_away_saw_not_everything(session: ProvedSession) -> None:
    """
    What ran before the guard stood, or while another host took over, is not known.
    """
    session.ran("make")
    session.guarded("strict")
    late = session.answers(NO_PUSH)

    session.note(events.HostRecovered())

    assert (late, session.answers(NO_PUSH)) == (["undecidable"], ["undecidable"])


def test_never_is_false_if_a_line_or_an_exec_is_recorded(session: ProvedSession) -> None:
    """
    A line that was typed, a cell, an exec that went on: each is shown.
    """
    session.guarded("strict")
    typed = session.typed("git push --force")
    session.ran("cd x && git push -f")
    seen = session.note(
        events.GuardedExec(
            argv=["git", "push", "-f"],
            cwd=None,
            pid=1,
            rule="git push --force",
            result="recorded",
            cell_id=None,
        )
    )

    (claim,) = session.prove(NO_PUSH).claims

    assert claim.result == "false"
    assert (claim.events[0], claim.events[-1], len(claim.events)) == (typed, seen, 3)


def test_what_was_refused_did_not_run(session: ProvedSession) -> None:
    """
    A denial, and a cell whose code was never typed, do not make the claim false.
    """
    session.guarded("strict")
    session.note(events.CellStarted(cell_id="c", code="git push -f"))
    session.note(
        events.PolicyDenied(
            command="git push -f",
            rule="git push --force",
            span=None,
            reason=None,
            policy_hash="p",
            gate="line",
        )
    )

    assert session.answers(NO_PUSH) == ["true"]


OWN_RULE = b'{"rules": [{"label": "deploy it", "pattern": "deploy"}]}'
NO_BUILT_IN = b'{"builtin_rules": false}'


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("rmrf", r"no rule is named rmrf; did you mean rm_rf\? \(rules: gh_pr_merge, git_push_"),
        ("no-such-rule", r"no rule is named no_such_rule \(rules: gh_pr_merge, "),
    ],
)
def test_a_rule_that_nobody_has_is_no_claim(word: str, said: str, session: ProvedSession) -> None:
    """
    A slip of the pen is not a rule that was never broken; nothing is written.
    """
    session.guarded("strict")

    with pytest.raises(BadClaim, match=said):
        session.prove(f"never:{word}")

    assert not list(session.proofs.glob("*"))


def test_the_rules_of_the_policy_in_force_are_known(session: ProvedSession) -> None:
    """
    A label of the file is a rule where that file was in force; before it, nobody looked.
    """
    session.policy = parsed_policy(OWN_RULE, path="p")
    session.guarded("strict", session.policy)
    known = session.answers("never:deploy_it")
    session.note(events.PolicyReloaded(old_hash=BUILT_IN.digest, new_hash=session.policy.digest))

    assert (known, session.answers("never:deploy_it")) == (["true"], ["undecidable"])
    with pytest.raises(BadClaim, match="did you mean deploy_it"):
        session.prove("never:deploy")


def test_of_a_policy_that_is_not_known_any_word_may_be_a_rule(session: ProvedSession) -> None:
    """
    The record of a past session has the digest of its policy, and the rules that were met.
    """
    session.guarded("strict", parsed_policy(OWN_RULE, path="p"))
    unmet = session.answers("never:deploy_it", "never:rmrf")
    session.note(
        events.PolicyDenied(
            command="deploy",
            rule="deploy it",
            span=None,
            reason=None,
            policy_hash="p",
            gate="line",
        )
    )

    assert unmet == ["undecidable", "undecidable"]
    assert session.answers("never:deploy_it", "never:rm_rf") == ["true", "true"]


def test_a_policy_without_built_in_rules_saw_none_of_them(session: ProvedSession) -> None:
    """
    The guard asks nobody about `rm -rf` then.
    """
    session.policy = parsed_policy(NO_BUILT_IN, path="p")
    session.guarded("strict", session.policy)

    assert session.answers("never:rm_rf") == ["undecidable"]


# -- clean-tree


def test_clean_tree_is_what_the_last_snapshot_says(session: ProvedSession) -> None:
    """
    No snapshot: undecidable; otherwise the last one decides.
    """
    without = session.answers("clean-tree")
    session.tree(" M a\n")
    dirty = session.answers("clean-tree")
    session.tree()
    clean = session.answers("clean-tree")

    assert (without, dirty, clean) == (["undecidable"], ["false"], ["true"])


def test_no_claim_is_true_of_a_damaged_record(session: ProvedSession) -> None:
    """
    What stands in a record that was changed shows nothing.
    """
    session.guarded("strict")
    session.tree()
    session.ran("pytest")
    session.prove()
    text = session.path.read_bytes()
    session.path.write_bytes(text.replace(b'"argv":["bash"]', b'"argv":["zash"]'))

    claims = session.prove(TESTED, NO_PUSH, "clean-tree", sign=False).claims

    assert [one.result for one in claims] == ["undecidable"] * 3
