"""Cases of the handshake era (2025-11-25)."""

from __future__ import annotations

import anyio

from cases_common import NON_ASCII, refused, still_works, text_of
from harness import Env, Failure, Handlers, Json, NotOffered, RpcError, Suite, check

SUITE = Suite(era="legacy")
case = SUITE.case
WATCHED = "test://watched-resource"


@case("ping")
async def pings(env: Env) -> None:
    async with env.open() as session:
        check(await session.ping() == {}, "empty result")


@case("logging: three messages from test_tool_with_logging")
async def logs(env: Env) -> None:
    async with env.open() as session:
        await session.call("test_tool_with_logging")
        await anyio.sleep(0.05)
        check([log["level"] for log in session.logs] == ["info"] * 3, "three info messages", session.logs)


@case("logging/setLevel: error silences info, debug lets it through")
async def sets_level(env: Env) -> None:
    async with env.open() as session:
        check(await session.set_level("error") == {}, "empty result")
        await session.call("test_tool_with_logging")
        await anyio.sleep(0.05)
        check(not session.logs, "below the level", session.logs)
        await session.set_level("debug")
        await session.call("test_tool_with_logging")
        await anyio.sleep(0.05)
        check(len(session.logs) == 3, "three messages", session.logs)


@case("sampling: the client's result reaches the tool")
async def samples(env: Env) -> None:
    asked: list[Json] = []

    def answer(params: Json) -> Json:
        asked.append(params)
        content = {"type": "text", "text": f"answer {NON_ASCII}"}
        return {"role": "assistant", "content": content, "model": "interop-model", "stopReason": "endTurn"}

    async with env.open(Handlers(sampling=answer)) as session:
        result = await session.call("test_sampling", {"prompt": f"prompt {NON_ASCII}"})
    check(len(asked) == 1, "one sampling request", asked)
    content = asked[0]["messages"][0]["content"]
    content = content[0] if isinstance(content, list) else content
    check(content["text"] == f"prompt {NON_ASCII}", "the prompt", asked)
    check(asked[0]["maxTokens"] > 0, "maxTokens", asked)
    check(f"answer {NON_ASCII}" in text_of(result), "the tool's text must contain the answer", result)


@case("sampling: the client refuses with an error")
async def sampling_refused(env: Env) -> None:
    def refuse(_params: Json) -> Json:
        raise RpcError(-1, "refused")

    async with env.open(Handlers(sampling=refuse)) as session:
        try:
            result = await session.call("test_sampling", {"prompt": "x"})
            check(result["content"], "content", result)
        except RpcError:
            pass
        await still_works(session)


@case("sampling and elicitation not declared: the server sends neither")
async def undeclared(env: Env) -> None:
    async with env.open() as session:
        for name, arguments in (("test_sampling", {"prompt": "x"}), ("test_elicitation", {"message": "x"})):
            try:
                await session.call(name, arguments)
            except RpcError:
                pass
        await still_works(session)
    requests = [m for m in env.wire.received() if "method" in m and "id" in m]
    check(not requests, "requests the client never declared", requests)


async def elicit(env: Env, name: str, arguments: Json, answer: Json) -> tuple[Json, str]:
    """Calls the tool and responds to its elicitation; returns the requested schema and the tool's text."""
    asked: list[Json] = []

    def reply(params: Json) -> Json:
        asked.append(params)
        return answer

    async with env.open(Handlers(elicitation=reply)) as session:
        result = await session.call(name, arguments)
        await still_works(session)
    check(len(asked) == 1, "one elicitation", asked)
    check(asked[0]["message"], "message", asked)
    if "message" in arguments:
        check(asked[0]["message"] == arguments["message"], "the message given", asked)
    return asked[0]["requestedSchema"], text_of(result)


@case("elicitation accepted: the content reaches the tool")
async def elicitation_accepted(env: Env) -> None:
    answer = {"action": "accept", "content": {"username": "Łucja", "email": "lucja@example.com"}}
    schema, text = await elicit(env, "test_elicitation", {"message": f"who? {NON_ASCII}"}, answer)
    check({"username", "email"} <= set(schema["properties"]), "username and email", schema)
    check({"username", "email"} <= set(schema.get("required", [])), "both required", schema)
    check("Łucja" in text and "accept" in text.lower(), "the tool's text must show action and content", text)


@case("elicitation declined")
async def elicitation_declined(env: Env) -> None:
    _, text = await elicit(env, "test_elicitation", {"message": "who?"}, {"action": "decline"})
    check("declin" in text.lower(), "the tool's text must show the action", text)


@case("elicitation cancelled")
async def elicitation_cancelled(env: Env) -> None:
    _, text = await elicit(env, "test_elicitation", {"message": "who?"}, {"action": "cancel"})
    check("cancel" in text.lower(), "the tool's text must show the action", text)


