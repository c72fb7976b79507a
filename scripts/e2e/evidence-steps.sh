# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # what is typed is expanded there; the driver sets the panes
# Steps 11 to 13: two attempts at a repair, their proofs, and many readers at once.

CHECK='python3 -m unittest checks'

step_worktree_forks() {
    local which
    for which in good bad; do
        says "forked repair-$which from base at" agent-pty fork base --new-name "repair-$which" --copy-worktree
        says '' agent-pty run "repair-$which" "cp repairs/$which.py invoice.py"
    done
    says OK agent-pty run repair-good "$CHECK"
    refused 1 'FAILED (failures=1)' agent-pty run repair-bad "$CHECK"
    holds 'the source is unchanged' git -C "$PROJECT" diff --quiet
    says repair-good agent-pty forks
    prints repair-bad
    says invoice.py agent-pty fork-diff repair-good repair-bad
}

step_proofs() {
    local session
    for session in base repair-good repair-bad; do
        says "$session.proof.md" agent-pty proof "$session"
        holds 'the Markdown names the session' grep -q -F "# agent-pty proof: $session" "$said"
    done
    says base.proof.html agent-pty proof base --html
    holds 'the page names the session' grep -q -F 'agent-pty proof: base' "$said"
    holds 'the page loads nothing' bash -c '! grep -q -i -E "(src|href)=.?https?:" "$1"' _ "$said"
    says '' agent-pty proof repair-good --claim "ran:'$CHECK' exit:0"
    refused 1 '' agent-pty proof repair-bad --claim "ran:'$CHECK' exit:0"
    verify_proofs
}

verify_proofs() {
    says '' agent-pty key export-public
    cp "$WORK/said" "$WORK/agent-pty.pub"
    says verified agent-pty verify "$LOGS/proofs/base.proof.json" --key "$WORK/agent-pty.pub"
    says verified agent-pty verify "$LOGS/proofs" --key "$WORK/agent-pty.pub"
    cp -R "$LOGS/proofs" "$WORK/changed"
    echo 'one line more' >>"$WORK/changed/base.proof.md"
    refused 1 base.proof.md agent-pty verify "$WORK/changed/base.proof.json" --key "$WORK/agent-pty.pub"
}

# at_once NUMBER: one replay and one proof, each into a file of its own.
at_once() {
    timeout "$COMMAND_SECONDS" agent-pty replay base --json >"$WORK/many/replay-$1.json" &
    jobs+=($!)
    timeout "$COMMAND_SECONDS" agent-pty proof base --json >"$WORK/many/proof-$1.json" &
    jobs+=($!)
}

step_many_at_once() {
    local number job jobs=()
    mkdir "$WORK/many"
    printf '$ agent-pty replay base --json (12 times) and agent-pty proof base --json (12 times), all at once\n'
    for number in {1..12}; do at_once "$number"; done
    for job in "${jobs[@]}"; do wait "$job" || fail "one of them failed with status $?"; done
    for number in {1..12}; do
        json_file 'len(it) > 10' "$WORK/many/replay-$number.json" || fail "replay $number is not whole"
        json_file 'it["session_id"] == "base" and it["log_integrity"]["verified"]' \
            "$WORK/many/proof-$number.json" || fail "proof $number is not whole"
    done
    printf 'seen: 24 answers, each parsed as JSON, %s bytes\n' "$(cat "$WORK"/many/*.json | wc -c)"
}
