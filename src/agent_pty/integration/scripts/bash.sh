# agent-pty: marks for bash (see core/mark.py), set up after the user's own start-up files.
# Rule of the file: it works under `set -eu`, keeps $? for the code that runs next, leaves nothing
# in the environment, and every name it adds begins with __apty_.

IFS= read -r __apty_nonce <&3
IFS= read -r __apty_exports <&3 || __apty_exports=
exec 3<&-
__apty_start=$AGENT_PTY_START
unset AGENT_PTY_START

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
__apty_token=
__apty_asked=0

# Functions of ours run without `set -x`, and their callers hide what is traced before they begin.
# `local -` restores the options; bash before 4.4 does not know it.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    __apty_quiet='local -; set +x' __apty_quote='line=${line@Q}'
else
    __apty_quiet='set +x' __apty_quote='builtin printf -v line %q "$line"'
fi

# First at every prompt: the command before it has ended. The token, which D announces, stands for
# the nonce in the marks of prompts, because other code may print those.
eval '__apty_ended() {
    local status=${1-$?}
    '"$__apty_quiet"'
    __apty_told=1
    __apty_number=$((__apty_number + 1))
    __apty_token=${SRANDOM-}$RANDOM$RANDOM
    local mark="\033]133;D;$status;apty=$__apty_nonce.$__apty_number.$__apty_token\007"
    # After `exec >file` too.
    if [[ -t 1 ]]; then builtin printf "$mark"; else builtin printf "$mark" >/dev/tty; fi
    return "$status"
}'

# Says what stands on the line; bound to a key that nobody types. Code that has set PROMPT_COMMAND
# anew has removed our commands, too: that prompt had no marks, and from here on there are some.
eval '__apty_line() {
    local status=$? mode=$1
    '"$__apty_quiet"'
    # A fork of the session is made: it gets what is exported here.
    if [[ -n $__apty_exports && -e $__apty_exports ]]; then
        command env -0 </dev/null >|"$__apty_exports" 2>/dev/null || :
    fi
    local line=${READLINE_LINE:0:1000}
    __apty_asked=$((__apty_asked + 1))
    [[ -z $line ]] || '"$__apty_quote"'
    builtin printf "\033]133;L;apty=%s.%s;%s;%s;%s;%s\007" \
        "$__apty_nonce" "$__apty_asked" "$status" "$mode" "${READLINE_POINT-}" "$line"
    __apty_hold && :
    return "$status"
}'
unset __apty_quiet __apty_quote

# Last at every prompt: themes set their prompt again, so our marks are put around it again. Code
# that sets PROMPT_COMMAND anew removes this function, too; drawing the prompt puts it back: an
# expansion can assign what is not set, and as the key of an empty table it leaves no text.
__apty_last='{ __apty_prompt && :; } 2>/dev/null'
__apty_back=
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    declare -gA __apty_none=()
    __apty_back='${__apty_none[${PROMPT_COMMAND[99]:=$__apty_last}]-}'
fi
__apty_prompt() {
    local status=$? tag='apty=${__apty_token-}'
    ((__apty_told)) || __apty_ended "$status" || :
    __apty_told=0
    [[ ${PS0-} == *"$tag"* ]] || PS0=${PS0-}'\e]133;C;'$tag'\a'
    [[ ${PS1-} == *"$tag"* ]] || PS1=${PS1-}'\[\e]133;B;'$tag'\a'$__apty_back'\]'
    [[ ${PS2-} == *"$tag"* ]] || PS2=${PS2-}'\[\e]133;P;'$tag'\a\]'
    # A shell that inherits them would show marks of ours.
    export -n PS0 PS1 PS2
    __apty_hold && :
    __apty_bind
    return "$status"
}

# Users and their files may change every keymap at any time.
__apty_bind() {
    local map
    for map in emacs-standard vi-insert; do
        bind -m "$map" -x '"\C-^": "{ __apty_line main && :; } 2>/dev/null"'
    done
    bind -m vi-command -x '"\C-^": "{ __apty_line vi && :; } 2>/dev/null"'
}

# Put our commands first and last again, if other code has changed the list since. From bash 5.1 on
# PROMPT_COMMAND is a list; before that only its first element counts.
__apty_hold() {
    local status=$? first=${PROMPT_COMMAND[0]-}
    # They keep $?, and `&& :` keeps `set -e` from ending the shell because of that.
    local ended='{ __apty_ended && :; } 2>/dev/null'
    [[ $first == "$ended"* ]] || PROMPT_COMMAND[0]="$ended${first:+; $first}"
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        PROMPT_COMMAND[99]=$__apty_last
    elif [[ ${PROMPT_COMMAND[0]} != *"$__apty_last" ]]; then
        PROMPT_COMMAND[0]+="; $__apty_last"
    fi
    return "$status"
}

__apty_hold && :
# An agent's `!` is meant literally.
set +o histexpand

if [ "$__apty_start" = prompt ]; then
    unset __apty_start
    # This prompt's commands are being run already.
    eval "${PROMPT_COMMAND[0]}"
    { __apty_prompt && :; } 2>/dev/null
else
    unset __apty_start
fi
