"""Tests of the emulated board with a client of the official Python SDK, in both eras. The SDK starts the emulator as its stdio server, or finds the board
at a URL: then it keeps its state from case to case, has four connections, and no sessions."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import replace
from pathlib import Path

import anyio
from harness import Env, Failure, Json, NotOffered, RpcError, Suite, check

SUITE = Suite()
LEGACY = Suite("legacy")
MODERN = Suite("modern")

# Differences between boards; the last word of the command is the board. Per board: a register with a known value and that value, one that shows the
# outputs, and one that counts.
BOARD = sys.argv[-1]
RAM = {"microbit": 16_384}.get(BOARD, 65_536)
REGISTERS = {
    "microbit": ("TIMER0.PRESCALER", 9, "GPIO.OUT", "TIMER0.CC[0]"),
    "mps2-an386": ("UART0.BAUDDIV", 217, "FPGAIO.LED0", "FPGAIO.COUNTER"),
    "virt": ("PLIC.ENABLE", 1 << 10, "(outputs)", "CLINT.MTIME"),
}
HAS_SENSORS = BOARD == "microbit"

# Factor by which the emulator may be slower than a real board.
PATIENCE = 10


def the_file() -> bytes:
    """Returns the contents of board://file."""
    state, file = 1, bytearray()
    for _ in range(65_536):
        state = (state * 1_664_525 + 1_013_904_223) & 0xFFFF_FFFF
        file.append(state >> 24)
    return bytes(file)


def text_of(result: Json) -> str:
    check(not result.get("isError"), "the tool failed", result)
    return result["content"][0]["text"]


def data_of(result: Json) -> Json:
    """Returns the structured content, which must equal the text."""
    check(json.loads(text_of(result)) == result["structuredContent"], "text and structured content differ", result)
    return result["structuredContent"]


def failure_of(result: Json) -> str:
    check(result.get("isError") is True, "the tool did not fail", result)
    return result["content"][0]["text"]


@SUITE.case("one tool is called")
async def one_tool(env: Env) -> None:
    async with env.open() as s:
        if not HAS_SENSORS:
            check(failure_of(await s.call("measure", {"quantity": "acceleration_z"})) == "The sensor does not answer", "measure")
            return
        data = data_of(await s.call("measure", {"quantity": "acceleration_z"}))
        check(data == {"quantity": "acceleration_z", "value": 1000, "unit": "0.001 g"}, "measure", data)


@SUITE.case("who it is")
async def who(env: Env) -> None:
    async with env.open() as s:
        info = await s.info()
        check(info["serverInfo"] == {"name": "board", "version": "1.0.0", "title": "A microcontroller"}, "serverInfo", info)
        offered = {"tools", "resources", "prompts", "completions", "logging"}
        check({key for key, value in info["capabilities"].items() if value is not None} >= offered, "capabilities", info)
        check(info["protocolVersion"] == ("2025-11-25" if env.era == "legacy" else "2026-07-28"), "version", info)


@SUITE.case("40 fully described tools come in one message")
async def forty_tools(env: Env) -> None:
    async with env.open() as s:
        tools = await s.list("tools")
        check(len(tools) == 40 and len({tool["name"] for tool in tools}) == 40, "tools", len(tools))
        for tool in tools:
            for member in "title", "description", "inputSchema", "annotations":
                check(tool.get(member), f"no {member}", tool)
        answers = [line for line in env.wire.received() if "tools" in line.get("result", {})]
        check(len(answers) == 1 and "nextCursor" not in answers[0]["result"], "pages", len(answers))
        check(len(json.dumps(answers[0])) > 20_000, "fully described", len(json.dumps(answers[0])))


