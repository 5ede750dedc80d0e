// Cases for HTTP only.
import { request } from 'node:http';

import { stillWorks, textOf } from './cases_common.mjs';
import { check, Failure, same, sleep, Suite } from './harness.mjs';

export const SUITE = new Suite(undefined, ['http', 'http+sse']);
const test = (name, run, { era, transport } = {}) => SUITE.add(name, run, era, transport);
const WATCHED = 'test://watched-resource';
const TRIGGER = 'test_trigger_resource_update';

/** What the server answers to a request made by hand. */
function statusOf(method, url, message, headers = {}) {
    const sent = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers };
    return new Promise((resolve, reject) => {
        const made = request(url, { method, headers: sent }, (response) => {
            resolve(response.statusCode);
            response.destroy();
        });
        made.on('error', reject);
        made.end(message && JSON.stringify({ jsonrpc: '2.0', ...message }));
    });
}

/** The id of the session that was opened first. */
function sessionOf(env) {
    const [id] = env.wire.heads('response').map((head) => head.fields['mcp-session-id']).filter(Boolean);
    check(id?.length >= 16, 'a session id that cannot be guessed', id);
    return id;
}

const legacy = { era: 'legacy', transport: 'http' };
const starts = (env, verb) => env.wire.heads('request').filter((head) => head.start.startsWith(`${verb} `));

test('an early end of the stream: the SDK comes back with Last-Event-ID for the answer', async (env) => {
    await env.open(async (session) => {
        check(textOf(await session.call('test_reconnection')), 'text');
        await stillWorks(session);
    });
    const resumed = env.wire.heads('request').filter((head) => 'last-event-id' in head.fields);
    check(resumed.length === 1, 'one GET with Last-Event-ID', resumed.length);
    check(resumed[0].start.startsWith('GET '), 'always GET', resumed[0].start);
}, legacy);

test('the session is deleted: 404 from then on', async (env) => {
    await env.open(async (session) => {
        await stillWorks(session);
        await session.endSession();
    });
    check(starts(env, 'DELETE').length === 1, 'one DELETE', starts(env, 'DELETE'));
    const status = await statusOf('POST', env.command[0], { id: 1, method: 'ping' }, { 'Mcp-Session-Id': sessionOf(env) });
    check(status === 404, 'status of a request in a deleted session', status);
}, legacy);

test('a session that the server has forgotten: the call fails or begins anew, and a new session works', async (env) => {
    await env.open(async (session) => {
        await stillWorks(session);
        const status = await statusOf('DELETE', env.command[0], undefined, { 'Mcp-Session-Id': sessionOf(env) });
        check(status >= 200 && status < 300, 'status of DELETE', status);
        const outcome = await Promise.race([
            stillWorks(session).then(() => 'begun anew', (error) => (error instanceof Failure ? 'wrong' : 'failed')),
            sleep(5000).then(() => 'nothing'),
        ]);
        check(['begun anew', 'failed'].includes(outcome), 'the call', outcome);
    });
    check(env.wire.heads('response').some((head) => head.status === 404), 'the SDK must have received 404');
    await env.open(stillWorks);
}, legacy);

test('an id that no session has: 404', async (env) => {
    const headers = { 'Mcp-Session-Id': '0123456789abcdef0123456789abcdef' };
    const status = await statusOf('POST', env.command[0], { id: 1, method: 'tools/list' }, headers);
    check(status === 404, 'an unknown session', status);
}, legacy);

test('no session in the stateless era', async (env) => {
    await env.open(async (session) => {
        await stillWorks(session);
        await session.call('test_simple_text');
    });
    const named = env.wire.heads('response').filter((head) => 'mcp-session-id' in head.fields);
    check(named.length === 0, 'mcp-session-id in a response', named);
    check(starts(env, 'POST').length === env.wire.heads('request').length, 'nothing but POST');
}, { era: 'modern', transport: 'http' });

test('closing ends the session: its endpoint is gone', async (env) => {
    await env.open(stillWorks);
    const url = new URL(starts(env, 'POST')[0].start.split(' ')[1], env.command[0]);
    for (let tries = 0; tries < 60; tries += 1) {
        const status = await statusOf('POST', url, { id: 1, method: 'ping' });
        if (status === 404) return;
        check(status === 202, 'status of a message to a session that has ended', status);
        await sleep(50);
    }
    throw new Failure('still there after 3 s');
}, { transport: 'http+sse' });

test('eight clients at once, each with its own answers', async (env) => {
    const one = (index) => env.open(async (session) => {
        for (let turn = 0; turn < 5; turn += 1) {
            const token = String(1000 * index + turn);
            const { contents } = await session.read(`test://template/${token}/data`);
            check(contents[0].text.includes(token), "another client's response", token, contents);
        }
        await session.call('slow', { seconds: 0.2 });
    });
    await Promise.all(Array.from({ length: 8 }, (_, index) => one(index)));
});

test('what one session has subscribed to is not sent to another', (env) => {
    const updates = ({ notifications }) => notifications.filter((n) => n.method === 'notifications/resources/updated').length;
    return env.open((first) => env.open(async (second) => {
        await first.subscribe(WATCHED);
        await second.call(TRIGGER, {});
        await sleep(300);
        check(same([updates(first), updates(second)], [1, 0]), 'updates of the first and the second', updates(first), updates(second));
    }));
}, { era: 'legacy' });

test('a foreign Origin or Host is refused with 403', async (env) => {
    const [url] = env.command;
    const [verb, message] = url.endsWith('/sse') ? ['GET'] : ['POST', { id: 1, method: 'ping' }];
    for (const [name, value] of [['Origin', 'https://evil.example'], ['Host', 'evil.example']]) {
        const status = await statusOf(verb, url, message, { [name]: value });
        check(status === 403, `status with a foreign ${name}`, status);
    }
});
