"""Cases of tasks in 2025-11-25, which only version 1 of the SDK has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import anyio
from mcp import types

from cases_common import METHOD_NOT_FOUND, refused, text_of
from harness import Env, Handlers, Json, NotOffered, RpcError, Suite, check
from tasks_v1 import Tasks

SUITE = Suite(era="legacy")
RELATED = "io.modelcontextprotocol/related-task"
INVALID_PARAMS = -32602
TERMINAL = {"completed", "failed", "cancelled"}


Case = Callable[[Env, Any, Tasks], Awaitable[None]]


def case(name: str, handlers: Handlers | None = None, **options: Any) -> Callable[[Case], Case]:
    """A case with one session, for servers with these tools."""

    def add(function: Case) -> Case:
        async def run(env: Env) -> None:
            async with env.open(handlers, **options) as session:
                if "slow_compute" not in {tool["name"] for tool in await session.list("tools")}:
                    raise NotOffered("no tool slow_compute", by="this server")
                await function(env, session, Tasks(session))

        SUITE.case(f"tasks: {name}")(run)
        return function

    return add


def check_task(task: Json, status: str | set[str]) -> None:
    statuses = {status} if isinstance(status, str) else status
    check(task["status"] in statuses, f"status {status}", task)
    check(task["taskId"], "taskId", task)
    for stamp in ("createdAt", "lastUpdatedAt"):
        check(datetime.fromisoformat(task[stamp]).tzinfo, f"{stamp} needs a time zone", task)


def check_related(result: Json, task: Json) -> None:
    check(result.get("_meta", {}).get(RELATED) == {"taskId": task["taskId"]}, "the related task in _meta", result)


@case("capability, and execution of the tools")
async def announced(env: Env, session: Any, _tasks: Tasks) -> None:
    capability = (await session.info())["capabilities"].get("tasks")
    check(capability and "cancel" in capability, "tasks with cancel", capability)
    check("call" in capability["requests"]["tools"], "tools/call", capability)
    support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in await session.list("tools")}
    check(support["greet"] in (None, "forbidden"), "greet is never a task", support)
    check(support["slow_compute"] == "optional", "slow_compute may be one", support)
    check(support["failing_job"] == "required", "failing_job has to be one", support)


@case("created, polled with the text of its status, and its result")
async def lifecycle(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 1, "label": "first"}, ttl=30_000)
    check_task(task, "working")
    seen = await tasks.get(task)
    check_task(seen, {"working", "completed"})
    check(seen["createdAt"] == task["createdAt"] and seen["ttl"] == task["ttl"], "the same task", task, seen)
    texts = []
    async for polled in tasks.sdk.poll_task(task["taskId"]):
        texts.append(polled.statusMessage or "")
    check(any(texts), "a text of the status", texts)
    check_task(await tasks.get(task), "completed")
    result = await tasks.result(task)
    check("first" in text_of(result) and not result.get("isError"), "the tool's text", result)
    check_related(result, task)
    check(text_of(await tasks.result(task)) == text_of(result), "the same result again")


@case("tasks/result waits for the end")
async def result_waits(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 1, "label": "waiting"})
    result = await tasks.result(task)
    check("waiting" in text_of(result), "the tool's text", result)
    check_task(await tasks.get(task), "completed")


@case("tasks/result twice at once: both are answered")
async def result_twice(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 1, "label": "both"})
    texts: list[str] = []

    async def one() -> None:
        texts.append(text_of(await tasks.result(task)))

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    check(len(texts) == 2 and all("both" in text for text in texts), "two results", texts)


@case("tasks/result abandoned: the task goes on")
async def result_abandoned(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 1, "label": "again"})
    request_id = session.client._request_id
    with anyio.move_on_after(0.3) as scope:
        await tasks.result(task)
    check(scope.cancelled_caught, "no result within 0.3 s")
    params = types.CancelledNotificationParams(requestId=request_id, reason="the test stopped waiting")
    notification = types.CancelledNotification(params=params)
    await session.client.send_notification(types.ClientNotification(notification))
    result = await tasks.result(task)
    check("again" in text_of(result), "the tool's text", result)
    check_task(await tasks.get(task), "completed")


@case("isError: the task has failed, its result is kept")
async def is_error(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("failing_job")
    check_task(await tasks.until(task, *TERMINAL), "failed")
    result = await tasks.result(task)
    check(result.get("isError") is True and text_of(result), "isError with a text", result)
    check_related(result, task)


@case("protocol error: the task has failed, tasks/result is that error")
async def protocol_error(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("protocol_error_job")
    check_task(await tasks.until(task, *TERMINAL), "failed")
    await refused(tasks.result(task), -32603)


@case("cancelled at once; again, its result, and after its end: refused")
async def cancelled(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 60, "label": "stopped"})
    check_task(await tasks.cancel(task), "cancelled")
    check_task(await tasks.get(task), "cancelled")
    await refused(tasks.cancel(task), INVALID_PARAMS)
    try:
        raise AssertionError(f"a cancelled task has a result: {await tasks.result(task)!r}")
    except RpcError:
        pass
    done = await tasks.start("slow_compute", {"seconds": 0, "label": "done"})
    await tasks.until(done, "completed")
    await refused(tasks.cancel(done), INVALID_PARAMS)


@case("unknown id: -32602")
async def unknown(env: Env, session: Any, tasks: Tasks) -> None:
    nothing = {"taskId": "00000000-0000-0000-0000-000000000000"}
    for method in (tasks.get, tasks.result, tasks.cancel):
        await refused(method(nothing), INVALID_PARAMS)


@case("tasks/list has what was created")
async def listed(env: Env, session: Any, tasks: Tasks) -> None:
    if "list" not in (await session.info())["capabilities"]["tasks"]:
        raise NotOffered("tasks/list", by="this server")
    created = {(await tasks.start("slow_compute", {"seconds": 0, "label": f"{n}"}))["taskId"] for n in range(3)}
    listed = {task["taskId"]: task for task in await tasks.list()}
    check(created <= set(listed), "all three", created, listed)
    for id in created:
        check_task(listed[id], {"working", "completed"})


@case("five at once, each with its own result")
async def overlapping(env: Env, session: Any, tasks: Tasks) -> None:
    labels = [f"task number {n}" for n in range(5)]
    created = [await tasks.start("slow_compute", {"seconds": 1, "label": label}) for label in labels]
    check(len({task["taskId"] for task in created}) == 5, "five ids", created)
    for task, label in reversed(list(zip(created, labels))):
        result = await tasks.result(task)
        check(label in text_of(result), f"the result of {label}", result)
        check_related(result, task)


@case("a tool that may be one, without `task`: a plain result")
async def plain_call(env: Env, session: Any, tasks: Tasks) -> None:
    result = await session.call("slow_compute", {"seconds": 0, "label": "plainly"})
    check("plainly" in text_of(result), "the tool's text", result)
    check(text_of(await session.call("greet", {"name": "Ada"})) == "Hello, Ada!", "greet")


@case("`task` for a tool that forbids it, and none for one that requires it: -32601")
async def mismatched(env: Env, session: Any, tasks: Tasks) -> None:
    await refused(tasks.start("greet", {"name": "Ada"}), METHOD_NOT_FOUND)
    await refused(session.call("failing_job", {}), METHOD_NOT_FOUND)
    await refused(tasks.start("no_such_tool"), INVALID_PARAMS)


def answering(answer: Callable[[Json], Json]) -> tuple[Handlers, list[Json]]:
    asked: list[Json] = []

    def reply(params: Json) -> Json:
        asked.append(params)
        return answer(params)

    return Handlers(elicitation=reply), asked


def accept(content: Json) -> Json:
    return {"action": "accept", "content": content}


CONFIRMING, CONFIRMED = answering(lambda _params: accept({"confirm": True}))


@case("a question inside of a task comes while tasks/result waits", CONFIRMING)
async def asks(env: Env, session: Any, tasks: Tasks) -> None:
    CONFIRMED.clear()
    task = await tasks.start("confirm_delete", {"filename": "old.txt"})
    check_task(await tasks.until(task, "input_required"), "input_required")
    result = await tasks.result(task)
    check("old.txt" in text_of(result), "the tool's text", result)
    check(len(CONFIRMED) == 1, "one question", CONFIRMED)
    check("old.txt" in CONFIRMED[0]["message"], "the question", CONFIRMED)
    question = next(m for m in env.wire.received() if m.get("method") == "elicitation/create")
    check_related(question["params"], task)
    check_task(await tasks.get(task), "completed")


DECLINING, _ = answering(lambda _params: {"action": "decline"})


@case("a question inside of a task is declined", DECLINING)
async def declined(env: Env, session: Any, tasks: Tasks) -> None:
    kept = await tasks.result(await tasks.start("confirm_delete", {"filename": "dear.txt"}))
    check("dear.txt" in text_of(kept) and "deleted" not in text_of(kept), "the tool's text", kept)


NAMING, NAMED = answering(lambda params: accept({"name": "Grace" if "first" in params["message"] else "Hopper"}))


@case("two questions inside of a task", NAMING)
async def asks_two(env: Env, session: Any, tasks: Tasks) -> None:
    NAMED.clear()
    result = await tasks.result(await tasks.start("multi_input"))
    check(len(NAMED) == 2, "two questions", NAMED)
    check("Grace" in text_of(result) and "Hopper" in text_of(result), "both answers", result)


@case("a task that waits for an answer is cancelled", CONFIRMING)
async def cancelled_while_asking(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("confirm_delete", {"filename": "x"})
    await tasks.until(task, "input_required")
    check_task(await tasks.cancel(task), "cancelled")
    check_task(await tasks.get(task), "cancelled")


@case("notifications/tasks/status, if any, is of a known task")
async def told(env: Env, session: Any, tasks: Tasks) -> None:
    task = await tasks.start("slow_compute", {"seconds": 1, "label": "told"})
    await tasks.result(task)
    await anyio.sleep(0.1)
    seen = [n["params"] for n in session.notifications if n["method"] == "notifications/tasks/status"]
    for told in seen:
        check(told["taskId"] == task["taskId"], "the task's id", told)
        check_task(told, {"working", "completed"})


@case("asked by a task of the client: elicitation", Handlers(elicitation=lambda _: accept({"name": "Ada"})), hosts_tasks=True)
async def hosts_elicitation(env: Env, session: Any, tasks: Tasks) -> None:
    await hosted(env, session, "ask_user_as_task", {}, "accept Ada")


SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "forty-two"}, "model": "m", "stopReason": "endTurn"}


@case("asked by a task of the client: sampling", Handlers(sampling=lambda _: SAMPLED), hosts_tasks=True)
async def hosts_sampling(env: Env, session: Any, tasks: Tasks) -> None:
    await hosted(env, session, "ask_model_as_task", {"prompt": "?"}, "forty-two")


async def hosted(env: Env, session: Any, tool: str, arguments: Json, text: str) -> None:
    if tool not in {tool["name"] for tool in await session.list("tools")}:
        raise NotOffered(f"no tool {tool}", by="this server")
    result = await session.call(tool, arguments)
    check(text_of(result) == text, "the answer", result)
    methods = [m["method"] for m in env.wire.received() if "id" in m and "method" in m]
    check("tasks/get" in methods and methods[-1] == "tasks/result", "the task was polled, and its result fetched", methods)
