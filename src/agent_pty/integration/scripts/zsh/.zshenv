# agent-pty: zsh reads this as the user's .zshenv because ZDOTDIR points here.
# Rule of the file: restore everything as it was, define our functions before the user's files can
# define aliases, run the user's .zshenv, and let zsh continue with the rest by itself.

typeset -g __apty_nonce= __apty_exports= __apty_here=$ZDOTDIR
IFS= read -r __apty_nonce <&3
IFS= read -r __apty_exports <&3 || __apty_exports=
exec 3<&-
# Set here it has the effect of -f; with -f itself zsh would not have read this file either.
if [[ ${AGENT_PTY_START-} == norcs ]]; then setopt no_rcs; fi
if (( ${+AGENT_PTY_ZDOTDIR} )); then ZDOTDIR=$AGENT_PTY_ZDOTDIR; else unset ZDOTDIR; fi
unset AGENT_PTY_START AGENT_PTY_ZDOTDIR

if [[ -o interactive ]]; then
    # Functions keep the options under which they were defined: whatever the user sets, also
    # `set -x` and `set -eu`, ours run under these and are not shown.
    emulate -R zsh -o extended_glob -o no_xtrace -c '. $__apty_here/marks.zsh'

    # This one keeps none, because it calls a widget of the user's.
    __apty_init() {
        local -i __apty_level=$(( __apty_level - 1 ))
        {
            if (( __apty_level > 0 )); then
                builtin zle __apty_init_$__apty_level -f nolast -N -- "$@" && :
            fi
        } always {
            TRY_BLOCK_ERROR=0
        }
        # Not in that block: its end discards a Ctrl-C that is the answer to our mark.
        if (( __apty_level == __apty_hooked )); then __apty_read "$CONTEXT"; fi
    }

    # An agent's `!` is meant literally, and code is pasted with its comments. This is set again
    # after the user's files, but by then zsh has already decided about the first line.
    unsetopt bang_hist
    setopt interactive_comments

    # zsh checks the schedule after all precmd hooks, and no start-up file resets it, as some do
    # with precmd_functions.
    if zmodload zsh/sched 2>/dev/null; then
        sched +0 '__apty_begin; unsetopt bang_hist; setopt interactive_comments'
    else
        precmd_functions+=(__apty_begin)
    fi
fi
unset __apty_here

if [[ -o rcs && -r ${ZDOTDIR-$HOME}/.zshenv ]]; then . "${ZDOTDIR-$HOME}/.zshenv"; fi
