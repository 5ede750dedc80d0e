// The offer on the npm package `@modelcontextprotocol/sdk` 1.x: over stdio, or with `--http PORT` over Streamable HTTP and HTTP+SSE.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
    CallToolRequestSchema, CompleteRequestSchema, CreateMessageResultSchema, ElicitResultSchema, GetPromptRequestSchema,
    ListPromptsRequestSchema, ListResourcesRequestSchema, ListResourceTemplatesRequestSchema, ListRootsResultSchema,
    ListToolsRequestSchema, McpError, ReadResourceRequestSchema, SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { listen, Sessions, wantedPort } from './http.mjs';
import { COUNTER, DATA, Offer, OPTIONS, refusingWith, RESOURCE_NOT_FOUND, text } from './offer.mjs';

const known = refusingWith(McpError);

const reportTo = ({ _meta, sendNotification }) => async (progress) => {
    if (_meta?.progressToken === undefined) return;
    const params = { progressToken: _meta.progressToken, ...progress };
    await sendNotification({ method: 'notifications/progress', params });
};

/** A server for one session. */
function serverOf() {
    const offer = new Offer();
    const server = new Server(DATA.serverInfo, OPTIONS);
    const tools = {
        slow: (args, extra) => offer.slow(args, extra.signal, reportTo(extra)),
        hang_up: (_args, extra) => offer.hangUp(extra.closeSSEStream, reportTo(extra)),
        session: (_args, { sessionId }) => text(sessionId ?? ''),
        async log({ level, text: data }, { sessionId }) {
            await server.sendLoggingMessage({ level, logger: 'offer', data }, sessionId);
            return text('sent'); // or withheld by the SDK, which remembers the session's level
        },
        async ask_model({ prompt }, { sendRequest }) {
            const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
            const params = { messages, ...DATA.askModel };
            const { content } = await sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
            return text(content.text ?? content.type);
        },
        async ask_user(_args, { sendRequest }) {
            const params = { mode: 'form', ...DATA.askUser };
            const { action, content } = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
            return text(action === 'accept' ? `accept ${content.name}` : action);
        },
        async ask_url(_args, { requestId }) {
            const { action } = await server.elicitInput({ mode: 'url', ...DATA.askUrl }, { relatedRequestId: requestId });
            if (action === 'accept') await server.createElicitationCompletionNotifier(DATA.askUrl.elicitationId)();
            return text(action);
        },
        async roots(_args, { sendRequest }) {
            const { roots } = await sendRequest({ method: 'roots/list' }, ListRootsResultSchema);
            return text(roots.map((root) => root.uri).join('\n'));
        },
        async change({ what }) {
            offer.change(what);
            if (what === 'tools') await server.sendToolListChanged();
            if (what === 'resources') await server.sendResourceListChanged();
            if (what === 'prompts') await server.sendPromptListChanged();
            if (what === 'counter' && offer.subscribed.has(COUNTER)) await server.sendResourceUpdated({ uri: COUNTER });
            return text('changed');
        },
        async ping() {
            await server.ping();
            return text('pong');
        },
    };

    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offer.tools() }));
    server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }, extra) =>
        known(() => (Object.hasOwn(tools, name) ? tools[name](args, extra) : offer.call(name, args))));
    server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => known(() => offer.resourcePage(params?.cursor)));
    server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: DATA.templates }));
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) =>
        known(() => ({ contents: [offer.read(uri)] }), RESOURCE_NOT_FOUND));
    server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => (offer.subscribed.add(uri), {}));
    server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => (offer.subscribed.delete(uri), {}));
    server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: offer.prompts() }));
    server.setRequestHandler(GetPromptRequestSchema, ({ params }) => known(() => offer.prompt(params.name, params.arguments)));
    server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({ completion: offer.complete(params.argument) }));
    return server;
}

/** Streamable HTTP at /mcp, HTTP+SSE at /sse with its messages at /messages; a server for each session of either. */
function serveHttp(port) {
    const streamable = new Sessions(StreamableHTTPServerTransport, serverOf);
    const sse = new Map();

    listen(port, async (request, response, { pathname, searchParams }) => {
        if (pathname === '/mcp') {
            await streamable.handle(request, response);
        } else if (pathname === '/sse' && request.method === 'GET') {
            const transport = new SSEServerTransport('/messages', response);
            sse.set(transport.sessionId, transport);
            await serverOf().connect(transport);
        } else if (pathname === '/messages' && sse.has(searchParams.get('sessionId'))) {
            await sse.get(searchParams.get('sessionId')).handlePostMessage(request, response);
        } else {
            response.writeHead(404).end();
        }
    });
}

const port = wantedPort();
if (port === undefined) await serverOf().connect(new StdioServerTransport());
else serveHttp(port);
