"""A session does this alike with both versions of the SDK, whose results and errors are in wire form here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from pydantic import BaseModel

from harness import Handlers, Json, RpcError


def plain(model: BaseModel) -> Json:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Session:
    """`client` is the SDK's object with a method for each request."""

    types: Any
    translated: Callable[[], Any]  # a context in which errors of the SDK become those of the harness
    uri: Callable[[str], Any] = str

    def __init__(self, client: Any, logs: list[Json], notifications: list[Json]):
        self.client, self.logs, self.notifications = client, logs, notifications

    async def result(self, request: Awaitable[BaseModel]) -> Json:
        with self.translated():
            return plain(await request)

    async def ping(self) -> Json:
        return await self.result(self.client.send_ping())

    async def list(self, kind: str) -> list[Json]:
        call, member = {
            "tools": (self.client.list_tools, "tools"),
            "resources": (self.client.list_resources, "resources"),
            "templates": (self.client.list_resource_templates, "resourceTemplates"),
            "prompts": (self.client.list_prompts, "prompts"),
        }[kind]
        items, cursor = [], None
        for _ in range(100):
            page = await self.result(self.page(call, cursor))
            items += page[member]
            cursor = page.get("nextCursor")
            if cursor is None:
                return items
        raise RuntimeError("pagination does not end")

    async def call_tool(
        self, name: str, arguments: Json | None, progress: Callable[[Json], None] | None, **options: Any
    ) -> Json:
        async def on_progress(value: float, total: float | None, message: str | None) -> None:
            progress({"progress": value, "total": total, "message": message})

        callback = on_progress if progress else None
        return await self.result(self.client.call_tool(name, arguments, progress_callback=callback, **options))

    async def abandon(self, name: str, arguments: Json, after: int) -> None:
        """Calls, and cancels once `after` progress notifications have come."""
        with anyio.CancelScope() as scope:
            seen = []

            def progress(item: Json) -> None:
                seen.append(item)
                if len(seen) >= after:
                    scope.cancel()

            await self.call(name, arguments, progress=progress)
            raise RuntimeError("response before the cancellation")

    async def prompt(self, name: str, arguments: dict[str, str] | None = None) -> Json:
        return await self.result(self.client.get_prompt(name, arguments))

    async def complete(self, ref: Json, name: str, value: str) -> Json:
        kind = self.types.PromptReference if ref["type"] == "ref/prompt" else self.types.ResourceTemplateReference
        return await self.result(self.client.complete(kind.model_validate(ref), {"name": name, "value": value}))

    async def set_level(self, level: str) -> Json:
        return await self.result(self.client.set_logging_level(level))

    async def subscribe(self, uri: str) -> Json:
        return await self.result(self.client.subscribe_resource(self.uri(uri)))

    async def unsubscribe(self, uri: str) -> Json:
        return await self.result(self.client.unsubscribe_resource(self.uri(uri)))

    async def roots_changed(self) -> None:
        await self.client.send_roots_list_changed()


def callbacks(types: Any, handlers: Handlers, logs: list[Json]) -> dict[str, Any]:
    """The options of a client of the SDK that answers with these handlers."""

    def answering(handler: Callable[[Json], Json] | None, model: type[BaseModel]) -> Any:
        async def callback(_context: Any, params: BaseModel) -> Any:
            try:
                return model.model_validate(handler(plain(params)))
            except RpcError as refusal:
                return types.ErrorData(code=refusal.code, message="refused by the test")

        return callback if handler else None

    async def roots(_context: Any) -> Any:
        return types.ListRootsResult.model_validate(handlers.roots())

    async def on_log(params: BaseModel) -> None:
        logs.append(plain(params))

    return {
        "sampling_callback": answering(handlers.sampling, types.CreateMessageResult),
        "elicitation_callback": answering(handlers.elicitation, types.ElicitResult),
        "list_roots_callback": roots if handlers.roots else None,
        "logging_callback": on_log,
        "client_info": types.Implementation(name="interop", version="1"),
    }
