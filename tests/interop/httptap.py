#!/usr/bin/env python3
"""Forwards connections between an SDK and an HTTP server, and records the messages.

    httptap.py LOG_DIRECTORY URL

Prints a URL of its own for the same path and forwards every connection, bytes unchanged, until its standard input ends.
LOG_DIRECTORY/http-<pid>.jsonl gets the records of `wiretap.py`: `{"dir": "c2s" | "s2c", "t": time, "line": text}`
for each JSON-RPC message, in a body or an event, and `{"dir": "eof"}` at the end. In addition, with the number of
the connection in `on`, each head as `{"dir": "request" | "response", "line": text}`, and `{"dir": "gone", "by": "client" |
"server"}` when one side is the first to close a connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from urllib.parse import urlsplit, urlunsplit

Record = Callable[..., None]


class Half:
    """One direction of one connection: HTTP messages out of a stream of bytes."""

    def __init__(self, direction: str, connection: int, record: Record):
        self.direction, self.connection, self.record = direction, connection, record
        self.bytes = bytearray()
        self.feed = self.parse()
        next(self.feed)

    def parse(self):
        while True:
            head = (yield from self.until(b"\r\n\r\n")).decode("latin-1")
            self.record("response" if head.startswith("HTTP/") else "request", head.encode("latin-1"), on=self.connection)
            head = head.lower()
            fields = dict(line.partition(":")[::2] for line in head.split("\r\n")[1:])
            fields = {name: value.strip() for name, value in fields.items()}
            sink = Events(self) if "text/event-stream" in fields.get("content-type", "") else Body(self)
            status = head.split(" ")[1]
            if fields.get("transfer-encoding") == "chunked":
                while size := int((yield from self.until(b"\r\n")).split(b";")[0], 16):
                    sink.take((yield from self.exactly(size)))
                    yield from self.exactly(2)
                yield from self.until(b"\r\n")
            elif "content-length" in fields:
                sink.take((yield from self.exactly(int(fields["content-length"]))))
            elif head.startswith("http/") and status not in ("202", "204", "304") and not status.startswith("1"):
                while True:
                    sink.take((yield from self.exactly(1)))
            sink.end()

    def until(self, mark: bytes):
        while (at := self.bytes.find(mark)) < 0:
            self.bytes += yield
        found = bytes(self.bytes[:at])
        del self.bytes[: at + len(mark)]
        return found

    def exactly(self, size: int):
        while len(self.bytes) < size:
            self.bytes += yield
        found = bytes(self.bytes[:size])
        del self.bytes[:size]
        return found

    def message(self, data: bytes) -> None:
        # Bodies that are not messages (an error page, a priming event, an `endpoint` event) are not recorded.
        if data.lstrip()[:1] in (b"{", b"["):
            self.record(self.direction, data, on=self.connection)


class Body:
    def __init__(self, half: Half):
        self.half, self.data = half, b""

    def take(self, data: bytes) -> None:
        self.data += data

    def end(self) -> None:
        self.half.message(self.data)


class Events:
    """The data of each event, as soon as it is complete."""

    def __init__(self, half: Half):
        self.half, self.rest, self.data = half, b"", []

    def take(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                self.data.append(line[5:].removeprefix(b" "))
            elif not line:
                self.half.message(b"\n".join(self.data))
                self.data = []

    def end(self) -> None:
        pass


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, half: Half) -> None:
    try:
        while data := await reader.read(65536):
            half.feed.send(data)
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:  # also ENOTCONN, which is no ConnectionError
        writer.close()


async def main() -> None:
    directory, url = sys.argv[1], urlsplit(sys.argv[2])
    os.makedirs(directory, exist_ok=True)
    log = open(os.path.join(directory, f"http-{os.getpid()}.jsonl"), "w", encoding="utf-8")

    def record(direction: str, line: bytes | None = None, **more: object) -> None:
        fields = {} if line is None else {"line": line.decode("utf-8", "surrogateescape").strip() + "\n"}
        log.write(json.dumps({"dir": direction, "t": time.time(), **fields, **more}) + "\n")
        log.flush()

    connections = count()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(connections)
        try:
            from_server, to_server = await asyncio.open_connection(url.hostname, url.port)
        except OSError:
            writer.close()
            return
        ended: list[str] = []

        async def side(name: str, *way: asyncio.StreamReader | asyncio.StreamWriter | Half) -> None:
            await forward(*way)
            if not ended:
                record("gone", by=name, on=number)
            ended.append(name)

        await asyncio.gather(
            side("client", reader, to_server, Half("c2s", number, record)),
            side("server", from_server, writer, Half("s2c", number, record)),
        )
        for end in (writer, to_server):
            end.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    print(urlunsplit((url.scheme, f"127.0.0.1:{port}", *url[2:])), flush=True)
    await asyncio.to_thread(sys.stdin.buffer.read)
    record("eof")
    log.close()
    os._exit(0)  # without waiting for open connections


asyncio.run(main())
