# agent-pty: marks for gdb (see core/mark.py), set up after the user's own .gdbinit, but before a
# program is loaded, whose language gdb would speak here.
#
# Only where gdb has Python. The line editor draws a prompt anew when it likes, marks and all; a
# number tells the second drawing from the first, and a prompt that is only set has none.

# gdb would stop and ask at every screenful, in the middle of the output.
set pagination off
unset environment AGENT_PTY_NONCE
# A function of gdb's that is written in Python.
if ! $_isvoid($_strlen)
  python
def _agent_pty():
    import os
    import gdb

    nonce = os.environ.pop("AGENT_PTY_NONCE", "")
    # What the hook returns becomes the prompt, so it is remembered what it was made from.
    state = {"number": 0, "shown": None, "prompt": None, "inner": None}

    def mark(kind):
        # The line editor gives no width to what stands between \1 and \2.
        return "\001\033]133;%s;apty=%s.%d\007\002" % (kind, nonce, state["number"])

    def hook(current):
        if current != state["shown"]:
            state["prompt"] = current
        inner = state["inner"]
        text = inner(state["prompt"]) if inner else None
        state["number"] += 1
        state["shown"] = mark("D") + (state["prompt"] if text is None else text) + mark("B")
        return state["shown"]

    # `set extended-prompt` and the user's scripts put a hook of their own in the place of ours.
    def hold():
        if gdb.prompt_hook is not hook:
            state["inner"] = gdb.prompt_hook
            gdb.prompt_hook = hook

    if nonce:
        hold()
        gdb.events.before_prompt.connect(hold)

_agent_pty()
del _agent_pty
  end
end
