# shellcheck shell=bash
# Commands of the driver and what they say. What is printed goes to the pane and to the report.
# Needs $WORK.

COMMAND_SECONDS=90
SHOWN_LINES=40

# What is printed is plain: escape sequences would clear the pane, and no reader wants them.
plain() {
    sed -E -e 's/\x1b\[[0-9;?!]*[ -/]*[@-~]//g' -e 's/\x1b\][^\x07\x1b]*(\x07|\x1b\\)//g' \
        -e 's/\x1b[()].//g' -e 's/\x1b[^[]//g' | tr -d '\000-\010\013-\037\177' | cat -s
}

trimmed() {
    awk -v most=$SHOWN_LINES 'NR <= most { print (length($0) > 300 ? substr($0, 1, 300) " ..." : $0) }
        END { if (NR > most) print "... (" NR - most " more lines)" }'
}

# A command line that can be typed again: only what needs quotes has them.
as_typed() {
    local word line=''
    for word in "$@"; do
        case $word in
            '' | *[!A-Za-z0-9_./:=@%+,-]*) word="'${word//\'/\'\\\'\'}'" ;;
        esac
        line="$line $word"
    done
    printf '%s' "${line# }"
}

# run_with INPUT COMMAND...: set `status` and `said` (standard output and error).
run_with() {
    local input=$1
    shift
    if [ -n "$input" ]; then
        printf '$ %s | %s\n' "$(as_typed printf "${input//$'\n'/\\n}")" "$(as_typed "$@")"
    else
        printf '$ %s\n' "$(as_typed "$@")"
    fi
    status=0
    timeout $COMMAND_SECONDS "$@" >"$WORK/said" 2>&1 < <(printf '%s' "$input") || status=$?
    said=$(tr -d '\000' <"$WORK/said")
    plain <"$WORK/said" | trimmed
    [ $status = 0 ] || printf '(exit status %d)\n' $status
}

run() { run_with '' "$@"; }

# says TEXT COMMAND...: it succeeds and prints TEXT.
says() {
    local wanted=$1
    shift
    run "$@"
    ended 0
    prints "$wanted"
}

# refused STATUS TEXT COMMAND...: it exits with STATUS and prints TEXT.
refused() {
    local expected=$1 wanted=$2
    shift 2
    run "$@"
    ended "$expected"
    prints "$wanted"
}

ended() { [ "$status" = "$1" ] || fail "exit status $status, not $1"; }

prints() {
    case $said in *"$1"*) ;; *) fail "it does not print: $1" ;; esac
}

prints_not() {
    case $said in *"$1"*) fail "it prints: $1" ;; esac
}

# holds WHAT COMMAND...: a fact that the command decides.
holds() {
    local what=$1
    shift
    printf 'check: %s\n' "$what"
    "$@" || fail "not true: $what"
}

# said_json WHAT EXPRESSION: what was said is JSON, `it`, of which the Python expression is true.
said_json() {
    holds "$1" json_file "$2" "$WORK/said"
}

json_file() {
    python3 -c 'import json, sys
it = json.load(open(sys.argv[2], encoding="utf-8"))
sys.exit(not eval(sys.argv[1]))' "$1" "$2"
}

# wait_until WHAT COMMAND...: only for what nothing can signal.
wait_until() {
    local what=$1 end=$((SECONDS + PANE_SECONDS))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "it never came true: $what"
        sleep 0.05
    done
    printf 'seen: %s\n' "$what"
}

fail() {
    printf 'FAILED: %s\n' "$*"
    printf '%s' "$*" >"$WORK/failure"
    exit 1
}
