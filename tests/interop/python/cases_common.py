"""Cases of both eras."""

from __future__ import annotations

import base64
import os

import anyio

from harness import EXPECTED, Env, Failure, Json, NotOffered, RpcError, Suite, TimedOut, check

SUITE = Suite()
case = SUITE.case

NON_ASCII = "Zażółć gęślą jaźń – 日本語 🦀 \u2028 \x7f \"\\"
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
PNG = b"\x89PNG\r\n\x1a\n"


def names_for(era: str, group: str) -> set[str]:
    return set(EXPECTED[group]["both"]) | set(EXPECTED[group][era])


def text_of(result: Json) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


async def refused(awaitable, code: int) -> RpcError:
    """The call must fail with the JSON-RPC error `code`."""
    try:
        answer = await awaitable
    except RpcError as error:
        check(error.code == code, f"expected error {code}", str(error))
        return error
    raise Failure(f"expected error {code}; got the result {answer!r}")


async def still_works(session) -> None:
    result = await session.call("test_simple_text")
    check(text_of(result), "a later call must still return a text", result)


# ---- connecting ----


@case("connect: version, capabilities, serverInfo, instructions")
async def connects(env: Env) -> None:
    async with env.open() as session:
        seen = await session.info()
    method = "initialize" if env.era == "legacy" else "server/discover"
    answer = env.wire.result_of(method)
    check(answer is not None, f"no response to {method} on the wire")
    check(seen["protocolVersion"] == EXPECTED["versions"][env.era], "negotiated version", seen["protocolVersion"])
    missing = set(EXPECTED["capabilities"][env.era]) - set(seen["capabilities"])
    check(not missing, f"capabilities lack {sorted(missing)}", seen["capabilities"])
    check(seen["capabilities"]["resources"].get("subscribe") is True, "resources.subscribe", seen["capabilities"])
    check(seen["capabilities"] == answer["capabilities"], "the SDK read other capabilities than were sent", seen, answer)
    info = answer["serverInfo"] if env.era == "legacy" else answer["_meta"]["io.modelcontextprotocol/serverInfo"]
    check(info.get("name") and info.get("version"), "serverInfo needs name and version", info)
    check(seen["serverInfo"] == info, "the SDK read another serverInfo than was sent", seen["serverInfo"], info)
    check(seen["instructions"] == answer.get("instructions"), "instructions", seen["instructions"])
    check(seen["instructions"], "the server must send instructions, so that they are covered")


@case("connect: to the server directly, without the recorder")
async def connects_directly(env: Env) -> None:
    async with env.open(tapped=False) as session:
        await still_works(session)


@case("many requests of all kinds in one session")
async def one_session(env: Env) -> None:
    async with env.open() as session:
        for _ in range(20):
            await still_works(session)
            await session.list("tools")
            await session.read("test://static-text")
            await refused(session.call("no_such_tool"), INVALID_PARAMS)
            await session.prompt("test_simple_prompt")


# ---- listing ----


@case("tools/list")
async def lists_tools(env: Env) -> None:
    async with env.open() as session:
        tools = {tool["name"]: tool for tool in await session.list("tools")}
        again = [tool["name"] for tool in await session.list("tools")]
    missing = names_for(env.era, "tools") - set(tools)
    check(not missing, f"not listed: {sorted(missing)}", sorted(tools))
    for tool in tools.values():
        check(tool.get("description"), "every tool needs a description", tool)
        check(tool["inputSchema"]["type"] == "object", "inputSchema.type", tool)
    check(list(tools) == again, "the order must be the same on each call", list(tools), again)


@case("tools/list keeps JSON Schema 2020-12 keywords")
async def keeps_schema(env: Env) -> None:
    async with env.open() as session:
        tools = {tool["name"]: tool for tool in await session.list("tools")}
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    check(schema.get("$schema") == "https://json-schema.org/draft/2020-12/schema", "$schema", schema)
    wanted = {"$defs", "allOf", "if", "then", "else", "additionalProperties"}
    check(wanted <= set(schema), f"keywords lost: {sorted(wanted - set(schema))}", schema)
    check(any("$anchor" in definition for definition in schema["$defs"].values()), "$anchor", schema)
    check("anyOf" in schema or any("anyOf" in part for part in schema["allOf"]), "anyOf", schema)


@case("resources/list")
async def lists_resources(env: Env) -> None:
    async with env.open() as session:
        resources = await session.list("resources")
    missing = set(EXPECTED["resources"]) - {resource["uri"] for resource in resources}
    check(not missing, f"not listed: {sorted(missing)}", resources)
    check(all(resource["name"] for resource in resources), "every resource needs a name", resources)


