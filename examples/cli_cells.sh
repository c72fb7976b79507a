# An agent's commands with `k`: the shell keeps its state, and each command gives output and exit code.
set -euo pipefail

k new example-cells
trap 'k kill example-cells' EXIT

# What one call sets, the next one has.
k run example-cells 'cd /usr && export COLOUR=red'
k run example-cells 'echo "$COLOUR in $PWD"'

# -j prints one line of JSON; -e exits as the command did.
k run -j example-cells 'echo checked; test -d /nowhere'
status=0
k run -e example-cells '(exit 3)' || status=$?
echo "status $status"

# A command that asks comes back with its question, and goes on after the answer.
k run example-cells 'read -p "Name? " name; echo "Hello $name"' || true
k answer example-cells Ada

# What was done, for a reviewer: a page with a player, signed.
echo "proof_html_path $(agent-pty proof example-cells --html)"
