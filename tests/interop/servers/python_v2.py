"""The offer on the PyPI package `mcp` 2.x, in both eras: over stdio, or with `--http PORT` over Streamable HTTP."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from offer import COUNTER, DATA, Json, Offer, Unknown, text
from python_serve import main

warnings.simplefilter("ignore")  # sampling, roots and logging are deprecated, but tested
MODERN = "2026-07-28"
offers: defaultdict[str | None, Offer] = defaultdict(Offer)
bus = InMemorySubscriptionBus()


def offer_of(ctx: Any) -> Offer:
    """The offer of the session; 2026-07-28 has one for all requests over HTTP."""
    return offers[ctx.request.headers.get("mcp-session-id") if ctx.request else None]


def unknown(error: Unknown, code: int = types.INVALID_PARAMS) -> MCPError:
    return MCPError(code, f"unknown: {error}")


# ---- input: a request before 2026-07-28, an input_required result since ----


def asked(params: types.CallToolRequestParams, method: str, wanted: Json) -> Json | types.InputRequiredResult:
    """The client's response, if this attempt has it; otherwise the input_required result."""
    state = f"{params.name}-1"
    if params.input_responses is None:
        request = {"method": method, "params": wanted} if wanted else {"method": method}
        return types.InputRequiredResult.model_validate({"inputRequests": {"answer": request}, "requestState": state})
    if params.request_state != state:
        raise MCPError(types.INVALID_PARAMS, f"requestState is {params.request_state!r}")
    answer = params.input_responses["answer"]
    return answer if isinstance(answer, dict) else answer.model_dump(by_alias=True, mode="json", exclude_none=True)


async def ask(ctx: Any, params: types.CallToolRequestParams, method: str, wanted: Json, show: Callable[[Json], str]) -> Any:
    if ctx.protocol_version == MODERN:
        answer = asked(params, method, wanted)
        return answer if isinstance(answer, types.InputRequiredResult) else text(show(answer))
    session, request = ctx.session, ctx.request_id
    match method:
        case "sampling/createMessage":
            messages = [types.SamplingMessage.model_validate(message) for message in wanted["messages"]]
            answer = await session.create_message(messages, max_tokens=wanted["maxTokens"], related_request_id=request)
        case "elicitation/create" if wanted["mode"] == "url":
            answer = await session.elicit_url(wanted["message"], wanted["url"], DATA["askUrl"]["elicitationId"], request)
        case "elicitation/create":
            answer = await session.elicit_form(wanted["message"], wanted["requestedSchema"], request)
        case _:
            answer = await session.list_roots()
    return text(show(answer.model_dump(by_alias=True, mode="json", exclude_none=True)))


async def ask_model(ctx: Any, params: types.CallToolRequestParams) -> Any:
    question = {"role": "user", "content": {"type": "text", "text": params.arguments["prompt"]}}
    wanted = {"messages": [question], **DATA["askModel"]}
    return await ask(ctx, params, "sampling/createMessage", wanted, lambda a: a["content"].get("text", a["content"]["type"]))


async def ask_user(ctx: Any, params: types.CallToolRequestParams) -> Any:
    def show(answer: Json) -> str:
        return f"accept {answer['content']['name']}" if answer["action"] == "accept" else answer["action"]

    return await ask(ctx, params, "elicitation/create", {"mode": "form", **DATA["askUser"]}, show)


async def ask_url(ctx: Any, params: types.CallToolRequestParams) -> Any:
    wanted = {"mode": "url", "message": DATA["askUrl"]["message"], "url": DATA["askUrl"]["url"]}
    result = await ask(ctx, params, "elicitation/create", wanted, lambda answer: answer["action"])
    if ctx.protocol_version != MODERN and result == text("accept"):
        await ctx.session.send_elicit_complete(DATA["askUrl"]["elicitationId"], ctx.request_id)
    return result


async def roots(ctx: Any, params: types.CallToolRequestParams) -> Any:
    return await ask(ctx, params, "roots/list", {}, lambda a: "\n".join(root["uri"] for root in a["roots"]))


# ---- the other tools that need the session ----


async def slow(ctx: Any, params: types.CallToolRequestParams) -> Json:
    steps = params.arguments["steps"]
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(params.arguments["ms"] / 1000)
            await ctx.session.report_progress(step, steps, f"step {step}")
    except anyio.get_cancelled_exc_class():
        offer_of(ctx).cancelled += 1
        raise
    return text("done")


