"""Noise, log lines, partial lines, resets, and successive clients on a serial line. The server continues."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

from emulated import Board, Failure, Program, holds, legacy, modern, run, same

NOT_JSON = {"code": -32700, "message": "Parse error: the message is not JSON: on a stream it takes one line"}
NOT_UTF8 = {"code": -32700, "message": "Parse error: the message is not UTF-8"}


def is_well(board: Program) -> None:
    same(board.data("read_pin", {"number": 7}), {"number": 7, "high": False})


def refused(board: Program, error: dict, id: object = None) -> None:
    """Expects an error: without an id for a modern client, with a null id in older revisions."""
    same({"id": None, **board.message()}, {"id": id, "jsonrpc": "2.0", "error": error})


def noise(board: Program) -> None:
    """log lines, boot messages, control characters and random bytes between messages"""
    for text in (
        "ets Jul 29 2019 12:21:46\n",
        "rst:0x1 (POWERON_RESET),boot:0x13\r\n",
        "\x1b[0;32mI (312) cpu_start: Starting scheduler\x1b[0m\n",
        "[WARN] {\"rssi\": -70}\n",
        "\x00\x01\x02\x07\n",
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rea\n',
    ):
        board.send(text)
        refused(board, NOT_JSON)
        is_well(board)
    board.send(bytes(range(128, 256)) + b"\n")
    refused(board, NOT_UTF8)
    board.send("\n", "\r\n", "   \n", "\t\r\n")
    is_well(board)
    same(board.data("line"), {"refused": 7, "faults": 0})


def overlong(board: Program) -> None:
    """a line longer than the buffer is rejected with its id, which may come first or last"""
    for size in 2_048, 5_000, 50_000:
        head = {"jsonrpc": "2.0", "id": f"head {size}", "method": "tools/call", "params": {"x": "y" * size}}
        tail = {"jsonrpc": "2.0", "method": "tools/call", "params": {"x": "y" * size}, "id": f"tail {size}"}
        for message in head, tail:
            board.send(message)
            refused(board, {"code": -32600, "message": "The message is longer than this peer's receive buffer: see its max_line"}, message["id"])
            is_well(board)


def pieces(board: Program) -> None:
    """single bytes, split characters, many messages at once"""
    board.send("\ufeff", modern("tools/call", {"name": "echo", "arguments": {"text": "é😀"}}, 1))
    same(board.message()["result"]["content"][0]["text"], "é😀")
    message = modern("tools/call", {"name": "echo", "arguments": {"text": "é😀"}}, 2)
    for byte in json.dumps(message, ensure_ascii=False).encode() + b"\r\n":
        board.send(bytes([byte]))
        time.sleep(0.0005)
    same(board.message()["result"]["content"][0]["text"], "é😀")
    many = [modern("tools/call", {"name": "read_pin", "arguments": {"number": id % 31}}, id) for id in range(100, 160)]
    board.send("".join(json.dumps(message) + "\n" for message in many))
    same([board.message()["id"] for _ in many], list(range(100, 160)))


def halves(board: Program) -> None:
    """a partial line, then silence: the next client's first line is not appended to it"""
    # The adapter for async rejects what a silence ends: it may be a line with a checksum.
    is_async = not sys.argv[1].endswith("microbit")
    board.send('{"jsonrpc":"2.0","id":5,"method":"tools/ca')
    refused(board, NOT_UTF8 if is_async else NOT_JSON)
    is_well(board)
    board.send(json.dumps(legacy("ping", None, 6)))
    if is_async:
        refused(board, NOT_UTF8)
    else:
        same(board.message(), {"jsonrpc": "2.0", "id": 6, "result": {}})


def burst(board: Program) -> None:
    """requests that arrive during a long response wait in the ring buffer, and then in the sender"""
    board.send(modern("resources/read", {"uri": "board://file"}, "file"))
    ids = list(range(200))
    # More than all buffers hold, so the writer blocks and needs a thread of its own.
    sender = threading.Thread(target=lambda: [board.send(modern("tools/call", {"name": "uptime"}, id)) for id in ids])
    sender.start()
    same(len(board.message()["result"]["contents"][0]["blob"]), 87_384)
    same([board.message()["id"] for _ in ids], ids)
    sender.join()
    same(board.data("line"), {"refused": 0, "faults": 0})


