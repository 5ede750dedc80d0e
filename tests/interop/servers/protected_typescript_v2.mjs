// A protected server on the npm package `@modelcontextprotocol/server` 2.x, in both eras. It takes the JWTs of another
// program's authorization server.
//
//   ISSUER=URL node protected_typescript_v2.mjs --http PORT
//
// `whoami` says whose token the call came with. `write` needs the scope mcp:write: without it the HTTP status is 403.
import { randomUUID } from 'node:crypto';

import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    createMcpHandler, getOAuthProtectedResourceMetadataUrl, isLegacyRequest, McpServer, OAuthError, OAuthErrorCode,
    oauthMetadataResponse, requireBearerAuth, requireScopes, WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createServer } from 'node:http';

const issuer = process.env.ISSUER;
const oauthMetadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));

async function verifyAccessToken(token) {
    try {
        const { payload } = await jwtVerify(token, keys, { issuer });
        const resource = new URL(payload.aud);
        const scopes = payload.scope?.split(' ') ?? [];
        return { token, clientId: payload.client_id, scopes, expiresAt: payload.exp, resource, extra: { subject: payload.sub } };
    } catch (error) {
        throw new OAuthError(OAuthErrorCode.InvalidToken, error.message);
    }
}

function serverOf() {
    const server = new McpServer({ name: 'protected', version: '1' });
    const whoami = ({ http: { authInfo } }) => ({
        content: [{ type: 'text', text: `${authInfo.extra.subject}: ${authInfo.scopes.join(' ')}` }],
    });
    server.registerTool('whoami', {}, whoami);
    server.registerTool('write', { scopeChallenge: requireScopes('mcp:write') }, whoami);
    return server;
}

const sessions = new Map();
const modern = createMcpHandler(serverOf, { legacy: 'reject' });

async function opened() {
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id),
    });
    await serverOf().connect(transport);
    return transport;
}

const listener = createServer();
listener.listen(Number(process.argv[3]), '127.0.0.1', () => {
    const url = new URL(`http://127.0.0.1:${listener.address().port}/mcp`);
    const gate = requireBearerAuth({
        verifier: { verifyAccessToken },
        requiredScopes: ['mcp:tools'],
        resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(url),
        expectedResource: url,
    });
    listener.on('request', toNodeHandler({
        async fetch(request, options) {
            const metadata = oauthMetadataResponse(request, { oauthMetadata, resourceServerUrl: url, scopesSupported: ['mcp:tools'] });
            if (metadata !== undefined) return metadata;
            const authInfo = await gate(request);
            if (authInfo instanceof Response) return authInfo;
            if (!(await isLegacyRequest(request))) return modern.fetch(request, { ...options, authInfo });
            const id = request.headers.get('mcp-session-id');
            if (id !== null && !sessions.has(id)) return new Response(null, { status: 404 });
            return (id === null ? await opened() : sessions.get(id)).handleRequest(request, { ...options, authInfo });
        },
    }));
    console.log(url.href);
});
