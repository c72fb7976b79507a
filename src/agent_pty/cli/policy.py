"""`policy`: ask the rules about a line, check a policy file, and change the one in force."""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.core.policy.approver_secret import secret_digest
from agent_pty.core.policy.explanation import explained
from agent_pty.core.policy.line_gate import LineGate
from agent_pty.core.policy.policy_file import Policy
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import Verdict, judged, stricter
from agent_pty.errors import Usage
from agent_pty.store import policy_store

# In a row of --jsonl: here one send ended and the next began.
_BORDER = "\x1e"
_STATUS = {"allow": 0, "require_approval": 3, "deny": 3}
_SALT_BYTES = 16


def policy(call: Invocation) -> int:
    """Do what the first word says."""
    return _ACTIONS[call.options.action](call)


def _check(call: Invocation) -> int:
    """Judge one line, or a row for each line of standard input."""
    rules = _rules(call)
    if call.options.jsonl:
        if call.options.text is not None:
            raise Usage("--jsonl reads rows from standard input: leave TEXT out")
        return _check_rows(rules)
    verdict = _typed([_text(call)], rules)
    call.show(_row(verdict) | {"reason": verdict.reason}, _said(verdict))
    return _STATUS[verdict.action]


def _explain(call: Invocation) -> int:
    """Show every command that a line would run, and what the rules say of each."""
    rules = _rules(call)
    text = _text(call)
    verdict, found = judged(text, Scope(), rules), explained(text, rules)
    lines = [_said(verdict), *(f"  {one.place}: {one.what}: {one.said}" for one in found)]
    steps = [{"what": one.what, "span": one.span, "said": one.said} for one in found]
    call.show(_row(verdict) | {"reason": verdict.reason, "steps": steps}, "\n".join(lines))
    return _STATUS[verdict.action]


def _test(call: Invocation) -> int:
    """Read a policy file, which must have no mistake and whose examples must hold."""
    path = call.options.policy or call.options.text
    if path is None:
        raise Usage("give the file: agent-pty policy test FILE")
    found = policy_store.read(path).policy()
    examples = sum(len(rule.matches) + len(rule.passes) for rule in found.file.rules)
    counted = {"path": path, "rules": len(found.rules), "examples": examples, "hash": found.digest}
    return call.show(counted, f"{path}: {len(found.rules)} rule(s), {examples} example(s) hold")


def _show(call: Invocation) -> int:
    """Show which policy is in force."""
    if call.options.text is not None:
        raise Usage(f"policy show takes no {call.options.text!r}: it shows the policy in force")
    found = call.ask("policy")
    where = found["path"] or "the built-in rules"
    return call.show(found, f"{where} ({found['hash'][:12]})")


def _reload(call: Invocation) -> int:
    """Have the daemon read its policy file again, or another one."""
    given = call.options.policy or call.options.text
    with call.connect(start=False) as connection:
        done = connection.ask(
            "policy_reload", path=None if given is None else os.path.abspath(given)
        )
    hashes = f"{done['old_hash'][:12]} -> {done['new_hash'][:12]}"
    return call.show(done, f"{done['path'] or 'the built-in rules'}: {hashes}")


def _secret(call: Invocation) -> int:
    """Print what a policy file needs so that operators must show a secret."""
    if not sys.stdin.isatty():
        raise Usage("the approver's secret is entered at a terminal: standard input is none")
    first = getpass.getpass("the approver's secret: ")
    if not first or getpass.getpass("once more: ") != first:
        raise Usage("the two were not the same, or nothing was given")
    digest = secret_digest(first, os.urandom(_SALT_BYTES))
    line = json.dumps({"approver": "secret", "approver_secret": digest})
    return call.show({"approver_secret": digest}, line)


def _rules(call: Invocation) -> Policy:
    """Return the rules of the file that was given, or those that are in force for `send`."""
    path = call.options.policy
    found = policy_store.expected(call.layout) if path is None else policy_store.read(path)
    return found.policy()


def _text(call: Invocation) -> str:
    if call.options.text is None:
        raise Usage("give the text to check, or --jsonl")
    return str(call.options.text)


def _check_rows(rules: Policy) -> int:
    for number, line in enumerate(sys.stdin, start=1):
        if not line.strip():
            continue
        try:
            command = json.loads(line)["command"]
        except (ValueError, KeyError, TypeError) as error:
            raise Usage(f'line {number} is no row {{"command": TEXT}}: {error}') from error
        sys.stdout.write(json.dumps(_row(_typed(command.split(_BORDER), rules))) + "\n")
    return 0


def _typed(sends: list[str], rules: Policy) -> Verdict:
    """Return the strictest verdict over sends; what stands on the line at the end is entered."""
    gate = LineGate(rules, history_expansion=False)  # as in a session
    verdict = gate.send("")
    for keys in [*sends, "\r"]:
        verdict = stricter(verdict, gate.send(keys))
    return verdict


def _row(verdict: Verdict) -> dict[str, Any]:
    return {"action": verdict.action, "rule": verdict.rule, "span": verdict.span}


def _said(verdict: Verdict) -> str:
    if verdict.action == "allow":
        return "allow"
    return f"{verdict.action}: {verdict.rule}: {verdict.reason}"


_ACTIONS: dict[str, Callable[[Invocation], int]] = {
    "check": _check,
    "explain": _explain,
    "test": _test,
    "show": _show,
    "reload": _reload,
    "secret": _secret,
}

COMMANDS = (
    client_command(
        "policy",
        "Ask the rules about a line, check a policy file, or change the one in force.\n\n"
        "check TEXT: whether a line would need an approval, as `send` would say it;\n"
        "nothing is run, and no session is asked. Exit status 0: it passes; 3: it needs\n"
        "an approval, or is denied. explain TEXT: also each command in it. test FILE:\n"
        "the file has no mistake, and its examples hold. show: what is in force. reload:\n"
        "read the file again, or --policy FILE; for operators. secret: print the digest\n"
        "of an approver's secret for the file.",
        Command(
            parts=(
                part("action", choices=[*_ACTIONS], help="what to do"),
                part(
                    "text",
                    nargs="?",
                    metavar="TEXT",
                    help="what would be typed; for test and reload, the file",
                ),
                part(
                    "policy",
                    "--policy",
                    metavar="FILE",
                    help="rules of your own, as JSON; default: those in force",
                ),
                part(
                    "jsonl",
                    "--jsonl",
                    action="store_true",
                    help='read rows {"command": TEXT}; U+001E is the border of two sends',
                ),
            ),
            examples=(
                "agent-pty policy check 'git push -f'",
                "agent-pty policy explain 'make && sudo rm -rf build' --json",
                "agent-pty policy test agent-pty-policy.json",
                "agent-pty policy reload --policy agent-pty-policy.json",
                "agent-pty policy check --jsonl",
            ),
        ),
    ),
)