def system_reset(board: Program) -> None:
    """the board is reset from outside at any time"""
    same(board.data("output_03", {"on": True})["was"], False)
    # While a slow tool runs.
    board.send(modern("tools/call", {"name": "sweep", "arguments": {"steps": 1000, "period": 5}}, "slow"))
    time.sleep(0.1)
    board.monitor("system_reset")
    booted(board)
    same(board.data("output_03", {"on": True})["was"], False, "it has forgotten")
    # In the middle of a line.
    board.send('{"jsonrpc":"2.0","id":5,"method":"to')
    time.sleep(0.2)
    board.monitor("system_reset")
    time.sleep(0.2)
    board.send("ols/list\"}\n")
    refused(board, NOT_JSON)
    same(board.data("output_03", {"on": True})["was"], False, "it has forgotten")


def booted(board: Program) -> None:
    """Sends requests until one gets a response: bytes that come before the port is enabled are lost."""
    for attempt in range(100):
        board.send("\n", modern("server/discover", id=f"boot {attempt}"))
        with contextlib.suppress(Failure):
            while f'"boot {attempt}"'.encode() not in board.line(patience=1):
                pass
            return
    raise Failure("the board does not boot")


def reset_while_it_writes(board: Program) -> None:
    """the board is reset in the middle of a long response"""
    board.send(modern("resources/read", {"uri": "board://file"}, "file"))
    while len(board.held) < 2_000:
        board.held += board.process.stdout.read(1_000)
    board.monitor("system_reset")
    time.sleep(0.5)
    os.set_blocking(board.process.stdout.fileno(), False)
    while read := board.process.stdout.read(100_000):
        board.held += read
    os.set_blocking(board.process.stdout.fileno(), True)
    cut = bytes(board.held)
    holds(0 < len(cut) < 90_000 and b"\n" not in cut, f"the answer was not cut, {len(cut)} bytes")
    # The client must discard the incomplete line, which does not parse.
    board.held.clear()
    is_well(board)


def clients_come_and_go(board: Program) -> None:
    """clients of both eras, one after the other, without an end of the session; all use the same ids"""
    for round in range(12):
        board.last_id = 0
        version = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")[round % 4]
        same(board.open(protocolVersion=version)["result"]["protocolVersion"], version)
        board.ask("resources/subscribe", {"uri": "board://name"}, legacy)
        for _ in range(2):
            board.last_id += 1
            slow = {"name": "sweep", "arguments": {"steps": 1000, "period": 60_000}}
            board.send(legacy("tools/call", slow, board.last_id))
        board.last_id = 0
        board.ask("server/discover")
        board.last_id += 1
        listen = {"notifications": {"resourceSubscriptions": ["board://outputs"]}}
        board.send(modern("subscriptions/listen", listen, board.last_id))
        same(board.message()["method"], "notifications/subscriptions/acknowledged")
        is_well(board)


def changes_reach_both_eras(board: Program) -> None:
    """a legacy and a modern subscriber on one line each get a change in the form of their era"""
    board.open()
    board.ask("resources/subscribe", {"uri": "board://name"}, legacy)
    board.send(modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["board://name"]}}, "l"))
    same(board.message()["method"], "notifications/subscriptions/acknowledged")
    board.send(modern("tools/call", {"name": "rename", "arguments": {"name": "x"}}, 9))
    told = [board.message()["params"] for _ in range(2)]
    same(told[0], {"uri": "board://name"})
    same(told[1], {"uri": "board://name", "_meta": {"io.modelcontextprotocol/subscriptionId": "l"}})
    same(board.message()["id"], 9)
    # The end of the slow tool is a change, too, but without a subscriber.
    board.send(legacy("resources/subscribe", {"uri": "board://outputs"}, 10), legacy("logging/setLevel", {"level": "error"}, 11))
    board.send(legacy("tools/call", {"name": "sweep", "arguments": {"steps": 1, "period": 1}}, 12))
    same([message.get("id", message.get("method")) for message in (board.message() for _ in range(4))],
         [10, 11, "notifications/resources/updated", 12])


def last_words(board: Board) -> None:
    """a panic is reported on the line, and the firmware restarts"""
    same(board.line(), b"ready")
    for told, said in (b"p", b"The firmware panicked and starts again"), (b"f", b"The processor met a fault and starts again"):
        board.send(told)
        same([board.line(), board.line(), board.line()], [b"", said, b"ready"])


if __name__ == "__main__":
    cases = [noise, overlong, pieces, halves, burst, system_reset, reset_while_it_writes, clients_come_and_go, changes_reach_both_eras]
    failed = run(sys.argv[1], cases)
    # The other boards have no such program.
    if sys.argv[1].endswith("microbit"):
        failed += run(sys.argv[1].removesuffix("microbit") + "last-words", [last_words])
    sys.exit(1 if failed else 0)
