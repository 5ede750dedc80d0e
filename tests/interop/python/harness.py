"""Case runner shared by the Python clients: one session per case, one printed line per case."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

HERE = Path(__file__).resolve().parent.parent
EXPECTED = json.loads((HERE / "expected.json").read_text())
CASE_TIMEOUT = 30.0
Json = dict[str, Any]


class RpcError(Exception):
    """A JSON-RPC error of the server."""

    def __init__(self, code: int, message: str, data: Any = None):
        super().__init__(f"error {code}: {message} (data: {data!r})")
        self.code, self.data = code, data


class TimedOut(Exception):
    """The SDK timed out."""


class NotOffered(Exception):
    """The case does not apply to this SDK, mode or server."""

    def __init__(self, reason: str, by: str = "this SDK/mode"):
        super().__init__(f"not offered by {by}: {reason}")


class Failure(AssertionError):
    """A failed check."""


def check(condition: object, message: str, *seen: object) -> None:
    if not condition:
        raise Failure(message + "".join(f"; got {item!r}" for item in seen))


@dataclass
class Handlers:
    """Handlers of server requests. A missing handler is not declared as a capability.

    Each maps params to a result, both in wire form, or raises `RpcError` to refuse.
    """

    sampling: Callable[[Json], Json] | None = None
    elicitation: Callable[[Json], Json] | None = None
    roots: Callable[[], Json] | None = None


@dataclass
class Head:
    """The head of a recorded HTTP message."""

    start: str
    fields: dict[str, str]

    @property
    def status(self) -> int:
        return int(self.start.split(" ")[1])


class Wire:
    """The lines exchanged between SDK and server processes in a case, in order."""

    def __init__(self, directory: Path):
        self.directory = directory

    def processes(self) -> list[list[Json]]:
        files = sorted(self.directory.glob("*.jsonl"), key=lambda f: f.stat().st_mtime)
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    def sent(self) -> list[Json]:
        return self._messages("c2s")

    def received(self) -> list[Json]:
        return self._messages("s2c")

    def result_of(self, method: str) -> Json | None:
        """The result of the first `method` request, if it was sent and succeeded."""
        for request in self.sent():
            if request.get("method") == method and "id" in request:
                for answer in self.received():
                    if "method" not in answer and answer.get("id") == request["id"]:
                        return answer.get("result")
        return None

    def heads(self, direction: str) -> list[Head]:
        """All request or all response heads, over HTTP."""
        found = []
        for record in (r for process in self.processes() for r in process if r["dir"] == direction):
            start, *lines = record["line"].strip().split("\r\n")
            fields = dict(line.split(":", 1) for line in lines)
            found.append(Head(start, {name.lower(): value.strip() for name, value in fields.items()}))
        return found

    def _messages(self, direction: str) -> list[Json]:
        return [json.loads(r["line"]) for process in self.processes() for r in process if r["dir"] == direction]


@dataclass
class Env:
    """The context of a case: client, mode, and how to open a session."""

    sdk: Any
    mode: str
    era: str
    command: list[str]
    wire: Wire

    @property
    def over_http(self) -> bool:
        return transport_to(self.command) != "stdio"

    @asynccontextmanager
    async def open(self, handlers: Handlers | None = None, *, tapped: bool = True, **options: Any) -> AsyncIterator[Any]:
        async with self.server(tapped) as command, self.sdk.connect(
            self.mode, command, handlers or Handlers(), **options
        ) as session:
            yield session

    @asynccontextmanager
    async def server(self, tapped: bool) -> AsyncIterator[list[str]]:
        """The command of the server, or its URL as a single word."""
        if not tapped:
            yield self.command
        elif not self.over_http:
            yield [sys.executable, str(HERE / "wiretap.py"), str(self.wire.directory), *self.command]
        else:
            tap = [sys.executable, str(HERE / "httptap.py"), str(self.wire.directory), *self.command]
            async with await anyio.open_process(tap, stderr=None) as process:
                yield [(await process.stdout.receive()).decode().strip()]
                await process.stdin.aclose()
                with anyio.CancelScope(shield=True):
                    await process.wait()


Case = Callable[[Env], Awaitable[None]]


@dataclass
class Suite:
    """The cases of one file, for an era and transports; for all by default."""

    era: str | None = None
    transports: tuple[str, ...] = ("stdio", "http", "http+sse")
    cases: list[tuple[str, str | None, tuple[str, ...], Case]] = field(default_factory=list)

    def case(self, name: str, era: str | None = None, transport: str | None = None) -> Callable[[Case], Case]:
        def add(function: Case) -> Case:
            self.cases.append((name, era or self.era, (transport,) if transport else self.transports, function))
            return function

        return add


def first_leaf(error: BaseException) -> BaseException:
    """SDK task groups wrap exceptions of a case; returns the first leaf."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def transport_to(command: list[str]) -> str:
    if not command[0].startswith("http://"):
        return "stdio"
    return "http+sse" if command[0].endswith("/sse") else "http"


async def run_mode(sdk: Any, mode: str, command: list[str], suites: list[Suite]) -> int:
    era = "legacy" if mode == "legacy" else "modern"
    transport = transport_to(command)
    shown = [] if transport == "stdio" else [transport]
    label = " ".join([sdk.LABEL, mode, *shown])
    logs = Path(os.environ["INTEROP_LOGS"]) / "-".join([sdk.SLUG, mode, *shown])
    only = os.environ.get("INTEROP_CASE", "")
    failed = 0
    cases = [
        (name, function)
        for suite in suites
        for name, wanted_era, transports, function in suite.cases
        if wanted_era in (None, era) and transport in transports and only in name
    ]
    for index, (name, function) in enumerate(cases):
        env = Env(sdk, mode, era, command, Wire(logs / f"{index:03}"))
        try:
            with anyio.fail_after(CASE_TIMEOUT):
                await function(env)
        except (Exception, BaseExceptionGroup) as raised:
            error = first_leaf(raised)
            if isinstance(error, NotOffered):
                print(f"N/A  {label}: {name} -- {error}", flush=True)
                continue
            failed += 1
            text = str(error) if isinstance(error, (Failure, RpcError)) else f"{type(error).__name__}: {error}"
            print(f"FAIL {label}: {name} -- {' '.join(text.split())[:600]} [wire {env.wire.directory.name}]", flush=True)
            if os.environ.get("INTEROP_TRACE"):
                traceback.print_exception(raised)
        else:
            print(f"PASS {label}: {name}", flush=True)
    return failed


def main(sdk: Any, suites: list[Suite]) -> None:
    """`client_vN.py COMMAND [ARGUMENT...]`, or `client_vN.py URL`; an URL that ends with `/sse` is one of 2024-11-05's transport."""
    modes = ["legacy"] if transport_to(sys.argv[1:]) == "http+sse" else sdk.MODES

    async def everything() -> int:
        if modes == ["legacy"] == sdk.MODES:
            print(f"N/A  {sdk.LABEL}: every case of 2026-07-28 -- {NotOffered('it supports only the handshake era')}", flush=True)
        return sum([await run_mode(sdk, mode, sys.argv[1:], suites) for mode in modes])

    sys.exit(1 if anyio.run(everything) else 0)
