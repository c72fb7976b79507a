"""Programs that run what stands after their own options: how each of them is called."""

from __future__ import annotations

from agent_pty.core.policy.option import Prefix

PREFIXES: dict[str, Prefix] = {
    "sudo": Prefix(
        "ugpCrtThUDR",
        frozenset({"--user", "--group", "--prompt", "--chdir", "--host", "--role", "--type"}),
        assigns=True,
    ),
    "doas": Prefix("uC"),
    "nice": Prefix("n", frozenset({"--adjustment"})),
    "ionice": Prefix("cnpPu", frozenset({"--class", "--classdata"})),
    "chrt": Prefix("TPD", operands=1),
    "taskset": Prefix("", operands=1),
    "nohup": Prefix(),
    "setsid": Prefix(),
    "time": Prefix("fo"),
    "timeout": Prefix("ks", frozenset({"--kill-after", "--signal"}), operands=1),
    "stdbuf": Prefix("ioe"),
    "chroot": Prefix("", frozenset({"--userspec", "--groups"}), operands=1),
    "unshare": Prefix("RSG"),
    "nsenter": Prefix("tSG", frozenset({"--target"})),
    "strace": Prefix("abeEIoOpPsSuX"),
    "ltrace": Prefix("aelnopsu"),
    "valgrind": Prefix(),
    "catchsegv": Prefix(),
    "command": Prefix(),
    "builtin": Prefix(),
    "exec": Prefix("a"),
    "caffeinate": Prefix("tw"),
    "torsocks": Prefix(),
    "proxychains": Prefix("f"),
    "proxychains4": Prefix("f"),
    "firejail": Prefix(),
    "fakeroot": Prefix("ls"),
    "xvfb-run": Prefix("efnspw"),
    "dbus-run-session": Prefix(),
    "systemd-run": Prefix("pMHtEu", frozenset({"--unit", "--property", "--slice", "--setenv"})),
    "pkexec": Prefix("", frozenset({"--user"})),
    "runuser": Prefix("uglcsw"),
    "gosu": Prefix("", operands=1),
    "su-exec": Prefix("", operands=1),
    "setpriv": Prefix(),
    "prlimit": Prefix(),
    "direnv": Prefix("", operands=2),
    "sshpass": Prefix("pfde"),
}
SSH = Prefix("bcDEeFIiJLlmOopQRSWw", operands=1)
SU = Prefix(
    "cgGsuwT",
    frozenset({"--command", "--session-command", "--group", "--supp-group", "--shell", "--user"}),
)
SCRIPT = Prefix(
    "cEIOBTmo",
    frozenset({"--command", "--echo", "--log-in", "--log-out", "--log-io", "--log-timing"}),
    attached="t",
)
WATCH = Prefix("nq", frozenset({"--interval", "--equexit"}))
FLOCK = Prefix("wE", frozenset({"--timeout", "--conflict-exit-code"}), operands=1)
PARALLEL = Prefix("jaSPNnLI", frozenset({"--jobs", "--arg-file", "--sshlogin", "--max-args"}))
TMUX = Prefix("cefFnstxylp")
HYPERFINE = Prefix(
    "wrmMpcsCSPDLun",
    frozenset({"--warmup", "--runs", "--prepare", "--setup", "--cleanup", "--conclude", "--shell"})
    | {"--min-runs", "--max-runs", "--command-name", "--export-json", "--export-markdown"},
)
PACKAGE_MANAGER = Prefix(
    "cpwC", frozenset({"--call", "--package", "--workspace", "--prefix", "--dir", "--filter"})
)
SCREEN = Prefix("cehpStTX")
XARGS = Prefix(
    "adEILnPsS",
    frozenset(
        {"--arg-file", "--delimiter", "--replace", "--max-lines", "--max-args", "--max-procs"}
        | {"--max-chars", "--eof"}
    ),
)
ENV = Prefix("uCS", frozenset({"--unset", "--chdir", "--split-string"}), assigns=True)
