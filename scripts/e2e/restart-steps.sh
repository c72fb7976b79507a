# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # what is typed is expanded there; the driver sets the panes
# Steps 16 to 18: a session in tmux outlives its daemon, and so does what was recorded.

step_tmux_session() {
    start_job
    says stopped agent-pty stop --socket "$SOCKET"
    type_in "$daemon_pane" 'echo "daemon-ended-$((1 + 1))"'
    pane_shows "$daemon_pane" daemon-ended-2
    holds 'the background job lives on' kill -0 "$(cat "$WORK/job.pid")"
    serve
    pane_shows "$daemon_pane" "agent-pty listening on $SOCKET" 2
    says 'job active=true' agent-pty list --socket "$SOCKET"
    prints_not base
    work_in_job
    attach_to_job
    says killed agent-pty kill job
}

# The job ends when a file appears, so it is known to run while there is no daemon.
start_job() {
    says 'created session job' agent-pty new --repo "$PROJECT" --name job --backend tmux
    says 'job active=true' agent-pty list
    says sent agent-pty send job \
        "(until [ -e $WORK/go ]; do sleep 0.1; done; echo \"job-\$((40 + 2))\") & echo \$! >$WORK/job.pid; echo \"begun-\$((1 + 1))\""
    says begun-2 agent-pty wait job --until begun-2 --timeout 60s
}

work_in_job() {
    touch "$WORK/go"
    says job-42 agent-pty wait job --until job-42 --timeout 60s
    says sent agent-pty send job 'echo "again-$((20 + 1))"'
    says again-21 agent-pty wait job --until again-21 --timeout 60s
    says again-21 agent-pty screen job
    run_with $'echo "piped-$((30 + 3))"\n' agent-pty attach job --timeout 3s
    ended 0
    prints piped-33
}

attachments() { agent-pty replay job | grep -c 'attach human' || true; }

one_more_attachment() { [ "$(attachments)" -gt "$1" ]; }

attach_to_job() {
    local before
    before=$(attachments)
    type_in "$observer_pane" 'agent-pty attach job --read-only --history-bytes 0'
    wait_until 'the replay names the attachment' one_more_attachment "$before"
    says sent agent-pty send job 'echo "live-$((40 + 4))"'
    pane_shows "$observer_pane" live-44
    press_in "$observer_pane" C-]
    pane_shows "$observer_pane" '[detached: job]'
}

step_replay_after_restart() {
    says 'policy denied terraform apply: terraform apply' agent-pty replay base
    prints 'policy approved'
    says 'attach human' agent-pty replay job
    prints output_gap
    says verified agent-pty verify base
    says verified agent-pty verify job
}

step_traces() {
    says "$LOGS/traces.jsonl" agent-pty trace-path
    holds 'the file of traces is not empty' [ -s "$LOGS/traces.jsonl" ]
    python3 -c 'import json, sys
print("[" + ",".join(json.dumps(json.loads(line)) for line in sys.stdin) + "]")' <"$LOGS/traces.jsonl" >"$WORK/traces.json"
    holds 'each line is a span' json_file 'all(one["name"].startswith("terminal.") for one in it)' "$WORK/traces.json"
    holds 'the refused line is an error there' json_file \
        'any(one["name"] == "terminal.send" and one["status"] == "error" for one in it)' "$WORK/traces.json"
    says stopped agent-pty stop
}
