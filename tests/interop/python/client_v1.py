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
from pydantic import AnyUrl, BaseModel

from harness import Handlers, Json, RpcError, main, transport_to
from tasks_v1 import hosting
from wire_v1 import plain, translated

logging.disable(logging.CRITICAL)

LABEL = f"python mcp {version('mcp')}"
SLUG = "python-v1"
MODES = ["legacy"]


class Session:
    def __init__(self, session: ClientSession, initialized: types.InitializeResult, logs: list[Json], notifications: list[Json]):
        self.session, self.initialized = session, initialized
        self.logs, self.notifications = logs, notifications

    async def info(self) -> Json:
        seen = plain(self.initialized)
        return {"instructions": None, **seen}

    async def ping(self) -> Json:
        with translated():
            return plain(await self.session.send_ping())

    async def list(self, kind: str) -> list[Json]:
        call, member = {
            "tools": (self.session.list_tools, "tools"),
            "resources": (self.session.list_resources, "resources"),
            "templates": (self.session.list_resource_templates, "resourceTemplates"),
            "prompts": (self.session.list_prompts, "prompts"),
        }[kind]
        items, cursor = [], None
        for _ in range(100):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            with translated():
                page = plain(await call(params=params))
            items += page[member]
            cursor = page.get("nextCursor")
            if cursor is None:
                return items
        raise RuntimeError("pagination does not end")

    async def call(
        self,
        name: str,
        arguments: Json | None = None,
        *,
        progress: Callable[[Json], None] | None = None,
        timeout: float | None = None,
    ) -> Json:
        async def on_progress(value: float, total: float | None, message: str | None) -> None:
            progress({"progress": value, "total": total, "message": message})

        with translated():
            result = await self.session.call_tool(
                name,
                arguments,
                read_timeout_seconds=timedelta(seconds=timeout) if timeout is not None else None,
                progress_callback=on_progress if progress else None,
            )
        return plain(result)

    async def abandon(self, name: str, arguments: Json, after: int) -> None:
        """Calls, and cancels once `after` progress notifications have come.

        This SDK only stops waiting; the notification has to be sent by hand, with the id it counted up to.
        """
        request_id = self.session._request_id
        with anyio.CancelScope() as scope:
            seen = []

            def progress(item: Json) -> None:
                seen.append(item)
                if len(seen) >= after:
                    scope.cancel()

            await self.call(name, arguments, progress=progress)
            raise RuntimeError("response before the cancellation")
        params = types.CancelledNotificationParams(requestId=request_id, reason="the test cancelled")
        notification = types.CancelledNotification(params=params)
        await self.session.send_notification(types.ClientNotification(notification))

    async def read(self, uri: str) -> Json:
        with translated():
            return plain(await self.session.read_resource(AnyUrl(uri)))

    async def prompt(self, name: str, arguments: dict[str, str] | None = None) -> Json:
        with translated():
            return plain(await self.session.get_prompt(name, arguments))

    async def complete(self, ref: Json, name: str, value: str) -> Json:
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        with translated():
            return plain(await self.session.complete(kind.model_validate(ref), {"name": name, "value": value}))

    async def set_level(self, level: str) -> Json:
        with translated():
            return plain(await self.session.set_logging_level(level))

    async def subscribe(self, uri: str) -> Json:
        with translated():
            return plain(await self.session.subscribe_resource(AnyUrl(uri)))

    async def unsubscribe(self, uri: str) -> Json:
        with translated():
            return plain(await self.session.unsubscribe_resource(AnyUrl(uri)))

    async def roots_changed(self) -> None:
        await self.session.send_roots_list_changed()

    async def request(self, method: str, params: Json | None = None) -> Json:
        with translated():
            request = types.Request[Any, str](method=method, params=params)
            return plain(await self.session.send_request(request, types.EmptyResult))


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

    def answering(handler: Callable[[Json], Json], model: type[BaseModel]):
        async def callback(_context: Any, params: BaseModel) -> Any:
            try:
                return model.model_validate(handler(plain(params)))
            except RpcError as refusal:
                return types.ErrorData(code=refusal.code, message="refused by the test")

        return callback

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate(handlers.roots())

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        logs.append(plain(params))

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            notifications.append(plain(message))

    async with server_at(command) as (reader, writer, *_), anyio.create_task_group() as group:
        async with ClientSession(
            reader,
            writer,
            sampling_callback=answering(handlers.sampling, types.CreateMessageResult) if handlers.sampling else None,
            elicitation_callback=answering(handlers.elicitation, types.ElicitResult) if handlers.elicitation else None,
            list_roots_callback=roots if handlers.roots else None,
            logging_callback=on_log,
            message_handler=on_message,
            client_info=types.Implementation(name="interop", version="1"),
            experimental_task_handlers=hosting(handlers, group) if hosts_tasks else None,
        ) as session:
            yield Session(session, await session.initialize(), logs, notifications)


if __name__ == "__main__":
    from cases_common import SUITE as common
    from cases_http import SUITE as http
    from cases_legacy import SUITE as legacy
    from cases_tasks import SUITE as tasks

    main(sys.modules[__name__], [common, legacy, tasks, http])
