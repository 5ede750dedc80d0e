"""The recorder erases its log as a task: clients of both eras call the tool, poll, are asked, answer, and cancel.

usage: recorder.py IMAGE
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

from emulated import HELLO, META, Board, Failure, Json, Program, holds, legacy, modern, run_each, same

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
FORM = {"elicitation": {"form": {}}}
LOG, PAGES, PAGE_BYTES = 0x3C000, 16, 1024
# What a client of 2026-07-28 declares with each request.
TASKS = {"extensions": {EXTENSION: {}}, **FORM}


def declaring(capabilities: Json, method: str, params: Json | None = None, id: object = None) -> Json:
    return modern(method, {**(params or {}), "_meta": {**META, "io.modelcontextprotocol/clientCapabilities": capabilities}}, id)


EXTENDED = partial(declaring, TASKS)


def erase(board: Program, era, task: Json | None = None, **arguments: object) -> Json:
    """Calls the tool and returns the response."""
    params = {"name": "erase", "arguments": arguments, **({} if task is None else {"task": task})}
    return board.ask("tools/call", params, era)


def used(board: Program, era=modern) -> int:
    return board.data("count_pages", era=era)["used"]


def poll(board: Program, task: str, era, until) -> list[Json]:
    """Asks for the task until it is as expected. Returns its states, without repetitions."""
    seen: list[Json] = []
    end = time.monotonic() + 20
    while time.monotonic() < end:
        state = board.ask("tasks/get", {"taskId": task}, era)["result"]
        if not seen or state != seen[-1]:
            seen.append(state)
        if until(state):
            return seen
        time.sleep(0.02)
    raise Failure(f"the task stays {seen[-1]}")


def is_ended(state: Json) -> bool:
    return state["status"] in ("completed", "failed", "cancelled")


def pages(states: list[Json]) -> list[int]:
    """Returns the number of erased pages of each status message."""
    found = (re.fullmatch(r"Page (\d+) of \d+", state.get("statusMessage", "")) for state in states)
    numbers = [int(match[1]) for match in found if match]
    holds(numbers == sorted(numbers), f"the messages {numbers} are in order")
    return numbers


def polled(board: Program) -> None:
    """2026-07-28: a task is polled until it has its result"""
    created = erase(board, EXTENDED, first=2, count=9, sure=True)["result"]
    same((created["resultType"], created["status"], created["pollIntervalMs"]), ("task", "working", 200))
    holds(re.fullmatch("[0-9a-f]{32}", created["taskId"]), f"the id {created['taskId']} is 128 random bits")
    states = poll(board, created["taskId"], EXTENDED, is_ended)
    holds(len(pages(states)) >= 3, f"progress is seen: {states}")
    same({state["resultType"] for state in states}, {"complete"})
    same((states[-1]["status"], states[-1]["result"]["structuredContent"]), ("completed", {"pages": 9}))
    same(used(board), PAGES - 9)
    again = board.ask("tasks/get", {"taskId": created["taskId"]}, EXTENDED)["result"]
    same(again, states[-1], "the result of a task that is asked again")


def responsive(board: Program) -> None:
    """2026-07-28: other requests are handled while a task runs, and a second job is refused"""
    created = erase(board, EXTENDED, first=0, count=16, sure=True)["result"]
    began = time.monotonic()
    same(board.ask("ping", era=legacy)["result"], {})
    holds(used(board) > 1, "the first pages alone are erased")
    refused = erase(board, EXTENDED, first=0, count=1, sure=True)["result"]
    same((refused["resultType"], refused["isError"]), ("complete", True))
    holds(time.monotonic() - began < 0.7, "no request waits for the end of the task")
    poll(board, created["taskId"], EXTENDED, is_ended)
    same(used(board), 0)


def asked(board: Program) -> None:
    """2026-07-28: a task asks, a response to another key changes nothing, an agreement goes on, a refusal ends it"""
    for agrees, erased in (False, 0), (True, 4):
        task = erase(board, EXTENDED, first=0, count=4)["result"]
        same(task["status"], "input_required")
        holds("inputRequests" not in task, "a task that is created shows no input requests")
        task = task["taskId"]
        state = poll(board, task, EXTENDED, lambda _: True)[-1]
        same(list(state["inputRequests"]), ["1"])
        question = state["inputRequests"]["1"]
        same((question["method"], question["params"]["requestedSchema"]["required"]), ("elicitation/create", ["erase"]))
        blind = board.ask("tasks/get", {"taskId": task}, partial(declaring, {"extensions": {EXTENSION: {}}}))["result"]
        same(blind["inputRequests"], {}, "what a client without forms is asked")
        answer = {"action": "accept", "content": {"erase": agrees}}
        for key in "2", "01", "x":
            acked = board.ask("tasks/update", {"taskId": task, "inputResponses": {key: answer}}, EXTENDED)["result"]
            same(set(acked), {"resultType", "_meta"})
        same(used(board), PAGES, "pages while the person thinks")
        same(poll(board, task, EXTENDED, lambda _: True)[-1]["status"], "input_required")
        board.ask("tasks/update", {"taskId": task, "inputResponses": {"1": answer}}, EXTENDED)
        state = poll(board, task, EXTENDED, is_ended)[-1]
        same((state["status"], state["result"]["structuredContent"]), ("completed", {"pages": erased}))
        same(used(board), PAGES - erased)


def cancelled(board: Program) -> None:
    """2026-07-28: a task is cancelled between two pages, and the pages after them are kept"""
    task = erase(board, EXTENDED, first=0, count=16, sure=True)["result"]["taskId"]
    poll(board, task, EXTENDED, lambda state: "statusMessage" in state)
    for _ in range(2):
        acked = board.ask("tasks/cancel", {"taskId": task}, EXTENDED)["result"]
        same((acked["resultType"], set(acked)), ("complete", {"resultType", "_meta"}))
    left = used(board)
    state = board.ask("tasks/get", {"taskId": task}, EXTENDED)["result"]
    same((state["status"], "result" in state), ("cancelled", False))
    time.sleep(0.2)
    holds(0 < left < PAGES, f"{left} pages are in use")
    same(used(board), left, "pages some time later")


def undeclared(board: Program) -> None:
    """2026-07-28: a client that knows no tasks gets the result, after its end, and nothing of tasks"""
    began = time.monotonic()
    result = erase(board, modern, first=0, count=5, sure=True)["result"]
    same((result["resultType"], result["structuredContent"]), ("complete", {"pages": 5}))
    holds(time.monotonic() - began > 0.15, "the pages take their time")
    same(erase(board, modern, first=0, count=5)["result"]["isError"], True, "a call that cannot ask")
    error = board.ask("tasks/get", {"taskId": "0" * 32}, modern)["error"]
    same((error["code"], error["data"]["requiredCapabilities"]), (-32021, {"extensions": {EXTENSION: {}}}))
    same(board.ask("tasks/get", {"taskId": "0" * 32}, EXTENDED)["error"]["code"], -32602)
    for method in "tasks/result", "tasks/list":
        same(board.ask(method, {"taskId": "0" * 32}, EXTENDED)["error"]["code"], -32601)


def session(board: Program, capabilities: Json = FORM) -> None:
    offered = board.open(capabilities=capabilities)["result"]["capabilities"]
    same(offered["tasks"], {"cancel": {}, "requests": {"tools": {"call": {}}}})


def legacy_polled(board: Program) -> None:
    """2025-11-25: a task is polled, tasks/result waits for its result, and is asked again"""
    session(board)
    task = erase(board, legacy, {"ttl": 60_000}, first=2, count=9, sure=True)["result"]["task"]
    same((task["status"], task["ttl"], task["pollInterval"]), ("working", 60_000, 200))
    waits = legacy("tasks/result", {"taskId": task["taskId"]}, "waits")
    board.send(waits)
    states, waited = [], None
    while waited is None:
        board.send(legacy("tasks/get", {"taskId": task["taskId"]}, "get"))
        while (message := board.message())["id"] != "get":
            waited = message
        states.append(message["result"])
        time.sleep(0.02)
    holds(len(set(pages(states))) >= 3, f"progress is seen: {states}")
    same(states[-1]["status"], "completed")
    for answer in waited, board.ask("tasks/result", {"taskId": task["taskId"]}, legacy):
        same(answer["result"]["structuredContent"], {"pages": 9})
        same(answer["result"]["_meta"], {RELATED: {"taskId": task["taskId"]}})
    same(board.ask("tasks/cancel", {"taskId": task["taskId"]}, legacy)["error"]["code"], -32602)
    same(used(board, legacy), PAGES - 9)


def legacy_asked(board: Program) -> None:
    """2025-11-25: a task asks while tasks/result is open, again when that was cancelled, and goes on"""
    session(board)
    task = erase(board, legacy, {}, first=0, count=4)["result"]["task"]
    related = {RELATED: {"taskId": task["taskId"]}}
    same(task["status"], "input_required")
    holds(board.is_silent(), "nothing is asked while no request waits")
    board.send(legacy("tasks/result", {"taskId": task["taskId"]}, "first"))
    question = board.message()
    same((question["method"], question["params"]["_meta"]), ("elicitation/create", related))
    board.send(legacy("notifications/cancelled", {"requestId": "first"}))
    same(board.message()["params"]["requestId"], question["id"], "the call that is cancelled")
    board.send(legacy("tasks/result", {"taskId": task["taskId"]}, "second"))
    question = board.message()
    same((question["method"], question["params"]["_meta"]), ("elicitation/create", related))
    same(used(board, legacy), PAGES, "pages while the person thinks")
    board.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"erase": True}}})
    answer = board.message()
    same((answer["id"], answer["result"]["structuredContent"]), ("second", {"pages": 4}))
    same(answer["result"]["_meta"], related)


def legacy_cancelled(board: Program) -> None:
    """2025-11-25: a task is cancelled before the response, and tasks/result ends with an error"""
    session(board)
    task = {"taskId": erase(board, legacy, {}, first=0, count=16, sure=True)["result"]["task"]["taskId"]}
    board.send(legacy("tasks/result", task, "waits"), legacy("tasks/cancel", task, "cancels"))
    answers = {message["id"]: message for message in (board.message(), board.message())}
    same(answers["cancels"]["result"]["status"], "cancelled")
    same(answers["waits"]["error"]["code"], -32603)
    same(erase(board, legacy, {}, first=0, count=1, sure=True)["result"]["task"]["status"], "working")


def legacy_modes(board: Program) -> None:
    """2025-11-25: only `erase` can be a task, a plain call waits, and a request that is invalid makes no task"""
    session(board, {})
    plain = {"name": "count_pages", "arguments": {}, "task": {}}
    same(board.ask("tools/call", plain, legacy)["error"]["code"], -32601)
    same(erase(board, legacy, first=15, count=1, sure=True)["result"]["structuredContent"], {"pages": 1})
    for task in {"ttl": -1}, {"ttl": 1.5}, {"ttl": "x"}:
        same(erase(board, legacy, task, first=0, count=1, sure=True)["error"]["code"], -32602, f"the code for {task}")
    for ttl, kept in (600_001, 600_000), (1e300, 600_000), (2e3, 2000), (None, 120_000):
        task = erase(board, legacy, {"ttl": ttl}, first=0, count=1, sure=True)["result"]["task"]
        same(task["ttl"], kept, f"the ttl for {ttl}")
        poll(board, task["taskId"], legacy, is_ended)
    same(erase(board, legacy, {}, first=0, count=1, sure=True)["error"]["code"], -32603, "a task more than are kept")
    time.sleep(2.1)
    holds("task" in erase(board, legacy, {}, first=0, count=1, sure=True)["result"], "there is a place when a ttl is over")


def survives(board: Program) -> None:
    """A task goes on when the client starts again, and a client of the other era sees it"""
    session(board)
    task = erase(board, legacy, {}, first=0, count=9, sure=True)["result"]["task"]["taskId"]
    board.send(legacy("tasks/result", {"taskId": task}, "lost"))
    session(board)
    states = poll(board, task, EXTENDED, is_ended)
    same((states[-1]["status"], states[-1]["result"]["structuredContent"]), ("completed", {"pages": 9}))
    same(board.ask("tasks/result", {"taskId": task}, legacy)["result"]["structuredContent"], {"pages": 9})


CASES = [polled, responsive, asked, cancelled, undeclared, legacy_polled, legacy_asked, legacy_cancelled, legacy_modes, survives]


def main(image: str) -> int:
    with tempfile.NamedTemporaryFile() as log:
        log.write(b"record! " * (PAGES * PAGE_BYTES // 8))
        log.flush()

        def with_records(case: Callable[[Board], None]) -> None:
            with Board(image, "-device", f"loader,file={log.name},addr={LOG:#x},force-raw=on") as board:
                same(used(board), PAGES, "pages in use at first")
                case(board)

        return run_each(CASES, with_records)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) > 0)
