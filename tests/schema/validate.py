#!/usr/bin/env python3
"""Validates output of servers and clients by the official JSON schemas of the protocol's revisions.

    validate.py SCHEMA_DIRECTORY LEAST RECORDING...      fewer than LEAST valid messages are a failure

The directory has a file a revision, and `tasks-2026-07-28.json`, the schema of the extension for tasks (modelcontextprotocol/ext-tasks,
schema/2026-07-28/schema.json). Without that file its messages are validated as any others.

A recording has a JSON object a line. Of the transcripts: {"session", "from": "client" | "server", "revision", "line"}; lines with a
revision are validated, the others are from the peer.
Of tests/interop (wiretap.py): {"dir": "c2s" | "s2c", "line"}, a file a session; the revision is inferred, and the output of the server is validated.
A result is validated by the method of the request with its id, a notification or request by its method.
"""

import collections
import json
import pathlib
import re
import sys

import jsonschema

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
MODERN = REVISIONS[-1]

TASKS = "tasks-2026-07-28"

RESULTS = {
    "initialize": "InitializeResult", "ping": "EmptyResult", "shutdown": "EmptyResult", "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult", "tools/call": "CallToolResult", "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult", "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult", "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult", "completion/complete": "CompleteResult", "logging/setLevel": "EmptyResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    # Of 2025-11-25. The result of `tasks/result` is that of another request.
    "tasks/get": "GetTaskResult", "tasks/list": "ListTasksResult", "tasks/cancel": "CancelTaskResult", "tasks/result": None,
    # A client's.
    "roots/list": "ListRootsResult", "sampling/createMessage": "CreateMessageResult", "elicitation/create": "ElicitResult",
}
OTHERS = {
    "notifications/cancelled": "CancelledNotification", "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/elicitation/complete": "ElicitationCompleteNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tasks/status": "TaskStatusNotification",
    "sampling/createMessage": "CreateMessageRequest", "roots/list": "ListRootsRequest", "elicitation/create": "ElicitRequest",
    "ping": "PingRequest",
    # A client's.
    "initialize": "InitializeRequest", "notifications/initialized": "InitializedNotification", "server/discover": "DiscoverRequest",
    "tools/list": "ListToolsRequest", "tools/call": "CallToolRequest", "resources/list": "ListResourcesRequest",
    "resources/templates/list": "ListResourceTemplatesRequest", "resources/read": "ReadResourceRequest",
    "resources/subscribe": "SubscribeRequest", "resources/unsubscribe": "UnsubscribeRequest", "prompts/list": "ListPromptsRequest",
    "prompts/get": "GetPromptRequest", "completion/complete": "CompleteRequest", "logging/setLevel": "SetLevelRequest",
    "subscriptions/listen": "SubscriptionsListenRequest", "notifications/roots/list_changed": "RootsListChangedNotification",
    "tasks/get": "GetTaskRequest", "tasks/list": "ListTasksRequest", "tasks/cancel": "CancelTaskRequest", "tasks/result": "GetTaskPayloadRequest",
}
# Results of requests that may be tasks in 2025-11-25.
TASK_RESULTS = ["CallToolResult", "CreateMessageResult", "ElicitResult"]
# Of the extension.
TASK_OTHERS = {
    "tasks/get": "GetTaskRequest", "tasks/update": "UpdateTaskRequest", "tasks/cancel": "CancelTaskRequest",
    "notifications/tasks": "TaskStatusNotification",
}
TASK_ANSWERS = {"tasks/get": "GetTaskResult", "tasks/update": "UpdateTaskResult", "tasks/cancel": "CancelTaskResult"}


