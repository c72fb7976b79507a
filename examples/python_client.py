"""Sessions from Python: commands with exit codes, a prompt that is answered, a screen."""

from agent_pty import Client
from agent_pty.errors import WaitTimeout

with Client() as client, client.new("bash --norc") as shell:
    # What one command sets, the next one has.
    shell.run("cd /usr && export COLOUR=red")
    cell = shell.run("echo $COLOUR in $PWD; (exit 3)")
    print(cell.output, cell.exit_code)
    assert (cell.output, cell.exit_code) == ("red in /usr", 3)

    # A command that waits for a person says so, and goes on after the answer.
    asks = shell.run("read -p 'Name? ' name; echo Hello $name")
    assert (asks.status, asks.waiting_for) == ("waiting", "input")
    print(shell.answer("Ada").output)

    # Any program: type, wait for what it prints, read the screen, press keys.
    shell.send("echo ready-$((1 + 1)); cat")
    shell.wait("ready-2")
    shell.send("is anybody there")
    shell.wait("there")
    print(shell.screen().text)
    shell.keys("ctrl-c")

    # A wait that comes to nothing is an exception with what was seen.
    try:
        shell.wait("never", timeout_ms=10)
    except WaitTimeout as late:
        print(late.code, late.details["observation"]["screen"]["cursor"])

    # What was done, for a reviewer: a page with a player, signed.
    print("proof_html_path", shell.proof().html_path)
