#!/usr/bin/env bash
# The driver: carry out the steps in their order, in a tmux pane. Started by e2e-tmux.sh, which sets
# $WORK and $E2E, this directory, and reads $WORK/progress: `passed NUMBER NAME SECONDS` or
# `failed NUMBER NAME REASON`.
set -Eeuo pipefail

for file in step-names record panes session-steps evidence-steps surface-steps restart-steps; do
    # shellcheck disable=SC1090  # the names are above
    . "$E2E/$file.sh"
done
# shellcheck disable=SC1091  # written by make_panes
. "$WORK/panes"

# shellcheck disable=SC2034  # for the panes and the steps
TMUX_SOCKET=$WORK/tmux.sock SOCKET=$WORK/agent-pty.sock LOGS=$WORK/logs PROJECT=$WORK/project
# The pane, and beside it the text of the present step.
exec {pane}>&1

inside() { "$@"; }

report() { printf '%s\n' "$*" >>"$WORK/progress"; }

begin_step() {
    number=$1 name=$2 began=$EPOCHREALTIME
    printf '\n== %d/%d %s\n' "$number" "$STEP_COUNT" "$name" >&"$pane"
}

seconds_since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }

end_step() {
    echo passed >"$WORK/steps/$number.result"
    report "passed $number $name $(seconds_since "$began")"
}

unexpected() { [ -s "$WORK/failure" ] || printf 'this command failed: %s' "$1" >"$WORK/failure"; }

finish() {
    local status=$?
    [ $status != 0 ] || return 0
    echo failed >"$WORK/steps/$number.result"
    report "failed $number $name $(tr '\n' ' ' <"$WORK/failure")"
}

# A step runs in a shell of its own, so that its output can be in the report and in the pane.
carry_out() {
    begin_step "$1" "$2"
    (trap 'unexpected "$BASH_COMMAND"' ERR; "step_${2//-/_}") 2>&1 | tee "$WORK/steps/$1.txt"
    end_step
}

ps -o sid= -p $$ | tr -d ' ' >"$WORK/driver.session"
number=1 name=${STEP_NAMES[0]}
echo 'the driver failed before its first step' >"$WORK/failure"
trap finish EXIT
cd "$PROJECT"
: >"$WORK/failure"
for index in "${!STEP_NAMES[@]}"; do
    carry_out $((index + 1)) "${STEP_NAMES[index]}"
done
