# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # what is typed is expanded there; the driver sets the panes
# Steps 1 to 10: a daemon, and one session that a script works in.

serve() { type_in "$daemon_pane" "agent-pty serve --socket $SOCKET --log-dir $LOGS"; }

# A commit that needs no identity of anybody.
commit_project() {
    git init -q
    git add -A
    git -c user.name=e2e -c user.email=e2e@example.invalid commit -q -m 'A broken project'
}

step_daemon_and_list() {
    commit_project
    serve
    pane_shows "$daemon_pane" "agent-pty listening on $SOCKET"
    says 'created session base' agent-pty --socket "$SOCKET" new --repo "$PROJECT" --name base
    says 'base active=true' agent-pty list --socket "$SOCKET"
}

step_failing_build() {
    says sent agent-pty send base 'python3 -m unittest checks; echo "build status $?"'
    says 'build status 1' agent-pty wait base --until 'build status 1' --fail-on 'build status 0' --timeout 60s
    prints 'FAILED (failures=1)'
}

step_policy_denial() {
    refused 3 'terraform apply requires approval before it can be sent to the PTY' \
        agent-pty send base 'terraform apply'
    holds 'terraform did not run' [ ! -e "$WORK/terraform-calls" ]
    says 'policy denied terraform apply: terraform apply' agent-pty replay base
}

step_approval() {
    says '' agent-pty approve base 'terraform apply' --ttl 2m
    local token=$said
    holds 'the token is one word' expr "$token" : '[0-9A-Za-z_-]*$'
    says sent agent-pty send base 'terraform apply' --approval "$token"
    says 'stand-in for terraform: apply' agent-pty wait base --until 'stand-in for terraform' --timeout 60s
    refused 3 'requires approval' agent-pty send base 'terraform apply' --approval "$token"
    holds 'terraform ran once' [ "$(wc -l <"$WORK/terraform-calls")" = 1 ]
    says 'policy approval created' agent-pty replay base
    holds 'the replay has the approval that was spent' grep -q 'policy approved .* terraform apply: terraform apply' "$WORK/said"
    holds 'the token is in no log' bash -c '! grep -r -q -F -e "$1" "$2"' _ "$token" "$LOGS"
}

step_semantic_screen() {
    says sent agent-pty send base clear
    says 'matched prompt' agent-pty wait base --until prompt --timeout 60s
    says sent agent-pty send base 'printf "error: src/main.rs:12 is wrong, see https://example.com/build\n"'
    says 'matched is wrong, see' agent-pty wait base --until 'is wrong, see' --timeout 60s
    says '' agent-pty screen base --json
    said_json 'the command is the one that was typed' '"printf" in it["semantic"]["command"]'
    said_json 'one line is an error' \
        '[it["text"].splitlines()[n][:15] for n in it["semantic"]["error_lines"]] == ["error: src/main"]'
    said_json 'the URL is found' 'it["semantic"]["urls"] == ["https://example.com/build"]'
    said_json 'the path is found with its line' '"src/main.rs:12" in it["semantic"]["file_paths"]'
    said_json 'there is a prompt' 'it["semantic"]["prompt"]'
}

step_interactive_read() {
    says sent agent-pty send base 'read -r -p "Go on? [y/n] " answer; echo "answer=<$answer>"'
    says 'Go on?' agent-pty wait base --until 'Go on? [y/n]' --timeout 60s
    says sent agent-pty send base y
    says 'answer=<y>' agent-pty wait base --until 'answer=<y>' --timeout 60s
}

step_attach() {
    says sent agent-pty send base 'read -r -p "Name? " name; echo "Hello $name"'
    says 'Name?' agent-pty wait base --until 'Name?' --timeout 60s
    run_with $'Eve\n' agent-pty attach base --read-only --timeout 250ms
    ended 0
    prints 'answer=<y>'
    prints 'Name?'
    run_with $'Ada\n' agent-pty attach base --timeout 3s
    ended 0
    prints 'Hello Ada'
    says 'attach human' agent-pty replay base
    attach_in_observer_pane
}

# A person looks on, from a real terminal, and leaves by the key for it.
attach_in_observer_pane() {
    type_in "$observer_pane" 'agent-pty attach base --read-only --history-bytes 2000'
    pane_shows "$observer_pane" 'Hello Ada'
    says sent agent-pty send base 'echo "observed-$((20 + 1))"'
    pane_shows "$observer_pane" observed-21
    press_in "$observer_pane" C-]
    pane_shows "$observer_pane" '[detached: base]'
}

step_python_repl() {
    says 'created session py' agent-pty new --repo "$PROJECT" --name py -- python3 -q
    says '>>>' agent-pty wait py --until 'screen:>>>' --timeout 60s
    says sent agent-pty send py 'print(6 * 7)'
    says 42 agent-pty wait py --until 42 --timeout 60s
    says 49 k run py $'def square(n):\n    return n * n\n\nsquare(7)'
}

# The pauses are shorter than the silence that is awaited, so the loop must have ended.
step_loop_and_idle() {
    says sent agent-pty send base 'for i in 1 2 3 4; do echo "tick-$i"; sleep 0.3; done; echo "ticks-$((40 + 2))"'
    says tick-2 agent-pty wait base --until tick-2 --timeout 60s
    says ticks-42 agent-pty wait base --until idle:3s --timeout 60s
}

step_colour_and_overwrite() {
    says sent agent-pty send base "clear; printf '\\033[31mred\\033[0m plain\\n'; printf 'progress 10%%\\rprogress 100%%\\n'"
    says '' agent-pty wait base --until 'progress 100%' --timeout 60s
    says 'red plain' agent-pty read base --tail 4
    holds 'the line was overwritten' grep -q -x 'progress 100%' "$WORK/said"
    holds 'nothing is left of the first text' bash -c '! grep -q -x "progress 10%" "$1"' _ "$WORK/said"
    says 'red plain' agent-pty screen base
    prints_not $'\033'
    says red agent-pty screen base --format ansi
    holds 'the colour is there' grep -q -E $'\033\\[([0-9;]*;)?(31|38;5;1)m(\033\\[[0-9;]*m)*red' "$WORK/said"
}