@SUITE.case("every tool", transport="stdio")
async def every_tool(env: Env) -> None:
    async with env.open() as s:
        # The emulator's accelerometer has three fixed readings, of which the firmware takes two at its start. All later ones are arbitrary.
        for axis in "xyz" if HAS_SENSORS else "":
            data = data_of(await s.call("measure", {"quantity": f"acceleration_{axis}"}))
            check(data["value"] == 1000 if axis == "x" else -2000 <= data["value"] < 2000, "acceleration", data)
        # The emulator has no thermometer; a micro:bit has.
        check(failure_of(await s.call("measure", {"quantity": "temperature"})) == "The sensor does not answer", "temperature")
        for output in range(31):
            name = f"output_{output:02}"
            data = data_of(await s.call(name, {"on": True}))
            check(data == {"output": output, "on": True, "was": False}, name, data)
            data = data_of(await s.call("read_pin", {"number": output}))
            check(data == {"number": output, "high": True}, "read_pin", data)
        mask = json.loads((await s.read("board://outputs"))["contents"][0]["text"])
        check(mask == {"mask": 0x7FFF_FFFF}, "outputs", mask)
        check(data_of(await s.call("output_05", {"on": False})) == {"output": 5, "on": False, "was": True}, "output_05")
        check(text_of(await s.call("rename", {"name": "Böse \"Tüte\" 😀"})) == "The board has a new name", "rename")
        check((await s.read("board://name"))["contents"][0]["text"] == "Böse \"Tüte\" 😀", "name")
        check(text_of(await s.call("echo", {"text": "a\u0000\\\"\n\u2028}{é😀"})) == "a\u0000\\\"\n\u2028}{é😀", "echo")
        check(data_of(await s.call("line")) == {"refused": 0, "faults": 0}, "line")
        stack = data_of(await s.call("stack"))
        check(0 < stack["deepest"] < stack["size"] < RAM, "stack", stack)
        earlier = data_of(await s.call("uptime"))["milliseconds"]
        await anyio.sleep(0.2)
        passed = data_of(await s.call("uptime"))["milliseconds"] - earlier
        check(150 < passed < 200 * PATIENCE, "uptime", passed)
        check(data_of(await s.call("sweep", {"steps": 2, "period": 5})) == {"steps": 2}, "sweep")


@SUITE.case("arguments that do not fit are refused, and it is said why")
async def bad_arguments(env: Env) -> None:
    async with env.open() as s:
        before = (await s.read("board://name"))["contents"][0]["text"]
        for name, arguments, why in (
            ("read_pin", {"number": 31}, "number: must be an integer from 0 to "),
            ("read_pin", {"number": 7.9}, "number: must be an integer"),
            ("read_pin", {"number": "7"}, "number: must be an integer"),
            ("read_pin", {}, "number: is missing"),
            ("output_00", {"on": True, "off": False}, "off: is unknown"),
            ("measure", {"quantity": "humidity"}, "quantity: must be one of "),
            ("rename", {"name": "ä" * 13}, "longer than 24 bytes"),
            ("rename", {"name": ""}, "name: must be a string of 1 to 24 characters, has 0"),
            ("sweep", {"steps": 2, "period": 1e5}, "period: must be an integer from 1 to 60000"),
        ):
            seen = failure_of(await s.call(name, arguments))
            check(why in seen, f"{name} {arguments}", seen)
        after = (await s.read("board://name"))["contents"][0]["text"]
        check(after == before, "a name that is refused changes nothing", after)
        try:
            await s.call("output_31", {"on": True})
        except RpcError as error:
            check(error.code == -32602, "code", error.code)
        else:
            raise Failure("the call of an unknown tool succeeded")


@SUITE.case("progress of a slow tool, and ping beside it")
async def progress(env: Env) -> None:
    async with env.open() as s:
        steps: list[Json] = []
        pongs, ended = 0, anyio.Event()
        async with anyio.create_task_group() as group:

            async def sweep() -> None:
                result = await s.call("sweep", {"steps": 5, "period": 100}, progress=steps.append)
                check(data_of(result) == {"steps": 5}, "sweep", result)
                ended.set()

            group.start_soon(sweep)
            while not steps:
                await anyio.sleep(0.01)
            while not ended.is_set():
                # 2026-07-28 has no ping. This request is as short.
                await (s.ping() if env.era == "legacy" else s.list("templates"))
                pongs += 1
        check([step["progress"] for step in steps] == [1, 2, 3, 4, 5], "progress", steps)
        check({step["total"] for step in steps} == {5}, "total", steps)
        check(pongs > 3, "pongs", pongs)


@SUITE.case("four slow tools at once; a fifth waits for one of them", transport="stdio")
async def four_at_once(env: Env) -> None:
    async with env.open() as s:
        done: list[Json] = []
        async with anyio.create_task_group() as group:

            async def sweep(steps: int) -> None:
                done.append(data_of(await s.call("sweep", {"steps": steps, "period": 250})))

            for steps in range(4):
                group.start_soon(sweep, steps + 1)
            await anyio.sleep(0.1)
            await s.call("sweep", {"steps": 1, "period": 5})
            check(done, "a fifth call ran beside the others")
        # The order in which they end depends on the load of the computer.
        check(sorted(one["steps"] for one in done) == [1, 2, 3, 4], "done", done)


