// The offer on the npm package `@modelcontextprotocol/server` 2.x, in both eras: over stdio, or with `--http PORT` over Streamable HTTP.
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    createMcpHandler, inputRequired, isLegacyRequest, ProtocolError, Server, WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { listen, Sessions, wantedPort } from './http.mjs';
import { COUNTER, DATA, INVALID_PARAMS, Offer, OPTIONS, refusingWith, RESOURCE_NOT_FOUND, text } from './offer.mjs';

const known = refusingWith(ProtocolError);

/** `ask` is an input request: to a legacy client the SDK sends it as a request, and calls again with the answer. */
function asked(name, ask, show) {
    const state = `${name}-1`;
    return (args, { mcpReq }) => {
        const answer = mcpReq.inputResponses?.answer;
        if (answer === undefined) return inputRequired({ inputRequests: { answer: ask(args) }, requestState: state });
        if (mcpReq.requestState() !== state) throw new ProtocolError(INVALID_PARAMS, `requestState is ${mcpReq.requestState()}`);
        return text(show(answer));
    };
}

const askUrl = asked(
    'ask_url',
    () => inputRequired.elicitUrl({ message: DATA.askUrl.message, url: DATA.askUrl.url }),
    ({ action }) => action,
);

const reportTo = (mcpReq) => async (progress) => {
    if (mcpReq._meta?.progressToken === undefined) return;
    const params = { progressToken: mcpReq._meta.progressToken, ...progress };
    await mcpReq.notify({ method: 'notifications/progress', params });
};

function toolsOf(server, offer, notify) {
    return {
        slow: (args, { mcpReq }) => offer.slow(args, mcpReq.signal, reportTo(mcpReq)),
        hang_up: (_args, { mcpReq, http }) => offer.hangUp(http?.closeSSE, reportTo(mcpReq)),
        session: (_args, { sessionId }) => text(sessionId ?? ''),
        async log({ level, text: data }, { mcpReq }) {
            await mcpReq.log(level, data, 'offer');
            return text('sent'); // or withheld by the SDK, which knows the session's or the request's level
        },
        ask_model: asked(
            'ask_model',
            ({ prompt }) => inputRequired.createMessage({
                messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
                ...DATA.askModel,
            }),
            ({ content }) => content.text ?? content.type,
        ),
        ask_user: asked(
            'ask_user',
            () => inputRequired.elicit(DATA.askUser),
            ({ action, content }) => (action === 'accept' ? `accept ${content.name}` : action),
        ),
        async ask_url(args, context) {
            if (context.mcpReq.envelope !== undefined) return askUrl(args, context);
            const { action } = await context.mcpReq.elicitInput({ mode: 'url', ...DATA.askUrl });
            if (action === 'accept') await server.createElicitationCompletionNotifier(DATA.askUrl.elicitationId)();
            return text(action);
        },
        roots: asked('roots', () => inputRequired.listRoots(), ({ roots }) => roots.map((root) => root.uri).join('\n')),
        async change({ what }, { mcpReq }) {
            offer.change(what);
            const modern = mcpReq.envelope !== undefined;
            if (modern && notify) {
                if (what === 'counter') notify().resourceUpdated(COUNTER);
                else notify()[`${what}Changed`]();
                return text('changed');
            }
            if (what === 'tools') await server.sendToolListChanged();
            if (what === 'resources') await server.sendResourceListChanged();
            if (what === 'prompts') await server.sendPromptListChanged();
            const wanted = modern || offer.subscribed.has(COUNTER);
            if (what === 'counter' && wanted) await server.sendResourceUpdated({ uri: COUNTER });
            return text('changed');
        },
        async ping() {
            await server.ping();
            return text('pong');
        },
    };
}

/** Over HTTP in 2026-07-28 each request has a server of its own, and changes are published with `notify`. */
function serverOf(offer, notify) {
    const server = new Server(DATA.serverInfo, OPTIONS);
    const tools = toolsOf(server, offer, notify);
    server.setRequestHandler('tools/list', () => ({ tools: offer.tools() }));
    server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {} } }, context) =>
        known(() => (Object.hasOwn(tools, name) ? tools[name](args, context) : offer.call(name, args))));
    server.setRequestHandler('resources/list', ({ params }) => known(() => offer.resourcePage(params?.cursor)));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: DATA.templates }));
    server.setRequestHandler('resources/read', ({ params: { uri } }, { mcpReq }) =>
        known(() => ({ contents: [offer.read(uri)] }), mcpReq.envelope ? INVALID_PARAMS : RESOURCE_NOT_FOUND));
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => (offer.subscribed.add(uri), {}));
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => (offer.subscribed.delete(uri), {}));
    server.setRequestHandler('prompts/list', () => ({ prompts: offer.prompts() }));
    server.setRequestHandler('prompts/get', ({ params }) => known(() => offer.prompt(params.name, params.arguments)));
    server.setRequestHandler('completion/complete', ({ params }) => ({ completion: offer.complete(params.argument) }));
    return server;
}

/** Streamable HTTP at /mcp: a server and an offer for each session, and one offer for all requests that have none. */
function serveHttp(port) {
    const sessions = new Sessions(WebStandardStreamableHTTPServerTransport, () => serverOf(new Offer()));
    const shared = new Offer();
    const modern = createMcpHandler(() => serverOf(shared, () => modern.notify), { legacy: 'reject' });

    const handle = toNodeHandler({
        async fetch(request, options) {
            if (!(await isLegacyRequest(request))) return modern.fetch(request, options);
            const transport = await sessions.transport(request.headers.get('mcp-session-id'));
            return transport?.handleRequest(request, options) ?? new Response(null, { status: 404 });
        },
    });
    listen(port, async (request, response, { pathname }) => {
        if (pathname === '/mcp') await handle(request, response);
        else response.writeHead(404).end();
    });
}

const port = wantedPort();
if (port === undefined) serveStdio(() => serverOf(new Offer()));
else serveHttp(port);
