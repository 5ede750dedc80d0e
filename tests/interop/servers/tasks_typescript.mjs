// Tools that run as tasks (2025-11-25) on the npm package `@modelcontextprotocol/sdk` 1.x: over stdio, or with `--http PORT` over Streamable HTTP.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
    CallToolRequestSchema, CreateMessageResultSchema, ElicitResultSchema, ErrorCode, ListToolsRequestSchema, McpError,
} from '@modelcontextprotocol/sdk/types.js';

import { listen, Sessions, wantedPort } from './http.mjs';

const DATA = JSON.parse(readFileSync(new URL('tasks.json', import.meta.url), 'utf8'));
const TOOLS = new Map([...DATA.tools, ...DATA.askingTools].map((tool) => [tool.name, tool]));
const POLL_MS = 100;

const text = (value, isError = undefined) => ({ content: [{ type: 'text', text: value }], ...(isError && { isError }) });

/** The SDK's store, which keeps errors, too. */
class Store extends InMemoryTaskStore {
    errors = new Map();

    async getTaskResult(taskId, sessionId) {
        if (this.errors.has(taskId)) throw this.errors.get(taskId);
        return super.getTaskResult(taskId, sessionId);
    }
}

const store = new Store();

/** Each returns a result, or throws an McpError. Without `ask` the call is no task. */
const JOBS = {
    async slow_compute({ seconds, label }, { report, ended }) {
        for (let passed = 0; passed < seconds && !(await ended()); passed += 1) {
            await report(`${label}: ${passed} of ${seconds} s`);
            await sleep(1000);
        }
        return text(`${label}: done after ${seconds} s`);
    },
    async failing_job() {
        await sleep(1000);
        return text('the job failed', true);
    },
    async protocol_error_job() {
        throw new McpError(ErrorCode.InternalError, 'the job broke');
    },
    async confirm_delete({ filename }, { ask }) {
        const { action, content } = await ask(`Delete ${filename}?`, DATA.confirm);
        return text(`${action === 'accept' && content.confirm === true ? 'deleted' : 'kept'} ${filename}`);
    },
    async multi_input(_args, { ask }) {
        const answers = await Promise.all(['first name?', 'last name?'].map((question) => ask(question, DATA.name)));
        return text(answers.map(({ action, content }) => (action === 'accept' ? content.name : action)).join(' '));
    },
    async test_tool_with_task(_args, { ask }) {
        const { action, content } = await ask('user_name?', DATA.name);
        return text(action === 'accept' ? `hello ${content.name}` : action);
    },
};

/** Reads the end of a stream of task messages. */
async function settled(stream) {
    for await (const message of stream) {
        if (message.type === 'result') return message.result;
        if (message.type === 'error') throw message.error;
    }
    throw new McpError(ErrorCode.InternalError, 'the stream had no end');
}

/** A server for one session; the tasks are in one store. */
function serverOf() {
    const server = new Server(DATA.serverInfo, {
        capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
        taskStore: store,
        taskMessageQueue: new InMemoryTaskMessageQueue(),
        defaultTaskPollInterval: POLL_MS,
    });
    const calls = {
        greet: ({ name }) => text(`Hello, ${name}!`),
        async ask_user_as_task(_args, { requestId }) {
            const params = { mode: 'form', message: 'name?', requestedSchema: DATA.name };
            const options = { task: { ttl: 60_000 }, relatedRequestId: requestId };
            const request = { method: 'elicitation/create', params };
            const { action, content } = await settled(server.experimental.tasks.requestStream(request, ElicitResultSchema, options));
            return text(action === 'accept' ? `accept ${content.name}` : action);
        },
        async ask_model_as_task({ prompt }, { requestId }) {
            const params = { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 };
            const options = { task: { ttl: 60_000 }, relatedRequestId: requestId };
            const request = { method: 'sampling/createMessage', params };
            const { content } = await settled(server.experimental.tasks.requestStream(request, CreateMessageResultSchema, options));
            return text(content.text);
        },
    };

    /** Runs a job as a task of its own. */
    async function start(job, args, task, { taskStore, sendRequest }) {
        const created = await taskStore.createTask({ ttl: task.ttl, pollInterval: POLL_MS });
        const { taskId } = created;
        const ended = async () => (await taskStore.getTask(taskId)).status === 'cancelled';
        let open = 0;
        const context = {
            ended,
            report: (message) => taskStore.updateTaskStatus(taskId, 'working', message),
            async ask(message, requestedSchema) {
                open += 1;
                const request = { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
                const answer = await sendRequest(request, ElicitResultSchema, { relatedTask: { taskId } });
                open -= 1;
                if (open === 0 && !(await ended())) await taskStore.updateTaskStatus(taskId, 'working');
                return answer;
            },
        };
        const finish = async (status, result) => {
            if (!(await ended())) await taskStore.storeTaskResult(taskId, status, result);
        };
        job(args, context).then(
            (result) => finish(result.isError ? 'failed' : 'completed', result),
            (error) => {
                store.errors.set(taskId, new McpError(error.code ?? ErrorCode.InternalError, 'the job broke'));
                return finish('failed', {});
            },
        ).catch((error) => console.error(error));
        return { task: created };
    }

    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS.values()] }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {}, task } }, extra) => {
        if (!TOOLS.has(name)) throw new McpError(ErrorCode.InvalidParams, `unknown: ${name}`);
        const support = TOOLS.get(name).execution?.taskSupport ?? 'forbidden';
        if (support === (task ? 'forbidden' : 'required')) throw new McpError(ErrorCode.MethodNotFound, `a task is ${support}`);
        if (task) return start(JOBS[name], args, task, extra);
        if (calls[name]) return calls[name](args, extra);
        return JOBS[name](args, { report: async () => {}, ended: async () => extra.signal.aborted });
    });
    return server;
}

/** Streamable HTTP at /mcp; a server for each session. */
function serveHttp(port) {
    const sessions = new Sessions(StreamableHTTPServerTransport, serverOf);
    listen(port, async (request, response, { pathname }) => {
        if (pathname === '/mcp') await sessions.handle(request, response);
        else response.writeHead(404).end();
    });
}

const port = wantedPort();
if (port === undefined) {
    // The store has a timer for each task, which would keep the process for the task's 60 seconds.
    process.stdin.once('end', () => process.exit());
    await serverOf().connect(new StdioServerTransport());
} else {
    serveHttp(port);
}
