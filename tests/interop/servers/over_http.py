"""The offer of python_v1.py or python_v2.py, whichever SDK is installed, over HTTP instead: over_http.py [sse]

Says on a line of standard output at which URL. With `sse`, that of HTTP+SSE (2024-11-05).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import socket
import sys
from collections.abc import AsyncIterator

import uvicorn
from mcp.server.lowlevel import NotificationOptions
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

if importlib.metadata.version("mcp").startswith("1."):
    import python_v1 as offer
else:
    import python_v2 as offer
server = offer.server


def both() -> Starlette:
    """Streamable HTTP at /mcp, HTTP+SSE at /sse, as the SDK's 1.x wants it put together."""
    options = server.create_initialization_options(NotificationOptions(True, True, True))
    if options.capabilities.resources:
        options.capabilities.resources.subscribe = True  # the SDK's 1.x always says no
    server.create_initialization_options = lambda *_, **__: options
    manager = StreamableHTTPSessionManager(app=server)
    sse = SseServerTransport("/messages/")

    async def old(request: Request) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as (reader, writer):
            await server.run(reader, writer, options)
        return Response()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    class Streamable:
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await manager.handle_request(scope, receive, send)

    routes = [Route("/mcp", Streamable()), Route("/sse", old), Mount("/messages/", app=sse.handle_post_message)]
    return Starlette(routes=routes, lifespan=lifespan)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()  # who reads the line may connect at once
path = "sse" if "sse" in sys.argv else "mcp"
print(f"http://127.0.0.1:{listener.getsockname()[1]}/{path}", flush=True)
config = uvicorn.Config(both(), log_level="error")
asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
