"""The help texts of `k` and `km`."""

from __future__ import annotations

import re

K_HELP = """\
agent-tty / k -- persistent terminal sessions for AI agents

Usage:
  k new    <session> [cmd...] [--prompt="x"]  spawn session (default: bash)
  k new    <session> <cmd> --prompt=./hook    hook mode (custom frame detect)
  k new    <session> [options] -- argv...     no shell; options: --repo DIR
                                              --env K=V --rows N --cols N --pager
  k fire   [-t N] [session] <code>            async fire (default 300s)
  k poll   [session] [cell_id]                poll result (O(1))
  k run    [-j] [-e] [-t N] [session] <code>  sync (default 30s)
  k run    ... [-w N] [session] <code>        wait so long for an approval, if needed
  k run    ... [-u COND] [session] <code>     return when its output has COND (text
                                              or regex:P); the code runs on
  k await  ...                                alias for run
  k answer [-j] [-e] [-t D] [session] <text>  a line for the cell that waits: returns
                                              its next question or its end, new output only
  k batch  [-j] [-e] [-t N] <session> <code>...
                                              run each, stop at the first failure
  k peek   [--since N] [session] [cell_id]    output so far, nothing collected
  k notify [session] <message>                notification
  k int    [session]                          ctrl-c, and what it takes
  k kill   <session>... | --all               kill + cleanup
  k ls                                        list sessions, name first
  k list   ...                                alias for ls
  k status [session]                          health check
  k watch  [session]                          live filtered view
  k history [-n N] [session]                  last N*5 lines (default 5)
  k exec   [-j] [-t N] -- argv...             one program in a terminal of its own
  k screen [session]                          what a person would see
  k keys   [-s] <session> key...              press keys: enter ctrl-c escape : q a
                                              text:hello; -s: wait until the screen has
                                              settled, print the rows that changed
  k send   [session] <text>                   type a line, whatever reads it
  k type   [session] <text>                   the same without Enter
  k wait   [-t D] [session] --until COND      text, regex:P, screen:P, prompt, idle:2s,
                                              cell:ID, exit; --fail-on COND: status 1
  k read   [-n N] [session]                   last N lines of the transcript (25)

Session resolves: explicit arg > K_SESSION env > the only session there is.
Options come before the session. -j (--json) prints JSON everywhere. -t
(--timeout) takes seconds, 500ms or 5m; 0: no limit. -je is short for -j -e.
A session has the environment of the caller of k new. Pagers are off in it
(PAGER, GIT_PAGER ... are cat); k new --pager and k exec --pager keep them.
-e: exit with the command's own status (124: timed out, 125: waits for input,
122: unknown, because a nested or remote shell does not report it).
-u: 0 when COND came true, else as -e; 9: it ended well, but COND did not come true.

Agent mode: -m BYTES, or K_MAX=8000 in the environment, bounds every answer
(not watch): beginning, end, number of lines left out ("left_out") and the file
with everything ("path"). A timeout or error then has the output in "so_far",
poll the cell's "code". -m 0 switches it off. peek is always bounded, to 8000.

When is a cell finished?
  By itself: bash, zsh, fish, sh, python, ipython, node, psql, sqlite3 and gdb
  mark the end of each command; elsewhere the prompt of whoever reads the
  keyboard ends it. Nothing is ever typed but your code.
  --prompt="string"  exact prompt match (e.g. --prompt="(gdb)"; --exact=X if it
                     contains a slash)
  --prompt=./file    hook: k feeds lines, hook exit = frame end (or --hook=FILE)
                     made absolute at k new time; must exist and be executable
  --frame=repeat     5 empty Enters, detect repeated prompt lines

JSON output (-j / fire / poll / peek):
  fired:        {"cell_id": "...", "status": "fired"}
  running:      {"cell_id": "...", "status": "running"}
  done:         {"cell_id": "...", "status": "done", "output": "..."}
                and as last key "exit_code": N unless it is 0; null: unknown;
                "now": PROGRAM if another one reads the keyboard after it
  -u came true: {"cell_id": "...", "status": "running", "output": "...",
                 "matched": COND}   if it did not, the last key is "unmet": COND
  waiting:      {"cell_id": "...", "status": "waiting", "for": "input",
                 "output": "..."}   or "secret"; k answer, or k int
  timeout:      {"cell_id": "...", "status": "timeout", "output": ""}
                it runs on: k peek shows its output, k poll collects it
  peek:         as done, with "code" before "output" and "cursor" at the end:
                k peek --since CURSOR shows only what was written after that
  timeout(2+):  {"cell_id": "...", "status": "timeout", "output": "use k int or k kill"}
  error:        {"status": "error", "output": "..."}
  cell error:   {"cell_id": "...", "status": "error", "output": "..."}

  Errors without cell_id: no session, active cell, send failed, no active cell
  Errors with cell_id:    interrupted, exited, incomplete input, unknown cell

Examples:
  k new work && k run work 'make test'
  k run -j -e work 'grep -c error log'
  k run -u 'regex:listening on' web 'npm start'
  C=$(k fire work 'sleep 60; echo done') ; k poll work
  k run work './install' ; k answer work yes
  k run work vim ; k keys work escape : q ! enter

Monitor (separate command):
  km <session> [cell_id] [-1]    event stream -- each stdout line is one JSON event
"""

KM_HELP = """\
km -- event monitor beside k

Usage:
  km <session> [cell_id] [-1]    follow one session
  km --all [-1]                  follow every session

Each stdout line is one JSON event. -1: exit after the first completion (one-shot);
a cell that has finished already is told at once.

Events (all end in "ts"):
  fired:   {"cell_id": "...", "session": "...", "status": "fired", "ts": "..."}
  done:    {"cell_id": "...", "session": "...", "status": "done", "ts": "..."}
           also: timeout, interrupted, exited, error; waiting has "for"
  notify:  {"session": "...", "status": "notify", "from": "...", "message": "...", "ts": "..."}
  closed:  {"session": "...", "status": "closed", "ts": "..."}
  error:   {"session": "...", "status": "error", "message": "...", "ts": "..."}

Examples:
  km work                        what happens in work
  km work 0123456789ab -1        return when that cell has ended
"""


# Other words for the same.
ALIASES = {"await": "run", "list": "ls"}


def help_of(verb: str) -> str:
    """Return the lines and examples about one verb of `k`, and where the rest is."""
    usage, _, rest = K_HELP.partition("\nExamples:\n")
    wanted = ALIASES.get(verb, verb)
    examples = _lines_about(wanted, rest)
    shown = f"{_lines_about(wanted, usage)}"
    shown += f"\nExamples:\n{examples}" if examples else ""
    return f"{shown}\nk --help shows all commands, options and answers.\n"


def _lines_about(verb: str, text: str) -> str:
    # A line that is indented much further goes on with the one before it.
    return "".join(re.findall(rf"^  k {verb} .*\n(?: {{20,}}.*\n)*", text, flags=re.MULTILINE))
