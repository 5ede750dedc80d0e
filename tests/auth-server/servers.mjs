// Authorization servers of other projects, on loopback ports that the system chooses.
//
//   node servers.mjs DIRECTORY
//
// Prints a line for each, `NAME ISSUER`, once all of them listen, and ends with its standard input. What they granted
// and refused goes to DIRECTORY/events.jsonl. DIRECTORY/machine.pem (ES256) is the key of the client `machine`, and of the
// client whose metadata document is `keyed`, robot.pem (EdDSA) that of `robot`; holder.pem is for bound tokens. pod.jwt and
// expired.jwt are assertions of a platform for `jwt`. Client metadata documents are not fetched:
// https://client.example/NAME is DIRECTORY/NAME.
import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';

import { SignJWT, createRemoteJWKSet } from 'jose';
import { Events, OAuth2Server } from 'oauth2-mock-server';
import Provider from 'oidc-provider';

import { GRANTS, exchanges, takes } from './assertions.mjs';

const directory = process.argv[2];
const report = (server, event, details) =>
    appendFileSync(join(directory, 'events.jsonl'), `${JSON.stringify({ server, event, ...details })}\n`);

const elliptic = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [machine, platform, identity, robot] = [elliptic(), elliptic(), elliptic(), generateKeyPairSync('ed25519')];
for (const [name, { privateKey }] of [['machine', machine], ['robot', robot], ['holder', elliptic()]]) {
    writeFileSync(join(directory, `${name}.pem`), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
}

const SCOPE = 'mcp:tools mcp:write';
const NO_REDIRECT = { redirect_uris: [], response_types: [] };
const SECRET = 'not-a-secret-of-a-test';
const PROGRAM = { ...NO_REDIRECT, client_secret: SECRET, grant_types: ['client_credentials'] };
const keyed = ({ publicKey }, alg) => ({
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: alg,
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), alg, use: 'sig' }] },
});

for (const [name, authentication] of [['public', { token_endpoint_auth_method: 'none' }], ['keyed', keyed(machine, 'ES256')]]) {
    writeFileSync(join(directory, name), JSON.stringify({
        client_id: `https://client.example/${name}`,
        client_name: 'a client with a metadata document',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        ...authentication,
    }));
}

const PLATFORM = 'https://platform.example';
const organization = await provider('identity', {});

// The servers by oidc-provider. `seconds` is the life of an access token.
const PROVIDERS = {
    jwt: {
        alg: 'RS256',
        takes: new Map([[PLATFORM, platform.publicKey], [organization, createRemoteJWKSet(new URL(`${organization}/jwks`))]]),
    },
    lenient: { alg: 'RS256', anyScope: true }, // clients may ask for more scopes than they registered with
    opaque: { accessTokenFormat: 'opaque' },
    short: { alg: 'EdDSA', seconds: 4 }, // clients renew such a token after two
    brief: { accessTokenFormat: 'opaque', seconds: 4 },
    nonce: { alg: 'ES256', requireNonce: true },
    diary: { alg: 'RS256', scope: 'diary:read diary:write' }, // of `protected-server`
};

