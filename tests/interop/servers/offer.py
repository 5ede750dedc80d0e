"""The offer of every reference server, in wire form, and the state that its tools change.

The SDK files beside this one add what only an SDK can do: sending requests and notifications.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DATA: Json = json.loads((Path(__file__).resolve().parent / "offer.json").read_text())
COUNTER = "test://counter"
ITEM = "test://item/"


class Unknown(LookupError):
    """An unknown tool, resource, prompt or cursor."""


def text(value: object) -> Json:
    return {"content": [{"type": "text", "text": str(value)}]}


class Offer:
    def __init__(self) -> None:
        self.extra: set[str] = set()
        self.counter = 0
        self.cancelled = 0
        self.level = "debug"
        self.subscribed: set[str] = set()

    # ---- lists ----

    def tools(self) -> list[Json]:
        return DATA["tools"] + ([DATA["extraTool"]] if "tools" in self.extra else [])

    def prompts(self) -> list[Json]:
        return DATA["prompts"] + ([DATA["extraPrompt"]] if "prompts" in self.extra else [])

    def resources(self) -> list[Json]:
        return DATA["resources"] + ([DATA["extraResource"]] if "resources" in self.extra else [])

    def resource_page(self, cursor: str | None) -> Json:
        """The cursor is the index of the page's first resource."""
        resources, size = self.resources(), DATA["resourcesPerPage"]
        try:
            start = int(cursor or 0)
        except ValueError as error:
            raise Unknown(f"cursor {cursor!r}") from error
        if not 0 <= start < len(resources):
            raise Unknown(f"cursor {cursor!r}")
        page: Json = {"resources": resources[start : start + size]}
        if start + size < len(resources):
            page["nextCursor"] = str(start + size)
        return page

    # ---- results ----

    def read(self, uri: str) -> Json:
        known = {resource["uri"]: resource for resource in self.resources()}
        if uri.startswith(ITEM) and uri != ITEM:
            return {"uri": uri, "mimeType": "text/plain", "text": f"item {uri[len(ITEM) :]}"}
        if uri not in known:
            raise Unknown(f"resource {uri}")
        contents = {"uri": uri, "mimeType": known[uri]["mimeType"]}
        if uri == "test://blob":
            return {**contents, "blob": DATA["blob"]}
        live = {COUNTER: str(self.counter), "test://cancelled": str(self.cancelled)}
        return {**contents, "text": live[uri] if uri in live else DATA["texts"][uri]}

    def prompt(self, name: str, arguments: dict[str, str]) -> Json:
        if name not in {prompt["name"] for prompt in self.prompts()}:
            raise Unknown(f"prompt {name}")
        if name == "with_args" and "name" not in arguments:
            raise Unknown("the argument name is missing")
        said = f"Hello, {arguments['name']}" if name == "with_args" else name
        return {"description": name, "messages": [{"role": "user", "content": {"type": "text", "text": said}}]}

    def complete(self, argument: str, value: str) -> Json:
        values = [known for known in DATA["completions"].get(argument, []) if known.startswith(value)]
        return {"values": values, "total": len(values), "hasMore": False}

    def call(self, name: str, arguments: Json) -> Json:
        """The tools that make no request to the client."""
        match name:
            case "echo":
                return text(arguments["text"])
            case "add":
                total = arguments["a"] + arguments["b"]
                return {**text(total), "structuredContent": {"sum": total}}
            case "fail":
                return {**text("this tool always fails"), "isError": True}
            case "big":
                return text("x" * arguments["bytes"])
            case "image":
                return {"content": [DATA["image"]]}
            case "mixed":
                return {"content": DATA["mixed"]}
            case "extra" if "tools" in self.extra:
                return text("extra")
        raise Unknown(f"tool {name}")

    def change(self, what: str) -> None:
        if what == "counter":
            self.counter += 1
        else:
            self.extra ^= {what}

    def wants_log(self, level: str) -> bool:
        return DATA["levels"].index(level) >= DATA["levels"].index(self.level)
