"""A minimal client that shows the exact responses of a server: over stdio, and the base for other transports."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from typing import Any

Json = dict[str, Any]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ANSWERS: dict[str, Json] = {
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "forty-two"}, "model": "check"},
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "elicitation/create url": {"action": "accept"},
    "roots/list": {"roots": [{"uri": "file:///one", "name": "one"}, {"uri": "file:///two"}]},
    "ping": {},
}
CAPABILITIES: Json = {"sampling": {}, "roots": {}, "elicitation": {"form": {}, "url": {}}}


class Silent(Exception):
    """Timed out, or the server exited."""


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error: Json):
        super().__init__(f"error {error.get('code')}: {error.get('message')}")
        self.error = error


class Conversation:
    """Messages other than responses are kept in `seen`; requests of the server get responses."""

    def __init__(self, timeout: float = 5.0, capabilities: Json | None = None):
        self.started = time.monotonic()
        self.timeout, self.seen, self.next_id = timeout, [], 1
        self.arrived: queue.Queue[Json | None] = queue.Queue()
        self.revision, self.capabilities = "", CAPABILITIES if capabilities is None else capabilities

    def send(self, message: Json) -> None:
        raise NotImplementedError

    def close(self) -> tuple[int | None, float]:
        raise NotImplementedError

    def receive(self, timeout: float | None = None) -> Json:
        """The next message; a request gets its response first."""
        try:
            message = self.arrived.get(timeout=self.timeout if timeout is None else timeout)
        except queue.Empty as error:
            raise Silent("no message") from error
        if message is None:
            self.arrived.put(None)  # the end remains
            raise Silent("the server has closed the connection")
        if "method" in message and "id" in message:
            self.send({"id": message["id"], "result": ANSWERS[question(message)]})
        if "method" in message:
            self.seen.append(message)
        return message

    def begin(self, method: str, params: Json | None = None) -> int:
        request = {"id": self.next_id, "method": method}
        self.next_id += 1
        self.send({**request, "params": params} if params is not None else request)
        return request["id"]

    def answer(self, request: int) -> Json:
        """The raw response to an open request."""
        end = max(time.monotonic() + self.timeout, self.started + 20)  # interpreters start slowly
        while True:
            message = self.receive(max(0.0, end - time.monotonic()))
            if "method" not in message and message.get("id") == request:
                return message

    def open(self, revision: str) -> Json:
        """The handshake; `server/discover` since 2026-07-28, which has none."""
        self.revision = revision
        if revision == MODERN:
            return self.request("server/discover")
        client = {"capabilities": self.capabilities, "clientInfo": {"name": "check", "version": "1"}}
        result = self.request("initialize", {"protocolVersion": revision, **client})
        self.send({"method": "notifications/initialized"})
        return result

    def params(self, params: Json | None, meta: Json | None = None) -> Json | None:
        meta = dict(meta or {})
        if self.revision == MODERN:
            meta[f"{META}protocolVersion"] = MODERN
            meta[f"{META}clientCapabilities"] = self.capabilities
            meta[f"{META}clientInfo"] = {"name": "check", "version": "1"}
        return {**(params or {}), "_meta": meta} if meta else params

    def request(self, method: str, params: Json | None = None, meta: Json | None = None) -> Json:
        message = self.answer(self.begin(method, self.params(params, meta)))
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def call(self, name: str, arguments: Json | None = None, meta: Json | None = None) -> Json:
        """Calls a tool; responds to its input requests, in either era."""
        params: Json = {"name": name, "arguments": arguments or {}}
        result = self.request("tools/call", params, meta)
        while result.get("resultType") == "input_required":
            wanted = result.get("inputRequests", {})
            self.seen += [{"asked": key, **value} for key, value in wanted.items()]
            params["inputResponses"] = {key: ANSWERS[question(value)] for key, value in wanted.items()}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
            result = self.request("tools/call", params, meta)
        return result

    def take(self, method: str) -> Json:
        """The params of the first notification or request with that method, received or awaited."""
        while True:
            for index, message in enumerate(self.seen):
                if message.get("method") == method:
                    return self.seen.pop(index).get("params", {})
            self.receive(1.0)


class Peer(Conversation):
    """One server process."""

    def __init__(self, command: list[str], timeout: float = 5.0, capabilities: Json | None = None):
        super().__init__(timeout, capabilities)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.errors: list[bytes] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))
        self.arrived.put(None)

    def send(self, message: Json) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def close(self) -> tuple[int | None, float]:
        """Closes the input; returns the exit status and the seconds it took, or None and the seconds waited."""
        began = time.monotonic()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        return status, time.monotonic() - began


def question(message: Json) -> str:
    url = message.get("params", {}).get("mode") == "url"
    return f"{message['method']} url" if url else message["method"]
