"""The offer on the PyPI package `mcp` 1.x: over stdio, or with `--http PORT` over Streamable HTTP and HTTP+SSE."""

from __future__ import annotations

from base64 import b64decode
from weakref import WeakKeyDictionary

import anyio
from mcp import McpError, types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.sse import SseServerTransport
from pydantic import AnyUrl
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from offer import COUNTER, DATA, Json, Offer, Unknown, text
from python_serve import main, over_http


class Reference(Server):
    def create_initialization_options(self, *_options: object) -> InitializationOptions:
        options = super().create_initialization_options(NotificationOptions(True, True, True))
        options.capabilities.resources.subscribe = True  # the SDK always declares false
        return options


server = Reference(DATA["serverInfo"]["name"], DATA["serverInfo"]["version"], DATA["instructions"])
offers: WeakKeyDictionary[ServerSession, Offer] = WeakKeyDictionary()


def offer() -> Offer:
    """The offer of the session whose request is handled."""
    return offers.setdefault(server.request_context.session, Offer())


def unknown(error: Unknown, code: int = types.INVALID_PARAMS) -> McpError:
    return McpError(types.ErrorData(code=code, message=f"unknown: {error}"))


# ---- tools ----


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [types.Tool.model_validate(tool) for tool in offer().tools()]


@server.call_tool()
async def call_tool(name: str, arguments: Json) -> types.CallToolResult:
    return types.CallToolResult.model_validate(await TOOLS.get(name, offer_call)(name, arguments))


async def offer_call(name: str, arguments: Json) -> Json:
    return offer().call(name, arguments)


async def slow(_name: str, arguments: Json) -> Json:
    context = server.request_context
    token = context.meta.progressToken if context.meta else None
    try:
        for step in range(1, arguments["steps"] + 1):
            await anyio.sleep(arguments["ms"] / 1000)
            if token is not None:
                await context.session.send_progress_notification(
                    token, step, arguments["steps"], f"step {step}", related_request_id=str(context.request_id)
                )
    except anyio.get_cancelled_exc_class():
        offer().cancelled += 1
        raise
    return text("done")


async def log(_name: str, arguments: Json) -> Json:
    if not offer().wants_log(arguments["level"]):
        return text("withheld")
    session, request = server.request_context.session, server.request_context.request_id
    await session.send_log_message(arguments["level"], arguments["text"], "offer", related_request_id=request)
    return text("sent")


async def ask_model(_name: str, arguments: Json) -> Json:
    question = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
    answer = await server.request_context.session.create_message(
        [question], max_tokens=DATA["askModel"]["maxTokens"], related_request_id=server.request_context.request_id
    )
    return text(answer.content.text if answer.content.type == "text" else answer.content.type)


async def ask_user(_name: str, _arguments: Json) -> Json:
    answer = await server.request_context.session.elicit_form(
        **DATA["askUser"], related_request_id=server.request_context.request_id
    )
    return text(f"accept {answer.content['name']}" if answer.action == "accept" else answer.action)


async def ask_url(_name: str, _arguments: Json) -> Json:
    asked = DATA["askUrl"]
    session, request = server.request_context.session, server.request_context.request_id
    answer = await session.elicit_url(asked["message"], asked["url"], asked["elicitationId"], related_request_id=request)
    if answer.action == "accept":
        await session.send_elicit_complete(asked["elicitationId"], related_request_id=request)
    return text(answer.action)


async def roots(_name: str, _arguments: Json) -> Json:
    answer = await server.request_context.session.list_roots()
    return text("\n".join(str(root.uri) for root in answer.roots))


async def change(_name: str, arguments: Json) -> Json:
    session = server.request_context.session
    offer().change(arguments["what"])
    match arguments["what"]:
        case "tools":
            await session.send_tool_list_changed()
        case "resources":
            await session.send_resource_list_changed()
        case "prompts":
            await session.send_prompt_list_changed()
        case "counter" if COUNTER in offer().subscribed:
            await session.send_resource_updated(AnyUrl(COUNTER))
    return text("changed")


async def hang_up(_name: str, _arguments: Json) -> Json:
    context = server.request_context

    async def report(step: int) -> None:
        if context.meta and context.meta.progressToken is not None:
            await context.session.send_progress_notification(
                context.meta.progressToken, step, 2, related_request_id=str(context.request_id)
            )

    await report(1)
    await anyio.sleep(0.05)  # the SDK would drop what has not been written yet
    if context.close_sse_stream:
        await context.close_sse_stream()
    await anyio.sleep(0.05)
    await report(2)
    return text("done")


async def session(_name: str, _arguments: Json) -> Json:
    request = server.request_context.request
    return text(request.headers.get("mcp-session-id", "") if request else "")


async def ping(_name: str, _arguments: Json) -> Json:
    await server.request_context.session.send_ping()
    return text("pong")


TOOLS = {f.__name__: f for f in (slow, log, ask_model, ask_user, ask_url, roots, change, hang_up, session, ping)}


# ---- resources, prompts, completion, logging ----


@server.list_resources()
async def list_resources(request: types.ListResourcesRequest) -> types.ListResourcesResult:
    try:
        page = offer().resource_page(request.params.cursor if request.params else None)
    except Unknown as error:
        raise unknown(error) from error
    return types.ListResourcesResult.model_validate(page)


@server.list_resource_templates()
async def list_resource_templates() -> list[types.ResourceTemplate]:
    return [types.ResourceTemplate.model_validate(template) for template in DATA["templates"]]


@server.read_resource()
async def read_resource(uri: AnyUrl) -> list[ReadResourceContents]:
    try:
        contents = types.ReadResourceResult.model_validate({"contents": [offer().read(str(uri))]}).contents[0]
    except Unknown as error:
        raise unknown(error, -32002) from error
    if isinstance(contents, types.TextResourceContents):
        return [ReadResourceContents(contents.text, contents.mimeType)]
    return [ReadResourceContents(b64decode(contents.blob), contents.mimeType)]


@server.subscribe_resource()
async def subscribe_resource(uri: AnyUrl) -> None:
    offer().subscribed.add(str(uri))


@server.unsubscribe_resource()
async def unsubscribe_resource(uri: AnyUrl) -> None:
    offer().subscribed.discard(str(uri))


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt.model_validate(prompt) for prompt in offer().prompts()]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    try:
        return types.GetPromptResult.model_validate(offer().prompt(name, arguments or {}))
    except Unknown as error:
        raise unknown(error) from error


@server.completion()
async def complete(_ref: object, argument: types.CompletionArgument, _context: object) -> types.Completion:
    return types.Completion.model_validate(offer().complete(argument.name, argument.value))


@server.set_logging_level()
async def set_logging_level(level: types.LoggingLevel) -> None:
    offer().level = level


async def with_sse(server: Server, port: int) -> None:
    sse = SseServerTransport("/messages/")

    async def handle_sse(request: Request) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
        return Response()

    routes = [Route("/sse", endpoint=handle_sse, methods=["GET"]), Mount("/messages/", app=sse.handle_post_message)]
    await over_http(server, port, *routes)


if __name__ == "__main__":
    main(server, with_sse)
