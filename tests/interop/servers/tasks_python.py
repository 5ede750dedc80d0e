"""Tools that run as tasks (2025-11-25) on the PyPI package `mcp` 1.x: over stdio, or with `--http PORT` over Streamable HTTP."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import McpError, types
from mcp.server.experimental.task_context import ServerTaskContext
from mcp.server.lowlevel import Server
from mcp.shared.experimental.tasks.helpers import cancel_task
from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore

from python_serve import main

DATA = json.loads((Path(__file__).resolve().parent / "tasks.json").read_text())
TOOLS = {tool["name"]: types.Tool.model_validate(tool) for tool in DATA["tools"] + DATA["askingTools"]}

server = Server(DATA["serverInfo"]["name"], DATA["serverInfo"]["version"])


class Store(InMemoryTaskStore):
    """The SDK's store, without three faults."""

    async def create_task(self, metadata: types.TaskMetadata, task_id: str | None = None) -> types.Task:
        # The SDK would leave the member `ttl` out.
        task = await super().create_task(types.TaskMetadata(ttl=metadata.ttl or 60_000), task_id)
        # The SDK's server ends when a request that it is just answering is cancelled. Half a second would
        # let the polls meet the ends of the work, after whole seconds.
        self._tasks[task.taskId].task.pollInterval = task.pollInterval = 400
        return task

    async def wait_for_update(self, task_id: str) -> None:
        # The SDK would take its event from the first of two that wait.
        event = self._update_events.get(task_id)
        if event is None or event.is_set():
            event = self._update_events[task_id] = anyio.Event()
        await event.wait()


support = server.experimental.enable_tasks(store=Store())
running: dict[str, anyio.CancelScope] = {}
errors: dict[str, types.ErrorData] = {}
Arguments = dict[str, Any]


def text(value: str, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], isError=is_error)


class Status:
    """The status of a call that is no task."""

    async def update_status(self, _message: str) -> None:
        pass


# ---- tools ----


async def slow_compute(arguments: Arguments, task: ServerTaskContext | Status) -> types.CallToolResult:
    seconds, label = arguments["seconds"], arguments["label"]
    for passed in range(int(seconds)):
        await task.update_status(f"{label}: {passed} of {seconds} s")
        await anyio.sleep(1)
    return text(f"{label}: done after {seconds} s")


async def failing_job(_arguments: Arguments, task: ServerTaskContext) -> types.CallToolResult:
    await anyio.sleep(1)
    # The SDK ends every task with a result as completed.
    result = text("the job failed", is_error=True)
    await support.store.store_result(task.task_id, result)
    await task.fail("the job failed")
    return result


async def protocol_error_job(_arguments: Arguments, task: ServerTaskContext) -> types.CallToolResult:
    # The SDK keeps no error for tasks/result.
    errors[task.task_id] = types.ErrorData(code=types.INTERNAL_ERROR, message="the job broke")
    raise RuntimeError("the job broke")


async def ask(task: ServerTaskContext, message: str, kind: str) -> types.ElicitResult:
    return await task.elicit(message, DATA[kind])


async def confirm_delete(arguments: Arguments, task: ServerTaskContext) -> types.CallToolResult:
    answer = await ask(task, f"Delete {arguments['filename']}?", "confirm")
    confirmed = answer.action == "accept" and answer.content["confirm"] is True
    return text(f"{'deleted' if confirmed else 'kept'} {arguments['filename']}")


async def multi_input(_arguments: Arguments, task: ServerTaskContext) -> types.CallToolResult:
    # One after the other: the SDK may give two requests that are open at once the same id.
    said = []
    for question in ("first name?", "last name?"):
        answer = await ask(task, question, "name")
        said.append(answer.content["name"] if answer.action == "accept" else answer.action)
    return text(" ".join(said))


async def test_tool_with_task(_arguments: Arguments, task: ServerTaskContext) -> types.CallToolResult:
    answer = await ask(task, "user_name?", "name")
    return text(f"hello {answer.content['name']}" if answer.action == "accept" else answer.action)


async def greet(arguments: Arguments) -> types.CallToolResult:
    return text(f"Hello, {arguments['name']}!")


async def ask_user_as_task(_arguments: Arguments) -> types.CallToolResult:
    answer = await server.request_context.session.experimental.elicit_as_task("name?", DATA["name"])
    return text(f"accept {answer.content['name']}" if answer.action == "accept" else answer.action)


async def ask_model_as_task(arguments: Arguments) -> types.CallToolResult:
    prompt = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=arguments["prompt"]))
    answer = await server.request_context.session.experimental.create_message_as_task([prompt], max_tokens=100)
    return text(answer.content.text)


Work = Callable[[Arguments, Any], Awaitable[types.CallToolResult]]
JOBS: dict[str, Work] = {
    f.__name__: f
    for f in (slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input, test_tool_with_task)
}
CALLS = {f.__name__: f for f in (greet, ask_user_as_task, ask_model_as_task)}


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return list(TOOLS.values())


async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
    """Not by the SDK's decorator, which turns all exceptions into results."""
    name, arguments = request.params.name, request.params.arguments or {}
    if name not in TOOLS:
        raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=f"unknown: {name}"))
    experimental = server.request_context.experimental
    experimental.validate_for_tool(TOOLS[name])
    if name in CALLS:
        return types.ServerResult(await CALLS[name](arguments))
    if not experimental.is_task:
        return types.ServerResult(await JOBS[name](arguments, Status()))

    async def work(task: ServerTaskContext) -> types.CallToolResult:
        with anyio.CancelScope() as scope:
            running[task.task_id] = scope
            try:
                return await JOBS[name](arguments, task)
            except Exception:
                if not scope.cancel_called:  # the SDK raises when a question ends that way
                    raise
            finally:
                running.pop(task.task_id, None)
        # Otherwise the SDK would try to complete the cancelled task.
        task._ctx._task = await support.store.get_task(task.task_id)
        return text("cancelled")

    return types.ServerResult(await experimental.run_task(work))


server.request_handlers[types.CallToolRequest] = call_tool


# ---- tasks ----


@server.experimental.cancel_task()
async def cancel(request: types.CancelTaskRequest) -> types.CancelTaskResult:
    """The SDK's handler does not stop the work."""
    server.experimental._require_task_in_requestor_scope(request.params.taskId)
    result = await cancel_task(support.store, request.params.taskId)
    if scope := running.get(request.params.taskId):
        scope.cancel()
    return result


@server.experimental.get_task_result()
async def task_result(request: types.GetTaskPayloadRequest) -> types.GetTaskPayloadResult:
    """The SDK's handler has no errors."""
    server.experimental._require_task_in_requestor_scope(request.params.taskId)
    context = server.request_context
    result = await support.handler.handle(request, context.session, context.request_id)
    if error := errors.get(request.params.taskId):
        raise McpError(error)
    task = await support.store.get_task(request.params.taskId)
    if task and task.status == "cancelled":
        raise McpError(types.ErrorData(code=types.INTERNAL_ERROR, message="the task was cancelled"))
    return result


if __name__ == "__main__":
    main(server)
