"""Checks of a reference server for each feature in offers.json, on any transport."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from peer import META, MODERN, Conversation, Json, Refused, Silent

DATA = json.loads((Path(__file__).resolve().parent / "offer.json").read_text())
COUNTER = "test://counter"
FEATURES: dict[str, Callable[[Conversation], None]] = {}


class Wrong(Exception):
    """The response differs from the offer."""


def feature(function: Callable[[Conversation], None]) -> Callable[[Conversation], None]:
    FEATURES[function.__name__] = function
    return function


def want(seen: object, wanted: object) -> None:
    if seen != wanted:
        raise Wrong(f"{json.dumps(seen)[:200]} instead of {json.dumps(wanted)[:200]}")


def said(result: Json) -> str:
    if result.get("isError"):
        raise Wrong(f"isError: {json.dumps(result)[:200]}")
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def refused(code: int, call: Callable[[], object]) -> None:
    try:
        result = call()
    except Refused as error:
        return want(error.error["code"], code)
    raise Wrong(f"{json.dumps(result)[:200]} instead of error {code}")


def named(items: list[Json], key: str = "name") -> list[str]:
    return [item[key] for item in items]


# ---- tools ----


@feature
def list_tools(peer: Conversation) -> None:
    want(named(peer.request("tools/list")["tools"]), named(DATA["tools"]))


@feature
def echo(peer: Conversation) -> None:
    want(said(peer.call("echo", {"text": "zażółć 🦀 \u2028 \" \\"})), "zażółć 🦀 \u2028 \" \\")


@feature
def add(peer: Conversation) -> None:
    want(float(said(peer.call("add", {"a": 1.5, "b": 2}))), 3.5)


@feature
def structured_content(peer: Conversation) -> None:
    want(peer.call("add", {"a": 1, "b": 2}).get("structuredContent"), {"sum": 3})
    want([t.get("outputSchema") is not None for t in peer.request("tools/list")["tools"] if t["name"] == "add"], [True])


@feature
def progress(peer: Conversation) -> None:
    want(said(peer.call("slow", {"steps": 3, "ms": 10}, {"progressToken": "p"})), "done")
    for step in (1, 2, 3):
        seen = peer.take("notifications/progress")
        want([seen["progressToken"], seen["progress"], seen["total"]], ["p", step, 3])


@feature
def progress_message(peer: Conversation) -> None:
    peer.call("slow", {"steps": 1, "ms": 1}, {"progressToken": 7})
    want(peer.take("notifications/progress").get("message"), "step 1")


@feature
def observes_cancel(peer: Conversation) -> None:
    def cancelled() -> int:
        return int(peer.request("resources/read", {"uri": "test://cancelled"})["contents"][0]["text"])

    before = cancelled()
    request = peer.begin("tools/call", peer.params({"name": "slow", "arguments": {"steps": 100, "ms": 20}}))
    time.sleep(0.1)
    peer.send({"method": "notifications/cancelled", "params": {"requestId": request, "reason": "check"}})
    for _ in range(50):
        if cancelled() == before + 1:
            return
        time.sleep(0.05)
    raise Wrong("the call went on")


@feature
def silent_after_cancel(peer: Conversation) -> None:
    request = peer.begin("tools/call", peer.params({"name": "slow", "arguments": {"steps": 5, "ms": 60}}))
    time.sleep(0.1)
    peer.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    try:
        message = peer.receive(1.0)
    except Silent:
        return
    raise Wrong(f"answered {json.dumps(message)[:200]}")


@feature
def fail(peer: Conversation) -> None:
    want(peer.call("fail").get("isError"), True)


@feature
def unknown_tool(peer: Conversation) -> None:
    refused(-32602, lambda: peer.call("no_such_tool"))


@feature
def log(peer: Conversation) -> None:
    meta = {f"{META}logLevel": "debug"} if peer.revision == MODERN else None
    want(said(peer.call("log", {"level": "error", "text": "a line"}, meta)), "sent")
    seen = peer.take("notifications/message")
    want([seen["level"], seen["logger"], seen["data"]], ["error", "offer", "a line"])


@feature
def log_level(peer: Conversation) -> None:
    """Messages below the level are withheld: the session's, or since 2026-07-28 the request's."""
    meta = {f"{META}logLevel": "error"} if peer.revision == MODERN else None
    if not meta:
        peer.request("logging/setLevel", {"level": "error"})
    for level in ("info", "critical"):
        peer.call("log", {"level": level, "text": level}, meta)
    want(peer.take("notifications/message")["level"], "critical")


@feature
def no_unasked_log(peer: Conversation) -> None:
    """Since 2026-07-28: none without a level in the request."""
    if peer.revision != MODERN:
        raise Wrong("before 2026-07-28 the client does not have to ask")
    peer.call("log", {"level": "emergency", "text": "unasked"})
    want([m for m in peer.seen if m.get("method") == "notifications/message"], [])


@feature
def ask_model(peer: Conversation) -> None:
    want(said(peer.call("ask_model", {"prompt": "what is six times seven?"})), "forty-two")
    params = peer.take("sampling/createMessage")
    want([params["messages"][0]["role"], params["maxTokens"]], ["user", 100])


@feature
def ask_user(peer: Conversation) -> None:
    want(said(peer.call("ask_user")), "accept Ada")
    want(peer.take("elicitation/create")["requestedSchema"]["required"], ["name"])


@feature
def ask_url(peer: Conversation) -> None:
    want(said(peer.call("ask_url")), "accept")
    want(peer.take("elicitation/create")["url"], DATA["askUrl"]["url"])


@feature
def elicitation_complete(peer: Conversation) -> None:
    peer.call("ask_url")
    want(peer.take("notifications/elicitation/complete")["elicitationId"], DATA["askUrl"]["elicitationId"])


@feature
def roots(peer: Conversation) -> None:
    want(said(peer.call("roots")), "file:///one\nfile:///two")


@feature
def ping_client(peer: Conversation) -> None:
    want(said(peer.call("ping")), "pong")
    peer.take("ping")


@feature
def big(peer: Conversation) -> None:
    want(said(peer.call("big", {"bytes": 1 << 20})) == "x" * (1 << 20), True)


@feature
def image(peer: Conversation) -> None:
    want(named(peer.call("image")["content"], "data"), [DATA["image"]["data"]])


@feature
def mixed(peer: Conversation) -> None:
    want(named(peer.call("mixed")["content"], "type"), ["text", "image", "audio", "resource_link", "resource", "resource"])


# ---- resources, prompts, completion ----


@feature
def pages(peer: Conversation) -> None:
    found, cursors = [], [None]
    while cursors[-1] is not None or len(cursors) == 1:
        page = peer.request("resources/list", {"cursor": cursors[-1]} if cursors[-1] else None)
        found += named(page["resources"], "uri")
        cursors.append(page.get("nextCursor"))
    want(found, named(DATA["resources"], "uri"))
    want(len(cursors), 4)


@feature
def bad_cursor(peer: Conversation) -> None:
    refused(-32602, lambda: peer.request("resources/list", {"cursor": "no such cursor"}))


@feature
def templates(peer: Conversation) -> None:
    want(named(peer.request("resources/templates/list")["resourceTemplates"], "uriTemplate"), ["test://item/{id}"])
    want(peer.request("resources/read", {"uri": "test://item/42"})["contents"][0]["text"], "item 42")


@feature
def read(peer: Conversation) -> None:
    want(peer.request("resources/read", {"uri": "test://hello"})["contents"][0]["text"], "Hello, world")
    want(peer.request("resources/read", {"uri": "test://blob"})["contents"][0]["blob"], DATA["blob"])


@feature
def unknown_resource(peer: Conversation) -> None:
    code = -32602 if peer.revision == MODERN else -32002
    refused(code, lambda: peer.request("resources/read", {"uri": "test://nothing"}))


@feature
def prompts(peer: Conversation) -> None:
    want(named(peer.request("prompts/list")["prompts"]), ["plain", "with_args"])
    want(peer.request("prompts/get", {"name": "plain"})["messages"][0]["content"]["text"], "plain")
    greeting = peer.request("prompts/get", {"name": "with_args", "arguments": {"name": "Ada"}})
    want(greeting["messages"][0]["content"]["text"], "Hello, Ada")


@feature
def unknown_prompt(peer: Conversation) -> None:
    refused(-32602, lambda: peer.request("prompts/get", {"name": "nothing"}))


@feature
def complete(peer: Conversation) -> None:
    by_prompt = {"ref": {"type": "ref/prompt", "name": "with_args"}, "argument": {"name": "name", "value": "A"}}
    want(peer.request("completion/complete", by_prompt)["completion"]["values"], ["Ada", "Alan"])
    by_template = {"ref": {"type": "ref/resource", "uri": "test://item/{id}"}, "argument": {"name": "id", "value": "1"}}
    want(peer.request("completion/complete", by_template)["completion"]["values"], ["1", "10", "11"])


@feature
def ping(peer: Conversation) -> None:
    peer.request("ping")


@feature
def unknown_method(peer: Conversation) -> None:
    refused(-32601, lambda: peer.request("no/such/method"))


# ---- changes ----


def changes(peer: Conversation, what: str) -> None:
    """Listens, since 2026-07-28, and checks the identity of what comes."""
    notice = "notifications/resources/updated" if what == "counter" else f"notifications/{what}/list_changed"
    listening = None
    if peer.revision == MODERN:
        wanted = {"resourceSubscriptions": [COUNTER]} if what == "counter" else {f"{what}ListChanged": True}
        listening = peer.begin("subscriptions/listen", peer.params({"notifications": wanted}))
        acknowledged = peer.take("notifications/subscriptions/acknowledged")
        want(acknowledged["notifications"], wanted)
        want(acknowledged["_meta"][f"{META}subscriptionId"], listening)
    elif what == "counter":
        peer.request("resources/subscribe", {"uri": COUNTER})
    want(said(peer.call("change", {"what": what})), "changed")
    seen = peer.take(notice)
    want(seen.get("uri"), COUNTER if what == "counter" else None)
    if listening is not None:
        want(seen["_meta"][f"{META}subscriptionId"], listening)


@feature
def change_tools(peer: Conversation) -> None:
    changes(peer, "tools")
    want(named(peer.request("tools/list")["tools"])[-1], "extra")


@feature
def change_resources(peer: Conversation) -> None:
    changes(peer, "resources")
    want(peer.request("resources/read", {"uri": "test://extra"})["contents"][0]["text"], "extra")


@feature
def change_prompts(peer: Conversation) -> None:
    changes(peer, "prompts")
    want(named(peer.request("prompts/list")["prompts"])[-1], "extra")


@feature
def change_counter(peer: Conversation) -> None:
    changes(peer, "counter")
    want(peer.request("resources/read", {"uri": COUNTER})["contents"][0]["text"], "1")


@feature
def unsubscribe(peer: Conversation) -> None:
    """Before 2026-07-28; afterwards: the cancelled subscription is silent."""
    changes(peer, "counter")
    if peer.revision == MODERN:
        peer.send({"method": "notifications/cancelled", "params": {"requestId": peer.next_id - 2}})
        time.sleep(0.2)
    else:
        peer.request("resources/unsubscribe", {"uri": COUNTER})
    peer.seen.clear()
    peer.call("change", {"what": "counter"})
    try:
        peer.receive(0.5)
    except Silent:
        pass
    want([m for m in peer.seen if m.get("method") == "notifications/resources/updated"], [])
