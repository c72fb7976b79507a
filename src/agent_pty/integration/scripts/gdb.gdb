# agent-pty: marks for gdb (see core/mark.py), set up after the user's own .gdbinit, but before a
# program is loaded: gdb would then read expressions here in the language of that program.
#
# Only where gdb has Python. The line editor may draw a prompt again at any time, with its marks; a
# number distinguishes the second drawing from the first, and a prompt that is only set has none.

# gdb would stop and ask at every screenful, in the middle of the output.
set pagination off
# This function of gdb is written in Python, so it shows whether gdb has Python.
if ! $_isvoid($_strlen)
  python
def _agent_pty():
    import os
    import gdb

    nonce = os.read(3, 100).decode().strip()
    os.close(3)
    # What the hook returns becomes the prompt, so the text it was made from is remembered.
    state = {"number": 0, "shown": None, "prompt": None, "inner": None}

    def mark(kind):
        # The line editor gives no width to what is between \1 and \2.
        return "\001\033]133;%s;apty=%s.%d\007\002" % (kind, nonce, state["number"])

    def hook(current):
        if current != state["shown"]:
            state["prompt"] = current
        inner = state["inner"]
        text = inner(state["prompt"]) if inner else None
        state["number"] += 1
        state["shown"] = mark("D") + (state["prompt"] if text is None else text) + mark("B")
        return state["shown"]

    # `set extended-prompt` and the user's scripts replace our hook by one of their own.
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
