# agent-pty: marks for dash and busybox ash (see core/mark.py), read as the file that ENV names.
# Rule of the file: it works under `set -eu`, keeps $? for the code that runs next, leaves nothing
# in the environment, and every name it adds begins with __apty_.

read -r __apty_nonce <&3
exec 3<&-
__apty_start=$AGENT_PTY_START
unset ENV
if [ -n "${AGENT_PTY_ENV+set}" ]; then export ENV="$AGENT_PTY_ENV"; fi
unset AGENT_PTY_START AGENT_PTY_ENV

# -- marks; what is defined before the user's files run is safe from their aliases
__apty_number=0
__apty_b=$(printf '\033]133;B;apty=%s.' "$__apty_nonce")
__apty_p=$(printf '\033]133;P;apty=%s.' "$__apty_nonce")
__apty_end=$(printf '\007')
# ash has a line editor, which must know which part of a prompt takes no room.
if [ -n "${BB_ASH_VERSION-}" ]; then
    __apty_b='\['$__apty_b __apty_p='\['$__apty_p __apty_end=$__apty_end'\]'
fi

# Both write to descriptor 3: their callers put the terminal there and hide what `set -x` prints.
__apty_ended() {
    command printf '\033]133;D;%s;apty=%s.%s\007' "$?" "$__apty_nonce" "$((__apty_number + 1))" >&3
}
__apty_began() {
    set -- "$?"
    command printf '\033]133;C;apty=%s.%s\007' "$__apty_nonce" "$__apty_number" >&3
    return "$1"
}

# -- the user's start-up files, as dash would have read them; `&& :` keeps `set -e` from ending
#    the shell because the last command of such a file failed
if [ "$__apty_start" = login ]; then
    for __apty_file in /etc/profile "${HOME-}/.profile"; do
        if [ -r "$__apty_file" ]; then command . "$__apty_file" && :; fi
    done
fi
eval "__apty_file=\"${ENV-}\""  # dash expands it too
case $__apty_file in */*) ;; ?*) __apty_file=./$__apty_file ;; esac
if [ -r "$__apty_file" ]; then command . "$__apty_file" && :; fi
unset __apty_start __apty_file

# -- prompts. D is written while PS1 is expanded, so before all of it, whatever other code puts in
#    front (`activate` does). PS1 may be exported, which dash cannot undo: it has no nonce, and a
#    shell that inherits it has no __apty_b and so draws the user's prompt.
#    When PS1 is set again the marks are lost; code that a cell runs from a file ends with this.
__apty_hold() {
    set -- "$?"
    case ${PS1-} in
        *'{__apty_b+'*) ;;
        *)
            PS1='${__apty_b+$({ __apty_ended; } 3>&2 2>/dev/null)}'${PS1-}
            PS1=$PS1'${__apty_b+$__apty_b$((__apty_number = __apty_number + 1))$__apty_end}'
            ;;
    esac
    case ${PS2-} in
        *'{__apty_b+'*) ;;
        *) PS2=${PS2-}'${__apty_b+$__apty_p$__apty_number$__apty_end}' ;;
    esac
    return "$1"
}
__apty_hold && :
