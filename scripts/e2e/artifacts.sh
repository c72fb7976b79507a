# shellcheck shell=bash
# shellcheck disable=SC2154  # e2e-tmux.sh sets the variables
# What is left for a reader. Needs $WORK, $artifacts, `inside` and the names of the steps.

# An older run's artifacts would be taken for this one's; what else is there stays.
make_artifacts_directory() {
    mkdir -p "$artifacts"
    artifacts=$(cd "$artifacts" && pwd)
    rm -f "$artifacts"/report.md "$artifacts"/tmux-{driver,daemon,http,observer}-pane.txt \
        "$artifacts"/driver.typescript "$artifacts"/agent-pty-logs/{*.jsonl,daemon.log} "$artifacts"/proofs/*.proof.*
    mkdir -p "$artifacts/agent-pty-logs" "$artifacts/proofs"
}

save_files() {
    cp "$WORK"/tmux-*-pane.txt "$artifacts"
    copy_what_is_there "$artifacts" "$WORK/driver.typescript"
    copy_what_is_there "$artifacts/agent-pty-logs" "$WORK"/logs/*.jsonl "$WORK"/home/.agent-pty/at/*/daemon.log
    copy_what_is_there "$artifacts/proofs" "$WORK"/logs/proofs/*.proof.* "$WORK/agent-pty.pub"
}

# copy_what_is_there DIRECTORY FILE...: a run that failed early has not all of them.
copy_what_is_there() {
    local file directory=$1
    shift
    for file in "$@"; do
        [ ! -f "$file" ] || cp "$file" "$directory"
    done
}

# result_of NUMBER: what the step noted; one that has begun and noted nothing did not pass.
result_of() {
    if [ -f "$WORK/steps/$1.result" ]; then
        cat "$WORK/steps/$1.result"
    elif [ -f "$WORK/steps/$1.txt" ]; then
        echo failed
    else
        echo 'not run'
    fi
}

write_report() {
    local number=0 name
    printf '# End-to-end test of agent-pty\n\n'
    report_facts "$1"
    printf '\n| step | name | result |\n|---|---|---|\n'
    for name in "${STEP_NAMES[@]}"; do
        number=$((number + 1))
        printf '| %d | %s | %s |\n' $number "$name" "$(result_of $number)"
    done
    number=0
    for name in "${STEP_NAMES[@]}"; do
        number=$((number + 1))
        report_step $number "$name"
    done
}

report_facts() {
    case $1 in
        0) printf 'Result: **passed**\n\n' ;;
        130 | 143) printf 'Result: **interrupted**\n\n' ;;
        *) printf 'Result: **failed**: %s\n\n' "${failure:-status $1}" ;;
    esac
    printf -- '- date: %s\n' "$(date -u '+%Y-%m-%d %H:%M:%S UTC')"
    printf -- '- agent-pty: %s (%s)\n' "$(inside timeout 30 agent-pty --version 2>&1 | head -n 1)" "$(PATH=$path command -v agent-pty)"
    printf -- '- tmux: %s\n- system: %s, user %s\n' "$(tmux -V)" "$(uname -srm)" "$(id -un) ($(id -u))"
}

# Indented, because what programs print may have fences.
report_step() {
    [ -f "$WORK/steps/$1.txt" ] || return 0
    printf '\n## %d %s: %s\n\n' "$1" "$2" "$(result_of "$1")"
    sed 's/^/    /; s/ *$//' "$WORK/steps/$1.txt"
}
