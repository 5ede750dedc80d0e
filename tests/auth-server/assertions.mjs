// Grants with assertions, which oidc-provider does not have: an identity provider that gives them to its clients, and an
// authorization server that takes them. Signatures and times are checked by `jose`.
import { randomUUID } from 'node:crypto';

import { SignJWT, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { errors } from 'oidc-provider';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';

export const GRANTS = { TOKEN_EXCHANGE, JWT_BEARER };

async function verified(jwt, key, options) {
    try {
        return (await jwtVerify(jwt, key, options)).payload;
    } catch (error) {
        throw new errors.InvalidGrant(`the assertion is refused: ${error.message}`);
    }
}

function demand(params, expected) {
    for (const [name, value] of Object.entries(expected)) {
        if (params[name] !== value) throw new errors.InvalidRequest(`${name} is ${params[name]}`);
    }
}

/** Exchanges the ID token of a person for an assertion (RFC 8693; draft-ietf-oauth-identity-assertion-authz-grant). */
export function exchanges(oidc, privateKey) {
    const keys = createRemoteJWKSet(new URL(`${oidc.issuer}/jwks`));
    const params = ['requested_token_type', 'subject_token', 'subject_token_type', 'audience', 'resource', 'scope'];
    oidc.registerGrantType(TOKEN_EXCHANGE, async (ctx) => {
        const { client, params } = ctx.oidc;
        demand(params, { requested_token_type: ID_JAG, subject_token_type: ID_TOKEN });
        const { sub } = await verified(params.subject_token, keys, { issuer: oidc.issuer, audience: client.clientId });
        const claims = { client_id: client.clientId, resource: params.resource, scope: params.scope, jti: randomUUID() };
        const assertion = new SignJWT(claims)
            .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt' })
            .setIssuer(oidc.issuer).setSubject(sub).setAudience(params.audience).setIssuedAt().setExpirationTime('1 minute');
        const access_token = await assertion.sign(privateKey);
        ctx.body = { access_token, issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 60 };
    }, params);
}

/** Takes the assertions of `issuers` (RFC 7523, 2.1): public keys by issuer. */
export function takes(oidc, issuers, resourceServer) {
    oidc.registerGrantType(JWT_BEARER, async (ctx) => {
        const { client, params: { assertion, resource, scope } } = ctx.oidc;
        const { iss } = JSON.parse(Buffer.from(assertion.split('.')[1], 'base64url').toString());
        if (!issuers.has(iss)) throw new errors.InvalidGrant('the issuer of the assertion is unknown');
        const claims = await verified(assertion, issuers.get(iss), { issuer: iss, audience: oidc.issuer });
        if (decodeProtectedHeader(assertion).typ === 'oauth-id-jag+jwt') {
            demand(claims, { client_id: client.clientId, resource });
        }
        const token = new oidc.AccessToken({ accountId: claims.sub, client, gty: 'jwt_bearer' });
        token.resourceServer = new oidc.ResourceServer(resource, resourceServer(resource));
        token.scope = claims.scope ?? scope ?? token.resourceServer.scope;
        ctx.oidc.entity('AccessToken', token);
        const access_token = await token.save();
        ctx.body = { access_token, token_type: token.tokenType, expires_in: token.expiration, scope: token.scope };
    }, ['assertion', 'resource', 'scope']);
}
