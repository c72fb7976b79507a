# agent-pty: marks for sqlite3 (see core/mark.py): run it, "$@", with an inputrc of ours.
#
# sqlite3 keeps only 19 bytes of a prompt, too few for a mark, so readline puts the marks before
# the prompt, as the sign of its editing mode. It does so before a continuation prompt too: D and B
# come there as well, and P never.
#
# The file has no name any more when sqlite3 starts: nothing remains afterwards, and the nonce is
# not on the disk. What sqlite3 starts (.shell) inherits INPUTRC; there the file is the user's own
# inputrc, except for programs that, like sqlite3, do not tell readline their name.

read -r nonce <&3
exec 3<&-
mine=$(mktemp 2>/dev/null) || exec "$@"

theirs=${INPUTRC:-$HOME/.inputrc}
[ -r "$theirs" ] || theirs=/etc/inputrc
marks="\\1\\e]133;D;apty=$nonce\\a\\e]133;B;apty=$nonce\\a\\2"

# Text that was pasted is drawn a second time to remove its highlight, sometimes with the prompt
# and its marks.
cat >"$mine" <<RC
\$include $theirs
\$if other
set show-mode-in-prompt on
set emacs-mode-string "$marks"
set vi-ins-mode-string "$marks"
set vi-cmd-mode-string ""
\$if version >= 8.2
set enable-active-region off
\$else
set enable-bracketed-paste off
\$endif
\$endif
RC
exec 9<"$mine"
rm -f "$mine"
export INPUTRC=/dev/fd/9
exec "$@"
