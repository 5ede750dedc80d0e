"""Tests a server with the PyPI package `mcp` 2.x."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel, TypeAdapter

import session
from harness import Handlers, Json, RpcError, TimedOut, main, transport_to
from session import plain

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

LABEL = f"python mcp {version('mcp')}"
SLUG = "python-v2"
MODES = ["legacy", "auto", "2026-07-28"]
PIN = "2026-07-28"

_ANSWER: TypeAdapter[Any] = TypeAdapter(types.InputResponse)
_RAW: TypeAdapter[Json] = TypeAdapter(dict[str, Any])


@contextmanager
def translated():
    try:
        yield
    except MCPError as error:
        if error.code == types.REQUEST_TIMEOUT:
            raise TimedOut(str(error)) from error
        raise RpcError(error.code, error.message, error.data) from error


class Session(session.Session):
    types = types
    translated = staticmethod(translated)

    def __init__(self, client: Client, mode: str, logs: list[Json], notifications: list[Json]):
        super().__init__(client, logs, notifications)
        self.mode = mode

    async def info(self) -> Json:
        """The negotiated version. A pinned client sends discover only on request."""
        info = self.client.server_info
        seen = {
            "protocolVersion": self.client.protocol_version,
            "capabilities": plain(self.client.server_capabilities),
            "serverInfo": plain(info) if info else None,
            "instructions": self.client.instructions,
        }
        if self.mode == PIN:
            result = types.DiscoverResult.model_validate(await self.client.session.send_discover(PIN))
            self.client.session.adopt(result)
            seen = {**seen, "capabilities": plain(result.capabilities), "instructions": result.instructions}
            seen["serverInfo"] = plain(self.client.session.server_info)
        return seen

    def page(self, call: Any, cursor: str | None) -> Any:
        return call(cursor=cursor, cache_mode="bypass")

    async def call(
        self,
        name: str,
        arguments: Json | None = None,
        *,
        progress: Callable[[Json], None] | None = None,
        timeout: float | None = None,
        log_level: str | None = None,
    ) -> Json:
        meta = {types.LOG_LEVEL_META_KEY: log_level} if log_level else None
        return await self.call_tool(name, arguments, progress, read_timeout_seconds=timeout, meta=meta)

    async def call_round(
        self, name: str, arguments: Json, answers: dict[str, Json] | None = None, state: str | None = None
    ) -> Json:
        """One round of a call, without the handling of the SDK."""
        responses = {key: _ANSWER.validate_python(value) for key, value in answers.items()} if answers else None
        return await self.result(
            self.client.session.call_tool(
                name, arguments, input_responses=responses, request_state=state, allow_input_required=True
            )
        )

    async def read(self, uri: str) -> Json:
        return await self.result(self.client.read_resource(uri, cache_mode="bypass"))

    async def request(self, method: str, params: Json | None = None) -> Json:
        with translated():
            request = types.Request[Any, str](method=method, params=params)
            return await self.client.session.send_request(request, _RAW)

    @asynccontextmanager
    async def listen(self, *, tools: bool = False, prompts: bool = False, uris: tuple[str, ...] = ()) -> AsyncIterator[Listening]:
        with translated():
            opened: AbstractAsyncContextManager[Subscription] = self.client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resource_subscriptions=uris
            )
            async with opened as subscription:
                yield Listening(subscription)


class Listening:
    def __init__(self, subscription: Subscription):
        self.subscription = subscription
        self.honored = plain(subscription.honored)

    async def next(self) -> str:
        """The method of the next notification."""
        with anyio.fail_after(5):
            event = await anext(self.subscription)
        return {
            "ToolsListChanged": "notifications/tools/list_changed",
            "PromptsListChanged": "notifications/prompts/list_changed",
            "ResourceUpdated": "notifications/resources/updated",
        }[type(event).__name__]


def server_at(command: list[str]) -> Any:
    match transport_to(command):
        case "http" if token := os.environ.get("INTEROP_BEARER"):
            headers = {"Authorization": f"Bearer {token}"}
            return streamable_http_client(command[0], http_client=create_mcp_http_client(headers))
        case "http":
            return command[0]
        case "http+sse":
            return sse_client(command[0])
    return StdioServerParameters(command=command[0], args=command[1:])


@asynccontextmanager
async def connect(mode: str, command: list[str], handlers: Handlers) -> AsyncIterator[Session]:
    logs: list[Json] = []
    notifications: list[Json] = []

    async def on_message(message: Any) -> None:
        if isinstance(message, BaseModel):
            notifications.append(plain(message))

    client = Client(
        server_at(command),
        mode=mode,
        message_handler=on_message,
        **session.callbacks(types, handlers, logs),
    )
    async with client:
        yield Session(client, mode, logs, notifications)


if __name__ == "__main__":
    from cases_common import SUITE as common
    from cases_http import SUITE as http
    from cases_legacy import SUITE as legacy
    from cases_modern import SUITE as modern

    main(sys.modules[__name__], [common, legacy, modern, http])
