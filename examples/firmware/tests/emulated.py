"""An emulated board, and its serial line byte for byte."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PATIENCE = 30.0  # seconds
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Failure(AssertionError):
    pass


def same(seen: Any, expected: Any, what: str = "") -> None:
    if seen != expected:
        raise Failure(f"{what or 'seen'}: got {seen!r}, expected {expected!r}")


def holds(condition: object, what: str) -> None:
    if not condition:
        raise Failure(what)


def modern(method: str, params: Json | None = None, id: Any = None) -> Json:
    params = {**(params or {}), "_meta": {**META, **(params or {}).get("_meta", {})}}
    return {"jsonrpc": "2.0", **({} if id is None else {"id": id}), "method": method, "params": params}


def legacy(method: str, params: Json | None = None, id: Any = None) -> Json:
    return {"jsonrpc": "2.0", **({} if id is None else {"id": id}), "method": method, **({"params": params} if params else {})}


class Program:
    """A program with lines on its standard input and output."""

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.held = bytearray()
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def send(self, *parts: bytes | str | Json) -> None:
        """Sends bytes unchanged, and a message as a line."""
        for part in parts:
            if isinstance(part, dict):
                part = json.dumps(part, ensure_ascii=False, separators=(",", ":")) + "\n"
            self.process.stdin.write(part.encode() if isinstance(part, str) else part)

    def line(self, patience: float = PATIENCE) -> bytes:
        end = time.monotonic() + patience
        while b"\n" not in self.held:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure(f"timeout after {bytes(self.held)!r}")
            read = os.read(self.process.stdout.fileno(), 65_536)
            if not read:
                raise Failure(f"the program exited after {bytes(self.held)!r}")
            self.held += read
        line, _, rest = self.held.partition(b"\n")
        self.held = bytearray(rest)
        return bytes(line)

    def message(self) -> Json:
        return json.loads(self.line())

    def is_silent(self, seconds: float = 0.2) -> bool:
        return not self.held and not select.select([self.process.stdout], [], [], seconds)[0]

    def ask(self, method: str, params: Json | None = None, era: Any = modern, id: Any = None) -> Json:
        """Sends a request and returns its response, which must be the next line."""
        if id is None:
            self.last_id += 1
            id = self.last_id
        self.send(era(method, params, id))
        answer = self.message()
        same(answer.get("id"), id, f"the id of the response {answer}")
        return answer

    def call(self, name: str, arguments: Json | None = None, era: Any = modern) -> Json:
        return self.ask("tools/call", {"name": name, "arguments": arguments or {}}, era)["result"]

    def data(self, name: str, arguments: Json | None = None, era: Any = modern) -> Json:
        return self.call(name, arguments, era)["structuredContent"]

    def open(self, **params: Any) -> Json:
        """Opens a legacy session."""
        result = self.ask("initialize", {**HELLO, **params}, legacy)
        self.send(legacy("notifications/initialized"))
        return result


# By the name of the image. All others run on the micro:bit.
MACHINES = {
    "mps2-an386": ["qemu-system-arm", "-M", "mps2-an386"],
    "virt": ["qemu-system-riscv32", "-M", "virt", "-bios", "none"],
}


class Board(Program):
    """A board in the emulator."""

    def __init__(self, image: str, *options: str):
        self.directory = tempfile.TemporaryDirectory()
        self.socket = Path(self.directory.name) / "monitor"
        emulator = MACHINES.get(Path(image).name, ["qemu-system-arm", "-M", "microbit"])
        machine = [*emulator, "-display", "none", "-kernel", image]
        lines = ["-serial", "stdio", "-monitor", f"unix:{self.socket},server=on,wait=off"]
        super().__init__([*machine, *lines, *options])

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.directory.cleanup()

    def monitor(self, command: str) -> None:
        """Sends a command to the emulator and waits until it is done."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(PATIENCE)
            monitor.connect(str(self.socket))
            said = b""
            for step in command, None:
                while not said.endswith(b"(qemu) "):
                    read = monitor.recv(4096)
                    if not read:
                        raise Failure("the monitor has exited")
                    said += read
                said = b""
                if step:
                    monitor.sendall(step.encode() + b"\n")


def run_each(cases: Iterable[Any], run: Callable[[Any], None], prefix: str = "") -> int:
    """Runs cases, of which each is a function. Returns the number that failed."""
    failed = 0
    for case in cases:
        name = prefix + (case.__doc__ or case.__name__).splitlines()[0]
        try:
            run(case)
        except Exception as error:  # noqa: BLE001 any error fails the case
            failed += 1
            print(f"FAIL {name} -- {type(error).__name__}: {str(error)[:600]}", flush=True)
        else:
            print(f"PASS {name}", flush=True)
    return failed


def run(image: str, cases: list[Any], prefix: str = "") -> int:
    """Runs cases, which are functions of a board. Returns the number that failed."""

    def on_a_board(case: Any) -> None:
        with Board(image) as board:
            case(board)

    return run_each(cases, on_a_board, prefix)