async function provider(name, { accessTokenFormat = 'jwt', alg, scope = SCOPE, seconds = 600, ...kind }) {
    const { server, url } = await listening();
    const resourceServer = (resource) => ({
        scope,
        audience: resource,
        accessTokenFormat,
        accessTokenTTL: seconds,
        ...(alg && { jwt: { sign: { alg } } }),
    });
    const oidc = new Provider(url, {
        clients: [
            { client_id: 'machine', ...NO_REDIRECT, grant_types: ['client_credentials'], ...keyed(machine, 'ES256') },
            { client_id: 'robot', ...NO_REDIRECT, grant_types: ['client_credentials'], ...keyed(robot, 'EdDSA') },
            { client_id: 'program', ...PROGRAM, token_endpoint_auth_method: 'client_secret_basic' },
            { client_id: 'poster', ...PROGRAM, token_endpoint_auth_method: 'client_secret_post' },
            { client_id: 'pods', ...NO_REDIRECT, grant_types: [GRANTS.JWT_BEARER], token_endpoint_auth_method: 'none' },
            {
                client_id: 'panel', // of an organization, whose people have logged in at `identity`
                client_secret: SECRET,
                application_type: 'native',
                redirect_uris: ['http://127.0.0.1/callback'],
                grant_types: ['authorization_code', ...Object.values(GRANTS)],
            },
            { client_id: 'resource-server', ...PROGRAM, grant_types: [], token_endpoint_auth_method: 'client_secret_basic' },
        ],
        clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
        cookies: { keys: ['of a test'] },
        findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
        ...(kind.anyScope && { extraClientMetadata: { properties: ['scopes'], validator: (_, __, ___, client) => delete client.scope } }),
        fetch: async (url) => new Response(readFileSync(join(directory, basename(new URL(url).pathname)))),
        jwks: {
            keys: [generateKeyPairSync('rsa', { modulusLength: 2048 }), identity, generateKeyPairSync('ed25519')]
                .map((pair) => pair.privateKey.export({ format: 'jwk' })),
        },
        pkce: { required: () => true },
        rotateRefreshToken: true,
        scopes: ['openid', 'offline_access', ...scope.split(' ')],
        ttl: { AccessToken: seconds, Session: 600, Interaction: 600, Grant: 600, IdToken: 600, RefreshToken: 600 },
        features: {
            clientCredentials: { enabled: true },
            clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
            devInteractions: { enabled: true }, // login and consent as two forms: any name, any password
            dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => kind.requireNonce ?? false },
            introspection: { enabled: true },
            registration: { enabled: true },
            resourceIndicators: {
                enabled: true,
                defaultResource: () => undefined,
                useGrantedResource: () => true,
                getResourceServerInfo: (_, resource) => resourceServer(resource),
            },
            revocation: { enabled: true },
        },
    });
    exchanges(oidc, identity.privateKey);
    takes(oidc, kind.takes ?? new Map(), resourceServer);
    for (const event of ['authorization.success', 'grant.success', 'registration_create.success']) {
        oidc.on(event, ({ oidc: { client, params, entities, body }, headers }) => report(name, event, {
            client: client?.clientId,
            method: methodOf(headers, body ?? {}),
            grant: params?.grant_type,
            renewable: entities?.RefreshToken !== undefined,
            scope: entities?.AccessToken?.scope ?? entities?.ClientCredentials?.scope,
            bound: (entities?.AccessToken ?? entities?.ClientCredentials)?.jkt !== undefined,
        }));
    }
    for (const event of ['authorization.error', 'grant.error', 'introspection.error', 'registration_create.error', 'server_error']) {
        oidc.on(event, (_, { error, message, error_description: description, error_detail: detail }) =>
            report(name, event, { error: error ?? message, description, detail }));
    }
    server.on('request', oidc.callback());
    return url;
}

/** How a client has authenticated; the server takes a secret from either place. */
function methodOf(headers, body) {
    if (headers.authorization) return 'client_secret_basic';
    if (body.client_assertion) return 'private_key_jwt';
    return body.client_secret ? 'client_secret_post' : 'none';
}

/** A server that checks nothing: it signs a token with RS256 for any resource, and for any assertion. */
async function mock() {
    const server = new OAuth2Server();
    await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    server.service.on(Events.BeforeTokenSigning, ({ payload }, { body }) => {
        payload.aud = body.resource;
        payload.scope = body.scope ?? SCOPE;
        payload.sub ??= body.client_id ?? 'unnamed';
        report('mock', 'grant.success', { grant: body.grant_type });
    });
    return server.issuer.url;
}

function listening() {
    const server = createServer();
    return new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve({ server, url: `http://127.0.0.1:${server.address().port}` }));
    });
}

const issuers = { identity: organization, mock: await mock() };
for (const [name, kind] of Object.entries(PROVIDERS)) issuers[name] = await provider(name, kind);

const assertion = (claims) => new SignJWT({ sub: 'pod-7', ...claims })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(PLATFORM).setAudience(issuers.jwt).setIssuedAt().setExpirationTime(claims.exp ?? '10 minutes')
    .sign(platform.privateKey);
writeFileSync(join(directory, 'pod.jwt'), await assertion({}), { mode: 0o600 });
writeFileSync(join(directory, 'expired.jwt'), await assertion({ exp: 1 }), { mode: 0o600 });

process.stdout.write(Object.entries(issuers).map(([name, issuer]) => `${name} ${issuer}\n`).join(''));
process.stdin.resume().on('end', () => process.exit());
