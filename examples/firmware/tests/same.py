"""The emulated board and the same firmware on this computer write the same bytes for the same lines.

Except for the clock, the registers, the stack, and the accelerometer after its first reading (see cases.py).
"""

from __future__ import annotations

import json
import sys

from emulated import HELLO, Board, Failure, Program, holds, legacy, modern


def lines():
    """Lines to send, each with the id of its last response; None if a ping must be sent after it."""

    def once(era, method, params=None, id=iter(range(1, 10_000))):
        message = era(method, params, next(id))
        return json.dumps(message, ensure_ascii=False), message["id"]

    def both(method, params=None):
        yield once(modern, method, params)
        yield once(legacy, method, params)

    def call(name, **arguments):
        yield from both("tools/call", {"name": name, "arguments": arguments})

    yield once(legacy, "tools/list")
    yield once(modern, "server/discover")
    yield once(modern, "tools/call", {"name": "measure", "arguments": {"quantity": "acceleration_y"}})
    for version in "1.0", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28":
        yield once(legacy, "initialize", {**HELLO, "protocolVersion": version})
        yield json.dumps(legacy("notifications/initialized")), None
        for method in "tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "no/such", "tasks/list":
            yield from both(method)
        yield from call("measure", quantity="temperature")
        yield '[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},7]', None
    yield json.dumps(modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["board://outputs"]}}, "listen")), None
    for uri in "board://outputs", "board://name", "board://file", "nonsense":
        yield from both("resources/subscribe", {"uri": uri})
    for output in range(31):
        yield once(modern, "tools/call", {"name": f"output_{output:02}", "arguments": {"on": True}})
        yield from call("read_pin", number=output)
        yield from both("resources/read", {"uri": f"board://pins/{output}"})
    for level in "error", "loud", "debug":
        yield from both("logging/setLevel", {"level": level})
        yield from call("output_04", on=level == "error")
        yield once(modern, "tools/call", {"name": "rename", "arguments": {"name": f"{level} ü"},
                                          "_meta": {"io.modelcontextprotocol/logLevel": "debug"}})
    for uri in "board://name", "board://outputs", "board://file", "board://pins/99", "board://no", "no":
        yield from both("resources/read", {"uri": uri})
    for part in "clock", "ü \"q\" \n", 7, None:
        yield from both("prompts/get", {"name": "explain", "arguments": {"part": part}})
    for ref in {"type": "ref/prompt", "name": "explain"}, {"type": "ref/resource", "uri": "board://pins/{number}"}, {"type": "x"}:
        for name in "part", "number":
            for value in "", "s", "2", "zz":
                yield from both("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}})
    for text in "", "a\u0000\\\"\n\u2028}{é😀", "x" * 1_000:
        yield from call("echo", text=text)
    for bad in {"x": 1}, {"text": 7}, {"text": None}, {"text": "a", "b": []}:
        yield from call("echo", **bad)
    for token in "t", 7, 1.5:
        yield once(legacy, "tools/call", {"name": "sweep", "arguments": {"steps": 3, "period": 20}, "_meta": {"progressToken": token}})
        yield once(modern, "tools/call", {"name": "sweep", "arguments": {"steps": 3, "period": 20}, "_meta": {"progressToken": token}})
    # Cancelled long before its second step.
    slow = {"name": "sweep", "arguments": {"steps": 9, "period": 60_000}, "_meta": {"progressToken": "p"}}
    for era in modern, legacy:
        yield json.dumps(era("tools/call", slow, "slow")), None
        yield json.dumps(legacy("notifications/cancelled", {"requestId": "slow"})), None
    yield json.dumps(legacy("notifications/cancelled", {"requestId": "listen"})), None
    for noise in ("noise", "{", "{}", "[]", "null", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"id":1,"id":2}', "\ufeff",
                  '{"jsonrpc":"2.0","id":"' + "i" * 300 + '","method":"ping"}', "x" * 9_000, '{"a":' + "[" * 99):
        yield noise, None
    yield from call("line")


def talk(program: Program, lines) -> list[bytes]:
    """Sends all lines and returns the output."""
    said = []
    for number, (line, id) in enumerate(lines):
        program.send(line + "\n")
        if id is None:
            id = f"mark {number}"
            program.send(legacy("ping", None, id))
        while True:
            said.append(program.line())
            answer = json.loads(said[-1])
            if "method" not in answer and answer.get("id") == id:
                break
    return said


def compare(lines) -> None:
    """Compares an image and a program, which are the arguments of this one."""
    image, host = sys.argv[1:]
    with Board(image) as board, Program([host]) as computer:
        there, here = talk(board, lines()), talk(computer, lines())
    for number, (one, other) in enumerate(zip(there, here)):
        holds(one == other, f"line {number + 1}: the board wrote {one[:300]!r}, this computer {other[:300]!r}")
    holds(len(there) == len(here), f"the board wrote {len(there)} lines, this computer {len(here)}")
    print(f"{len(list(lines()))} lines in, {len(there)} lines out, {sum(len(line) + 1 for line in there)} bytes, all the same")


if __name__ == "__main__":
    try:
        compare(lines)
    except Failure as failure:
        sys.exit(f"FAIL {failure}")
