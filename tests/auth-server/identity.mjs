// A program at which a person logs in with an identity provider (OpenID Connect). Prints the ID token.
//
//   node identity.mjs ISSUER ID SECRET PERSON...
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';

const [issuer, id, secret, ...person] = process.argv.slice(2);
const redirect_uri = 'http://127.0.0.1:9/callback';
const code_verifier = randomBytes(32).toString('base64url');
const page = `${issuer}/auth?${new URLSearchParams({
    response_type: 'code',
    scope: 'openid',
    client_id: id,
    redirect_uri,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
})}`;
const sent = new URL(execFileSync(person[0], [...person.slice(1), page], { encoding: 'utf8' }).trim());
const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', code: sent.searchParams.get('code'), redirect_uri, code_verifier }),
});
const answer = await response.json();
if (answer.id_token === undefined) throw new Error(`no ID token: ${JSON.stringify(answer)}`);
console.log(answer.id_token);