class Schemas:
    def __init__(self, directory: pathlib.Path):
        self.schemas = {r: json.loads((directory / f"{r}.json").read_text("utf-8")) for r in REVISIONS}
        self.has_tasks = (directory / f"{TASKS}.json").exists()
        if self.has_tasks:
            self.schemas[TASKS] = json.loads((directory / f"{TASKS}.json").read_text("utf-8"))
        self.validators: dict[tuple[str, str], jsonschema.protocols.Validator] = {}

    def fault(self, revision: str, name: str, value: object) -> str | None:
        """The reason why a value is not of this type."""
        schema = self.schemas[revision]
        group = "$defs" if "$defs" in schema else "definitions"
        if name not in schema[group]:
            return f"{revision} has no {name}"
        if (revision, name) not in self.validators:
            whole = {"$schema": schema["$schema"], group: schema[group], "$ref": f"#/{group}/{name}"}
            self.validators[revision, name] = jsonschema.validators.validator_for(whole)(whole)
        error = jsonschema.exceptions.best_match(self.validators[revision, name].iter_errors(value))
        return None if error is None else f"not a {name}: {error.message[:200]} at {error.json_path}"


class Session:
    """The state of a conversation, to find the request of a response."""

    def __init__(self) -> None:
        self.methods: dict[str, set[tuple[str, bool]]] = collections.defaultdict(set)
        self.revision: str | None = None
        # Whether the peer's bytes were not split into lines, so that requests may be missing.
        self.is_raw = False
        # The implicit handshake of the transcripts.
        self.methods['"open"'].add(("initialize", False))

    def from_peer(self, line: str) -> None:
        # Not parsed: a line of a transcript may have abbreviations or be invalid on purpose.
        self.is_raw |= line.startswith("\\")
        modern = "io.modelcontextprotocol/protocolVersion" in line or "${meta" in line
        for method in re.findall(r'"method"\s*:\s*"((?:[^"\\]|\\.)*)"', line):
            for id in re.findall(r'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+]+)', line):
                self.methods[key(id)].add((method.replace("\\/", "/"), modern))

    def revision_of(self, message: dict) -> str:
        if "result" in message and "protocolVersion" in message["result"] and "serverInfo" in message["result"]:
            self.revision = message["result"]["protocolVersion"]
        asked = self.methods.get(key(json.dumps(message.get("id"))), set()) if "method" not in message else set()
        if any(modern for _, modern in asked) or self.revision is None:
            return MODERN
        if "subscriptionId" in json.dumps(message.get("params", {}).get("_meta", {})):
            return MODERN
        return self.revision


def key(id: str) -> str:
    try:
        return json.dumps(json.loads(id))
    except ValueError:
        return id


def fault(schemas: Schemas, session: Session, message: object, revision: str, bare_results: bool = False) -> str | None:
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "not a JSON-RPC message"
    if "error" in message:
        name = "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError"
        if name == "JSONRPCError" and message.get("id", 0) is None:
            # JSON-RPC 2.0 requires null if the id could not be read; those schemas do not allow it.
            message = {**message, "id": 0}
        return schemas.fault(revision, name, message)
    if revision == MODERN and schemas.has_tasks and message.get("method") in TASK_OTHERS:
        # Both: the metadata of requests is not in the extension's schema.
        base = "JSONRPCRequest" if "id" in message else "JSONRPCNotification"
        meta = schemas.fault(MODERN, "RequestMetaObject", message["params"].get("_meta")) if "id" in message else None
        return schemas.fault(TASKS, TASK_OTHERS[message["method"]], message) or schemas.fault(MODERN, base, message) or meta
    if "method" in message:
        name = None if revision == MODERN and message["method"] in TASK_OTHERS else OTHERS.get(message["method"])
        if name is None:
            # A custom method: validated as any request or notification.
            return schemas.fault(revision, "JSONRPCRequest" if "id" in message else "JSONRPCNotification", message)
        return schemas.fault(revision, name, message)
    envelope = schemas.fault(revision, "JSONRPCResultResponse" if revision >= "2025-11-25" else "JSONRPCResponse", message)
    if envelope is not None:
        return envelope
    methods = {method for method, _ in session.methods.get(key(json.dumps(message["id"])), set())}
    if not methods:
        return None if session.is_raw else "an answer to nothing"
    if revision == MODERN and (methods & set(TASK_ANSWERS) or message["result"].get("resultType") == "task"):
        return task_fault(schemas, methods, message["result"])
    names = [RESULTS.get(method, "Result") for method in methods]
    if "tasks/result" in methods:
        names = TASK_RESULTS
    elif revision == "2025-11-25" and "task" in message["result"]:
        names = ["CreateTaskResult"]
    if bare_results and not set(message["result"]) - {"resultType", "_meta"}:
        # Most transcripts have empty tool results, since their content does not matter.
        names.append("Result")
    if revision == MODERN and message["result"].get("resultType") == "input_required":
        names = ["InputRequiredResult"]
    faults = [schemas.fault(revision, name, message["result"]) for name in names]
    return None if None in faults else faults[0]


