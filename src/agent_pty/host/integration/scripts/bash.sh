# agent-pty: marks for bash (see core/mark.py), set up after the user's own start-up files.
# Rule of the file: it works under `set -eu`, keeps $? for whoever comes next, leaves nothing in
# the environment, and every name it adds begins with __apty_.

__apty_nonce=$AGENT_PTY_NONCE
__apty_start=$AGENT_PTY_START
unset AGENT_PTY_NONCE AGENT_PTY_START

# -- the user's start-up files, as bash would have read them
case $__apty_start in
    login)
        [ ! -r /etc/profile ] || . /etc/profile
        for __apty_file in ~/.bash_profile ~/.bash_login ~/.profile; do
            if [ -r "$__apty_file" ]; then . "$__apty_file"; break; fi
        done
        unset __apty_file
        ;;
    rc)
        [ ! -r /etc/bash.bashrc ] || . /etc/bash.bashrc
        [ ! -r ~/.bashrc ] || . ~/.bashrc
        ;;
esac
unset __apty_start

# -- marks
__apty_number=0
__apty_ps1=
__apty_ps2=

# First at every prompt: the command before it has ended.
__apty_ended() {
    local status=$?
    __apty_number=$((__apty_number + 1))
    builtin printf '\033]133;D;%s;apty=%s.%s\007' "$status" "$__apty_nonce" "$__apty_number"
    return "$status"
}

# Last at every prompt: themes set their prompt anew, so ours is put around it anew.
__apty_prompt() {
    local status=$? tag="apty=$__apty_nonce.$__apty_number"
    [[ ${PS1-} == *"apty=$__apty_nonce"* ]] || __apty_ps1=${PS1-}
    [[ ${PS2-} == *"apty=$__apty_nonce"* ]] || __apty_ps2=${PS2-}
    [[ ${PS0-} == *"apty=$__apty_nonce"* ]] || __apty_ps0=${PS0-}
    PS1=$__apty_ps1'\[\e]133;B;'$tag'\a\]'
    PS2=$__apty_ps2'\[\e]133;P;'$tag'\a\]'
    PS0=$__apty_ps0'\e]133;C;'$tag'\a'
    export -n PS0 PS1 PS2  # the nonce is nobody else's
    __apty_hold
    return "$status"
}

# PROMPT_COMMAND is a string for most users and a list for some; others may have changed it since.
__apty_hold() {
    local last=$((${#PROMPT_COMMAND[@]} - 1))
    if [[ ${PROMPT_COMMAND[0]-} != __apty_ended* ]]; then
        PROMPT_COMMAND[0]="__apty_ended${PROMPT_COMMAND[0]:+; ${PROMPT_COMMAND[0]}}"
    fi
    if [[ $last -lt 1 || ${PROMPT_COMMAND[last]} != __apty_prompt ]]; then
        PROMPT_COMMAND+=(__apty_prompt)
    fi
}

__apty_ps0=
__apty_hold
# An agent's `!` is meant as it stands.
set +o histexpand
