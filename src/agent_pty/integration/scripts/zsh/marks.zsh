# agent-pty: marks for zsh (see core/mark.py).
# Rule of the file: every name it adds begins with __apty_, nothing is exported, PROMPT is left
# alone, and no hook relies on another: one of the user's that fails (`set -u`) or is interrupted
# stops all hooks after it.

typeset -gi __apty_number=0 __apty_ended=0 __apty_hooked=0 __apty_level=1 __apty_asked=0
typeset -g __apty_token=

# Write to the terminal, even after `exec >file`.
__apty_write() {
    if [[ -t 1 ]]; then builtin printf %s "$1"; else builtin printf %s "$1" >/dev/tty; fi
}

# Write a mark, and before it other text for the terminal. The token, which D announces, stands for
# the nonce in every other mark, because one of them is in PROMPT_EOL_MARK, which any code may print.
__apty_say() {
    __apty_write "${2-}"$'\e]133;'"$1;apty=$__apty_token"$'\a'
}

# First at every prompt.
__apty_precmd() {
    __apty_end "D;$?"
}

__apty_end() {
    (( __apty_number += 1, __apty_ended = 1 ))
    __apty_token=$RANDOM$RANDOM$RANDOM$RANDOM
    __apty_write $'\e]133;'"$1;apty=$__apty_nonce.$__apty_number.$__apty_token"$'\a'
    __apty_expect
}

# zsh completes an unfinished line of output before any hook runs: a mark before that says where
# the output ended.
__apty_expect() {
    typeset -g +x PROMPT_EOL_MARK=${PROMPT_EOL_MARK-%B%S%#%s%b}
    local head=$'%{\e]133;E;%?;apty=' tail=$'\a%}'
    PROMPT_EOL_MARK=$head$__apty_token$tail${PROMPT_EOL_MARK//$head<->$tail/}
}

# Says what stands on the line; bound to a key that nobody types.
__apty_line() {
    local -i code=$?
    local line=$PREBUFFER$BUFFER mode=main
    # A fork of the session is made: it gets what is exported here.
    if [[ -n $__apty_exports && -e $__apty_exports ]]; then
        command env -0 </dev/null >|$__apty_exports 2>/dev/null
    fi
    [[ $KEYMAP != vicmd ]] || mode=vi
    [[ -z $line ]] || line=${(q+)${line[1,1000]}}
    (( __apty_asked += 1 ))
    __apty_write $'\e]133;L;apty='"$__apty_nonce.$__apty_asked;$code;$mode;$CURSOR;$line"$'\a'
}

# Last at every prompt: other code may have changed these since.
__apty_hold() {
    precmd_functions=(__apty_precmd ${precmd_functions:#__apty_*} __apty_hold)
    preexec_functions=(${preexec_functions:#__apty_*} __apty_preexec)
    if [[ -o zle ]]; then __apty_hook; __apty_bind; else __apty_read start; fi
}

# Users and their files may change every keymap at any time.
__apty_bind() {
    local map
    zle -N __apty_line
    for map in emacs viins vicmd main; do bindkey -M $map '^^' __apty_line; done
}

# Replace zle-line-init, which runs when the prompt is drawn, and call the user's own. That may in
# turn call ours, if it was set up to wrap ours; __apty_init then goes one level down.
__apty_hook() {
    if [[ ${widgets[zle-line-init]-} == user:__apty_init ]]; then return; fi
    if (( $+widgets[zle-line-init] )); then
        zle -A zle-line-init __apty_init_$(( ++__apty_hooked ))
    else
        __apty_hooked=0
    fi
    __apty_level=$(( __apty_hooked + 1 ))
    zle -N zle-line-init __apty_init
}

# A line is read now: a command, or one more line of it.
__apty_read() {
    local paste=
    # zsh turns bracketed paste on a moment later, when the reader of the mark has already checked.
    if [[ -o zle && $#zle_bracketed_paste -eq 2 ]]; then paste=$'\e[?2004h'; fi
    if [[ $1 == cont ]]; then
        __apty_say P "$paste"
    elif [[ $1 == start ]]; then
        (( __apty_ended )) || __apty_end D
        __apty_ended=0
        __apty_say B "$paste"
    fi
}

# Last before every command.
__apty_preexec() {
    __apty_say C
}

# Once, at the first prompt.
__apty_begin() {
    precmd_functions=(${precmd_functions:#__apty_begin})
    __apty_precmd
    __apty_hold
    # If a hook failed at the first prompt, zsh checks the schedule after the prompt.
    if builtin zle; then __apty_read start; fi
    unfunction __apty_begin
}
