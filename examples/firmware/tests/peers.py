"""Defects that were found in other MCP servers for microcontrollers, each as a case that must not occur here.

Not tried, since there is no HTTP on a serial line: an Origin that is trusted because it equals Host (mcp-c-sdk), a body length of 16 bits (mcp-c-sdk; its
like here is a line of more than 65,535 bytes), cancellation that is refused with 405 and a version header that only one value passes (Zephyr), 404 without an
Accept header (solnera), one client's `initialize` that ends all others' sessions (mcp-c-sdk: a line has one peer), pages that a broker's packets limit
(xiaozhi). Nor, since there are none: threads that a slow tool blocks. That a server builds for the chip at all (turbomcp-core) is seen by its running.
"""

from __future__ import annotations

import json
import sys
import time

from emulated import HELLO, Board, holds, legacy, modern, run, same


def no_fallback(board: Board) -> None:
    """mcp-c-sdk: an initialize for 2026-07-28 is refused and breaks the session; server/discover is an error"""
    versions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    same(board.ask("server/discover")["result"]["supportedVersions"], versions)
    same(board.open(protocolVersion="2026-07-28")["result"]["protocolVersion"], "2025-11-25")
    same(len(board.ask("tools/list", era=legacy)["result"]["tools"]), 40)


def one_version(board: Board) -> None:
    """mcpd: one fixed version is returned, whichever is requested"""
    for version in "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
        same(board.open(protocolVersion=version)["result"]["protocolVersion"], version)
    same(board.open(protocolVersion="1999-01-01")["result"]["protocolVersion"], "2025-11-25")


def ids(board: Board) -> None:
    """mcp-c-sdk, xiaozhi, navado, georgik: ids are rounded, cut to 32 bits, or dropped when they are strings"""
    for id in (0, -1, 3_000_000_000, 9_007_199_254_740_991, 9_007_199_254_740_993, 18_446_744_073_709_551_615, "", "a", "1", "ü \"q\" \\ /"):
        board.send(modern("tools/call", {"name": "read_pin", "arguments": {"number": 1}}, id))
        same(board.message()["id"], id)
    # Byte for byte.
    board.send('{"jsonrpc":"2.0","id":"\\u0041\\/","method":"ping"}\n')
    holds(b'"id":"\\u0041\\/"' in board.line(), "an id is echoed in another spelling")


def loose_arguments(board: Board) -> None:
    """mcp-c-sdk, mcpd: unknown arguments, 75.9 for an integer and numbers out of range are accepted"""
    for arguments in {"number": 7, "x": 1}, {"number": 7.9}, {"number": 31}, {"number": -1}, {"number": True}, {"number": 1e99}, {"number": None}:
        holds(board.call("read_pin", arguments)["isError"], f"{arguments} are accepted")
    # 7.0 is an integer, too.
    board.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_pin","arguments":{"number":7.0},"_meta":%s}}\n'
               % json.dumps(modern("x")["params"]["_meta"]))
    holds("isError" not in board.message()["result"], "7.0 is refused")


def blocked(board: Board) -> None:
    """mcp-c-sdk, Zephyr, mcpd: no response is sent while a tool runs, and all tools share one cancellation flag"""
    for id in "a", "b":
        board.send(modern("tools/call", {"name": "sweep", "arguments": {"steps": 15, "period": 200}}, id))
    # Each response is the next message, so none of the tools has ended.
    board.data("read_pin", {"number": 1})
    board.send(legacy("notifications/cancelled", {"requestId": "a"}))
    board.data("read_pin", {"number": 1})
    same(board.message()["id"], "b", "the one that was not cancelled")
    holds(board.is_silent(1.2), "a cancelled call is answered")


def cancelled_by_another_id(board: Board) -> None:
    """Zephyr: a cancellation is matched by its own id instead of requestId"""
    board.send(modern("tools/call", {"name": "sweep", "arguments": {"steps": 1, "period": 50}}, 5))
    board.send({**legacy("notifications/cancelled", {"requestId": 6}), "extra": 5})
    same(board.message()["id"], 5)


def late_answer(board: Board) -> None:
    """python-sdk 2481 and others: a cancelled call gets a response, and the client reconnects"""
    for round in range(5):
        # The first lasts longer than a busy machine takes for two writes.
        arguments = {"steps": 1, "period": 30 if round else 1500}
        board.send(modern("tools/call", {"name": "sweep", "arguments": arguments}, round))
        time.sleep(0.01 * round)
        board.send(legacy("notifications/cancelled", {"requestId": round}))
    time.sleep(0.3)
    board.send(legacy("ping", None, "end"))
    said = [board.message()["id"]]
    while said[-1] != "end":
        said.append(board.message()["id"])
    # A cancelled call has at most one response, if it had completed before.
    same(len(said), len(set(said)))
    holds(0 not in said and board.is_silent(1.6), "the first was cancelled at once")


def client_sets_the_stack(board: Board) -> None:
    """mcp-c-sdk: a client can choose the size of the stack"""
    before = board.data("stack")["size"]
    board.ask("tools/call", {"name": "read_pin", "arguments": {"number": 1}, "stackSize": 1_000_000})
    same(board.data("stack")["size"], before)


