"""The words of `k`: match them, ask ops, say it in the words of the contract."""

from __future__ import annotations

from agent_pty import __version__
from agent_pty.words import cell, follow, look, session
from agent_pty.words.help import K_HELP
from agent_pty.words.speaker import Refusal, Speaker, Verb

_VERBS: dict[str, Verb] = {
    "new": session.new,
    "kill": session.kill,
    "ls": session.ls,
    "status": session.status,
    "notify": session.notify,
    "exec": session.execute,
    "run": cell.run,
    "await": cell.run,
    "fire": cell.fire,
    "poll": cell.poll,
    "peek": cell.peek,
    "int": cell.interrupt,
    "screen": look.screen,
    "keys": look.keys,
    "read": look.read,
    "history": look.history,
    "watch": follow.watch,
}
# Without a word these print the help text, as the original does.
_NEED_WORDS = frozenset({"new", "kill", "fire", "notify"})


async def speak(speaker: Speaker, argv: list[str]) -> int:
    """Carry out one command line and return its exit status."""
    verb, *words = argv or ["--help"]
    if verb in ("-h", "--help"):
        await speaker.said.out(K_HELP)
        return 0
    if verb == "--version":
        await speaker.said.line(f"k {__version__} (agent-pty)")
        return 0
    if verb not in _VERBS or (verb in _NEED_WORDS and not words):
        await speaker.said.out(K_HELP)
        return 1
    try:
        return await _VERBS[verb](speaker, words)
    except Refusal as refusal:
        await speaker.said.line(str(refusal))
        return 1