@SUITE.case("a thousand short waits all end")
async def short_waits(env: Env) -> None:
    async with env.open() as s:
        # The time to wake up is near when the clock is set, so a slow computer lets it pass
        # meanwhile.
        with anyio.fail_after(10 * PATIENCE):
            check(data_of(await s.call("sweep", {"steps": 1000, "period": 2})) == {"steps": 1000}, "sweep")


@SUITE.case("a slow tool is cancelled")
async def cancel(env: Env) -> None:
    if env.over_http and env.era == "legacy":
        raise NotOffered("a cancellation belongs to a session", by="a server without sessions")
    async with env.open() as s:
        await s.abandon("sweep", {"steps": 1000, "period": 50}, after=2)
        await s.list("templates")
        before = (await s.read("board://outputs"))["contents"][0]["text"]
        await anyio.sleep(0.3)
        check((await s.read("board://outputs"))["contents"][0]["text"] == before, "the cancelled sweep continues")
        asked = [line["id"] for line in env.wire.sent() if line.get("params", {}).get("name") == "sweep"]
        check(not [line for line in env.wire.received() if line.get("id") in asked], "a cancelled call got a response")


@SUITE.case("the file of 64 KiB arrives as it is")
async def file(env: Env) -> None:
    async with env.open() as s:
        listed = {resource["uri"]: resource for resource in await s.list("resources")}
        check(set(listed) == {"board://name", "board://outputs", "board://registers", "board://file"}, "resources", listed)
        contents = (await s.read("board://file"))["contents"]
        check(base64.b64decode(contents[0]["blob"], validate=True) == the_file(), "the file differs")
        check(listed["board://file"]["size"] == 65_536, "size", listed["board://file"])


@SUITE.case("requests that come while the file is sent are answered after it", transport="stdio")
async def burst(env: Env) -> None:
    async with env.open() as s:
        results: list[Json] = []
        async with anyio.create_task_group() as group:

            async def read() -> None:
                results.append(await s.read("board://file"))

            async def call(number: int) -> None:
                results.append(await s.call("read_pin", {"number": number}))

            group.start_soon(read)
            await anyio.sleep(0)
            for number in range(3):
                group.start_soon(call, number)
        check(len(results) == 4, "results", len(results))


@SUITE.case("registers are live", transport="stdio")
async def registers(env: Env) -> None:
    async with env.open() as s:

        async def read() -> Json:
            contents = (await s.read("board://registers"))["contents"][0]
            check(contents["mimeType"] == "application/json", "type", contents)
            return json.loads(contents["text"])

        constant, value, outputs, counter = REGISTERS[BOARD]
        before = await read()
        check(before[constant] == value and len(before) == 10, "registers", before)
        await s.call("output_01", {"on": True})
        after = await read()
        check(after[outputs] ^ before[outputs] == 1 << 1, outputs, before, after)
        check(after[counter] > before[counter], counter, before, after)


@SUITE.case("a template, and URIs that do not exist")
async def template(env: Env) -> None:
    async with env.open() as s:
        check([t["uriTemplate"] for t in await s.list("templates")] == ["board://pins/{number}"], "templates")
        await s.call("output_30", {"on": True})
        contents = (await s.read("board://pins/30"))["contents"][0]
        check(json.loads(contents["text"]) == {"number": 30, "high": True} and contents["uri"] == "board://pins/30", "pin", contents)
        for uri in "board://pins/31", "board://pins/x", "board://pins/256", "board://nothing":
            try:
                await s.read(uri)
            except RpcError as error:
                check(error.code == (-32002 if env.era == "legacy" else -32602), uri, error.code)
            else:
                raise Failure(f"{uri} exists")


@SUITE.case("a prompt, and completion for it and for the template")
async def prompt(env: Env) -> None:
    async with env.open() as s:
        listed = await s.list("prompts")
        check(listed[0]["arguments"][0]["required"] is True, "prompts", listed)
        messages = (await s.prompt("explain", {"part": 'the "clock"'}))["messages"]
        check([message["role"] for message in messages] == ["user", "user"], "roles", messages)
        check(messages[1]["content"]["text"] == 'the "clock"', "argument", messages)
        ref = {"type": "ref/prompt", "name": "explain"}
        values = (await s.complete(ref, "part", "se"))["completion"]["values"]
        check(values == ["sensors", "serial line"], "completion", values)
        ref = {"type": "ref/resource", "uri": "board://pins/{number}"}
        values = (await s.complete(ref, "number", "2"))["completion"]["values"]
        check(values == ["2", *(str(number) for number in range(20, 30))], "completion", values)
        check(len((await s.complete(ref, "number", ""))["completion"]["values"]) == 31, "all")


