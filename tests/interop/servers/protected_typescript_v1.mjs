// A protected server with its own authorization server, on the npm package `@modelcontextprotocol/sdk` 1.x.
//
//   node protected_typescript_v1.mjs --http PORT
//
// `whoami` says whose token the call came with. There is no consent page: each authorization is granted at once. An
// access token of the client name `brief` ends after 4 seconds.
import { randomUUID } from 'node:crypto';

import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';

const SCOPE = 'mcp:tools';

/** The authorization server's part that the SDK leaves to the program: clients, codes and tokens, in memory. */
class Authorization {
    clients = new Map();
    codes = new Map();
    access = new Map();
    refresh = new Map();

    clientsStore = {
        getClient: (id) => this.clients.get(id),
        registerClient: (client) => (this.clients.set(client.client_id, client), client),
    };

    async authorize(client, { scopes, codeChallenge, redirectUri, resource, state }, response) {
        const code = randomUUID();
        this.codes.set(code, { client: client.client_id, codeChallenge, scopes: scopes?.length ? scopes : [SCOPE], resource });
        const back = new URL(redirectUri);
        back.searchParams.set('code', code);
        if (state !== undefined) back.searchParams.set('state', state);
        response.redirect(back.href);
    }

    async challengeForAuthorizationCode(_client, code) {
        return this.#once(this.codes, code, false).codeChallenge;
    }

    async exchangeAuthorizationCode(client, code) {
        return this.#issue(client, this.#once(this.codes, code));
    }

    async exchangeRefreshToken(client, token) {
        return this.#issue(client, this.#once(this.refresh, token));
    }

    async verifyAccessToken(token) {
        const kept = this.access.get(token);
        if (kept === undefined) throw new InvalidTokenError('not a token of this server');
        return kept;
    }

    #once(kept, key, used = true) {
        const entry = kept.get(key);
        if (entry === undefined) throw new InvalidGrantError('unknown, or used before');
        if (used) kept.delete(key);
        return entry;
    }

    #issue(client, { scopes, resource }) {
        const [token, refreshToken] = [randomUUID(), randomUUID()];
        const seconds = client.client_name === 'brief' ? 4 : 600;
        const expiresAt = Math.floor(Date.now() / 1000) + seconds;
        this.access.set(token, { token, clientId: client.client_id, scopes, resource, expiresAt, extra: { subject: 'alice' } });
        this.refresh.set(refreshToken, { scopes, resource });
        return { access_token: token, token_type: 'bearer', expires_in: seconds, scope: scopes.join(' '), refresh_token: refreshToken };
    }
}

function serverOf() {
    const server = new McpServer({ name: 'protected', version: '1' });
    server.registerTool('whoami', {}, ({ authInfo }) => ({
        content: [{ type: 'text', text: `${authInfo.extra.subject}: ${authInfo.scopes.join(' ')}` }],
    }));
    return server;
}

const app = express();
const listener = app.listen(Number(process.argv[3]), '127.0.0.1', () => {
    const issuerUrl = new URL(`http://127.0.0.1:${listener.address().port}`);
    const resourceServerUrl = new URL('/mcp', issuerUrl);
    const provider = new Authorization();
    app.use(mcpAuthRouter({ provider, issuerUrl, resourceServerUrl, scopesSupported: [SCOPE] }));
    const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resourceServerUrl);
    const expectedResource = resourceServerUrl;
    app.use('/mcp', requireBearerAuth({ verifier: provider, requiredScopes: [SCOPE], resourceMetadataUrl, expectedResource }));
    const sessions = new Map();
    app.all('/mcp', async (request, response) => {
        const id = request.headers['mcp-session-id'];
        if (id !== undefined && !sessions.has(id)) return response.sendStatus(404);
        let transport = sessions.get(id);
        if (transport === undefined) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                onsessioninitialized: (opened) => sessions.set(opened, transport),
                onsessionclosed: (closed) => sessions.delete(closed),
            });
            await serverOf().connect(transport);
        }
        await transport.handleRequest(request, response);
    });
    console.log(resourceServerUrl.href);
});
