"""The recorder with the official Python SDK 1.x as the client, which has the tasks of 2025-11-25.

usage: recorder_sdk.py COMMAND...
"""

from __future__ import annotations

import sys

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

asked: list[str] = []


async def agree(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
    asked.append(params.message)
    return types.ElicitResult(action="accept", content={"erase": True})


async def main(command: str, *arguments: str) -> None:
    server = StdioServerParameters(command=command, args=list(arguments))
    async with stdio_client(server) as (read, write), ClientSession(read, write, elicitation_callback=agree) as session:
        await session.initialize()
        support = {tool.name: tool.execution and tool.execution.taskSupport for tool in (await session.list_tools()).tools}
        assert support == {"count_pages": None, "erase": "optional"}, support
        tasks = session.experimental

        # A task that asks, while the result is awaited.
        task = (await tasks.call_tool_as_task("erase", {"first": 0, "count": 9}, ttl=60_000)).task
        assert task.status == "input_required" and task.ttl == 60_000, task
        result = await tasks.get_task_result(task.taskId, types.CallToolResult)
        assert result.structuredContent == {"pages": 9} and not result.isError, result
        assert len(asked) == 1, asked

        # One that is polled until its end.
        task = (await tasks.call_tool_as_task("erase", {"first": 0, "count": 16, "sure": True})).task
        seen = [status async for status in tasks.poll_task(task.taskId)]
        assert seen[-1].status == "completed", seen
        assert any((status.statusMessage or "").endswith("of 16") for status in seen), seen

        # One that is cancelled.
        task = (await tasks.call_tool_as_task("erase", {"first": 0, "count": 16, "sure": True})).task
        cancelled = await tasks.cancel_task(task.taskId)
        assert cancelled.status == "cancelled", cancelled

        # One that is no task.
        result = await session.call_tool("erase", {"first": 0, "count": 3, "sure": True})
        assert result.structuredContent == {"pages": 3}, result
        print("PASS 2025-11-25: the Python SDK calls, is asked, polls and cancels")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