@case("resources/templates/list")
async def lists_templates(env: Env) -> None:
    async with env.open() as session:
        templates = await session.list("templates")
    missing = set(EXPECTED["templates"]) - {template["uriTemplate"] for template in templates}
    check(not missing, f"not listed: {sorted(missing)}", templates)


@case("prompts/list")
async def lists_prompts(env: Env) -> None:
    async with env.open() as session:
        prompts = {prompt["name"]: prompt for prompt in await session.list("prompts")}
    missing = names_for(env.era, "prompts") - set(prompts)
    check(not missing, f"not listed: {sorted(missing)}", sorted(prompts))
    check(all(prompt.get("description") for prompt in prompts.values()), "every prompt needs a description", prompts)
    arguments = {a["name"]: a.get("required", False) for a in prompts["test_prompt_with_arguments"]["arguments"]}
    check(arguments == {"arg1": True, "arg2": True}, "test_prompt_with_arguments", arguments)


@case("lists of several pages are collected without gaps or repetitions")
async def lists_pages(env: Env) -> None:
    keys = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
    async with env.open() as session:
        for kind, key in keys.items():
            found = [item[key] for item in await session.list(kind)]
            check(len(set(found)) == len(found), f"{kind} listed twice", found)
    if not any("nextCursor" in m.get("result", {}) for m in env.wire.received()):
        raise NotOffered("every list fits one page", by="this server")


# ---- tools ----


async def one_call(env: Env, name: str, arguments: Json | None = None) -> list[Json]:
    async with env.open() as session:
        result = await session.call(name, arguments)
    check(not result.get("isError"), "isError", result)
    return result["content"]


def check_image(block: Json) -> None:
    check(block["mimeType"] == "image/png", "mimeType", block["mimeType"])
    check(base64.b64decode(block["data"], validate=True).startswith(PNG), "PNG data", block["data"][:40])


@case("tools/call test_simple_text")
async def calls_text(env: Env) -> None:
    content = await one_call(env, "test_simple_text")
    check([block["type"] for block in content] == ["text"] and content[0]["text"], "one text block", content)


@case("tools/call test_image_content")
async def calls_image(env: Env) -> None:
    content = await one_call(env, "test_image_content")
    check([block["type"] for block in content] == ["image"], "one image block", content)
    check_image(content[0])


@case("tools/call test_audio_content")
async def calls_audio(env: Env) -> None:
    content = await one_call(env, "test_audio_content")
    check([block["type"] for block in content] == ["audio"], "one audio block", content)
    check(content[0]["mimeType"] == "audio/wav", "mimeType", content)
    check(base64.b64decode(content[0]["data"], validate=True).startswith(b"RIFF"), "WAV data", content)


@case("tools/call test_embedded_resource")
async def calls_embedded(env: Env) -> None:
    content = await one_call(env, "test_embedded_resource")
    check([block["type"] for block in content] == ["resource"], "one resource block", content)
    resource = content[0]["resource"]
    check(resource["uri"] == "test://embedded-resource", "uri", resource)
    check(resource.get("mimeType") and resource.get("text"), "mimeType and text", resource)


@case("tools/call test_multiple_content_types")
async def calls_mixed(env: Env) -> None:
    content = await one_call(env, "test_multiple_content_types")
    check([block["type"] for block in content] == ["text", "image", "resource"], "text, image, resource", content)
    check_image(content[1])


@case("tools/call test_error_handling: isError")
async def calls_failing(env: Env) -> None:
    async with env.open() as session:
        result = await session.call("test_error_handling")
        check(result.get("isError") is True, "isError", result)
        check(text_of(result), "text", result)
        await still_works(session)


@case("tools/call test_tool_with_progress: three increasing notifications")
async def reports_progress(env: Env) -> None:
    seen: list[Json] = []
    async with env.open() as session:
        await session.call("test_tool_with_progress", progress=seen.append)
        await anyio.sleep(0.05)
    check([item["progress"] for item in seen] == [0, 50, 100], "progress", seen)
    check(all(item["total"] == 100 for item in seen), "total", seen)


@case("tools/call test_tool_with_progress: none unless asked")
async def reports_no_progress(env: Env) -> None:
    await one_call(env, "test_tool_with_progress")
    sent = [m for m in env.wire.received() if m.get("method") == "notifications/progress"]
    check(not sent, "progress without a token", sent)


