"""Serves an SDK's sessions over stdio, or over HTTP on a loopback port; for both versions of the PyPI package `mcp`."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

RETRY_MS = 100


class Events(EventStore):
    """The events of all streams of one session."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.sent.append((stream_id, message))
        return str(len(self.sent))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        stream = self.sent[last - 1][0]
        for event, (owner, message) in enumerate(self.sent[last:], last + 1):
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, str(event)))
        return stream


class Sessions(StreamableHTTPSessionManager):
    """Created once a session. A shared store would mix sessions up, since streams are named by request ids."""

    @property
    def event_store(self) -> Events:
        return Events()

    @event_store.setter
    def event_store(self, _store: object) -> None:
        pass

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.handle_request(scope, receive, send)


async def over_http(server: Any, port: int, *more: BaseRoute) -> None:
    """Streamable HTTP at `/mcp`, and other routes. Prints the URL."""
    sessions = Sessions(server, retry_interval=RETRY_MS)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=sessions), *more], lifespan=lifespan)
    listener = socket.create_server(("127.0.0.1", port))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0, lifespan="on")
    await uvicorn.Server(config).serve([listener])


async def over_stdio(server: Any) -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main(server: Any, http: Callable[[Any, int], Awaitable[None]] = over_http) -> None:
    if sys.argv[1:2] == ["--http"]:
        anyio.run(http, server, int(sys.argv[2]))
    else:
        anyio.run(over_stdio, server)
