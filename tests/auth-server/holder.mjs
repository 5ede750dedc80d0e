// A client of another project, with a token that is bound to its key. Shows what a server of ours makes of its proofs.
//
//   node holder.mjs RESOURCE ISSUER ID SECRET
//
// Fails at the first answer that is not the expected one.
import { createHash, randomUUID } from 'node:crypto';

import { SignJWT, exportJWK, generateKeyPair } from 'jose';

const [resource, issuer, id, secret] = process.argv.slice(2);
const CALL = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
        name: 'whoami',
        arguments: {},
        _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
    },
});
const FIELDS = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'whoami',
};

async function proof(alg, { privateKey, publicKey }, claims, header) {
    return new SignJWT({ jti: randomUUID(), ...claims })
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk: await exportJWK(publicKey), ...header })
        .setIssuedAt(claims.iat)
        .sign(privateKey);
}

async function grant(alg, keys) {
    const htu = `${issuer}/token`;
    const ask = async (nonce) => fetch(htu, {
        method: 'POST',
        headers: {
            authorization: `Basic ${btoa(`${id}:${secret}`)}`,
            dpop: await proof(alg, keys, { htm: 'POST', htu, nonce }),
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'mcp:tools' }),
    });
    let response = await ask();
    if (response.status === 400) response = await ask(response.headers.get('dpop-nonce') ?? undefined);
    const answer = await response.json();
    if (answer.token_type !== 'DPoP') throw new Error(`no bound token: ${JSON.stringify(answer)}`);
    return answer.access_token;
}

for (const alg of ['ES256', 'EdDSA', 'Ed25519']) {
    const [keys, others] = await Promise.all([generateKeyPair(alg), generateKeyPair(alg)]);
    const token = await grant(alg, keys);
    const ath = createHash('sha256').update(token).digest('base64url');
    let nonce;
    const make = (claims, { by = keys, header } = {}) =>
        proof(alg, by, { htm: 'POST', htu: resource, ath, nonce, ...claims }, header);
    const expect = async (what, status, error, dpop, scheme = 'DPoP') => {
        const response = await fetch(resource, {
            method: 'POST',
            headers: { ...FIELDS, authorization: `${scheme} ${token}`, ...(dpop && { dpop }) },
            body: CALL,
        });
        const challenge = response.headers.get('www-authenticate') ?? '';
        const text = await response.text();
        nonce = response.headers.get('dpop-nonce') ?? nonce;
        const isExpected = response.status === status &&
            (error === undefined ? text.includes(`${id}: mcp:tools`) : challenge.startsWith(`DPoP error="${error}"`));
        if (!isExpected) throw new Error(`${alg}, ${what}: ${response.status} ${challenge} ${text}`);
    };
    const now = Math.floor(Date.now() / 1000);
    await expect('a proof without a nonce', 401, 'use_dpop_nonce', await make());
    const used = await make();
    await expect('a proof', 200, undefined, used);
    await expect('the same proof', 401, 'invalid_dpop_proof', used);
    await expect('another proof', 200, undefined, await make());
    for (const [what, claims, options] of [
        ['for another method', { htm: 'GET' }],
        ['for another URL', { htu: `${resource}/other` }],
        ['for another token', { ath: createHash('sha256').update('other').digest('base64url') }],
        ['for no token', { ath: undefined }],
        ['too old', { iat: now - 400 }],
        ['from the future', { iat: now + 400 }],
        ['by another key', {}, { by: others }],
        ['with the key of another', {}, { header: { jwk: await exportJWK(others.publicKey) } }],
        ['of another type', {}, { header: { typ: 'JWT' } }],
    ]) {
        await expect(`a proof ${what}`, 401, 'invalid_dpop_proof', await make(claims, options));
    }
    await expect('a nonce of another server', 401, 'use_dpop_nonce', await make({ nonce: 'bm9uY2U' }));
    await expect('no proof', 401, 'invalid_dpop_proof');
    await expect('as a bearer token', 401, 'invalid_token', undefined, 'Bearer');
    await expect('a proof after all', 200, undefined, await make());
}
