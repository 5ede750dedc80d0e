"""The board on a network: HTTP from several hosts at once, which are slow, silent, or gone.

    network.py URL TOKEN      the board that serves there
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from emulated import Failure, Json, holds, modern, run_each, same

URL, TOKEN = urlsplit(sys.argv[1]), sys.argv[2]
# The emulator is not slower than this on a busy computer.
PATIENCE = 30.0
CONNECTIONS = 4


def request(method: str, params: Json | None = None, id: int = 1) -> tuple[dict[str, str], bytes]:
    body = json.dumps(modern(method, params, id)).encode()
    fields = {
        "Host": URL.netloc,
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
    }
    if name := (params or {}).get("name") or (params or {}).get("uri"):
        fields["Mcp-Name"] = name
    return fields, body


def raw(method: str, params: Json | None = None) -> bytes:
    fields, body = request(method, params)
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {URL.path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connect() -> socket.socket:
    return socket.create_connection((URL.hostname, URL.port), PATIENCE)


def post(connection: http.client.HTTPConnection, method: str, params: Json | None = None, id: int = 1) -> Json:
    fields, body = request(method, params, id)
    connection.request("POST", URL.path, body, fields)
    answer = connection.getresponse()
    data = answer.read()
    same(answer.status, 200, f"the status of {data[:200]!r}")
    if answer.getheader("content-type") == "text/event-stream":
        data = [line[6:] for line in data.splitlines() if line.startswith(b"data: ")][-1]
    message = json.loads(data)
    same(message["id"], id, "the id")
    return message["result"]


def ask(method: str, params: Json | None = None, patience: float = PATIENCE) -> Json:
    """Asks on a connection of its own."""

    def once() -> Json:
        connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=PATIENCE)
        try:
            return post(connection, method, params)
        finally:
            connection.close()

    return again(once, patience)


def again(once: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Tries again while there is no room for another host, as a host does."""
    end = time.monotonic() + patience
    while True:
        try:
            return once()
        except (http.client.HTTPException, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def pin(number: int) -> Json:
    return {"name": "read_pin", "arguments": {"number": number}}


def all_at_once(*work: Callable[[], None]) -> None:
    errors: list[BaseException] = []

    def run(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 is raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def half_open() -> None:
    """two hosts are served beside a third, whose request never comes to an end"""
    third = connect()
    third.sendall(raw("tools/list")[:150])

    def calls() -> None:
        connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=PATIENCE)
        for id in range(100):
            result = post(connection, "tools/call", pin(id % 31), id)
            same(result["structuredContent"]["number"], id % 31)
        connection.close()

    all_at_once(calls, calls)
    answer = b"".join(iter(lambda: third.recv(4096), b""))
    holds(answer.startswith(b"HTTP/1.1 408 ") and b"\r\nconnection: close\r\n" in answer, f"the third: {answer!r}")


def resets() -> None:
    """connections are reset in the middle of requests, calls and responses"""
    for number in range(30):
        gone = connect()
        whole = raw("tools/list") if number % 3 else raw("tools/call", {"name": "sweep", "arguments": {"steps": 100, "period": 100}})
        gone.sendall(whole if number % 2 else whole[:200])
        time.sleep(0.02)
        # Closes with a reset.
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
        if number % 10 == 9:
            same(ask("tools/call", pin(3))["structuredContent"]["number"], 3)


def never_reads() -> None:
    """a host that asks for a long file and never reads it is given up, and the others do not notice"""
    deaf = connect()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    # The emulator takes some hundred kilobytes on behalf of the host.
    for _ in range(12):
        deaf.sendall(raw("resources/read", {"uri": "board://file"}))
    began = time.monotonic()
    while time.monotonic() - began < 15:
        same(ask("tools/call", pin(5))["structuredContent"]["number"], 5)
        time.sleep(0.2)
    all_at_once(*[lambda: post_sweep(4)] * CONNECTIONS)
    deaf.close()


def post_sweep(steps: int) -> None:
    same(ask("tools/call", {"name": "sweep", "arguments": {"steps": steps, "period": 100}})["structuredContent"], {"steps": steps})


def too_many() -> None:
    """ten hosts share four connections, and each is served in the end"""
    all_at_once(*[lambda: post_sweep(3)] * 10)


def told() -> None:
    """two subscribers hear of a change that a third host makes"""
    streams = []
    for _ in range(2):
        streams.append(again(subscribed))
    for on in True, False, True:
        ask("tools/call", {"name": "output_09", "arguments": {"on": on}})
        for stream in streams:
            wait_for(stream, b'"uri":"board://outputs"')
    for stream in streams:
        stream.close()


def subscribed() -> socket.socket:
    stream = connect()
    stream.sendall(raw("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["board://outputs"]}}))
    wait_for(stream, b"notifications/subscriptions/acknowledged")
    return stream


def wait_for(stream: socket.socket, text: bytes) -> None:
    seen = b""
    while text not in seen:
        read = stream.recv(4096)
        holds(read, f"the stream ended after {seen!r}")
        seen += read


def byte_by_byte() -> None:
    """a request comes byte by byte"""
    again(slowly)


def slowly() -> None:
    slow = connect()
    slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in raw("tools/call", pin(7)):
        slow.sendall(bytes([byte]))
        time.sleep(0.002)
    wait_for(slow, b'"number":7')
    slow.close()


def endurance() -> None:
    """a thousand calls on connections that stay open, and the stack does not grow"""
    before = ask("tools/call", {"name": "stack"})["structuredContent"]
    connection = http.client.HTTPConnection(URL.hostname, URL.port, timeout=PATIENCE)
    for id in range(1000):
        same(post(connection, "tools/call", pin(id % 31), id)["structuredContent"]["number"], id % 31)
    connection.close()
    after = ask("tools/call", {"name": "stack"})["structuredContent"]
    # An interrupt may have come at the deepest point.
    holds(after["deepest"] <= before["deepest"] + 256, f"the stack: {before}, {after}")


def reset() -> None:
    """the board is reset by a tool, gets its address again, and serves"""
    ask("tools/call", {"name": "output_09", "arguments": {"on": True}})
    try:
        ask("tools/call", {"name": "reset"}, patience=0)
    except (Failure, OSError, http.client.HTTPException):
        pass
    time.sleep(1)
    same(ask("tools/call", pin(9))["structuredContent"]["high"], False)


def main() -> int:
    cases = half_open, resets, never_reads, too_many, told, byte_by_byte, endurance, reset
    return run_each(cases, lambda case: case(), "network: ")


if __name__ == "__main__":
    sys.exit(main())
