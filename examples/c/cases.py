"""Tests of the servers in C with the official Python SDK, in both eras.

usage: cases.py thermostat|board COMMAND...
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import anyio
from harness import Env, Failure, Json, RpcError, Suite, check

THERMOSTAT = Suite()
BOARD = Suite()


def text_of(result: Json) -> str:
    check(not result.get("isError"), "the tool failed", result)
    return result["content"][0]["text"]


@THERMOSTAT.case("who it is, and what it offers")
async def offers(env: Env) -> None:
    async with env.open() as s:
        info = await s.info()
        check(info["serverInfo"] == {"name": "thermostat", "version": "1.0.0"}, "serverInfo", info)
        tools = await s.list("tools")
        check([tool["name"] for tool in tools] == ["measure", "set_target", "heat"], "tools", tools)
        check(tools[0]["annotations"] == {"readOnlyHint": True}, "hints", tools[0])
        check(tools[2]["inputSchema"]["properties"]["seconds"]["maximum"] == 60, "schema", tools[2])
        resources = await s.list("resources")
        check([resource["uri"] for resource in resources] == ["thermostat://state"], "resources", resources)


@THERMOSTAT.case("calls, a structured result, and arguments that are refused")
async def calls(env: Env) -> None:
    async with env.open() as s:
        measured = await s.call("measure")
        check(json.loads(text_of(measured)) == measured["structuredContent"] == {"celsius": 19.5}, "measure", measured)
        check(text_of(await s.call("set_target", {"celsius": 21.5})) == "The target is 21.5 degrees", "set_target")
        refused = await s.call("set_target", {"celsius": 31})
        check(refused["isError"] and refused["content"][0]["text"] == "celsius: must be at most 30, is 31", "refusal", refused)


@THERMOSTAT.case("a slow call reports progress; another is answered meanwhile, a third is refused")
async def slow(env: Env) -> None:
    async with env.open() as s:
        seen: list[Json] = []
        async with anyio.create_task_group() as group:

            async def heat() -> None:
                check(text_of(await s.call("heat", {"seconds": 3}, progress=seen.append)) == "It is warmer now", "heat")
                seen.append({"progress": "done"})

            group.start_soon(heat)
            while not seen:
                await anyio.sleep(0.05)
            contents = await s.read("thermostat://state")
            check(contents["contents"][0]["text"] == "heating", "state", contents)
            check((await s.call("heat", {"seconds": 1}))["isError"], "a second one")
        check([item["progress"] for item in seen] == [1, 2, "done"], "progress", seen)
        contents = await s.read("thermostat://state")
        check(contents["contents"][0]["text"] == "idle", "state", contents)


@THERMOSTAT.case("a call is cancelled")
async def cancelled(env: Env) -> None:
    async with env.open() as s:
        await s.abandon("heat", {"seconds": 60}, after=1)
        await anyio.sleep(0.2)
        check(text_of(await s.call("heat", {"seconds": 1})) == "It is warmer now", "the next one")


@BOARD.case("tools, typed arguments, structured results and errors")
async def board(env: Env) -> None:
    async with env.open() as s:
        info = await s.info()
        check(info["serverInfo"] == {"name": "board", "version": "1.0.0", "title": "Board"}, "serverInfo", info)
        check([tool["name"] for tool in await s.list("tools")] == ["lamp", "pin", "uptime", "blink"], "tools")
        check(text_of(await s.call("lamp", {"on": True})) == "The lamp is on", "lamp")
        pin = await s.call("pin", {"number": 30})
        check(json.loads(text_of(pin)) == pin["structuredContent"] == {"number": 30, "high": False}, "pin", pin)
        refused = await s.call("pin", {"number": 31})
        check(refused["isError"] and refused["content"][0]["text"] == "number must be 0 to 30", "refusal", refused)
        check(int(text_of(await s.call("uptime"))) >= 0, "uptime")


@BOARD.case("two slow calls at once")
async def board_slow(env: Env) -> None:
    async with env.open() as s:
        async with anyio.create_task_group() as group:

            async def blink() -> None:
                check(text_of(await s.call("blink", {"times": 4, "period": 100})) == "Done", "blink")

            group.start_soon(blink)
            await s.call("uptime")
            check(text_of(await s.call("blink", {"times": 1, "period": 20})) == "Done", "a second one")


# From here on: those of examples/firmware/tests/cases.py for which this program has the tools.


@BOARD.case("arguments that do not fit are refused, and it is said why")
async def board_arguments(env: Env) -> None:
    async with env.open() as s:
        for name, arguments, why in (
            ("lamp", {}, "on must be true or false"),
            ("lamp", {"on": 1}, "on must be true or false"),
            ("pin", {}, "number must be 0 to 30"),
            ("pin", {"number": 7.9}, "number must be 0 to 30"),
            ("pin", {"number": "7"}, "number must be 0 to 30"),
            ("blink", {"times": 0}, "times must be 1 to 255"),
            ("blink", {"times": 1, "period": 65536}, "period a number of milliseconds"),
        ):
            refused = await s.call(name, arguments)
            check(refused["isError"] and why in refused["content"][0]["text"], f"{name} {arguments}", refused)
        try:
            await s.call("no_such_tool")
        except RpcError as error:
            check(error.code == -32602, "code", error.code)
        else:
            raise Failure("the call of an unknown tool succeeded")


@BOARD.case("four slow tools at once; a fifth waits for one of them")
async def board_four(env: Env) -> None:
    async with env.open() as s:
        done: list[int] = []
        async with anyio.create_task_group() as group:

            async def blink(times: int) -> None:
                check(text_of(await s.call("blink", {"times": times, "period": 250})) == "Done", "blink")
                done.append(times)

            for times in range(4):
                group.start_soon(blink, times + 1)
            await anyio.sleep(0.1)
            check(text_of(await s.call("blink", {"times": 1, "period": 4})) == "Done", "the fifth")
            check(done, "a fifth call ran beside the others")
        check(sorted(done) == [1, 2, 3, 4], "done", done)


@BOARD.case("a slow tool is cancelled")
async def board_cancelled(env: Env) -> None:
    async with env.open() as s:
        with anyio.move_on_after(1):
            await s.call("blink", {"times": 255, "period": 1000})
        # Its place is free again.
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(s.call, "blink", {"times": 2, "period": 200})
        asked = [line["id"] for line in env.wire.sent() if line.get("params", {}).get("arguments", {}).get("times") == 255]
        check(asked, "the call was sent")
        check(not [line for line in env.wire.received() if line.get("id") in asked], "a cancelled call got a response")


@BOARD.case("a session on a line with noise in it")
async def board_noise(env: Env) -> None:
    noisy = Path(__file__).parents[1] / "firmware/tests/noisy.py"
    async with replace(env, command=[sys.executable, str(noisy), *env.command]).open() as s:
        for number in range(31):
            check(text_of(await s.call("lamp", {"on": number % 2 == 0})).startswith("The lamp is o"), "lamp")
            check((await s.call("pin", {"number": number}))["structuredContent"]["number"] == number, "pin")


if __name__ == "__main__":
    import client_v2
    from harness import main

    suite = {"thermostat": THERMOSTAT, "board": BOARD}[sys.argv.pop(1)]
    main(client_v2, [suite])
