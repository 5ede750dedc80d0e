// Tests a server with the npm package `@modelcontextprotocol/sdk` 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import {
    CallToolResultSchema, CreateMessageRequestSchema, CreateTaskResultSchema, ElicitRequestSchema, ErrorCode, ListRootsRequestSchema, McpError, ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { readFileSync } from 'node:fs';

import { SUITE as common } from './cases_common.mjs';
import { SUITE as http } from './cases_http.mjs';
import { SUITE as legacy } from './cases_legacy.mjs';
import { SUITE as tasks } from './cases_tasks.mjs';
import { main, RpcError, TimedOut, transportTo } from './harness.mjs';
import { Session } from './session.mjs';

const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8'));
const VERSION = lock.packages['node_modules/@modelcontextprotocol/sdk'].version;

async function translated(call) {
    try {
        return await call();
    } catch (error) {
        if (!(error instanceof McpError)) throw error;
        if (error.code === ErrorCode.RequestTimeout) throw new TimedOut(error.message);
        throw new RpcError(error.code, error.message, error.data);
    }
}

class SdkSession extends Session {
    async list(kind) {
        const [call, member] = {
            tools: [(p) => this.client.listTools(p), 'tools'],
            resources: [(p) => this.client.listResources(p), 'resources'],
            templates: [(p) => this.client.listResourceTemplates(p), 'resourceTemplates'],
            prompts: [(p) => this.client.listPrompts(p), 'prompts'],
        }[kind];
        const items = [];
        let cursor;
        for (let pages = 0; pages < 100; pages += 1) {
            const page = await translated(() => call(cursor === undefined ? undefined : { cursor }));
            items.push(...page[member]);
            cursor = page.nextCursor;
            if (cursor === undefined) return items;
        }
        throw new Error('pagination does not end');
    }

    call(name, args, { progress, timeout, signal } = {}) {
        const options = { onprogress: progress, timeout, signal };
        return translated(() => this.client.callTool({ name, arguments: args }, undefined, options));
    }

    /** The SDK's calls for tasks of 2025-11-25. */
    get tasks() {
        const { tasks } = this.client.experimental;
        return {
            start: (name, args = {}, ttl = 60_000) =>
                translated(() => this.client.request({ method: 'tools/call', params: { name, arguments: args } }, CreateTaskResultSchema, { task: { ttl } }))
                    .then(({ task }) => task),
            get: ({ taskId }) => translated(() => tasks.getTask(taskId)),
            result: ({ taskId }, signal) => translated(() => tasks.getTaskResult(taskId, CallToolResultSchema, { signal })),
            cancel: ({ taskId }) => translated(() => tasks.cancelTask(taskId)),
            list: (cursor) => translated(() => tasks.listTasks(cursor)),
            stream: (name, args) => tasks.callToolStream({ name, arguments: args }, undefined, { task: {} }),
        };
    }

    read(uri) {
        return translated(() => this.client.readResource({ uri }));
    }

    request(method, params) {
        return translated(() => this.client.request({ method, params }, ResultSchema));
    }
}

function serverAt([command, ...args]) {
    switch (transportTo([command])) {
        case 'http': return new StreamableHTTPClientTransport(new URL(command));
        case 'http+sse': return new SSEClientTransport(new URL(command));
        default: return new StdioClientTransport({ command, args });
    }
}

async function connect(_mode, [command, ...args], handlers) {
    const capabilities = {};
    if (handlers.sampling) capabilities.sampling = {};
    if (handlers.elicitation) capabilities.elicitation = { form: {} };
    if (handlers.roots) capabilities.roots = { listChanged: true };
    const hosting = {};
    if (handlers.hostsTasks) {
        const requests = { ...(handlers.sampling && { sampling: { createMessage: {} } }), ...(handlers.elicitation && { elicitation: { create: {} } }) };
        capabilities.tasks = { list: {}, cancel: {}, requests };
        Object.assign(hosting, { taskStore: new InMemoryTaskStore(), taskMessageQueue: new InMemoryTaskMessageQueue() });
    }
    const client = new Client({ name: 'interop', version: '1' }, { capabilities, ...hosting });
    const answering = (handler) => async (request, { taskStore }) => {
        try {
            if (!request.params.task) return await handler(request.params);
            const task = await taskStore.createTask({ ttl: request.params.task.ttl, pollInterval: 100 });
            Promise.resolve(handler(request.params)).then((result) => taskStore.storeTaskResult(task.taskId, 'completed', result));
            return { task };
        } catch (error) {
            throw error instanceof RpcError ? new McpError(error.code, 'refused by the test') : error;
        }
    };
    if (handlers.sampling) client.setRequestHandler(CreateMessageRequestSchema, answering(handlers.sampling));
    if (handlers.elicitation) client.setRequestHandler(ElicitRequestSchema, answering(handlers.elicitation));
    if (handlers.roots) client.setRequestHandler(ListRootsRequestSchema, answering(handlers.roots));
    const transport = serverAt([command, ...args]);
    const session = new SdkSession(client, transport, translated);
    // The client passes the negotiated version to its transport and does not store it elsewhere.
    const told = transport.setProtocolVersion;
    transport.setProtocolVersion = (version) => {
        session.protocolVersion = version;
        told?.call(transport, version);
    };
    await translated(() => client.connect(transport));
    return session;
}

await main({ LABEL: `typescript sdk ${VERSION}`, SLUG: 'typescript-v1', MODES: ['legacy'], connect }, [common, legacy, tasks, http]);
