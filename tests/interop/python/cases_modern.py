"""Cases of the stateless era (2026-07-28)."""

from __future__ import annotations

import anyio

from cases_common import INVALID_PARAMS, METHOD_NOT_FOUND, NON_ASCII, refused, still_works, text_of
from harness import Env, Failure, Handlers, Json, RpcError, Suite, check

SUITE = Suite(era="modern")
case = SUITE.case
MRTR = "test_input_required_result_"


def sampled(text: str) -> Json:
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "interop-model"}


class Answers:
    """Handlers that respond to every input request, and record them."""

    def __init__(self, action: str = "accept"):
        self.asked: list[str] = []
        self.action = action
        self.handlers = Handlers(self.sampling, self.elicitation, self.roots)

    def sampling(self, _params: Json) -> Json:
        self.asked.append("sampling")
        return sampled("Paryż 🗼")

    def elicitation(self, params: Json) -> Json:
        self.asked.append("elicitation")
        if self.action != "accept":
            return {"action": self.action}
        samples = {"string": "Łucja", "boolean": True, "number": 1.5, "integer": 3}
        properties = params["requestedSchema"]["properties"]
        return {"action": "accept", "content": {key: samples[p["type"]] for key, p in properties.items()}}

    def roots(self) -> Json:
        self.asked.append("roots")
        return {"roots": [{"uri": "file:///srv/one", "name": "one"}, {"uri": "file:///srv/two", "name": "two"}]}


async def fulfilled(env: Env, name: str, asked: list[str]) -> str:
    answers = Answers()
    async with env.open(answers.handlers) as session:
        result = await session.call(MRTR + name)
    check(not result.get("isError"), "isError", result)
    check(sorted(answers.asked) == sorted(asked), "input requests of the server", answers.asked)
    check(text_of(result), "text", result)
    return text_of(result)


# ---- input_required, handled by the SDK ----


@case("input_required: elicitation")
async def mrtr_elicitation(env: Env) -> None:
    text = await fulfilled(env, "elicitation", ["elicitation"])
    check("Łucja" in text, "the text must contain the name", text)


@case("input_required: sampling")
async def mrtr_sampling(env: Env) -> None:
    text = await fulfilled(env, "sampling", ["sampling"])
    check("Paryż 🗼" in text, "the text must contain the model's answer", text)


@case("input_required: list_roots")
async def mrtr_roots(env: Env) -> None:
    text = await fulfilled(env, "list_roots", ["roots"])
    check(any(part in text for part in ("file:///srv/one", "one", "2")), "the text must show the roots", text)


@case("input_required: request_state")
async def mrtr_state(env: Env) -> None:
    text = await fulfilled(env, "request_state", ["elicitation"])
    check("state-ok" in text, "state-ok", text)


@case("input_required: multiple_inputs in one round")
async def mrtr_multiple(env: Env) -> None:
    await fulfilled(env, "multiple_inputs", ["sampling", "elicitation", "roots"])
    calls = [m for m in env.wire.sent() if m.get("method") == "tools/call"]
    check(len(calls) == 2, "two calls", len(calls))
    check(set(calls[1]["params"]["inputResponses"]) == {"user_name", "greeting", "client_roots"}, "keys", calls[1])
    check(calls[1]["params"].get("requestState"), "requestState must be echoed", calls[1])


@case("input_required: multi_round")
async def mrtr_rounds(env: Env) -> None:
    await fulfilled(env, "multi_round", ["elicitation", "elicitation"])
    calls = [m["params"] for m in env.wire.sent() if m.get("method") == "tools/call"]
    keys = [sorted(call.get("inputResponses", {})) for call in calls]
    check(keys == [[], ["step1"], ["step2"]], "rounds", keys)
    check(calls[1]["requestState"] != calls[2]["requestState"], "requestState must change", calls)


@case("input_required: test_streaming_elicitation")
async def mrtr_streaming(env: Env) -> None:
    async with env.open(Answers().handlers) as session:
        first = await session.call_round("test_streaming_elicitation", {})
    check(first["resultType"] == "input_required", "resultType", first)
    methods = [request["method"] for request in first["inputRequests"].values()]
    check(methods == ["elicitation/create"], "one elicitation", first)


