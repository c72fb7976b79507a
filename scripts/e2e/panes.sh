# shellcheck shell=bash
# The tmux panes: driver, daemon, http and observer, in one window of a server of our own.
# Needs $TMUX_SOCKET and $WORK, in the environment that `inside` gives.

PANE_SECONDS=60 # how long a text may take to appear in a pane

# A new pane gets the PATH of the client that asks for it, not of the server.
in_tmux() { inside tmux -S "$TMUX_SOCKET" -f /dev/null "$@"; }

# of_pane PANE FORMAT: what tmux knows of it.
of_pane() { in_tmux display-message -p -t "$1" "$2" 2>/dev/null; }

# A pane that stays when its program ends, with everything that it showed.
make_panes() {
    local shell='exec bash --norc --noprofile' split
    split=(split-window -d -t e2e -P -F '#{pane_id}')
    daemon_pane=$(in_tmux start-server \; set-option -g history-limit 20000 \; set-option -g remain-on-exit on \; \
        new-session -d -s e2e -x 240 -y 100 -P -F '#{pane_id}' "$shell")
    http_pane=$(in_tmux "${split[@]}" "$shell")
    in_tmux select-layout -t e2e tiled
    observer_pane=$(in_tmux "${split[@]}" "$shell")
    in_tmux select-layout -t e2e tiled
    printf '%s=%s\n' daemon_pane "$daemon_pane" http_pane "$http_pane" observer_pane "$observer_pane" >"$WORK/panes"
    # shellcheck disable=SC2016,SC2034  # the pane's shell has these variables; e2e-tmux.sh uses this one
    driver_pane=$(in_tmux "${split[@]}" \
        'exec script -q -e -f -c '\''exec bash "$E2E/driver.sh"'\'' "$WORK/driver.typescript"')
    in_tmux select-layout -t e2e tiled
}

pane_text() { in_tmux capture-pane -p -J -S - -t "$1" 2>/dev/null; }

# save_panes: what each pane shows, as text; a pane that was never made leaves an empty file.
save_panes() {
    local name pane
    for name in driver daemon http observer; do
        pane=${name}_pane
        { [ -z "${!pane-}" ] || pane_text "${!pane}" || true; } >"$WORK/tmux-$name-pane.txt"
    done
}

type_in() {
    printf '[%s] $ %s\n' "$(pane_name "$1")" "$2"
    in_tmux send-keys -t "$1" -l "$2"
    in_tmux send-keys -t "$1" Enter
}

press_in() {
    printf '[%s] key %s\n' "$(pane_name "$1")" "$2"
    in_tmux send-keys -t "$1" "$2"
}

pane_name() {
    local name
    for name in daemon http observer; do
        name=${name}_pane
        [ "${!name}" != "$1" ] || echo "${name%_pane}"
    done
}

# pane_shows PANE TEXT [COUNT]: wait until it shows TEXT, so often.
pane_shows() {
    local end=$((SECONDS + PANE_SECONDS))
    until [ "$(pane_text "$1" | grep -c -F -e "$2")" -ge "${3:-1}" ]; do
        [ $SECONDS -lt $end ] || fail "the $(pane_name "$1") pane does not show: $2"
        sleep 0.05
    done
    printf '[%s] shows: %s\n' "$(pane_name "$1")" "$2"
}