async def log(ctx: Any, params: types.CallToolRequestParams) -> Json:
    level, said = params.arguments["level"], params.arguments["text"]
    if ctx.protocol_version != MODERN and not offer_of(ctx).wants_log(level):
        return text("withheld")
    await ctx.session.send_log_message(level, said, "offer", related_request_id=ctx.request_id)
    return text("sent")  # or withheld by the SDK, which knows the request's level


async def change(ctx: Any, params: types.CallToolRequestParams) -> Json:
    what = params.arguments["what"]
    offer_of(ctx).change(what)
    if ctx.protocol_version == MODERN:
        events = {"tools": ToolsListChanged, "resources": ResourcesListChanged, "prompts": PromptsListChanged}
        await bus.publish(ResourceUpdated(COUNTER) if what == "counter" else events[what]())
    elif what == "tools":
        await ctx.session.send_tool_list_changed()
    elif what == "resources":
        await ctx.session.send_resource_list_changed()
    elif what == "prompts":
        await ctx.session.send_prompt_list_changed()
    elif COUNTER in offer_of(ctx).subscribed:
        await ctx.session.send_resource_updated(COUNTER)
    return text("changed")


async def hang_up(ctx: Any, _params: types.CallToolRequestParams) -> Json:
    await ctx.session.report_progress(1, 2)
    await anyio.sleep(0.05)  # the SDK would drop what has not been written yet
    if ctx.close_sse_stream:
        await ctx.close_sse_stream()
    await anyio.sleep(0.05)
    await ctx.session.report_progress(2, 2)
    return text("done")


async def session(ctx: Any, _params: types.CallToolRequestParams) -> Json:
    return text(ctx.request.headers.get("mcp-session-id", "") if ctx.request else "")


async def ping(ctx: Any, _params: types.CallToolRequestParams) -> Json:
    await ctx.session.send_ping()
    return text("pong")


TOOLS = {f.__name__: f for f in (slow, log, ask_model, ask_user, ask_url, roots, change, hang_up, session, ping)}


# ---- handlers ----


async def list_tools(ctx: Any, _params: Any) -> types.ListToolsResult:
    return types.ListToolsResult.model_validate({"tools": offer_of(ctx).tools()})


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    try:
        tool = TOOLS.get(params.name)
        result = await tool(ctx, params) if tool else offer_of(ctx).call(params.name, params.arguments or {})
    except Unknown as error:
        raise unknown(error) from error
    except KeyError as error:
        raise MCPError(types.INVALID_PARAMS, f"no argument {error}") from error
    return types.CallToolResult.model_validate(result) if isinstance(result, dict) else result


async def list_resources(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    try:
        return types.ListResourcesResult.model_validate(offer_of(ctx).resource_page(params.cursor if params else None))
    except Unknown as error:
        raise unknown(error) from error


async def list_resource_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": DATA["templates"]})


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    try:
        return types.ReadResourceResult.model_validate({"contents": [offer_of(ctx).read(str(params.uri))]})
    except Unknown as error:
        raise unknown(error, types.INVALID_PARAMS if ctx.protocol_version == MODERN else -32002) from error


async def subscribe_resource(ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    offer_of(ctx).subscribed.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe_resource(ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    offer_of(ctx).subscribed.discard(str(params.uri))
    return types.EmptyResult()


async def list_prompts(ctx: Any, _params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult.model_validate({"prompts": offer_of(ctx).prompts()})


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    try:
        return types.GetPromptResult.model_validate(offer_of(ctx).prompt(params.name, params.arguments or {}))
    except Unknown as error:
        raise unknown(error) from error


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    completion = offer_of(ctx).complete(params.argument.name, params.argument.value)
    return types.CompleteResult.model_validate({"completion": completion})


async def set_logging_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    offer_of(ctx).level = params.level
    return types.EmptyResult()


class Reference(Server):
    def create_initialization_options(self, *_options: Any, **_named: Any) -> Any:
        return super().create_initialization_options(NotificationOptions(True, True, True))


server = Reference(
    DATA["serverInfo"]["name"],
    version=DATA["serverInfo"]["version"],
    instructions=DATA["instructions"],
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_resource_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe_resource,
    on_unsubscribe_resource=unsubscribe_resource,
    on_subscriptions_listen=ListenHandler(bus),
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_logging_level,
)


if __name__ == "__main__":
    main(server)