@case("input_required: test_input_required_result_prompt")
async def mrtr_prompt(env: Env) -> None:
    answers = Answers()
    async with env.open(answers.handlers) as session:
        messages = (await session.prompt("test_input_required_result_prompt"))["messages"]
    check(answers.asked == ["elicitation"], "asked", answers.asked)
    check("Łucja" in messages[0]["content"]["text"], "the prompt must contain the context", messages)


@case("input_required: the user declines, then cancels")
async def mrtr_declined(env: Env) -> None:
    async with env.open(Answers().handlers) as session:
        for action in ("decline", "cancel"):
            try:
                answer = await session.call_round(MRTR + "elicitation", {}, {"user_name": {"action": action}})
                check("content" in answer or "inputRequests" in answer, "a complete or input_required result", answer)
            except RpcError:
                pass
        await still_works(session)


# ---- input_required, round by round ----


@case("input_required: unusable answers are asked again or refused")
async def mrtr_unusable(env: Env) -> None:
    accepted = {"action": "accept", "content": {"name": "x"}}
    async with env.open(Answers().handlers) as session:
        for answers in ({"wrong_key": accepted}, {"user_name": {"action": "accept", "content": {}}}):
            try:
                answer = await session.call_round(MRTR + "elicitation", {}, answers)
                check(answer["resultType"] == "input_required", "input required again", answer)
            except RpcError:
                pass
        for value in (42, None):
            params = {"name": MRTR + "elicitation", "arguments": {}, "inputResponses": {"user_name": value}}
            try:
                answer = await session.request("tools/call", params)
                check(answer["resultType"] == "input_required", "input required again", value, answer)
            except RpcError:
                pass
        extra = await session.call_round(MRTR + "elicitation", {}, {"user_name": accepted, "extra": accepted})
        check("x" in text_of(extra), "extra keys are ignored", extra)


async def state_leg(session) -> tuple[dict[str, Json], str]:
    first = await session.call_round(MRTR + "tampered_state", {})
    check(first.get("requestState"), "requestState", first)
    answers = {}
    for key, request in first.get("inputRequests", {}).items():
        check(request["method"] == "elicitation/create", "an elicitation", request)
        properties = request["params"]["requestedSchema"]["properties"]
        answers[key] = {"action": "accept", "content": {k: p["type"] == "boolean" or "x" for k, p in properties.items()}}
    return answers, first["requestState"]


@case("input_required: tampered state is an error")
async def mrtr_tampered(env: Env) -> None:
    async with env.open(Answers().handlers) as session:
        answers, state = await state_leg(session)
        middle = len(state) // 2
        flipped = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        for bad in (flipped, state + "x", state[:-1], "nonsense"):
            try:
                answer = await session.call_round(MRTR + "tampered_state", {}, answers, bad)
            except RpcError as error:
                check(error.code == INVALID_PARAMS, "-32602", str(error))
                continue
            raise Failure(f"tampered state was accepted: {answer!r}")
        await still_works(session)


@case("input_required: untampered state is accepted")
async def mrtr_untampered(env: Env) -> None:
    async with env.open(Answers().handlers) as session:
        answers, state = await state_leg(session)
        result = await session.call_round(MRTR + "tampered_state", {}, answers, state)
    check(text_of(result), "text", result)


@case("input_required: only declared capabilities are asked for")
async def mrtr_capabilities(env: Env) -> None:
    async with env.open(Handlers(sampling=Answers().sampling)) as session:
        first = await session.call_round(MRTR + "capabilities", {})
    methods = {request["method"] for request in first["inputRequests"].values()}
    check(methods == {"sampling/createMessage"}, "methods", methods)


@case("test_missing_capability: -32021 without sampling, a result with it")
async def missing_capability(env: Env) -> None:
    async with env.open() as session:
        error = await refused(session.call("test_missing_capability"), -32021)
        check("sampling" in (error.data or {}).get("requiredCapabilities", {}), "data.requiredCapabilities", error.data)
        await still_works(session)
    async with env.open(Handlers(sampling=Answers().sampling)) as session:
        check(not (await session.call("test_missing_capability")).get("isError"), "isError")


# ---- other tools ----


@case("tools/call test_custom_header echoes non-ASCII")
async def custom_header(env: Env) -> None:
    async with env.open() as session:
        await session.list("tools")
        text = text_of(await session.call("test_custom_header", {"value": NON_ASCII}))
    check(NON_ASCII in text, "the value must come back", text)