@SUITE.case("a session on a line with noise in it", transport="stdio")
async def noise(env: Env) -> None:
    noisy = [sys.executable, str(Path(__file__).with_name("noisy.py")), *env.command]
    async with replace(env, command=noisy).open() as s:
        check(len(await s.list("tools")) == 40, "tools")
        for output in range(31):
            check(data_of(await s.call(f"output_{output:02}", {"on": True}))["was"] is False, f"output {output}")
        check(base64.b64decode((await s.read("board://file"))["contents"][0]["blob"]) == the_file(), "the file")
        steps: list[Json] = []
        check(data_of(await s.call("sweep", {"steps": 3, "period": 20}, progress=steps.append)) == {"steps": 3}, "sweep")
        check(len(steps) == 3, "progress", steps)
        check(data_of(await s.call("line"))["refused"] > 20, "the noise was not counted")


@SUITE.case("the board is reset by a tool", transport="stdio")
async def reset(env: Env) -> None:
    async with env.open() as s:
        await s.call("output_01", {"on": True})
        check(text_of(await s.call("reset")) == "The board starts again", "reset")
        await anyio.sleep(0.3)
        if env.era == "modern":
            # Modern requests need no session.
            check(data_of(await s.call("output_01", {"on": True}))["was"] is False, "the board was not reset")
            return
        try:
            await s.call("output_01", {"on": True})
        except RpcError as error:
            check(error.code == -32602 and "Not initialized" in str(error), "error", str(error))
        else:
            raise Failure("the session still exists")


@LEGACY.case("log messages from the level on that is set", transport="stdio")
async def log_legacy(env: Env) -> None:
    async with env.open() as s:
        await s.set_level("warning")
        await s.call("output_02", {"on": True})
        check(s.logs == [], "unexpected logs", s.logs)
        await s.set_level("info")
        await s.call("output_02", {"on": False})
        check(s.logs == [{"level": "info", "logger": "board", "data": "switched off"}], "logs", s.logs)


@MODERN.case("log messages for the request that wants them")
async def log_modern(env: Env) -> None:
    async with env.open() as s:
        await s.call("output_02", {"on": True})
        await s.call("output_02", {"on": False}, log_level="warning")
        check(s.logs == [], "unexpected logs", s.logs)
        await s.call("output_02", {"on": True}, log_level="debug")
        check([log["data"] for log in s.logs] == ["switched on"], "logs", s.logs)


@LEGACY.case("a resource is subscribed to, and given up", transport="stdio")
async def subscribe(env: Env) -> None:
    async with env.open() as s:

        async def updates() -> list[str]:
            await s.ping()
            return [n["params"]["uri"] for n in s.notifications if n.get("method") == "notifications/resources/updated"]

        await s.subscribe("board://outputs")
        await s.call("output_20", {"on": True})
        check(await updates() == ["board://outputs"], "updates", s.notifications)
        # These calls change nothing.
        await s.call("output_20", {"on": True})
        await s.call("rename", {"name": "x"})
        check(len(await updates()) == 1, "updates", s.notifications)
        await s.unsubscribe("board://outputs")
        await s.call("output_20", {"on": False})
        check(len(await updates()) == 1, "updates", s.notifications)


@MODERN.case("changes are listened to")
async def listen(env: Env) -> None:
    async with env.open() as s:
        async with s.listen(uris=("board://outputs", "board://name")) as changes:
            check(sorted(changes.honored["resourceSubscriptions"]) == ["board://name", "board://outputs"], "honored", changes.honored)
            await s.call("output_20", {"on": True})
            check(await changes.next() == "notifications/resources/updated", "change")
            await s.call("rename", {"name": "x"})
            check(await changes.next() == "notifications/resources/updated", "change")
        # The SDK cancels it in the background.
        await anyio.sleep(0.2)
        await s.call("output_20", {"on": False})
        told = [line for line in env.wire.received() if line.get("method") == "notifications/resources/updated"]
        check([line["params"]["uri"] for line in told] == ["board://outputs", "board://name"], "notifications", told)


if __name__ == "__main__":
    import client_v2
    from harness import main

    main(client_v2, [SUITE, LEGACY, MODERN])
