"""The one road for every request of a session.

    payload -> decode -> policy -> intent -> act -> outcome -> response

There is one choke point in front of each terminal, and it is here: later parts add their
steps to `travel`, never a second way in.
"""

from __future__ import annotations

import sys
import traceback

from agent_pty import ops
from agent_pty.errors import AgentPtyError
from agent_pty.host.session import Session
from agent_pty.ops.op import Mutation, Op, Request, decode, decode_head, failure, success
from agent_pty.store.ledger import Ledger


async def travel(session: Session, ledger: Ledger, payload: bytes) -> bytes:
    """Answer one request; a failure is an answer too and touches nobody else."""
    try:
        op = ops.find(decode_head(payload).op)
        request = decode(op, payload)
        key = request.key if isinstance(request, Mutation) else None
        return await ledger.once(key, payload, lambda: _act(session, op, request))
    except AgentPtyError as error:
        return failure(error)
    except Exception as error:  # noqa: BLE001  one request's mistake must not reach the others
        traceback.print_exc(file=sys.stderr)
        return failure(error)


async def _act(session: Session, op: Op, request: Request) -> bytes:
    """Act, and turn a deliberate error into its answer: a key must remember that too."""
    try:
        return success(op, await op.handler(session, request))
    except AgentPtyError as error:
        return failure(error)
