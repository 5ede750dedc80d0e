"""Tests a server with the PyPI package `mcp` 1.x."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

import session
from harness import Handlers, Json, main, transport_to
from session import plain
from tasks_v1 import hosting
from wire_v1 import translated

logging.disable(logging.CRITICAL)

LABEL = f"python mcp {version('mcp')}"
SLUG = "python-v1"
MODES = ["legacy"]


class Session(session.Session):
    types = types
    translated = staticmethod(translated)
    uri = AnyUrl

    def __init__(self, client: ClientSession, initialized: types.InitializeResult, logs: list[Json], notifications: list[Json]):
        super().__init__(client, logs, notifications)
        self.initialized = initialized

    async def info(self) -> Json:
        return {"instructions": None, **plain(self.initialized)}

    def page(self, call: Any, cursor: str | None) -> Any:
        return call(params=types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None)

    async def call(
        self,
        name: str,
        arguments: Json | None = None,
        *,
        progress: Callable[[Json], None] | None = None,
        timeout: float | None = None,
    ) -> Json:
        wait = timedelta(seconds=timeout) if timeout is not None else None
        return await self.call_tool(name, arguments, progress, read_timeout_seconds=wait)

    async def abandon(self, name: str, arguments: Json, after: int) -> None:
        """This SDK only stops waiting; the notification has to be sent by hand, with the id it counted up to."""
        request_id = self.client._request_id
        await super().abandon(name, arguments, after)
        params = types.CancelledNotificationParams(requestId=request_id, reason="the test cancelled")
        notification = types.CancelledNotification(params=params)
        await self.client.send_notification(types.ClientNotification(notification))

    async def read(self, uri: str) -> Json:
        return await self.result(self.client.read_resource(AnyUrl(uri)))

    async def request(self, method: str, params: Json | None = None) -> Json:
        request = types.Request[Any, str](method=method, params=params)
        return await self.result(self.client.send_request(request, types.EmptyResult))


def server_at(command: list[str]) -> Any:
    match transport_to(command):
        case "http":
            return streamable_http_client(command[0])
        case "http+sse":
            return sse_client(command[0])
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:]))


@asynccontextmanager
async def connect(
    _mode: str, command: list[str], handlers: Handlers, *, hosts_tasks: bool = False
) -> AsyncIterator[Session]:
    logs: list[Json] = []
    notifications: list[Json] = []

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            notifications.append(plain(message))

    async with server_at(command) as (reader, writer, *_), anyio.create_task_group() as group:
        async with ClientSession(
            reader,
            writer,
            message_handler=on_message,
            experimental_task_handlers=hosting(handlers, group) if hosts_tasks else None,
            **session.callbacks(types, handlers, logs),
        ) as client:
            yield Session(client, await client.initialize(), logs, notifications)


if __name__ == "__main__":
    from cases_common import SUITE as common
    from cases_http import SUITE as http
    from cases_legacy import SUITE as legacy
    from cases_tasks import SUITE as tasks

    main(sys.modules[__name__], [common, legacy, tasks, http])
