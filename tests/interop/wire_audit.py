#!/usr/bin/env python3
"""Checks the recordings of `wiretap.py` by rules that hold for every case.

    wire_audit.py LOG_DIRECTORY

LOG_DIRECTORY/<client>-<mode>/<case>/<pid>.jsonl, or http-<pid>.jsonl recorded by `httptap.py`; prints one line per rule and mode.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

EXIT_SECONDS = 1.0  # from end of input to exit; SDKs start to kill after 2
RACE_SECONDS = 0.1  # messages in transit when the client cancelled
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SIGTERM = 15


class Process:
    """One recorded server process."""

    def __init__(self, file: Path):
        self.name = f"{file.parent.name}/{file.stem}"
        self.over_http = file.stem.startswith("http-")
        self.records = [json.loads(line) for line in file.read_text().splitlines()]
        self.bad_lines: list[str] = []
        self.sent = self.messages("c2s")
        self.received = self.messages("s2c")
        self.requests = {key(m["id"]): (t, m) for t, m in self.sent if "method" in m and "id" in m}
        self.answers = [(t, m) for t, m in self.received if "method" not in m]
        self.cancelled = {
            key(m["params"]["requestId"]): t for t, m in self.sent if m.get("method") == "notifications/cancelled"
        }
        # Behind a probe, too, `initialize` begins the legacy era.
        self.modern = bool(self.sent) and all(m.get("method") != "initialize" for _, m in self.sent)
        # The TypeScript 2.x client probes the server in a separate process, which it then kills.
        self.probe = [m.get("method") for _, m in self.sent] == ["server/discover"]

    def messages(self, direction: str) -> list[tuple[float, dict]]:
        found = []
        for record in self.records:
            if record["dir"] == direction:
                try:
                    message = json.loads(record["line"])
                    assert isinstance(message, dict) and record["line"].endswith("\n")
                    found.append((record["t"], message))
                except (ValueError, AssertionError):
                    if direction == "s2c":
                        self.bad_lines.append(record["line"][:200])
        return found

    def time_of(self, direction: str) -> float | None:
        return next((r["t"] for r in self.records if r["dir"] == direction), None)


def key(request_id: object) -> str:
    """Ids are equal only if their types are: 1 and "1" are two ids."""
    return json.dumps(request_id)


def exits(process: Process) -> Iterator[str]:
    end = next((r for r in process.records if r["dir"] == "exit"), None)
    if process.over_http:
        return
    elif end is None:
        yield "no exit was seen: the SDK had to kill it"
    elif process.probe and end["signals"] == [SIGTERM]:
        return
    elif end["signals"] or end["status"] != 0:
        yield f"status {end['status']}, signals sent by the SDK {end['signals']}"
    elif (eof := process.time_of("eof")) is None:
        yield "exited before the end of its input"
    elif end["t"] - eof > EXIT_SECONDS:
        yield f"needed {end['t'] - eof:.2f} s"


def speaks(process: Process) -> Iterator[str]:
    for line in process.bad_lines:
        yield f"not a JSON object on one line: {line!r}"
    for _, message in process.received:
        members = set(message)
        notification = {"jsonrpc", "method"} <= members <= {"jsonrpc", "method", "params", "id"}
        answer = members in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
        # The body of an HTTP error need not contain an id.
        answer |= process.over_http and members == {"jsonrpc", "error"}
        if message.get("jsonrpc") != "2.0" or not (notification or answer):
            yield f"not JSON-RPC 2.0: {json.dumps(message)[:200]}"
        if "error" in members and not (
            isinstance(message["error"].get("code"), int) and isinstance(message["error"].get("message"), str)
        ):
            yield f"error without code and message: {message}"


def answers(process: Process) -> Iterator[str]:
    seen: set[str] = set()
    for _, message in process.answers:
        if process.over_http and "id" not in message:
            continue
        request_id = key(message.get("id"))
        if request_id not in process.requests:
            yield f"answer to {request_id}, which was never asked"
        if request_id in seen:
            yield f"second answer to {request_id}"
        seen.add(request_id)
    end = process.time_of("eof")
    for request_id, (asked, message) in process.requests.items():
        in_time = end is not None and asked < end - 1
        if in_time and request_id not in seen and request_id not in process.cancelled:
            # In the modern era a client cancels over HTTP by disconnecting, which the recording does not show.
            if message["method"] != "subscriptions/listen" and not (process.over_http and process.modern):
                yield f"{message['method']} {request_id} was never answered"


def honours_cancel(process: Process) -> Iterator[str]:
    for t, message in process.received:
        about = message.get("id") if "method" not in message else message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION)
        cancelled = process.cancelled.get(key(about))
        if about is not None and cancelled is not None and t > cancelled + RACE_SECONDS:
            yield f"{t - cancelled:.2f} s after the cancellation: {json.dumps(message)[:200]}"


def reports_progress(process: Process) -> Iterator[str]:
    tokens: dict[str, str] = {}
    for request_id, (_, message) in process.requests.items():
        token = (message.get("params") or {}).get("_meta", {}).get("progressToken")
        if token is not None:
            tokens[key(token)] = request_id
    answered: set[str] = set()
    last: dict[str, float] = {}
    for t, message in process.received:
        if "method" not in message:
            answered.add(key(message.get("id")))
        elif message["method"] == "notifications/progress":
            token, value = key(message["params"]["progressToken"]), message["params"]["progress"]
            request_id = tokens.get(token)
            if request_id is None:
                yield f"unknown token {token}"
            elif request_id in answered:
                yield f"progress {value} after the answer to {request_id}"
            elif t > process.cancelled.get(request_id, t) + RACE_SECONDS:
                yield f"progress {value} after {request_id} was cancelled"
            if value <= last.get(token, float("-inf")):
                yield f"progress {value} after {last[token]}"
            last[token] = value


def is_stateless(process: Process) -> Iterator[str]:
    if not process.modern:
        return
    wants_logs = any(LOG_LEVEL in (m.get("params") or {}).get("_meta", {}) for _, m in process.sent)
    for _, message in process.received:
        if "method" in message and "id" in message:
            yield f"server request: {json.dumps(message)[:200]}"
        if "result" in message and "resultType" not in message["result"]:
            yield f"result without resultType: {json.dumps(message)[:200]}"
        if message.get("method") == "notifications/message" and not wants_logs:
            yield f"log message without logLevel: {json.dumps(message)[:200]}"


RULES: list[tuple[str, Callable[[Process], Iterator[str]]]] = [
    ("the server exits by itself with status 0 at the end of its input", exits),
    ("every line is one JSON-RPC message", speaks),
    ("every request is answered once, none is made up", answers),
    ("nothing comes for a cancelled request or a closed subscription", honours_cancel),
    ("progress is increasing, and only for requests in flight", reports_progress),
    ("2026-07-28: no server requests, resultType everywhere, no unasked log messages", is_stateless),
]


def main() -> int:
    failed = 0
    for mode in sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir()):
        processes = [Process(file) for file in sorted(mode.glob("*/*.jsonl"))]
        for name, rule in RULES:
            if rule is is_stateless and not any(process.modern for process in processes):
                continue
            broken = [f"{process.name}: {problem}" for process in processes for problem in rule(process)]
            if not processes:
                broken = ["no server process was recorded"]
            verdict = f"FAIL wire {mode.name}: {name} -- {len(broken)}: {broken[0]}" if broken else None
            print(verdict or f"PASS wire {mode.name}: {name} ({len(processes)} processes)")
            failed += bool(broken)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
