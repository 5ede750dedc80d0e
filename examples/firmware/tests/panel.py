"""One file of tools writes the same bytes under several loops: on the emulated board, with the adapter for embedded-io, and on this computer, with
the blocking adapter or the one for embedded-io-async.
"""

from __future__ import annotations

import json
import sys

from emulated import HELLO, Failure, legacy, modern
from same import compare

CALLS = [
    ("measure", {"quantity": "acceleration"}),
    ("measure", {"quantity": "temperature"}),
    ("measure", {"quantity": "height"}),
    *(("set_output", {"number": number, "on": on}) for number in (0, 5, 30) for on in (True, True, False)),
    *(("read_pin", {"number": number}) for number in (-1, 0, 30, 31, "x", 1.5, None)),
    ("set_output", {}),
    ("set_output", {"number": 31, "on": "yes", "off": False}),
    *(("echo", {"text": text}) for text in ("", "a\u0000\\\"\n\u2028}{é😀", "x" * 600)),
    ("echo", {"text": 7, "texts": []}),
    ("count_calls", {}),
    ("count_calls", {"x": 1}),
    ("no_such_tool", {}),
]


def lines():
    """Lines to send, each with the id of its last response; None if a ping must be sent after it."""
    ids = iter(range(1, 10_000))

    def each(era, method, params=None):
        message = era(method, params, next(ids))
        return json.dumps(message, ensure_ascii=False), message["id"]

    yield each(modern, "server/discover")
    yield each(modern, "tools/list")
    yield each(legacy, "tools/call", {"name": "count_calls"})
    for name, arguments in CALLS:
        yield each(modern, "tools/call", {"name": name, "arguments": arguments})
    for version in "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
        yield each(legacy, "initialize", {**HELLO, "protocolVersion": version})
        yield json.dumps(legacy("notifications/initialized")), None
        for method in "tools/list", "ping", "resources/list", "no/such":
            yield each(legacy, method)
        for name, arguments in CALLS[1:]:
            yield each(legacy, "tools/call", {"name": name, "arguments": arguments})
    for noise in "noise", "{}", "null", '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', "x" * 900:
        yield noise, None


if __name__ == "__main__":
    try:
        compare(lines)
    except Failure as failure:
        sys.exit(f"FAIL {failure}")