@case("logging: only when the request sets logLevel")
async def logs(env: Env) -> None:
    async with env.open() as session:
        await session.call("test_logging_tool")
        await anyio.sleep(0.05)
        check(not session.logs, "message without logLevel", session.logs)
        await session.call("test_logging_tool", log_level="debug")
        await anyio.sleep(0.05)
        check(session.logs, "message with logLevel debug")
        before = len(session.logs)
        await session.call("test_logging_tool")
        await anyio.sleep(0.05)
        check(len(session.logs) == before, "the level holds for one request", session.logs)


REMOVED = {
    "ping": lambda session: session.ping(),
    "logging/setLevel": lambda session: session.set_level("info"),
    "resources/subscribe": lambda session: session.subscribe("test://watched-resource"),
    "resources/unsubscribe": lambda session: session.unsubscribe("test://watched-resource"),
}


def add_removed(method: str) -> None:
    @case(f"removed method {method}: -32601")
    async def removed(env: Env) -> None:
        async with env.open() as session:
            await refused(REMOVED[method](session), METHOD_NOT_FOUND)
            await still_works(session)


for method in REMOVED:
    add_removed(method)


# ---- subscriptions/listen ----


@case("subscriptions/listen: acknowledged, list_changed delivered, ends cleanly")
async def listens(env: Env) -> None:
    async with env.open() as session:
        async with session.listen(tools=True, prompts=True) as listening:
            check(listening.honored == {"toolsListChanged": True, "promptsListChanged": True}, "honoured", listening.honored)
            await session.call("test_trigger_tool_change")
            check(await listening.next() == "notifications/tools/list_changed", "tools list_changed")
            await session.call("test_trigger_prompt_change")
            check(await listening.next() == "notifications/prompts/list_changed", "prompts list_changed")
        await anyio.sleep(0.1)  # the SDK sends its cancellation in the background
        before = len(list_changes(env))
        await session.call("test_trigger_tool_change")
        await anyio.sleep(0.2)
        await still_works(session)
    check(len(list_changes(env)) == before, "no notification after the end", list_changes(env)[before:])
    listen = next(m for m in env.wire.sent() if m.get("method") == "subscriptions/listen")
    for message in list_changes(env):
        stamp = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
        check(stamp == listen["id"], "subscriptionId", message)


def list_changes(env: Env) -> list[Json]:
    return [m for m in env.wire.received() if m.get("method", "").endswith("/list_changed")]


@case("subscriptions/listen: the filter is honoured")
async def listens_filtered(env: Env) -> None:
    async with env.open() as session:
        async with session.listen(prompts=True) as listening:
            await session.call("test_trigger_tool_change")
            await session.call("test_trigger_prompt_change")
            check(await listening.next() == "notifications/prompts/list_changed", "prompts list_changed")
            await anyio.sleep(0.1)
    methods = {m["method"] for m in list_changes(env)}
    check(methods == {"notifications/prompts/list_changed"}, "only the requested notifications", methods)


@case("subscriptions/listen: two at once, each with its own filter")
async def listens_twice(env: Env) -> None:
    async with env.open() as session:
        async with session.listen(tools=True) as first:
            async with session.listen(tools=True, prompts=True) as second:
                await session.call("test_trigger_tool_change")
                check(await first.next() == "notifications/tools/list_changed", "first")
                check(await second.next() == "notifications/tools/list_changed", "second")
            await anyio.sleep(0.1)
            await session.call("test_trigger_tool_change")
            check(await first.next() == "notifications/tools/list_changed", "first, after the second ended")
    stamps = [m["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for m in list_changes(env)]
    check(len(stamps) == 3 and len(set(stamps)) == 2, "stamps", stamps)


@case("subscriptions/listen: resources/updated for a subscribed uri")
async def listens_to_resource(env: Env) -> None:
    async with env.open() as session:
        names = [t["name"] for t in await session.list("tools") if t["name"].startswith("test_trigger_resource")]
        async with session.listen(uris=("test://watched-resource",)) as listening:
            check(listening.honored == {"resourceSubscriptions": ["test://watched-resource"]}, "honoured", listening.honored)
            check(names, "subscribing works, but no tool test_trigger_resource_* makes the server send an update")
            await session.call(names[0], {})
            check(await listening.next() == "notifications/resources/updated", "updated")


@case("subscriptions/listen: open while the session closes")
async def listens_until_closed(env: Env) -> None:
    async with env.open() as session:
        opened = session.listen(tools=True)
        await opened.__aenter__()
