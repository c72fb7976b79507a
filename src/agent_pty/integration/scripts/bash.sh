# agent-pty: marks for bash (see core/mark.py), set up after the user's own start-up files.
# Rule of the file: it works under `set -eu`, keeps $? for the code that runs next, leaves nothing
# in the environment, and every name it adds begins with __apty_.

__apty_nonce=$AGENT_PTY_NONCE
__apty_start=$AGENT_PTY_START
unset AGENT_PTY_NONCE AGENT_PTY_START

# -- the user's start-up files; /etc/bash.bashrc was read before us where bash is built to do so
case $__apty_start in
    login)
        [ ! -r /etc/profile ] || . /etc/profile
        for __apty_file in ~/.bash_profile ~/.bash_login ~/.profile; do
            if [ -r "$__apty_file" ]; then . "$__apty_file"; break; fi
        done
        unset __apty_file
        ;;
    rc)
        [ ! -r ~/.bashrc ] || . ~/.bashrc
        ;;
    prompt)
        unset PROMPT_COMMAND
        [ -z "${AGENT_PTY_PROMPT_COMMAND-}" ] || PROMPT_COMMAND=$AGENT_PTY_PROMPT_COMMAND
        unset AGENT_PTY_PROMPT_COMMAND
        ;;
esac

# -- marks
__apty_number=0
__apty_told=0

# First at every prompt: the command before it has ended.
__apty_ended() {
    local status=$?
    __apty_number=$((__apty_number + 1))
    __apty_told=1
    builtin printf '\033]133;D;%s;apty=%s.%s\007' "$status" "$__apty_nonce" "$__apty_number"
    return "$status"
}

# Last at every prompt: themes set their prompt again, so our marks are put around it again. The
# prompt itself writes D if nothing else has: code that empties PROMPT_COMMAND removes ours, too.
__apty_prompt() {
    local status=$? tag="apty=$__apty_nonce."
    local now='$((__apty_number))' next='$((__apty_number += !__apty_told, __apty_told = 0, __apty_number))'
    [[ ${PS0-} == *"$tag"* ]] || PS0=${PS0-}'\e]133;C;'$tag$now'\a'
    [[ ${PS1-} == *"$tag"* ]] ||
        PS1='\[\e]133;D;$?;'$tag$next'\a\]'${PS1-}'\[\e]133;B;'$tag$now'\a\]'
    [[ ${PS2-} == *"$tag"* ]] || PS2=${PS2-}'\[\e]133;P;'$tag$now'\a\]'
    export -n PS0 PS1 PS2 # no other program may have the nonce
    __apty_hold
    return "$status"
}

# Other code may have changed PROMPT_COMMAND since; before bash 5.1 it cannot be a list.
__apty_hold() {
    local first=${PROMPT_COMMAND[0]-} last
    [[ $first == __apty_ended* ]] || PROMPT_COMMAND[0]="__apty_ended${first:+; $first}"
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
        [[ ${PROMPT_COMMAND[0]} == *__apty_prompt ]] || PROMPT_COMMAND[0]+='; __apty_prompt'
        return 0
    fi
    last=$((${#PROMPT_COMMAND[@]} - 1))
    if [[ $last -lt 1 || ${PROMPT_COMMAND[last]} != __apty_prompt ]]; then
        PROMPT_COMMAND+=(__apty_prompt)
    fi
}

__apty_hold
# An agent's `!` is meant literally.
set +o histexpand

if [ "$__apty_start" = prompt ]; then
    unset __apty_start
    # This prompt's commands are being run already.
    eval "${PROMPT_COMMAND[0]}"
    __apty_prompt
else
    unset __apty_start
fi
