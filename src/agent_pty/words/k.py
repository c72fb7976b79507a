"""The words of `k`: match them, ask ops, answer in the words of the contract."""

from __future__ import annotations

from agent_pty import __version__
from agent_pty.core.did_you_mean import did_you_mean
from agent_pty.words import (
    answer,
    batch,
    cell,
    execute,
    history,
    screen,
    send,
    session,
    wait,
    watch,
)
from agent_pty.words.bounded import refused_text, say_advice
from agent_pty.words.call import Call, Refusal, Verb
from agent_pty.words.help import K_HELP, help_of

_VERBS: dict[str, Verb] = {
    "new": session.new,
    "kill": session.kill,
    "ls": session.ls,
    "status": session.status,
    "notify": session.notify,
    "exec": execute.execute,
    "list": session.ls,
    "run": cell.run,
    "await": cell.run,
    "batch": batch.batch,
    "fire": cell.fire,
    "answer": answer.answer,
    "poll": cell.poll,
    "peek": cell.peek,
    "int": cell.interrupt,
    "screen": screen.screen,
    "keys": screen.keys,
    "send": send.send,
    "type": send.type_text,
    "wait": wait.wait,
    "read": screen.read,
    "history": history.history,
    "watch": watch.watch,
}
_HELP = ("-h", "--help", "help")
# Without a word these print how they are used.
_NEED_WORDS = frozenset({"new", "kill", "fire", "notify"})


async def run(call: Call, argv: list[str]) -> int:
    """Carry out one command line and return its exit status."""
    verb, *words = argv or ["--help"]
    if verb in _HELP and not words:
        await call.output.write(K_HELP)
        return 0
    if verb in _HELP:
        verb, words = words[0], ["--help"]
    if verb == "--version":
        await call.output.line(f"k {__version__} (agent-pty)")
        return 0
    if verb not in _VERBS:
        return await _unknown(call, verb)
    asked = words[:1] in (["-h"], ["--help"])
    if asked or (verb in _NEED_WORDS and not words):
        await call.output.write(help_of(verb))
        return 0 if asked else 1
    try:
        return await _VERBS[verb](call, words)
    except Refusal as refusal:
        await call.output.line(refused_text(call, str(refusal)))
        if refusal.advice:
            await say_advice(call, refusal.advice)
        return 1


async def _unknown(call: Call, verb: str) -> int:
    meant = did_you_mean(verb, _VERBS)
    question = f"did you mean {meant}? " if meant else ""
    await call.output.err(f"k: unknown command {verb!r}: {question}k --help shows all")
    return 1