@case("elicitation with defaults (SEP-1034)")
async def elicitation_defaults(env: Env) -> None:
    defaults = {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": True}
    answer = {"action": "accept", "content": defaults}
    schema, text = await elicit(env, "test_elicitation_sep1034_defaults", {}, answer)
    seen = {key: value.get("default") for key, value in schema["properties"].items()}
    check(seen == defaults, "defaults", seen)
    types = {key: value["type"] for key, value in schema["properties"].items()}
    wanted = {"name": "string", "age": "integer", "score": "number", "status": "string", "verified": "boolean"}
    check(types == wanted, "types", types)
    check(schema["properties"]["status"]["enum"] == ["active", "inactive", "pending"], "enum", schema)
    check("John Doe" in text, "the tool's text must show the content", text)


@case("elicitation with the five enum forms (SEP-1330)")
async def elicitation_enums(env: Env) -> None:
    forms: dict[str, str] = {}

    def form(schema: Json) -> str:
        if schema["type"] == "array":
            return "titled multi" if "anyOf" in schema["items"] else "untitled multi" if "enum" in schema["items"] else "?"
        if "oneOf" in schema:
            return "titled single" if all("const" in o and "title" in o for o in schema["oneOf"]) else "?"
        return "legacy" if "enumNames" in schema else "untitled single" if "enum" in schema else "?"

    def value(schema: Json) -> str | list[str]:
        source = schema.get("items", schema)
        choices = source.get("enum") or [o["const"] for o in source.get("oneOf") or source["anyOf"]]
        return choices[:2] if schema["type"] == "array" else choices[0]

    content: Json = {}

    def reply(params: Json) -> Json:
        properties = params["requestedSchema"]["properties"]
        forms.update({key: form(schema) for key, schema in properties.items()})
        content.update({key: value(schema) for key, schema in properties.items()})
        return {"action": "accept", "content": content}

    async with env.open(Handlers(elicitation=reply)) as session:
        result = await session.call("test_elicitation_sep1330_enums", {})
    wanted = ["legacy", "titled multi", "titled single", "untitled multi", "untitled single"]
    check(sorted(forms.values()) == wanted, "forms", forms)
    check(text_of(result), "text", result)


@case("three elicitations at once, each call gets its own answer")
async def elicitations_overlap(env: Env) -> None:
    texts: dict[str, str] = {}

    def reply(params: Json) -> Json:
        name = params["message"].removeprefix("for ")
        return {"action": "accept", "content": {"username": name, "email": "a@example.com"}}

    async with env.open(Handlers(elicitation=reply)) as session:

        async def one(name: str) -> None:
            texts[name] = text_of(await session.call("test_elicitation", {"message": f"for {name}"}))

        async with anyio.create_task_group() as group:
            for name in ("Ania", "Bruno", "Cédric"):
                group.start_soon(one, name)
    check(all(name in text for name, text in texts.items()), "each call must get its own response", texts)


@case("tools/call test_reconnection")
async def reconnects(env: Env) -> None:
    async with env.open() as session:
        check(text_of(await session.call("test_reconnection")), "text")


@case("resources/subscribe, updated, unsubscribe")
async def subscribes(env: Env) -> None:
    async with env.open() as session:
        trigger = await update_trigger(session)
        await trigger()
        await anyio.sleep(0.2)
        check(not updates(session), "update before subscribing", session.notifications)
        check(await session.subscribe(WATCHED) == {}, "empty result")
        await trigger()
        await anyio.sleep(0.3)
        check([n["params"]["uri"] for n in updates(session)] == [WATCHED], "one update", session.notifications)
        check(await session.unsubscribe(WATCHED) == {}, "empty result")
        await trigger()
        await anyio.sleep(0.3)
        check(len(updates(session)) == 1, "update after unsubscribing", session.notifications)


async def update_trigger(session):
    """The tool that updates the watched resource, named test_trigger_resource_*."""
    names = [t["name"] for t in await session.list("tools") if t["name"].startswith("test_trigger_resource")]
    if not names:
        await session.subscribe(WATCHED)
        await session.unsubscribe(WATCHED)
        raise Failure("subscribing works, but no tool test_trigger_resource_* makes the server send an update")
    return lambda: session.call(names[0], {})


def updates(session) -> list[Json]:
    return [n for n in session.notifications if n["method"] == "notifications/resources/updated"]


@case("list_changed after test_trigger_tool_change and test_trigger_prompt_change")
async def lists_change(env: Env) -> None:
    async with env.open() as session:
        listed = {tool["name"] for tool in await session.list("tools")}
        for kind, tool in (("tools", "test_trigger_tool_change"), ("prompts", "test_trigger_prompt_change")):
            if tool not in listed:
                raise NotOffered(f"{tool} is not listed in the legacy era", by="this server")
            await session.call(tool)
            await anyio.sleep(0.1)
            methods = [n["method"] for n in session.notifications]
            check(f"notifications/{kind}/list_changed" in methods, f"{kind} list_changed", methods)


@case("notifications/roots/list_changed is accepted")
async def roots_change(env: Env) -> None:
    root = {"uri": "file:///srv/one", "name": "one"}
    async with env.open(Handlers(roots=lambda: {"roots": [root]})) as session:
        await session.roots_changed()
        check(await session.ping() == {}, "ping afterwards")


@case("methods of 2026-07-28 are not known: -32601")
async def modern_methods(env: Env) -> None:
    async with env.open() as session:
        await refused(session.request("subscriptions/listen", {"notifications": {}}), -32601)
