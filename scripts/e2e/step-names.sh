# shellcheck shell=bash
# The steps in their order. Step NAME is the function step_NAME, with `_` for `-`.
STEP_NAMES=(
    daemon-and-list failing-build policy-denial approval semantic-screen interactive-read attach
    python-repl loop-and-idle colour-and-overwrite worktree-forks proofs many-at-once http mcp
    tmux-session replay-after-restart traces
)
# shellcheck disable=SC2034  # for those who source this
STEP_COUNT=${#STEP_NAMES[@]}
