# agent-pty: marks for fish (see core/mark.py), run after the user's own configuration.
# Rule of the file: every name it adds begins with __apty_, nothing is exported or universal, and
# while a command runs the prompt and the Enter key are the user's own: users may look at them,
# change and save them.

read -g --line __apty_nonce __apty_exports </dev/fd/3
set -g __apty_number 0
set -g __apty_token 0
set -g __apty_asked 0
set -g __apty_reading 1
set -g __apty_kind B
set -g __apty_undo
set -g __apty_functions (bind --function-names)

# The token, which D announces, stands for the nonce in the marks of prompts, because other code may
# print those.
function __apty_mark
    builtin printf '\e]133;%s;apty=%s\a' $argv[1] $__apty_token
end

function __apty_end
    set __apty_number (builtin math $__apty_number + 1)
    set __apty_token (builtin random)(builtin random)(builtin random)
    set __apty_kind B
    builtin printf '\e]133;D;%s;apty=%s.%s.%s\a' $argv[1] $__apty_nonce $__apty_number $__apty_token
end

# Says what stands on the line; bound to a key that nobody types.
function __apty_line
    set -l code $status
    set -l mode main
    contains -- $fish_bind_mode default; and test "$fish_key_bindings" = fish_vi_key_bindings; and set mode vi
    # A fork of the session is made: it gets what is exported here.
    if test -n "$__apty_exports" -a -e "$__apty_exports"
        command env -0 </dev/null >$__apty_exports 2>/dev/null
    end
    set -l line (commandline -b | builtin string collect)
    test -z "$line"; or set line (builtin string sub -l 1000 -- "$line" | builtin string collect | builtin string escape)
    set __apty_asked (builtin math $__apty_asked + 1)
    builtin printf '\e]133;L;apty=%s.%s;%s;%s;%s;%s\a' $__apty_nonce $__apty_asked $code $mode (commandline -C) (builtin string join ' ' -- $line)
end

# -- one command

function __apty_preexec --on-event fish_preexec
    set __apty_reading 0
    __apty_unwrap
    __apty_mark C
end

function __apty_postexec --on-event fish_postexec
    __apty_end $status
end

# Handlers run in the order of their definition. What the user's handlers print when a command has
# ended is not its output, so they are defined again, after ours.
for __apty_line in (functions --handlers-type generic)
    set -l __apty_names (builtin string match -r '^fish_postexec (.+)$' -- $__apty_line)
    and test $__apty_names[2] != __apty_postexec
    and functions $__apty_names[2] | source
end
set -e __apty_line

# -- prompts

# If no command has ended since the last prompt, an empty line has.
function __apty_prompt --on-event fish_prompt
    set -l code $status
    test $__apty_reading = 0; or __apty_end $code
    set __apty_reading 1
    functions -q __apty_users_prompt; or __apty_wrap
end

# After these two events fish shows the prompt from memory, without a prompt event. A command that
# it could not parse would stay in the line, and the next command would be added to it; Ctrl-Y
# brings it back.
function __apty_posterror --on-event fish_posterror
    __apty_end 123 # as `eval` has it
    commandline -f beginning-of-buffer begin-selection end-of-buffer kill-selection end-selection
    commandline -f repaint
end

function __apty_cancel --on-event fish_cancel
    __apty_end 130
    commandline -f repaint
end

# A prompt may end in a newline, which fish drops: the mark is put before it.
function __apty_draw
    set -l lines (__apty_users_prompt)
    set -l last "$lines[-1]"(__apty_mark $__apty_kind)
    builtin string join -- \n $lines[1..-2] $last
end

# fish has no continuation prompt: Enter in an incomplete command adds a line to it. The prompt
# shows the mark, because fish loses a Ctrl-C that answers a mark written in here.
function __apty_enter
    set __apty_kind B
    commandline --is-valid
    set -l valid $status
    if test $valid = 2; or builtin string match -qr '(?<!\\\\)(\\\\{2})*\\\\$' -- (commandline -c)[-1]
        set __apty_kind P
    else if test $valid = 1 -a (commandline | count) -gt 1
        # Without it the error message is hard to find after the echo of many lines.
        __apty_mark C
    end
end

function __apty_entered
    test $__apty_kind = B; or commandline -f repaint
end

# -- what belongs to the user while a command runs

function __apty_wrap
    functions -q fish_prompt
    and functions -c fish_prompt __apty_users_prompt
    or function __apty_users_prompt; end
    function fish_prompt
        __apty_draw
    end
    for mode in (builtin string match -v paste -- (bind --list-modes))
        __apty_bind $mode
        bind -M $mode \x1e __apty_line
        set -a __apty_undo "bind -e -M $mode \\x1e"
    end
    # fish drops the tabs of a paste.
    if not bind -M paste \t >/dev/null 2>&1
        bind -M paste \t 'commandline -i \t'
        set -a __apty_undo 'bind -e -M paste \t'
    end
end

function __apty_unwrap
    functions -q __apty_users_prompt; or return
    functions -e fish_prompt
    functions -c __apty_users_prompt fish_prompt
    functions -e __apty_users_prompt
    for line in $__apty_undo
        eval $line
    end
    set __apty_undo
end

# Put our commands around what Enter does. The user's own binding is the last one listed. Bindings
# are either all names of functions of the line editor or all commands, and ours are commands.
function __apty_bind
    set -l line (bind -M $argv[1] \r 2>/dev/null)[-1]
    set -l parts (builtin string match -r '^bind (--preset )?(.*?)(\\\\r|enter) (.+)$' -- $line)
    or return
    set -l commands
    eval set -l users $parts[5]
    for command in $users
        contains -- $command $__apty_functions
        and set command "commandline -f $command"
        set -a commands $command
    end
    test -n "$parts[2]"; and set line "bind -e -M $argv[1] $parts[4]"
    set -a __apty_undo $line
    eval bind $parts[3] $parts[4] __apty_enter (builtin string escape -- $commands) __apty_entered
end
