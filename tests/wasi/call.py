"""Calls the tools of the component with the PyPI package `mcp`.

    call.py URL
"""

import sys
from importlib.metadata import version

import anyio
from mcp import Client


async def main() -> None:
    progress = []

    async def report(done: float, total: float | None, _message: str | None) -> None:
        progress.append((done, total))

    async with Client(sys.argv[1], mode="2026-07-28") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["echo", "add", "count_down"], names
        result = await client.call_tool("echo", {"text": "Grüße"})
        assert result.content[0].text == "Grüße", result
        result = await client.call_tool("count_down", {"from": 3, "pause": 10}, progress_callback=report)
        assert result.content[0].text == "Lift-off", result
        assert progress == [(0, 3), (1, 3), (2, 3)], progress
    print(f"ok: mcp {version('mcp')} of PyPI")


anyio.run(main)
