"""Bare peers over HTTP: Streamable HTTP of all revisions, and HTTP+SSE."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import urljoin, urlsplit

from peer import MODERN, Conversation, Json, Silent

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
BOTH = "application/json, text/event-stream"


class Event:
    """One event of a stream."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}

    def take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self.fields[name] = f"{self.fields[name]}\n{value}" if name == "data" and name in self.fields else value


def events(response: HTTPResponse) -> Iterator[dict[str, str]]:
    event = Event()
    while line := response.readline():
        if text := line.decode().rstrip("\r\n"):
            event.take(text)
        elif event.fields:
            yield event.fields
            event = Event()


class HttpPeer(Conversation):
    """One session of Streamable HTTP; since 2026-07-28, independent requests."""

    def __init__(self, url: str, timeout: float = 5.0, capabilities: Json | None = None):
        super().__init__(timeout, capabilities)
        self.url = urlsplit(url)
        self.session: str | None = None
        self.statuses: dict[int, int] = {}  # of responses, by id
        self.resumed = 0  # number of streams that ended without a response and were resumed
        self.sockets: dict[int | str, socket.socket] = {}

    def headers(self, message: Json | None) -> dict[str, str]:
        sent = {"Accept": BOTH, "Content-Type": "application/json"} if message else {"Accept": "text/event-stream"}
        method = (message or {}).get("method")
        if self.session:
            sent["Mcp-Session-Id"] = self.session
        if self.revision >= "2025-06-18" and method != "initialize":
            sent["MCP-Protocol-Version"] = self.revision
        if self.revision == MODERN and method:
            sent["Mcp-Method"] = method
            if name := message.get("params", {}).get(NAMED.get(method)):
                sent["Mcp-Name"] = encoded(name)
        return sent

    def fetch(self, verb: str, message: Json | None = None, key: int | str | None = None, **more: str) -> HTTPResponse:
        connection = HTTPConnection(self.url.hostname, self.url.port, timeout=self.timeout + 25)
        connection.connect()
        if key is not None:
            self.sockets[key] = connection.sock
        body = None if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = {**self.headers(message), **{name.replace("_", "-"): value for name, value in more.items()}}
        connection.request(verb, self.url.path, body, headers)
        return connection.getresponse()

    def send(self, message: Json) -> None:
        if "id" in message and "method" in message:
            threading.Thread(target=self._exchange, args=[message], daemon=True).start()
        elif self.revision == MODERN and message.get("method") == "notifications/cancelled":
            hang_up(self.sockets.pop(message["params"]["requestId"]))
        else:
            response = self.fetch("POST", message)
            if response.status != 202:
                raise Silent(f"status {response.status} instead of 202")
            if message.get("method") == "notifications/initialized":
                self._listen()

    def _exchange(self, request: Json) -> None:
        key = request["id"]
        try:
            response = self.fetch("POST", request, key)
            self.statuses[key] = response.status
            self.session = response.headers.get("Mcp-Session-Id", self.session)
            if "text/event-stream" in response.headers.get("Content-Type", ""):
                self._follow(response, key)
            else:
                self._put_answer(response, key)
        except (OSError, HTTPException, ValueError) as error:
            if key in self.sockets:  # still open
                self.arrived.put({"id": key, "error": {"code": 0, "message": f"{type(error).__name__}: {error}"}})

    def _put_answer(self, response: HTTPResponse, key: int) -> None:
        body = response.read()
        try:
            message = json.loads(body)
        except ValueError:
            message = {"error": {"code": 0, "message": f"status {response.status}: {body[:100]!r}"}}
        self.arrived.put({**message, "id": key})

    def _follow(self, response: HTTPResponse, key: int) -> None:
        """All events until the response; a stream that ends before is resumed after its last event."""
        last, retry = None, 0
        while True:
            for event in events(response):
                last, retry = event.get("id", last), int(event.get("retry", retry))
                if event.get("data"):
                    message = json.loads(event["data"])
                    self.arrived.put(message)
                    if "method" not in message:
                        return
            if last is None:
                raise HTTPException("the stream ended before the answer")
            time.sleep(retry / 1000)
            self.resumed += 1
            response = self.fetch("GET", None, key, Last_Event_ID=last)

    def _listen(self) -> None:
        """The standalone GET stream. Some servers start it before they send the head."""
        begun = threading.Event()

        def follow() -> None:
            try:
                response = self.fetch("GET", None, "GET")
                begun.set()
                for event in events(response) if response.status == 200 else ():
                    if event.get("data"):
                        self.arrived.put(json.loads(event["data"]))
            except (OSError, HTTPException, ValueError):
                pass  # closed by this side

        threading.Thread(target=follow, daemon=True).start()
        begun.wait(0.3)

    def end_session(self) -> int:
        return self.fetch("DELETE").status

    def close(self) -> tuple[int | None, float]:
        began = time.monotonic()
        sockets, self.sockets = self.sockets, {}
        for connection in sockets.values():
            hang_up(connection)
        if self.session:
            self.end_session()
        return None, time.monotonic() - began


class SsePeer(Conversation):
    """One session of HTTP+SSE."""

    def __init__(self, url: str, timeout: float = 5.0, capabilities: Json | None = None):
        super().__init__(timeout, capabilities)
        parts = urlsplit(url)
        connection = HTTPConnection(parts.hostname, parts.port)
        connection.request("GET", parts.path, headers={"Accept": "text/event-stream"})
        self.socket = connection.sock
        self.endpoint: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, args=[connection.getresponse()], daemon=True).start()
        self.post_to = urlsplit(urljoin(url, self.endpoint.get(timeout=timeout)))

    def _read(self, response: HTTPResponse) -> None:
        try:
            for event in events(response):
                if event.get("event") == "endpoint":
                    self.endpoint.put(event["data"])
                else:
                    self.arrived.put(json.loads(event["data"]))
        except (OSError, HTTPException, ValueError):
            pass
        self.arrived.put(None)

    def send(self, message: Json) -> None:
        connection = HTTPConnection(self.post_to.hostname, self.post_to.port)
        body = json.dumps({"jsonrpc": "2.0", **message})
        target = f"{self.post_to.path}?{self.post_to.query}"
        connection.request("POST", target, body, {"Content-Type": "application/json"})
        status = connection.getresponse().status
        if not 200 <= status < 300:
            raise Silent(f"status {status} to a message")

    def close(self) -> tuple[int | None, float]:
        hang_up(self.socket)
        return None, 0.0


def hang_up(connection: socket.socket) -> None:
    """Called from another thread than the reader."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the server was faster


def encoded(name: str) -> str:
    """A value in the encoding of headers."""
    plain = name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?base64?")
    return name if plain else f"=?base64?{b64encode(name.encode()).decode()}?="
