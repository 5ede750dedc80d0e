// Tests a server with the npm package `@modelcontextprotocol/client` 2.x.
import {
    Client, LOG_LEVEL_META_KEY, ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { readFileSync } from 'node:fs';

import { SUITE as common } from './cases_common.mjs';
import { SUITE as http } from './cases_http.mjs';
import { SUITE as legacy } from './cases_legacy.mjs';
import { SUITE as modern } from './cases_modern.mjs';
import { SUITE as tasks } from './cases_tasks_ext.mjs';
import { main, NotOffered, RpcError, TimedOut, transportTo } from './harness.mjs';
import { Session } from './session.mjs';

const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8'));
const VERSION = lock.packages['node_modules/@modelcontextprotocol/client'].version;

/** A schema that takes anything: what came is judged by the cases. */
const anything = { '~standard': { version: 1, vendor: 'interop', validate: (value) => ({ value }) } };

/** An error of JSON-RPC that came with a status of its own: this SDK takes only those with 400 for answers. */
function answered(error) {
    try {
        const { id, error: refusal } = JSON.parse(error.data.text);
        return id === undefined ? error : new RpcError(refusal.code, refusal.message, refusal.data);
    } catch {
        return error;
    }
}

async function translated(call) {
    try {
        return await call();
    } catch (error) {
        if (error instanceof ProtocolError) throw new RpcError(error.code, error.message, error.data);
        if (error instanceof SdkHttpError) throw answered(error);
        if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) throw new TimedOut(error.message);
        if (error instanceof SdkError && error.code === SdkErrorCode.MethodNotSupportedByProtocolVersion) {
            throw new NotOffered(error.message);
        }
        throw error;
    }
}

class SdkSession extends Session {
    constructor(client, transport, capabilities) {
        super(client, transport, translated);
        this.capabilities = capabilities;
    }

    get protocolVersion() {
        return this.client.getNegotiatedProtocolVersion();
    }

    /** The SDK follows the cursors by itself. */
    async list(kind) {
        const fresh = { cacheMode: 'bypass' };
        switch (kind) {
            case 'tools': return (await translated(() => this.client.listTools(undefined, fresh))).tools;
            case 'resources': return (await translated(() => this.client.listResources(undefined, fresh))).resources;
            case 'templates': return (await translated(() => this.client.listResourceTemplates(undefined, fresh))).resourceTemplates;
            case 'prompts': return (await translated(() => this.client.listPrompts(undefined, fresh))).prompts;
        }
    }

    call(name, args, { progress, timeout, logLevel, signal } = {}) {
        const meta = logLevel ? { _meta: { [LOG_LEVEL_META_KEY]: logLevel } } : {};
        const options = { onprogress: progress, timeout, signal };
        return translated(() => this.client.callTool({ name, arguments: args, ...meta }, options));
    }

    /** One leg of a multi-round call, without the SDK answering for us. */
    callRound(name, args, inputResponses, requestState) {
        const params = { name, arguments: args, inputResponses, requestState };
        const request = { method: 'tools/call', params: JSON.parse(JSON.stringify(params)) };
        return translated(() => this.client.request(request, anything, { allowInputRequired: true }));
    }

    read(uri) {
        return translated(() => this.client.readResource({ uri }, { cacheMode: 'bypass' }));
    }

    request(method, params) {
        return translated(() => this.client.request({ method, params }, anything));
    }

    listen(filter) {
        return translated(() => this.client.listen(filter));
    }
}

function serverAt([command, ...args]) {
    switch (transportTo([command])) {
        case 'http': return new StreamableHTTPClientTransport(new URL(command));
        case 'http+sse': return new SSEClientTransport(new URL(command));
        default: return new StdioClientTransport({ command, args });
    }
}

async function connect(mode, [command, ...args], handlers) {
    const capabilities = { ...handlers.capabilities };
    if (handlers.sampling) capabilities.sampling = {};
    if (handlers.elicitation) capabilities.elicitation = { form: {} };
    if (handlers.roots) capabilities.roots = mode === 'legacy' ? { listChanged: true } : {};
    const negotiation = { legacy: 'legacy', auto: 'auto', pin: { pin: '2026-07-28' } };
    const client = new Client(
        { name: 'interop', version: '1' },
        { capabilities, versionNegotiation: { mode: negotiation[mode] } },
    );
    const answering = (handler) => async (request) => {
        try {
            return await handler(request.params);
        } catch (error) {
            throw error instanceof RpcError ? new ProtocolError(error.code, 'refused by the test') : error;
        }
    };
    if (handlers.sampling) client.setRequestHandler('sampling/createMessage', answering(handlers.sampling));
    if (handlers.elicitation) client.setRequestHandler('elicitation/create', answering(handlers.elicitation));
    if (handlers.roots) client.setRequestHandler('roots/list', answering(handlers.roots));
    const transport = serverAt([command, ...args]);
    const session = new SdkSession(client, transport, capabilities);
    await translated(() => client.connect(transport));
    return session;
}

await main(
    { LABEL: `typescript client ${VERSION}`, SLUG: 'typescript-v2', MODES: ['legacy', 'auto', 'pin'], connect },
    [common, legacy, modern, tasks, http],
);