@case("tools/call: a tool with an outputSchema returns structuredContent")
async def calls_structured(env: Env) -> None:
    samples = {"number": 2, "integer": 2, "string": NON_ASCII, "boolean": True, "array": [], "object": {}}
    async with env.open() as session:
        tools = [tool for tool in await session.list("tools") if "outputSchema" in tool]
        if not tools:
            raise NotOffered("no listed tool declares an outputSchema", by="this server")
        tool = tools[0]
        properties = tool["inputSchema"].get("properties", {})
        arguments = {key: samples[properties[key]["type"]] for key in tool["inputSchema"].get("required", [])}
        result = await session.call(tool["name"], arguments)
        check("structuredContent" in result, f"{tool['name']}: structuredContent", result)
        check(result["content"], f"{tool['name']}: content for older clients", result)


@case("tools/call unknown tool: -32602")
async def calls_unknown(env: Env) -> None:
    async with env.open() as session:
        await refused(session.call("no_such_tool"), INVALID_PARAMS)
        await still_works(session)


@case("unknown method: -32601")
async def unknown_method(env: Env) -> None:
    async with env.open() as session:
        await refused(session.request("unknown/method"), METHOD_NOT_FOUND)
        await refused(session.request("unknown/method", {"key": NON_ASCII}), METHOD_NOT_FOUND)
        await still_works(session)


# ---- resources ----


@case("resources/read text")
async def reads_text(env: Env) -> None:
    async with env.open() as session:
        contents = (await session.read("test://static-text"))["contents"]
    check(len(contents) == 1 and contents[0]["uri"] == "test://static-text", "one entry", contents)
    check(contents[0]["mimeType"] == "text/plain" and contents[0]["text"], "text/plain", contents)


@case("resources/read binary")
async def reads_binary(env: Env) -> None:
    async with env.open() as session:
        contents = (await session.read("test://static-binary"))["contents"]
    check(contents[0]["mimeType"] == "image/png", "mimeType", contents)
    check(base64.b64decode(contents[0]["blob"], validate=True).startswith(PNG), "PNG blob", contents)


@case("resources/read of a template")
async def reads_template(env: Env) -> None:
    async with env.open() as session:
        contents = (await session.read("test://template/123/data"))["contents"]
    check(contents[0]["uri"] == "test://template/123/data" and "123" in contents[0]["text"], "123", contents)


@case("resources/read unknown resource: -32002 (legacy), -32602 (modern)")
async def reads_unknown(env: Env) -> None:
    uri = "test://no-such-resource"
    async with env.open() as session:
        error = await refused(session.read(uri), -32002 if env.era == "legacy" else INVALID_PARAMS)
        check((error.data or {}).get("uri") == uri, "data.uri", error.data)
        await still_works(session)


# ---- prompts and completion ----


async def one_prompt(env: Env, name: str, arguments: dict[str, str] | None = None) -> list[Json]:
    async with env.open() as session:
        return (await session.prompt(name, arguments))["messages"]


@case("prompts/get test_simple_prompt")
async def gets_simple(env: Env) -> None:
    messages = await one_prompt(env, "test_simple_prompt")
    check(messages[0]["content"]["type"] == "text" and messages[0]["content"]["text"], "text", messages)


@case("prompts/get test_prompt_with_arguments, non-ASCII")
async def gets_with_arguments(env: Env) -> None:
    messages = await one_prompt(env, "test_prompt_with_arguments", {"arg1": NON_ASCII, "arg2": "élan 🎉"})
    text = messages[0]["content"]["text"]
    check(NON_ASCII in text and "élan 🎉" in text, "both values must come back", text)


@case("prompts/get test_prompt_with_embedded_resource")
async def gets_embedded(env: Env) -> None:
    messages = await one_prompt(env, "test_prompt_with_embedded_resource", {"resourceUri": "test://example"})
    blocks = [m["content"] for m in messages if m["content"]["type"] == "resource"]
    check(len(blocks) == 1 and blocks[0]["resource"]["uri"] == "test://example", "resource", messages)


@case("prompts/get test_prompt_with_image")
async def gets_image(env: Env) -> None:
    messages = await one_prompt(env, "test_prompt_with_image")
    blocks = [m["content"] for m in messages if m["content"]["type"] == "image"]
    check(len(blocks) == 1, "one image", messages)
    check_image(blocks[0])


@case("prompts/get with a missing argument, and of an unknown prompt: -32602")
async def gets_invalid(env: Env) -> None:
    async with env.open() as session:
        await refused(session.prompt("test_prompt_with_arguments", {"arg1": "only"}), INVALID_PARAMS)
        await refused(session.prompt("test_prompt_with_arguments"), INVALID_PARAMS)
        await refused(session.prompt("no_such_prompt"), INVALID_PARAMS)


