#!/usr/bin/env -S python3 -B
"""Shows how each reference server handles the first messages of either era, and how it exits.

    tests/interop/servers/probe.py [SERVER...]      raw frames, one process for each case

INTEROP_DIR as for `start`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from check import REVISIONS, SERVERS
from peer import META, MODERN, Json, Peer, Refused, Silent

HERE = Path(__file__).resolve().parent
CLIENT = {"capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
INITIALIZED = {"method": "notifications/initialized"}


def initialize(version: str, id: int | str = 1) -> Json:
    return {"id": id, "method": "initialize", "params": {"protocolVersion": version, **CLIENT}}


def modern(method: str, id: int | str = 1, version: str = MODERN, leave_out: str = "", **params: object) -> Json:
    meta = {"protocolVersion": version, "clientCapabilities": {}, "clientInfo": CLIENT["clientInfo"]}
    meta = {f"{META}{name}": value for name, value in meta.items() if name != leave_out}
    return {"id": id, "method": method, "params": {**params, "_meta": meta}}


def cancelled(id: int | str) -> Json:
    return {"method": "notifications/cancelled", "params": {"requestId": id}}


FIRST = {
    "server/discover, complete `_meta`": [modern("server/discover")],
    "server/discover, string id": [modern("server/discover", "probe")],
    "server/discover without params": [{"id": 1, "method": "server/discover"}],
    "server/discover, no clientCapabilities": [modern("server/discover", leave_out="clientCapabilities")],
    "server/discover, no clientInfo": [modern("server/discover", leave_out="clientInfo")],
    "server/discover, version 2099-01-01": [modern("server/discover", version="2099-01-01")],
    "server/discover, version 2025-11-25": [modern("server/discover", version="2025-11-25")],
    "tools/list, complete `_meta`": [modern("tools/list")],
    "tools/list, version 2099-01-01": [modern("tools/list", version="2099-01-01")],
    "tools/list without `_meta`": [{"id": 1, "method": "tools/list"}],
    "ping": [{"id": 1, "method": "ping"}],
    "server/discover, then initialize": [modern("server/discover"), initialize("2025-11-25", 2)],
    "server/discover, cancelled, then initialize": [modern("server/discover"), cancelled(1), initialize("2025-11-25", 2)],
    "server/discover, then modern prompts/list": [modern("server/discover"), modern("prompts/list", 2)],
    "modern ping, then initialize": [modern("ping"), initialize("2025-11-25", 2)],
    "modern prompts/list, then initialize": [modern("prompts/list"), initialize("2025-11-25", 2)],
    "initialize, then modern prompts/list": [initialize("2025-11-25"), INITIALIZED, modern("prompts/list", 2)],
    "initialize, then server/discover": [initialize("2025-11-25"), INITIALIZED, modern("server/discover", 2)],
    "initialize with `_meta` of 2026-07-28": [
        {"id": 1, "method": "initialize", "params": {**modern("initialize")["params"], **initialize(MODERN)["params"]}}
    ],
    "subscriptions/listen, then end of input": [modern("subscriptions/listen", notifications={"toolsListChanged": True})],
    "subscriptions/listen, cancelled, then modern prompts/list": [
        modern("subscriptions/listen", notifications={"toolsListChanged": True}), cancelled(1), modern("prompts/list", 2),
    ],
    "notifications/initialized, then initialize": [INITIALIZED, initialize("2025-11-25", 2)],
    "notifications/cancelled, then initialize": [cancelled(9), initialize("2025-11-25", 2)],
    "initialize, then at once prompts/list": [initialize("2025-11-25"), {"id": 2, "method": "prompts/list"}],
}
RAW = {
    "a line that is no JSON, then initialize": [b"this is a log line\n", initialize("2025-11-25", 2)],
    "an empty line, then initialize": [b"\n", initialize("2025-11-25", 2)],
    "CR LF after initialize": [json.dumps({"jsonrpc": "2.0", **initialize("2025-11-25", 2)}).encode() + b"\r\n"],
    "a batch of two pings in 2025-03-26": [
        initialize("2025-03-26"),
        INITIALIZED,
        b'[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]\n',
    ],
}


def exchange(command: list[str], messages: list[Json | bytes]) -> None:
    """Sends each request after the previous response, or after two seconds without one."""
    peer = Peer(command)
    answered = False
    try:
        for message in messages:
            if isinstance(message, bytes):
                peer.process.stdin.write(message)
                peer.process.stdin.flush()
                waits = message is messages[-1]
            else:
                peer.send(message)
                waits = "id" in message
            while waits:
                try:
                    frame = peer.receive(2.0 if answered else 20.0)
                    answered = True
                except Silent as silent:
                    print(f"    (silence: {silent})")
                    break
                print(f"    {json.dumps(frame, ensure_ascii=False)}")
                waits = "id" not in frame
    except OSError as error:
        print(f"    (its input is closed: {error})")
    status, seconds = peer.close()
    while (frame := peer.arrived.get()) is not None:
        print(f"    after the end of input: {json.dumps(frame, ensure_ascii=False)}")
    errors = b"".join(peer.errors).decode().splitlines()
    print(f"    exit {status} after {seconds:.2f} s; stderr: {len(errors)} lines{': ' + errors[-1][:200] if errors else ''}")


def undeclared(command: list[str], revision: str) -> None:
    """Calls of tools that request input, by a client without capabilities."""
    peer = Peer(command, capabilities={})
    try:
        peer.open(revision)
        for tool in ("ask_model", "ask_user", "ask_url", "roots"):
            peer.seen.clear()
            answer = peer.answer(peer.begin("tools/call", peer.params({"name": tool, "arguments": {"prompt": "x"}})))
            asked = [message["method"] for message in peer.seen if "id" in message]
            print(f"  no capabilities, {revision}, {tool}: sent {asked}; {json.dumps(answer, ensure_ascii=False)}")
    except (Refused, Silent) as error:
        print(f"  no capabilities, {revision}: {error}")
    peer.close()


def ends(command: list[str]) -> None:
    def report(name: str, peer: Peer, status: int | None, seconds: float) -> None:
        errors = b"".join(peer.errors).decode().splitlines()
        last = f": {errors[-1][:160]}" if errors else ""
        print(f"  {name}: exit {status} after {seconds:.2f} s; stderr: {len(errors)} lines{last}")

    peer = Peer(command)
    began = time.monotonic()
    peer.open("2025-11-25")
    print(f"  from start to the answer to initialize: {time.monotonic() - began:.2f} s")
    report("end of input when idle", peer, *peer.close())
    peer = Peer(command)
    report("end of input before anything", peer, *peer.close())
    peer = Peer(command)
    peer.open("2025-11-25")
    peer.begin("tools/call", peer.params({"name": "slow", "arguments": {"steps": 30, "ms": 100}}))
    time.sleep(0.2)
    status, seconds = peer.close()
    rest = []
    while (message := peer.arrived.get()) is not None:
        rest.append(message)
    report(f"end of input while a call runs (3 s to go; then sent: {json.dumps(rest)[:200]})", peer, status, seconds)
    for number in (signal.SIGTERM, signal.SIGINT):
        peer = Peer(command)
        peer.open("2025-11-25")
        began = time.monotonic()
        peer.process.send_signal(number)
        try:
            status = peer.process.wait(3)
        except subprocess.TimeoutExpired:
            status = None
        report(f"{number.name}", peer, status, time.monotonic() - began)
        peer.close()


def main() -> None:
    for server in sys.argv[1:] or SERVERS:
        started = subprocess.run([HERE / "start", "--command", server], check=True, capture_output=True, text=True)
        command = started.stdout.splitlines()
        print(f"# {server}")
        for version in [*REVISIONS, "2099-01-01"]:
            print(f"  initialize {version}")
            exchange(command, [initialize(version)])
        for name, messages in {**FIRST, **RAW}.items():
            print(f"  {name}")
            exchange(command, messages)
        for version in (REVISIONS[-2], MODERN):
            undeclared(command, version)
        ends(command)


if __name__ == "__main__":
    main()
