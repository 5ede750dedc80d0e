"""Tasks with version 1 of the SDK: its calls, and a client that runs what the server asks as tasks."""

from __future__ import annotations

from typing import Any

from anyio.abc import TaskGroup
from mcp import types
from mcp.client.experimental.task_handlers import ExperimentalTaskHandlers
from mcp.shared.experimental.tasks.helpers import cancel_task
from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
from pydantic import BaseModel

from harness import Handlers, Json
from session import plain


class Tasks:
    """The SDK's calls, with results in wire form."""

    def __init__(self, session: Any):
        self.session, self.sdk = session, session.client.experimental

    async def start(self, name: str, arguments: Json | None = None, ttl: int = 60_000) -> Json:
        return (await self.session.result(self.sdk.call_tool_as_task(name, arguments or {}, ttl=ttl)))["task"]

    async def get(self, task: Json) -> Json:
        return await self.session.result(self.sdk.get_task(task["taskId"]))

    async def result(self, task: Json) -> Json:
        return await self.session.result(self.sdk.get_task_result(task["taskId"], types.CallToolResult))

    async def cancel(self, task: Json) -> Json:
        return await self.session.result(self.sdk.cancel_task(task["taskId"]))

    async def list(self) -> list[Json]:
        found, cursor = [], None
        while True:
            page = await self.session.result(self.sdk.list_tasks(cursor))
            found += page["tasks"]
            if (cursor := page.get("nextCursor")) is None:
                return found

    async def until(self, task: Json, *statuses: str) -> Json:
        """Polls, as often as the server wants, until the task has one of these."""
        async for seen in self.sdk.poll_task(task["taskId"]):
            if seen.status in statuses:
                return plain(seen)
        raise AssertionError(f"ended as {seen.status} instead of {statuses}")


def hosting(handlers: Handlers, group: TaskGroup) -> ExperimentalTaskHandlers:
    """Runs the handlers as tasks of the client."""
    store = InMemoryTaskStore()

    def hosted(handler: Any, model: type[BaseModel]) -> Any:
        async def start(_context: Any, params: BaseModel, metadata: types.TaskMetadata) -> types.CreateTaskResult:
            task = await store.create_task(metadata)

            async def work() -> None:
                await store.store_result(task.taskId, model.model_validate(handler(plain(params))))
                await store.update_task(task.taskId, status="completed")

            group.start_soon(work)
            return types.CreateTaskResult(task=task)

        return start

    async def get(_context: Any, params: types.GetTaskRequestParams) -> types.GetTaskResult | types.ErrorData:
        task = await store.get_task(params.taskId)
        return types.GetTaskResult(**task.model_dump()) if task else unknown()

    async def result(_context: Any, params: types.GetTaskPayloadRequestParams) -> types.GetTaskPayloadResult | types.ErrorData:
        stored = await store.get_result(params.taskId)
        return types.GetTaskPayloadResult.model_validate(plain(stored)) if stored else unknown()

    async def listed(_context: Any, _params: Any) -> types.ListTasksResult:
        tasks, cursor = await store.list_tasks()
        return types.ListTasksResult(tasks=tasks, nextCursor=cursor)

    async def cancel(_context: Any, params: types.CancelTaskRequestParams) -> types.CancelTaskResult:
        return await cancel_task(store, params.taskId)

    found = ExperimentalTaskHandlers(get_task=get, get_task_result=result, list_tasks=listed, cancel_task=cancel)
    if handlers.elicitation:
        found.augmented_elicitation = hosted(handlers.elicitation, types.ElicitResult)
    if handlers.sampling:
        found.augmented_sampling = hosted(handlers.sampling, types.CreateMessageResult)
    return found


def unknown() -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_PARAMS, message="unknown task")