@case("completion/complete for a prompt argument")
async def completes_prompt(env: Env) -> None:
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    async with env.open() as session:
        completion = (await session.complete(ref, "arg1", "par"))["completion"]
    check(isinstance(completion["values"], list) and len(completion["values"]) <= 100, "values", completion)


@case("completion/complete for a template variable")
async def completes_template(env: Env) -> None:
    ref = {"type": "ref/resource", "uri": "test://template/{id}/data"}
    async with env.open() as session:
        completion = (await session.complete(ref, "id", "1"))["completion"]
    check(isinstance(completion["values"], list) and len(completion["values"]) <= 100, "values", completion)


# ---- concurrency, cancelling, timeouts, closing ----


@case("50 concurrent slow calls")
async def calls_concurrently(env: Env) -> None:
    done: list[str] = []
    async with env.open() as session:

        async def one() -> None:
            # One after the other, they would take longer than a case may.
            done.append(text_of(await session.call("slow", {"seconds": 1})))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(one)
    check(len(done) == 50 and all(done), "50 texts", len(done))


@case("50 concurrent requests are answered each with its own answer")
async def answers_match(env: Env) -> None:
    wrong: list[str] = []
    async with env.open() as session:

        async def one(index: int) -> None:
            token = f"<{index}-é>"
            if index % 2:
                messages = (await session.prompt("test_prompt_with_arguments", {"arg1": token, "arg2": "x"}))["messages"]
                text = messages[0]["content"]["text"]
            else:
                token = str(index + 1000)
                text = (await session.read(f"test://template/{token}/data"))["contents"][0]["text"]
            if token not in text:
                wrong.append(f"{token} not in {text}")

        async with anyio.create_task_group() as group:
            for index in range(50):
                group.start_soon(one, index)
    check(not wrong, "responses of other calls", wrong[:3])


@case("a slow call reports progress, another is answered meanwhile")
async def overtakes(env: Env) -> None:
    seen: list[Json] = []
    order: list[str] = []
    async with env.open() as session:

        async def slow() -> None:
            await session.call("slow", {"seconds": 0.8}, progress=seen.append)
            order.append("slow")

        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            await anyio.sleep(0.2)
            await still_works(session)
            order.append("fast")
    values = [item["progress"] for item in seen]
    check(order == ["fast", "slow"], "order of responses", order)
    check(len(values) >= 3 and values == sorted(set(values)), "increasing progress every 100 ms", values)


@case("cancel a slow call: no late response, the session goes on")
async def cancels(env: Env) -> None:
    async with env.open() as session:
        # Longer than a case may take: cancelling does not wait for the call.
        await session.abandon("slow", {"seconds": 600}, after=2)
        await still_works(session)
        await anyio.sleep(2)
        await still_works(session)
    cancelled = [m["params"]["requestId"] for m in env.wire.sent() if m.get("method") == "notifications/cancelled"]
    if env.over_http and env.era == "modern":
        check(not cancelled, "a modern client cancels by disconnecting", cancelled)
        return
    check(len(cancelled) == 1, "one cancellation on the wire", cancelled)
    late = [m for m in env.wire.received() if m.get("id") == cancelled[0] and "method" not in m]
    check(not late, "response to a cancelled request", late)


@case("cancel a slow call: the tool is told")
async def cancels_tool(env: Env) -> None:
    name = f"interop-{os.getpid()}-{env.mode}"
    async with env.open() as session:
        check(text_of(await session.call("slow_cancelled", {"name": name})) == "no", "before")
        await session.abandon("slow", {"seconds": 600, "name": name}, after=2)
        while text_of(await session.call("slow_cancelled", {"name": name})) != "yes":
            await anyio.sleep(0.05)


@case("a call times out at the client: the session goes on")
async def times_out(env: Env) -> None:
    async with env.open() as session:
        try:
            answer = await session.call("slow", {"seconds": 2}, timeout=0.3)
        except TimedOut:
            await still_works(session)
            # Version 1 does not cancel: the late response comes.
            await anyio.sleep(2)
            await still_works(session)
            return
    raise Failure(f"expected a timeout; got {answer!r}")


@case("a timeout that is not reached")
async def keeps_time(env: Env) -> None:
    async with env.open() as session:
        check(text_of(await session.call("slow", {"seconds": 0.2}, timeout=25)), "text")


@case("closing with a call in flight")
async def closes_in_flight(env: Env) -> None:
    async with env.open() as session:
        with anyio.move_on_after(0.3):
            await session.call("slow", {"seconds": 20})