def lists_that_do_not_fit(board: Board) -> None:
    """Zephyr, xiaozhi: a second tool with a long description exceeds the buffer; tools beyond the first page are lost"""
    for era in modern, legacy:
        if era is legacy:
            board.open()
        result = board.ask("tools/list", era=era)["result"]
        same((len(result["tools"]), result.get("nextCursor")), (40, None))
        holds(all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in result["tools"]), "a tool is cut")
        same(board.ask("tools/list", {"cursor": "3"}, era)["error"]["code"], -32602, "a cursor that no answer had")


def large_result(board: Board) -> None:
    """xiaozhi, servoagents: results of more than 8,000 (1,024) bytes end the connection"""
    same(len(board.ask("resources/read", {"uri": "board://file"})["result"]["contents"][0]["blob"]), 87_384)
    text = "x" * 1_500
    same(board.call("echo", {"text": text})["content"][0]["text"], text, "Zephyr: text is cut after 256 bytes")


def arguments_in_strings(board: Board) -> None:
    """Zephyr: arguments are cut out by counting braces, those in strings included"""
    for text in "smile :} ok", "{", "}", "\"arguments\":{\"text\":\"no\"}", "\\\"}", "\\", "]}]}":
        same(board.call("echo", {"text": text})["content"][0]["text"], text)
    params = {"note": "\"arguments\":{}", "name": "echo", "arguments": {"text": "yes"}}
    same(board.ask("tools/call", params)["result"]["content"][0]["text"], "yes")


def errors(board: Board) -> None:
    """xiaozhi: errors have no code, and the name of a tool that does not exist is not escaped"""
    for name in 'a"b', "a\\b", "a\nb", "ü":
        error = board.ask("tools/call", {"name": name, "arguments": {}})["error"]
        same((error["code"], type(error["message"])), (-32602, str))


def ping_and_notifications(board: Board) -> None:
    """xiaozhi: ping is an error, and notifications are ignored or get a response"""
    same(board.ask("ping", era=legacy)["result"], {})
    board.open()
    board.send(legacy("notifications/roots/list_changed"), legacy("notifications/no/such"), legacy("notifications/cancelled", {"requestId": 77}))
    same(board.ask("ping", era=legacy)["result"], {})


def deep(board: Board) -> None:
    """mcpd: JSON that is nested deeper than ten is a parse error, without the id"""
    nested: object = 1
    for _ in range(40):
        nested = [nested]
    same("result" in board.ask("tools/call", {"name": "read_pin", "arguments": {"number": 1}, "x": nested}), True)
    board.send(modern("tools/call", {"name": "echo", "x": 0, "arguments": {}}, "deep"), b"")
    holds(board.message()["result"]["isError"], "text is missing")
    board.send('{"jsonrpc":"2.0","id":"too deep","method":"ping","params":{"x":' + "[" * 500 + "]" * 500 + "}}\n")
    answer = board.message()
    same((answer["id"], answer["error"]["code"]), ("too deep", -32600))


def probes(board: Board) -> None:
    """servers without a response to the probe of a newer client, which waits for 5 to 10 seconds"""
    for method in "server/discover", "no/such/method", "tasks/list", "sampling/createMessage":
        board.ask(method)
    same(board.ask("no/such/method")["error"]["code"], -32601)


def all_in_one_read(board: Board) -> None:
    """codebase-memory-mcp 99: initialize, initialized and tools/list in one read stall the server"""
    messages = legacy("initialize", HELLO, 1), legacy("notifications/initialized"), legacy("tools/list", None, 2)
    board.send("\r\n".join(json.dumps(message) for message in messages) + "\r\n")
    same([board.message()["id"] for _ in range(2)], [1, 2])


def strange_first_message(board: Board) -> None:
    """mcp-c-sdk: after an unexpected first message every request fails"""
    for text in "{}", "[]", "null", "1", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', '{"id":1,"method":"ping"}':
        board.send(text + "\n")
    for _ in range(6):  # a message like a response gets no response
        same(board.message().get("error", {}).get("code"), -32600)
    board.open()
    board.data("read_pin", {"number": 1}, legacy)


def shapes(board: Board) -> None:
    """stackchan-mcp 195, xiaozhi: arguments that are a list are accepted; binary contents have a private format"""
    same(board.ask("tools/call", {"name": "read_pin", "arguments": [1]})["error"]["code"], -32602)
    contents = board.ask("resources/read", {"uri": "board://file"})["result"]["contents"]
    same([sorted(c) for c in contents], [["blob", "mimeType", "uri"]])


def overflow(board: Board) -> None:
    """mcp-c-sdk: lengths are truncated to 16 bits"""
    board.send({"jsonrpc": "2.0", "id": "long", "method": "ping", "params": {"x": "y" * 65_536}})
    same(board.message()["error"]["code"], -32600)
    same(board.ask("ping", era=legacy)["result"], {})


if __name__ == "__main__":
    cases = [value for value in list(globals().values()) if getattr(value, "__module__", "") == "__main__" and callable(value)]
    holds(len(cases) > 15, "cases are lost")
    sys.exit(1 if run(sys.argv[1], cases, "not here -- ") else 0)
