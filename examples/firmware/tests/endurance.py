"""10,000 calls of all kinds in a row: no message is lost, and the stack does not grow."""

from __future__ import annotations

import sys
import time

from emulated import Board, Failure, Program, holds, legacy, modern, same

CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
WINDOW = 8
# Stack usage of an interrupt, in bytes. Only whether one occurs at the deepest point differs between runs.
INTERRUPT = 128


def kinds(id: int) -> dict:
    """Requests with an immediate response, in both eras."""
    era = (modern, legacy)[id % 2]
    return [
        lambda: era("tools/call", {"name": "read_pin", "arguments": {"number": id % 31}}, id),
        lambda: era("tools/call", {"name": "echo", "arguments": {"text": f"number {id} \"quoted\" é"}}, id),
        lambda: era("tools/call", {"name": f"output_{id % 31:02}", "arguments": {"on": id % 4 > 1}}, id),
        lambda: era("tools/call", {"name": "read_pin", "arguments": {"number": 99}}, id),
        lambda: era("resources/read", {"uri": "board://registers"}, id),
        lambda: era("tools/call", {"name": "uptime"}, id),
        lambda: era("prompts/get", {"name": "explain", "arguments": {"part": "pins"}}, id),
        lambda: era("no/such/method", {}, id),
        lambda: era("resources/templates/list", {}, id),
        lambda: legacy("ping", None, id),
    ][id // 2 % 10]()


def calls(board: Program, first: int, last: int) -> None:
    """Keeps a window of requests open. Each gets one response.

    Under embassy one that waits for room is behind a shorter one that was sent after it.
    """
    sent, open_ids = first, set()
    while sent < last or open_ids:
        while sent < last and len(open_ids) < WINDOW:
            board.send(kinds(sent))
            open_ids.add(sent)
            sent += 1
        answer = board.message()
        # A legacy session gets log messages about outputs.
        while "id" not in answer:
            same(answer["method"], "notifications/message")
            answer = board.message()
        id = answer["id"]
        holds(id in open_ids, f"no request is open for {answer}")
        open_ids.remove(id)
        holds(("error" in answer) == (id // 2 % 10 == 7), f"{answer}")


def main() -> None:
    with Board(sys.argv[1]) as board:
        board.open()
        board.ask("tools/list")
        board.ask("resources/read", {"uri": "board://file"})
        deepest, began, first = [], time.monotonic(), 1_000_000
        for quarter in range(first, first + CALLS, CALLS // 4):
            calls(board, quarter, quarter + CALLS // 4)
            stack = board.data("stack")
            deepest.append(stack["deepest"])
        seconds = time.monotonic() - began
        # All slots are free: four slow tools run concurrently.
        for id in range(4):
            board.send(modern("tools/call", {"name": "sweep", "arguments": {"steps": 1, "period": 20}}, f"slow {id}"))
        same(sorted(board.message()["id"] for _ in range(4)), [f"slow {id}" for id in range(4)], "slow tools")
        same(board.data("line"), {"refused": CALLS // 10, "faults": 0}, "the line")
        print(f"{CALLS} calls in {seconds:.1f} s; the stack's deepest after each quarter, in bytes of {stack['size']}: {deepest}")
        holds(deepest[-1] - deepest[0] <= INTERRUPT, "the stack grows")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAIL {failure}")
