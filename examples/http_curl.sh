# Sessions over HTTP with curl: one request object per call, and events as they happen.
set -euo pipefail

# The same user on this machine needs no token. Port 0 is any free one; the first line names it.
coproc SERVER { exec agent-pty serve-http --addr 127.0.0.1:0; }
read -r _ _ _ url <&"${SERVER[0]}"
ask() { curl --silent --show-error --fail-with-body "$url/request" --data "$1"; echo; }
trap 'ask "{\"op\": \"kill\", \"id\": \"example-http\"}"; kill "$SERVER_PID"' EXIT

ask '{"op": "new", "id": "example-http", "repo": "/tmp", "argv": ["bash", "--norc"]}'
ask '{"op": "run", "id": "example-http", "code": "echo $((6 * 7)); (exit 3)"}'

# Type as a person would, wait for the text, and read the screen.
ask '{"op": "send", "id": "example-http", "text": "echo ready-$((1 + 1))"}'
ask '{"op": "wait", "id": "example-http", "until": "ready-2"}'
ask '{"op": "screen", "id": "example-http"}'

# Events of a session, from its first one on, as server-sent events: read until a cell is done.
grep --max-count 1 '"status": *"done"' < <(
    curl --silent --no-buffer "$url/watch?id=example-http&event=cell&since=0"
)

# What was done, for a reviewer: the path of a page with a player, signed.
ask '{"op": "proof", "id": "example-http"}' | sed -n 's/.*"html_path": *"\([^"]*\)".*/proof_html_path \1/p'
