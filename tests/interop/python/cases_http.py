"""Cases for HTTP only."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import anyio

from cases_common import still_works, text_of
from harness import Env, Json, RpcError, Suite, check

SUITE = Suite(transports=("http", "http+sse"))
case = SUITE.case
WATCHED = "test://watched-resource"
TRIGGER = "test_trigger_resource_update"


async def status_of(verb: str, url: str, message: Json | None = None, **headers: str) -> int:
    """The response to a plain HTTP request."""

    def fetch() -> int:
        both = "application/json, text/event-stream"
        sent = {"Content-Type": "application/json", "Accept": both, **{k.replace("_", "-"): v for k, v in headers.items()}}
        body = None if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, sent, method=verb), timeout=5) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    return await anyio.to_thread.run_sync(fetch)


def session_of(env: Env) -> str:
    """The id of the first session."""
    ids = [head.fields["mcp-session-id"] for head in env.wire.heads("response") if "mcp-session-id" in head.fields]
    check(ids and len(ids[0]) >= 16, "a session id that cannot be guessed", ids)
    return ids[0]


@case("an early end of the stream: the SDK comes back with Last-Event-ID for the answer", era="legacy", transport="http")
async def resumes(env: Env) -> None:
    async with env.open() as session:
        check(text_of(await session.call("test_reconnection")), "text")
        await still_works(session)
    resumed = [head for head in env.wire.heads("request") if "last-event-id" in head.fields]
    check(len(resumed) == 1, "one GET with Last-Event-ID", len(resumed))
    check(resumed[0].start.startswith("GET "), "always GET", resumed[0].start)


@case("closing deletes the session: 404 from then on", era="legacy", transport="http")
async def deletes(env: Env) -> None:
    async with env.open() as session:
        await still_works(session)
    deleted = [head.start for head in env.wire.heads("request") if head.start.startswith("DELETE ")]
    check(len(deleted) == 1, "one DELETE", deleted)
    status = await status_of("POST", env.command[0], {"id": 1, "method": "ping"}, Mcp_Session_Id=session_of(env))
    check(status == 404, "status of a request in a deleted session", status)


@case("a session that the server has forgotten: the call fails or begins anew, and a new session works", era="legacy", transport="http")
async def forgotten(env: Env) -> None:
    async with env.open() as session:
        await still_works(session)
        status = await status_of("DELETE", env.command[0], Mcp_Session_Id=session_of(env))
        check(200 <= status < 300, "status of DELETE", status)
        try:
            with anyio.fail_after(5):
                await still_works(session)
        except RpcError:
            pass  # this SDK leaves reconnecting to the application
    check(404 in [head.status for head in env.wire.heads("response")], "the SDK must have received 404")
    async with env.open() as session:
        await still_works(session)


@case("an id that no session has: 404", era="legacy", transport="http")
async def unknown_sessions(env: Env) -> None:
    message = {"id": 1, "method": "tools/list"}
    status = await status_of("POST", env.command[0], message, Mcp_Session_Id="0123456789abcdef0123456789abcdef")
    check(status == 404, "an unknown session", status)


@case("no session in the stateless era", era="modern", transport="http")
async def stateless(env: Env) -> None:
    async with env.open() as session:
        await still_works(session)
        await session.call("test_simple_text")
    named = [head.start for head in env.wire.heads("response") if "mcp-session-id" in head.fields]
    check(not named, "mcp-session-id in a response", named)
    check(all(head.start.startswith("POST ") for head in env.wire.heads("request")), "nothing but POST")


@case("closing ends the session: its endpoint is gone", transport="http+sse")
async def sse_ends(env: Env) -> None:
    async with env.open() as session:
        await still_works(session)
    posts = [head.start.split(" ")[1] for head in env.wire.heads("request") if head.start.startswith("POST ")]
    url = env.command[0].removesuffix("/sse") + posts[0]
    with anyio.fail_after(3):
        while (status := await status_of("POST", url, {"id": 1, "method": "ping"})) != 404:
            check(status == 202, "status of a message to a session that has ended", status)
            await anyio.sleep(0.05)


@case("eight clients at once, each with its own answers")
async def together(env: Env) -> None:
    async def one(index: int) -> None:
        async with env.open() as session:
            for turn in range(5):
                token = str(1000 * index + turn)
                contents = (await session.read(f"test://template/{token}/data"))["contents"]
                check(token in contents[0]["text"], "another client's response", token, contents)
            await session.call("slow", {"seconds": 0.2})

    async with anyio.create_task_group() as group:
        for index in range(8):
            group.start_soon(one, index)


@case("what one session has subscribed to is not sent to another", era="legacy")
async def subscriptions_apart(env: Env) -> None:
    def updates(session) -> int:
        return len([n for n in session.notifications if n["method"] == "notifications/resources/updated"])

    async with env.open() as first, env.open() as second:
        await first.subscribe(WATCHED)
        await second.call(TRIGGER, {})
        await anyio.sleep(0.3)
        check([updates(first), updates(second)] == [1, 0], "updates of the first and the second", updates(first), updates(second))


@case("a foreign Origin or Host is refused with 403")
async def foreign(env: Env) -> None:
    verb, message = ("GET", None) if env.command[0].endswith("/sse") else ("POST", {"id": 1, "method": "ping"})
    for name, value in (("Origin", "https://evil.example"), ("Host", "evil.example")):
        status = await status_of(verb, env.command[0], message, **{name: value})
        check(status == 403, f"status with a foreign {name}", status)
