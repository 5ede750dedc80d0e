#!/usr/bin/env -S python3 -B
"""Checks offers.json against every reference server, on every transport and in every revision.

    tests/interop/servers/check.py [--print] [SERVER...]

A feature that is true in offers.json must work; one with a reason must not. --print prints the results
as JSON instead, to start an offers.json. INTEROP_DIR as for `start`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from itertools import repeat
from pathlib import Path

from features import FEATURES, Wrong, want
from http_features import HTTP_FEATURES
from http_peer import HttpPeer, SsePeer
from peer import MODERN, Conversation, Json, Peer, Refused, Silent

HERE = Path(__file__).resolve().parent
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN]
SERVERS = ["python-v1", "python-v2", "typescript-v1", "typescript-v2", "rmcp"]
SSE_SERVERS = ["python-v1", "typescript-v1"]
FRESH = {"unsubscribe", "ends_at_eof"}
FAILURES = (Wrong, Refused, Silent, KeyError, OSError, HTTPException)
Connect = Callable[[], Conversation]


def ends_at_eof(peer: Conversation) -> None:
    peer.request("tools/list")
    status, seconds = peer.close()
    if status != 0 or seconds > 4:
        raise Wrong(f"status {status} after {seconds:.1f} s")


OF_TRANSPORT = {"stdio": {"ends_at_eof": ends_at_eof}, "http": HTTP_FEATURES, "http+sse": {}}


def command_of(*arguments: str) -> list[str]:
    started = subprocess.run([HERE / "start", "--command", *arguments], check=True, capture_output=True, text=True)
    return started.stdout.splitlines()


@contextmanager
def listening(server: str) -> Iterator[str]:
    """Runs a server, and yields its URL."""
    # Python 1.x logs every refused request on stderr, with a stack trace.
    process = subprocess.Popen(command_of("--http", server), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def connected(connect: Connect, revision: str) -> Conversation:
    peer = connect()
    try:
        hello = peer.open(revision)
        if revision != MODERN:
            want(hello["protocolVersion"], revision)
    except BaseException:
        peer.close()
        raise
    return peer


def outcomes(transport: str, connect: Connect, revision: str) -> dict[str, bool | str]:
    """One connection serves all features, until one leaves it in an unknown state or needs a new one."""
    found: dict[str, bool | str] = {}
    features = {**FEATURES, **OF_TRANSPORT[transport]}
    peer: Conversation | None = None
    for name, run in features.items():
        if peer and name in FRESH:
            peer = peer.close() and None
        if not peer:
            try:
                peer = connected(connect, revision)
            except FAILURES as error:
                return dict.fromkeys(features, f"{type(error).__name__}: {error}")
        try:
            peer.seen.clear()
            run(peer)
            found[name] = True
        except FAILURES as error:
            found[name] = f"{type(error).__name__}: {error}"
            if not isinstance(error, (Wrong, Refused, KeyError)):
                peer = peer.close() and None
    if peer:
        peer.close()
    return found


def all_outcomes(server: str) -> Iterator[tuple[str, str, dict[str, bool | str]]]:
    """All revisions at once, since they mostly wait."""
    command = command_of(server)
    with ThreadPoolExecutor() as pool, listening(server) as url:
        ways: list[tuple[str, list[str], Connect]] = [
            ("stdio", REVISIONS, lambda: Peer(command)),
            ("http", REVISIONS, lambda: HttpPeer(url)),
            ("http+sse", REVISIONS[:1], lambda: SsePeer(url.removesuffix("/mcp") + "/sse")),
        ]
        for transport, revisions, connect in ways[: 3 if server in SSE_SERVERS else 2]:
            found = pool.map(partial(outcomes, transport, connect), revisions)
            yield from zip(repeat(transport), revisions, found)


def claimed_of(offers: Json, transport: str, revision: str) -> Json:
    """Offers over HTTP are those over stdio, unless stated otherwise."""
    claimed = offers.get(revision, {})
    features = {**FEATURES, **OF_TRANSPORT[transport]}
    if isinstance(claimed, str):  # the reason why the revision is not supported
        return dict.fromkeys(features, claimed)
    common = {name: claimed[name] for name in claimed if transport == "stdio" or name in FEATURES}
    return {**common, **offers.get(transport, {}).get(revision, {})}


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--print"]
    failed, seen = 0, {}
    offers = json.loads((HERE / "offers.json").read_text())
    for server in arguments or SERVERS:
        for transport, revision, found in all_outcomes(server):
            claimed = claimed_of(offers.get(server, {}), transport, revision)
            if "--print" in sys.argv:
                if transport == "stdio":
                    seen.setdefault(server, {})[revision] = found
                else:
                    new = {name: outcome for name, outcome in found.items() if (outcome is True) != (claimed.get(name) is True)}
                    seen.setdefault(server, {}).setdefault(transport, {})[revision] = new
                continue
            wrong = {n: f for n, f in found.items() if (f is True) != (claimed.get(n) is True) or n not in claimed}
            wrong |= {n: "not a feature" for n in claimed if n not in found}
            for name, problem in wrong.items():
                failed += 1
                print(f"FAIL {server} {transport} {revision}: {name} -- {'works' if problem is True else problem}", flush=True)
            if not wrong:
                offered = sum(outcome is True for outcome in found.values())
                print(f"PASS {server} {transport} {revision}: {offered} of {len(found)} features offered", flush=True)
    if "--print" in sys.argv:
        print(json.dumps(seen, indent=2))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
