// Logs in to a protected server with one of the npm packages of the official SDK, and calls its tools.
//
//   node login.mjs v1|v2 URL PERSON...      PERSON is the command that answers an authorization URL, which follows as its last argument
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const [sdk, url, ...person] = process.argv.slice(2);
const SDKS = {
    v1: ['@modelcontextprotocol/sdk', '@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/streamableHttp.js'],
    v2: ['@modelcontextprotocol/client', '@modelcontextprotocol/client'],
};
const [name, ...modules] = SDKS[sdk];
const { Client, StreamableHTTPClientTransport, DpopSession } = Object.assign({}, ...(await Promise.all(modules.map((path) => import(path)))));
const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8'));
const VERSION = lock.packages[`node_modules/${name}`].version;

/** What a client keeps between connections, and its person. */
class Login {
    redirectUrl = 'http://127.0.0.1:9/callback'; // where nothing listens: the person does not go there
    clientMetadata = {
        client_name: 'interop',
        redirect_uris: [this.redirectUrl],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        application_type: 'native',
    };
    asked = 0; // how often the person was
    kept = {};

    constructor(dpop) {
        if (dpop) this.dpop = () => (this.session ??= DpopSession.create());
    }

    state() {
        return (this.sent = randomUUID());
    }
    clientInformation() {
        return this.kept.client;
    }
    saveClientInformation(client) {
        this.kept.client = client;
    }
    tokens() {
        return this.kept.tokens;
    }
    saveTokens(tokens) {
        this.kept.tokens = tokens;
    }
    saveCodeVerifier(verifier) {
        this.kept.verifier = verifier;
    }
    codeVerifier() {
        return this.kept.verifier;
    }
    saveDiscoveryState(state) {
        this.kept.discovery = state;
    }
    discoveryState() {
        return this.kept.discovery;
    }
    async redirectToAuthorization(page) {
        this.asked += 1;
        const { stdout } = await promisify(execFile)(person[0], [...person.slice(1), page.href]);
        this.answer = new URL(stdout.trim()).searchParams;
        if (this.answer.get('state') !== this.sent) throw new Error('another state');
    }

    /** Connects, calls, and goes on after the person has consented. */
    async call(tool, versionNegotiation) {
        for (;;) {
            const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: this });
            const client = new Client({ name: 'interop', version: '1' }, { versionNegotiation });
            const before = this.asked;
            try {
                await client.connect(transport);
                const { tools } = await client.listTools();
                if (!tools.some((offered) => offered.name === tool)) throw new NotOffered(`the server has no ${tool}`);
                return (await client.callTool({ name: tool, arguments: {} })).content[0].text;
            } catch (error) {
                if (this.asked === before || this.asked > 3) throw error;
                if (!this.answer.has('code')) throw new Error(`the person said ${this.answer.get('error')}`);
                await transport.finishAuth(...(sdk === 'v1' ? [this.answer.get('code')] : [this.answer]));
            } finally {
                await client.close();
            }
        }
    }
}

class NotOffered extends Error {}

let failed = 0;
async function trial(name, body) {
    try {
        await Promise.race([body(), new Promise((_, reject) => setTimeout(() => reject(new Error('30 s')), 30_000).unref())]);
        console.log(`PASS typescript ${VERSION}: ${name}`);
    } catch (error) {
        if (error instanceof NotOffered) return console.log(`N/A typescript ${VERSION}: ${name} -- ${error.message}`);
        failed += 1;
        console.error(error);
        console.log(`FAIL typescript ${VERSION}: ${name} -- ${error.message}`);
    }
}
const same = (seen, wanted) => {
    if (seen !== wanted) throw new Error(`${seen} instead of ${wanted}`);
};
const isAlice = (said) => same(said.slice(0, 7), 'alice: ');

const login = new Login();
await trial('logs in', async () => {
    isAlice(await login.call('whoami'));
    same(login.asked, 1);
});
await trial('keeps its tokens for the next connection', async () => {
    isAlice(await login.call('whoami'));
    same(login.asked, 1);
});
await trial('asks for the scope that a tool needs', async () => {
    if (sdk === 'v1') throw new NotOffered('this SDK asks for the new scope alone, and loses the others');
    const said = await login.call('write');
    if (!said.split(' ').includes('mcp:write')) throw new Error(said);
    same(login.asked, 2);
});
await trial('refreshes when its token is refused', async () => {
    login.kept.tokens = { ...login.kept.tokens, access_token: 'not-a-token' };
    const before = login.kept.tokens.refresh_token;
    const asked = login.asked;
    if (before === undefined) throw new NotOffered('it was given no refresh token');
    isAlice(await login.call('whoami'));
    same(login.asked, asked);
    if (login.kept.tokens.refresh_token === before) throw new Error('the refresh token was not replaced');
});
await trial('proves that it has the key of its tokens', async () => {
    const metadata = await (await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))).json();
    if (!metadata.dpop_signing_alg_values_supported) throw new NotOffered('the server takes no proofs');
    if (DpopSession === undefined) throw new NotOffered('this SDK makes no proofs');
    const bound = new Login(true);
    isAlice(await bound.call('whoami'));
    same(bound.kept.tokens.token_type, 'DPoP');
    isAlice(await bound.call('whoami'));
    same(bound.asked, 1);
});
process.exit(failed ? 1 : 0);
