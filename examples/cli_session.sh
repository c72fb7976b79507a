# A program with a screen, driven with `agent-pty`: wait for what appears, look, press keys.
set -euo pipefail

seq -f 'line %g of the file' 1 100 > example.txt
agent-pty new --name example-screen --rows 10 --cols 60 -- less example.txt
trap 'agent-pty kill example-screen' EXIT

# No sleep: `wait` returns as soon as the screen has it.
agent-pty wait example-screen --until 'screen:line 9 of the file' --brief
agent-pty keys example-screen G
agent-pty wait example-screen --until 'screen:line 100 of the file' --brief

# The screen as a person sees it, without escapes.
agent-pty screen example-screen

agent-pty keys example-screen q
agent-pty wait example-screen --until exit --brief

# What was done, for a reviewer: a page with a player, signed.
echo "proof_html_path $(agent-pty proof example-screen --html)"
