"""Calls a fleet, of which each request may reach another server, with one of the PyPI packages `mcp`.

    python fleet.py v1|v2 URL CALLS QUESTIONS CHANGES

It prints a line for each mode: the client, what it has done, and what of that went wrong.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import anyio

from harness import Handlers

URI = "fleet:resource"
SDK: Any = import_module(f"client_{sys.argv[1]}")
URL = sys.argv[2]
CALLS, QUESTIONS, CHANGES = map(int, sys.argv[3:])


async def said(session: Any, tool: str, **arguments: str) -> str:
    return (await session.call(tool, arguments))["content"][0]["text"]


async def count_told(session: Any, mode: str) -> int:
    told = 0
    if mode != "legacy":
        async with session.listen(uris=(URI,)) as listening:
            for _ in range(CHANGES):
                await said(session, "touch")
                told += await listening.next() == "notifications/resources/updated"
        return told
    await session.subscribe(URI)
    # The bus carries it to the server with the stream a moment after the response.
    await anyio.sleep(1)

    def updates() -> int:
        return sum(it["method"] == "notifications/resources/updated" for it in session.notifications)

    # The subscription may be told of a change that was made just before it.
    before = updates()
    for number in range(CHANGES):
        await said(session, "touch")
        with anyio.move_on_after(5):
            while updates() - before <= number:
                await anyio.sleep(0.01)
            told += 1
    return told


async def visit(mode: str) -> None:
    handlers = Handlers(elicitation=lambda _: {"action": "accept", "content": {}})
    async with SDK.connect(mode, [URL], handlers) as session:
        wrong = 0
        for number in range(CALLS):
            wrong += not (await said(session, "echo", text=f"{number}")).startswith(f"{number} n")
        for _ in range(QUESTIONS):
            wrong += await said(session, "ask") != "accept"
        wrong += CHANGES - await count_told(session, mode)
    print(f"{SDK.LABEL} {mode}", CALLS + QUESTIONS + CHANGES, wrong, sep="\t", flush=True)


for each in SDK.MODES:
    anyio.run(visit, each)
