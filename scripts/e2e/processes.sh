# shellcheck shell=bash
# The end of what was started: by pid, and nothing of anybody else. Needs $WORK, $MARK, `in_tmux`.

END_SECONDS=20

# Every process that has our mark in its environment; one that is a zombie has no environment.
marked_processes() {
    grep -l -z -x -F -e "$MARK" /proc/[0-9]*/environ 2>/dev/null | sed 's/[^0-9]//g' || true
}

# The driver and the command that it waits for: they share a kernel session.
end_driver() {
    local pid driver
    driver=$(cat "$WORK/driver.session" 2>/dev/null) || return 0
    for pid in $(marked_processes); do
        [ "$(ps -o sid= -p "$pid" | tr -d ' ')" != "$driver" ] || kill -KILL "$pid" 2>/dev/null
    done
}

# Our own server, and that of the sessions that are in tmux.
end_tmux_servers() {
    local socket
    for socket in "$WORK"/home/.agent-pty/tmux.sock "$WORK"/home/.agent-pty/at/*/tmux.sock "$TMUX_SOCKET"; do
        [ ! -S "$socket" ] || tmux -S "$socket" kill-server 2>/dev/null
    done
}

# Set `left_processes` to those that did not end by themselves.
end_marked_processes() {
    local pid end=$((SECONDS + END_SECONDS))
    while [ -n "$(marked_processes)" ] && [ $SECONDS -lt $end ]; do
        sleep 0.05
    done
    for pid in $(marked_processes); do
        left_processes="$left_processes $pid ($(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null))"
        kill -KILL "$pid" 2>/dev/null
    done
}
