"""Forwards HTTP to a server and adds a bearer token, for clients that have none.

    token_proxy.py URL TOKEN      prints the port at which it listens
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from urllib.parse import urlsplit

URL, TOKEN = urlsplit(sys.argv[1]), sys.argv[2].encode()


async def requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line, fields = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)
        lengths = [field.split(b":")[1] for field in fields.lower().split(b"\r\n") if field.startswith(b"content-length:")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        writer.write(line + b"\r\nAuthorization: Bearer " + TOKEN + b"\r\n" + fields + body)
        await writer.drain()


async def responses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        from_server, to_server = await asyncio.open_connection(URL.hostname, URL.port)
        ways = {asyncio.create_task(requests(reader, to_server)), asyncio.create_task(responses(from_server, writer))}
        done, rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in rest:
            way.cancel()
        await asyncio.gather(*done, *rest, return_exceptions=True)
        to_server.close()
    writer.close()


async def main() -> None:
    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await listener.serve_forever()


asyncio.run(main())
