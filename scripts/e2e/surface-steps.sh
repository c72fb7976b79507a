# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # what is typed is expanded there; the driver sets the panes
# Steps 14 and 15: the same sessions over HTTP and MCP.

ask_http() {
    run curl --silent --show-error "$url/request" --data "$1"
}

# status_of WANTED ARGUMENT...: the status of a request from the page of another site.
status_of() {
    local wanted=$1
    shift
    says "$wanted" curl --silent --output /dev/null --write-out '%{http_code}' \
        -H 'Origin: http://example.com' "$@" "$url/request" --data '{"op": "list"}'
}

step_http() {
    local url token
    type_in "$http_pane" "agent-pty serve-http --addr 127.0.0.1:0 --socket $SOCKET"
    pane_shows "$http_pane" 'token for other users and machines: /'
    url=$(pane_text "$http_pane" | sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' | tail -n 1)
    token=$(pane_text "$http_pane" | sed -n 's/^token for other users and machines: //p' | tail -n 1)
    ask_http '{"op": "new", "id": "web", "repo": "/tmp", "argv": ["python3", "-q"]}'
    prints '"type":"session_created"'
    ask_http '{"op": "run", "id": "web", "code": "6 * 7"}'
    prints '"output":"42"'
    ask_http '{"op": "screen", "id": "nobody"}'
    prints '"error":"unknown session nobody"'
    status_of 403
    status_of 401 -H 'Authorization: Bearer wrong'
    printf 'Authorization: Bearer %s\n' "$(cat "$token")" >"$WORK/header"
    status_of 200 -H "@$WORK/header"
    leave_http
}

# The server ends; its sessions do not.
leave_http() {
    press_in "$http_pane" C-c
    type_in "$http_pane" 'echo "left-$((1 + 1))"'
    pane_shows "$http_pane" left-2
    says 'web active=true' agent-pty list
}

# call NUMBER TOOL ARGUMENTS: one line of JSON-RPC.
call() {
    printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@"
}

step_mcp() {
    local lines
    lines=$(
        echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        call 2 terminal.new '{"id":"mcp","repo":"/tmp","shell":"/bin/sh"}'
        call 3 terminal.send '{"id":"mcp","text":"echo mcp-$((40 + 2))"}'
        call 4 terminal.wait '{"id":"mcp","until":"mcp-42","timeout_ms":60000}'
        call 5 terminal.proof '{"id":"mcp"}'
    )
    run_with "$lines"$'\n' agent-pty mcp-stdio
    ended 0
    python3 -c 'import json, sys
json.dump({one["id"]: one for one in map(json.loads, sys.stdin)}, sys.stdout)' <"$WORK/said" >"$WORK/answers"
    holds 'each request has its answer' json_file 'sorted(it) == list("12345")' "$WORK/answers"
    holds 'the tools are there' json_file \
        '{"terminal.proof", "terminal.approve"} <= {tool["name"] for tool in it["1"]["result"]["tools"]}' "$WORK/answers"
    holds 'the wait saw the output' json_file '"mcp-42" in it["4"]["result"]["structuredContent"]["data"]["screen"]["text"].split()' "$WORK/answers"
    holds 'the proof has its commands' json_file 'it["5"]["result"]["structuredContent"]["data"]["commands_run"]' "$WORK/answers"
}
