"""What a model is told when the policy is against its call: why, and what can be done about it."""

from __future__ import annotations

from agent_pty.errors import ApprovalRequired, PolicyDenied, Refused


def refusal_text(error: Refused) -> str:
    """Return the error with the request that waits for an operator, unless it names that itself."""
    text, request = str(error), error.details.get("request")
    done = "nothing was done"
    if error.details.get("cleared"):
        done = "the line was cleared"
    elif error.details.get("typed"):
        done = 'the input stands on the line, the keys were not pressed ("keys": ["C-c"] clears it)'
    if isinstance(error, ApprovalRequired) and request is not None and request not in text:
        return (
            f"{text}; {done}. Request {request}: ask the user to run `agent-pty approve --request "
            f"{request}`, then make the same call again"
        )
    if isinstance(error, PolicyDenied):
        return f"{text}; {done}. No approval can lift this: do it in another way"
    return text
