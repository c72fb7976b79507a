#!/usr/bin/env bash
# Test the whole product from outside: the installed commands, in real tmux panes.
#
# This file makes the panes, waits for the driver in one of them, and leaves the artifacts. The
# story itself is in scripts/e2e/. Everything lives in a temporary directory with a HOME and a tmux
# server of its own; whatever was started carries $MARK in its environment and is ended by its pid.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/e2e/artifacts.sh
. "$here/e2e/artifacts.sh"
# shellcheck source=scripts/e2e/processes.sh
. "$here/e2e/processes.sh"
# shellcheck source=scripts/e2e/panes.sh
. "$here/e2e/panes.sh"
# shellcheck source=scripts/e2e/step-names.sh
. "$here/e2e/step-names.sh"

RUN_SECONDS=300 # for all steps together; a quiet machine needs about 20
NEEDED='tmux:tmux curl:curl git:git script:bsdutils ps:procps timeout:coreutils python3:python3'

usage() {
    cat <<'USAGE'
usage: e2e-tmux.sh [--ci] [--artifacts DIR] [--bin DIR]

Test the whole product in real tmux panes, from the first daemon to a session
that outlives it, and leave a report.

  --ci             no colour; one plain line per step
  --artifacts DIR  where the report, the panes, logs and proofs are left
                   (default: .e2e)
  --bin DIR        where agent-pty and k are installed (default: as PATH has it)
  -h, --help       show this

It starts a tmux server and daemons of its own, in a temporary directory, and
ends all of them. Run it outside of agent-pty's sessions: it approves commands,
and programs in sessions may not.

Exit status: 0 every step passed; 1 a step failed; 2 wrong usage, or a program
is missing; 130 interrupted. The artifacts are left in each case but the third.

examples:
  scripts/e2e-tmux.sh --ci --artifacts /tmp/e2e --bin .venv/bin
  make e2e
USAGE
}

say() { printf 'e2e: %s\n' "$*" >&2; }

usage_error() {
    say "$*"
    say 'see e2e-tmux.sh --help'
    exit 2
}

read_arguments() {
    ci=no artifacts=.e2e bin=
    while [ $# -gt 0 ]; do
        case $1 in
            --ci) ci=yes ;;
            --artifacts | --bin)
                [ $# -gt 1 ] || usage_error "$1: a directory is missing"
                case $1 in --bin) bin=$2 ;; *) artifacts=$2 ;; esac
                shift
                ;;
            -h | --help)
                usage
                exit 0
                ;;
            *) usage_error "unknown argument: $1" ;;
        esac
        shift
    done
}

require_programs() {
    local each missing='' packages=''
    for each in $NEEDED; do
        command -v "${each%%:*}" >/dev/null && continue
        missing="$missing ${each%%:*}" packages="$packages ${each##*:}"
    done
    [ -z "$missing" ] || usage_error "missing:$missing; install them, on Debian as root: apt-get install$packages"
}

# Set `path` to what the panes get as PATH.
find_commands() {
    local each
    path=$PATH
    if [ -n "$bin" ]; then
        [ -d "$bin" ] || usage_error "--bin: no directory: $bin"
        path=$(cd "$bin" && pwd):$PATH
    fi
    for each in agent-pty k; do
        PATH=$path command -v "$each" >/dev/null && continue
        usage_error "no $each in ${bin:-PATH}: install agent-pty, or name its directory with --bin"
    done
}

make_work() {
    mkdir "$WORK/home" "$WORK/bin" "$WORK/steps"
    : >"$WORK/progress"
    make_stand_in
    cp -R "$here/../tests/fixtures/broken_project" "$WORK/project"
}

# Nobody's terraform may run: this one notes that it was called.
make_stand_in() {
    cat >"$WORK/bin/terraform" <<TERRAFORM
#!/bin/sh
echo "\$*" >>"$WORK/terraform-calls"
echo "stand-in for terraform: \$*"
TERRAFORM
    chmod +x "$WORK/bin/terraform"
}