def task_fault(schemas: Schemas, methods: set[str], result: dict) -> str | None:
    """The reason why a result of the extension is not valid."""
    if not schemas.has_tasks:
        return schemas.fault(MODERN, "Result", result)
    if result.get("resultType") == "task":
        return schemas.fault(TASKS, "CreateTaskResult", result) if methods == {"tools/call"} else "a task for another method"
    found = [schemas.fault(TASKS, TASK_ANSWERS[method], result) for method in methods if method in TASK_ANSWERS]
    if result.get("status") == "completed" and not any(found):
        # The text does not say whether the result of the call repeats `resultType`.
        found.append(schemas.fault(MODERN, "CallToolResult", {"resultType": "complete", **result["result"]}))
    return next((fault for fault in found if fault is not None), None)


def self_test(schemas: Schemas) -> None:
    """Checks that validation can fail."""
    session = Session()
    session.from_peer('{"id":1,"method":"tools/list"}')
    good = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}}
    bad = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x"}]}}
    for revision in REVISIONS[:4]:
        assert fault(schemas, session, good, revision) is None, revision
        assert fault(schemas, session, bad, revision) is not None, revision
    assert "resultType" in (fault(schemas, session, good, MODERN) or ""), "a modern result needs resultType"
    assert fault(schemas, session, {**good, "id": 2}, REVISIONS[0]) == "an answer to nothing"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}
    assert fault(schemas, session, call, REVISIONS[0]) is None
    assert "_meta" in (fault(schemas, session, call, MODERN) or ""), "a modern request needs _meta"
    session.from_peer('{"id":2,"method":"tools/call"}')
    session.from_peer('{"id":3,"method":"tasks/get"}')
    task = {"taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
    created = {"jsonrpc": "2.0", "id": 2, "result": {"task": {**task, "ttl": None}}}
    assert fault(schemas, session, created, "2025-11-25") is None
    assert fault(schemas, session, {**created, "result": {"task": task}}, "2025-11-25") is not None, "a task needs ttl"
    if schemas.has_tasks:
        created["result"] = {"resultType": "task", **task, "ttlMs": None}
        assert fault(schemas, session, created, MODERN) is None
        got = {"jsonrpc": "2.0", "id": 3, "result": {**created["result"], "resultType": "complete"}}
        assert fault(schemas, session, got, MODERN) is None
        got["result"]["status"] = "completed"
        assert fault(schemas, session, got, MODERN) is not None, "a completed task needs a result"
    else:
        print(f"no {TASKS}.json: tasks of 2026-07-28 are validated as other results", file=sys.stderr)


def main() -> int:
    schemas = Schemas(pathlib.Path(sys.argv[1]))
    self_test(schemas)
    passed = failed = 0
    least = int(sys.argv[2])
    for path in sys.argv[3:]:
        sessions: dict[str, Session] = collections.defaultdict(Session)
        for record in map(json.loads, open(path, encoding="utf-8")):
            session = sessions[record.get("session", "")]
            if record.get("dir") == "c2s" or ("from" in record and "revision" not in record):
                session.from_peer(record["line"])
            elif record.get("dir") == "s2c" or "from" in record:
                message = json.loads(record["line"])
                revision = record.get("revision") or session.revision_of(message)
                found = fault(schemas, session, message, revision, bare_results=record.get("from") == "server")
                passed += found is None
                failed += found is not None
                if found is not None and failed <= 40:
                    print(f"{record.get('session', path)} ({revision}): {found}\n    {record['line'].strip()[:300]}")
    print(f"{passed} passed, {failed} failed")
    if passed < least:
        print(f"at least {least} messages must be validated", file=sys.stderr)
    return 1 if failed or passed < least else 0


if __name__ == "__main__":
    sys.exit(main())
