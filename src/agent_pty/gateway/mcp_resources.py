"""Sessions as resources of MCP: their screens and transcripts, and notice of changes."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from agent_pty.errors import AgentPtyError
from agent_pty.gateway.mcp_subscriber import Subscribers
from agent_pty.gateway.resource_uri import TEMPLATES, View, session_of, uri_of
from agent_pty.gateway.session_changes import SessionChanges
from agent_pty.gateway.tool_ops import GatewayOps, OpsOf

_TEXT = "text/plain"
_MIME: dict[View, str] = {
    "screen": _TEXT,
    "transcript": _TEXT,
    "proof": "application/json",
    "proof.md": "text/markdown",
    "proof.html": "text/html",
}
# As much as one answer of the six tools has at most; the rest is read by cursor.
_MOST_BYTES = 51_200
_LISTED: tuple[View, ...] = ("screen", "proof")
_SHOWN: dict[View, str] = {
    "screen": "what a person would see of the session now",
    "transcript": "the end of what the session's program wrote",
    "proof": "what the record of the session proves; also of a session that is gone",
    "proof.md": "the same as Markdown",
    "proof.html": "the same as a page for people, with a player of the recording",
}
_Context = ServerRequestContext[Any]


class Resources:
    """The handlers of `resources/*` and `subscriptions/listen`."""

    def __init__(self, ops_of: OpsOf, changes: SessionChanges) -> None:
        self._ops_of = ops_of
        self._changes = changes
        self._subscribers = Subscribers(changes)
        self._listening = ListenHandler(changes)

    async def list(
        self, context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return screens and proofs of all sessions; who asks is told when there are others."""
        await self._subscribers.wants_list(context)
        sessions = await _asked(self._ops_of(context), "list")
        found = [_resource(one, view) for one in sessions for view in _LISTED]
        return types.ListResourcesResult(resources=found)

    async def templates(
        self, _context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return how an address is made from the name of a session."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=template,
                    name=view,
                    description=_SHOWN[view],
                    mime_type=_MIME[view],
                )
                for view, template in TEMPLATES.items()
            ]
        )

    async def read(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the present text."""
        name, view = _known(params.uri)
        asked = self._ops_of(context)
        text = await _text(asked, name, view)
        content = types.TextResourceContents(uri=params.uri, mime_type=_MIME[view], text=text)
        return types.ReadResourceResult(contents=[content])

    async def subscribe(
        self, context: _Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell this client from now on that the resource has changed."""
        _known(params.uri)
        await self._subscribers.add(context, params.uri)
        return types.EmptyResult()

    async def unsubscribe(
        self, context: _Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell it no more; if it was not told, that is no error."""
        self._subscribers.remove(context, params.uri)
        return types.EmptyResult()

    async def listen(
        self, context: _Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """The same for clients of the newest protocol: the answer is a stream."""
        for uri in params.notifications.resource_subscriptions or ():
            _known(uri)
        await self._changes.ready()
        return await self._listening(context, params)


def _resource(session: dict[str, Any], view: View) -> types.Resource:
    name = session["id"]
    what = f"{name}: {' '.join(session['argv'])} ({session['state']})"
    return types.Resource(
        uri=uri_of(name, view),
        name=name if view == "screen" else f"{name} {view}",
        title=what if view == "screen" else f"{view} of {what}",
        mime_type=_MIME[view],
    )


def _known(uri: str) -> tuple[str, View]:
    found = session_of(uri)
    if found is None:
        forms = " or ".join(TEMPLATES.values())
        raise MCPError(types.INVALID_PARAMS, f"no resource {uri[:200]}: use {forms}")
    return found


async def _asked(asked: GatewayOps, op: str, **fields: Any) -> Any:
    try:
        return await asked.ask(op, **fields)
    except AgentPtyError as error:
        raise MCPError(types.INVALID_PARAMS, f"{error} ({error.code})") from error


async def _text(asked: GatewayOps, name: str, view: View) -> str:
    if view == "screen":
        return await _screen(asked, name)
    if view == "transcript":
        return await _transcript(asked, name)
    return await _proof(asked, name, view)


async def _proof(asked: GatewayOps, name: str, view: View) -> str:
    """Have a proof written, and return the file that was asked for."""
    made = await _asked(asked, "proof", id=name)
    paths = {"proof": "json_path", "proof.md": "markdown_path", "proof.html": "html_path"}
    return await asyncio.to_thread(_content, str(made[paths[view]]))


def _content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


async def _screen(asked: GatewayOps, name: str) -> str:
    screen = await _asked(asked, "screen", id=name)
    return "\n".join(line.rstrip() for line in screen["text"].split("\n")).rstrip("\n") + "\n"


async def _transcript(asked: GatewayOps, name: str) -> str:
    """Return the end of the transcript; what stands before it is named, never silently missing."""
    doing = await _asked(asked, "doing", id=name)
    since = max(0, doing["cursor"] - _MOST_BYTES)
    page = await _asked(asked, "read", id=name, since=since)
    missing = f"[{since} bytes before this are not shown]\n" if since else ""
    return missing + str(page["text"])