# Run a command with the environment that everything in the panes has, and nothing of the caller's:
# a proxy, a tmux or an agent-pty session of theirs would change the story.
inside() {
    env -i "$MARK" WORK="$WORK" E2E="$here/e2e" HOME="$WORK/home" PATH="$WORK/bin:$path" \
        AGENT_PTY_SOCKET="$WORK/agent-pty.sock" TERM=xterm-256color LC_ALL=C.UTF-8 SHELL=/bin/bash \
        ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} \
        GIT_CONFIG_NOSYSTEM=1 PYTHONDONTWRITEBYTECODE=1 "$@"
}

# Set `person` if somebody looks on; where colours are made, standard output is a pipe.
look_for_person() { if [ "$ci" = no ] && [ -t 1 ]; then person=yes; else person=no; fi; }

coloured() {
    if [ $person = yes ]; then printf '\033[%sm%s\033[0m' "$1" "$2"; else printf '%s' "$2"; fi
}

# One line of the driver: WORD NUMBER NAME REST.
show_progress() {
    local word number name rest
    read -r word number name rest <<<"$1"
    case $word in
        passed) printf '%s %2d/%d %s (%s s)\n' "$(coloured 32 'ok    ')" "$number" "$STEP_COUNT" "$name" "$rest" ;;
        failed)
            printf '%s %2d/%d %s\n' "$(coloured 31 FAILED)" "$number" "$STEP_COUNT" "$name"
            failure="step $number $name failed: $rest"
            ;;
    esac
}

# Show the lines that the driver has added. `read -t` from a pipe would not do: when its time ends
# in the middle of a line, it drops what it has read of it.
show_new_progress() {
    local line lines
    mapfile -s "$shown" lines <"$WORK/progress"
    for line in "${lines[@]}"; do
        case $line in *$'\n') ;; *) return 0 ;; esac
        shown=$((shown + 1))
        show_progress "${line%$'\n'}"
    done
}

driver_lives() { [ "$(of_pane "$driver_pane" '#{pane_dead}')" = 0 ]; }

# Until the driver has ended, by itself or not, or the time is over.
follow_driver() {
    shown=0
    while driver_lives && [ "$SECONDS" -lt $RUN_SECONDS ]; do
        show_new_progress
        sleep 0.2
    done
    show_new_progress
}

# Only what each step has noted itself counts, so that nothing is taken for passed by mistake.
require_all_passed() {
    local number
    for number in $(seq "$STEP_COUNT"); do
        [ "$(result_of "$number")" = passed ] && continue
        failure=${failure:-"step $number ${STEP_NAMES[number - 1]} failed: the driver ended, or $RUN_SECONDS s were over"}
    done
}

# After Ctrl-C the driver goes first: its next command would start another daemon.
end_everything() {
    end_driver
    inside timeout 30 agent-pty stop >/dev/null 2>&1 || true
    save_panes
    end_tmux_servers
    end_marked_processes
}

finish() {
    local status=$?
    trap '' INT TERM HUP
    trap - EXIT
    set +e
    end_everything
    [ $status != 0 ] || [ -n "$failure" ] || [ -z "$left_processes" ] || failure="these processes were left: $left_processes"
    [ -z "$failure" ] || [ $status != 0 ] || status=1
    save_files
    write_report "$status" >"$artifacts/report.md"
    rm -rf "$WORK"
    [ -z "$failure" ] || say "$failure"
    [ $status = 0 ] || say "stopped; what there is: $artifacts/report.md"
    [ $status != 0 ] || printf 'e2e: %d steps passed; report: %s\n' "$STEP_COUNT" "$artifacts/report.md"
    exit $status
}

read_arguments "$@"
look_for_person
require_programs
find_commands
make_artifacts_directory
failure='' left_processes='' driver_pane=''
# Not in TMPDIR, which can be long: the path of a socket may have 107 bytes.
WORK=$(mktemp -d /tmp/ape-XXXXXX)
MARK=AGENT_PTY_E2E_RUN=$WORK TMUX_SOCKET=$WORK/tmux.sock
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
make_work
failure='the tmux panes could not be made'
make_panes
failure=''
[ $person = no ] || printf 'e2e: to look on: tmux -S %s attach -r\n' "$TMUX_SOCKET"
follow_driver
require_all_passed
