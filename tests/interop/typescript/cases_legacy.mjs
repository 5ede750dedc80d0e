// Cases of the handshake era (2025-11-25).
import { METHOD_NOT_FOUND, NON_ASCII, refused, stillWorks, textOf } from './cases_common.mjs';
import { check, Failure, NotOffered, RpcError, same, sleep, Suite } from './harness.mjs';

export const SUITE = new Suite('legacy');
const test = (name, run) => SUITE.add(name, run);
const WATCHED = 'test://watched-resource';

test('ping', (env) =>
    env.open(async (session) => {
        check(same(await session.ping(), {}), 'empty result');
    }));

test('logging: three messages from test_tool_with_logging', (env) =>
    env.open(async (session) => {
        await session.call('test_tool_with_logging');
        await sleep(50);
        check(same(session.logs.map((log) => log.level), ['info', 'info', 'info']), 'three info messages', session.logs);
    }));

test('logging/setLevel: error silences info, debug lets it through', (env) =>
    env.open(async (session) => {
        check(same(await session.setLevel('error'), {}), 'empty result');
        await session.call('test_tool_with_logging');
        await sleep(50);
        check(session.logs.length === 0, 'below the level', session.logs);
        await session.setLevel('debug');
        await session.call('test_tool_with_logging');
        await sleep(50);
        check(session.logs.length === 3, 'three messages', session.logs);
    }));

// ---- sampling ----

test("sampling: the client's result reaches the tool", async (env) => {
    const asked = [];
    const sampling = (params) => {
        asked.push(params);
        const content = { type: 'text', text: `answer ${NON_ASCII}` };
        return { role: 'assistant', content, model: 'interop-model', stopReason: 'endTurn' };
    };
    const prompt = `prompt ${NON_ASCII}`;
    const result = await env.open((session) => session.call('test_sampling', { prompt }), { sampling });
    check(asked.length === 1, 'one sampling request', asked);
    const [content] = [asked[0].messages[0].content].flat();
    check(content.text === prompt, 'the prompt', asked);
    check(asked[0].maxTokens > 0, 'maxTokens', asked);
    check(textOf(result).includes(`answer ${NON_ASCII}`), "the tool's text must contain the answer", result);
});

async function resultOrRefusal(promise) {
    try {
        const result = await promise;
        check(result.content.length > 0, 'content', result);
    } catch (error) {
        if (!(error instanceof RpcError)) throw error;
    }
}

test('sampling: the client refuses with an error', (env) => {
    const sampling = () => {
        throw new RpcError(-1, 'refused');
    };
    return env.open(async (session) => {
        await resultOrRefusal(session.call('test_sampling', { prompt: 'x' }));
        await stillWorks(session);
    }, { sampling });
});

test('sampling and elicitation not declared: the server sends neither', async (env) => {
    await env.open(async (session) => {
        await resultOrRefusal(session.call('test_sampling', { prompt: 'x' }));
        await resultOrRefusal(session.call('test_elicitation', { message: 'x' }));
        await stillWorks(session);
    });
    const requests = env.wire.received().filter((m) => 'method' in m && 'id' in m);
    check(requests.length === 0, 'requests the client never declared', requests);
});

// ---- elicitation ----

/** Calls the tool, answers its one elicitation; the requested schema and the tool's text. */
async function elicit(env, name, args, answer) {
    const asked = [];
    const elicitation = (params) => {
        asked.push(params);
        return typeof answer === 'function' ? answer(params) : answer;
    };
    const result = await env.open(async (session) => {
        const called = await session.call(name, args);
        await stillWorks(session);
        return called;
    }, { elicitation });
    check(asked.length === 1, 'one elicitation', asked);
    check(asked[0].message, 'message', asked);
    if (args.message) check(asked[0].message === args.message, 'the message given', asked);
    return { schema: asked[0].requestedSchema, text: textOf(result) };
}

test('elicitation accepted: the content reaches the tool', async (env) => {
    const answer = { action: 'accept', content: { username: 'Łucja', email: 'lucja@example.com' } };
    const { schema, text } = await elicit(env, 'test_elicitation', { message: `who? ${NON_ASCII}` }, answer);
    for (const key of ['username', 'email']) {
        check(key in schema.properties && schema.required?.includes(key), `${key}, required`, schema);
    }
    check(text.includes('Łucja') && /accept/i.test(text), "the tool's text must show action and content", text);
});

test('elicitation declined', async (env) => {
    const { text } = await elicit(env, 'test_elicitation', { message: 'who?' }, { action: 'decline' });
    check(/declin/i.test(text), "the tool's text must show the action", text);
});

test('elicitation cancelled', async (env) => {
    const { text } = await elicit(env, 'test_elicitation', { message: 'who?' }, { action: 'cancel' });
    check(/cancel/i.test(text), "the tool's text must show the action", text);
});

const mapValues = (object, f) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, f(value)]));

test('elicitation with defaults (SEP-1034)', async (env) => {
    const defaults = { name: 'John Doe', age: 30, score: 95.5, status: 'active', verified: true };
    const answer = { action: 'accept', content: defaults };
    const { schema, text } = await elicit(env, 'test_elicitation_sep1034_defaults', {}, answer);
    const seen = mapValues(schema.properties, (property) => property.default);
    check(same(seen, defaults), 'defaults', seen);
    const types = mapValues(schema.properties, (property) => property.type);
    const wanted = { name: 'string', age: 'integer', score: 'number', status: 'string', verified: 'boolean' };
    check(same(types, wanted), 'types', types);
    check(same(schema.properties.status.enum, ['active', 'inactive', 'pending']), 'enum', schema);
    check(text.includes('John Doe'), "the tool's text must show the content", text);
});

function enumForm(schema) {
    if (schema.type === 'array') return 'anyOf' in schema.items ? 'titled multi' : 'untitled multi';
    if ('oneOf' in schema) return schema.oneOf.every((o) => 'const' in o && 'title' in o) ? 'titled single' : '?';
    return 'enumNames' in schema ? 'legacy' : 'untitled single';
}

function enumValue(schema) {
    const source = schema.items ?? schema;
    const choices = source.enum ?? (source.oneOf ?? source.anyOf).map((option) => option.const);
    return schema.type === 'array' ? choices.slice(0, 2) : choices[0];
}

test('elicitation with the five enum forms (SEP-1330)', async (env) => {
    const answer = ({ requestedSchema }) => ({ action: 'accept', content: mapValues(requestedSchema.properties, enumValue) });
    const { schema, text } = await elicit(env, 'test_elicitation_sep1330_enums', {}, answer);
    const forms = Object.values(schema.properties).map(enumForm).sort();
    check(same(forms, ['legacy', 'titled multi', 'titled single', 'untitled multi', 'untitled single']), 'forms', schema);
    check(text, 'text', text);
});

test('three elicitations at once, each call gets its own answer', (env) => {
    const elicitation = async ({ message }) => {
        const username = message.replace('for ', '');
        await sleep(username === 'Ania' ? 150 : 20); // the first request gets its response last
        return { action: 'accept', content: { username, email: 'a@example.com' } };
    };
    return env.open(async (session) => {
        const names = ['Ania', 'Bruno', 'Cédric'];
        const results = await Promise.all(names.map((name) => session.call('test_elicitation', { message: `for ${name}` })));
        const texts = results.map(textOf);
        check(texts.every((text, i) => text.includes(names[i])), 'each call must get its own response', texts);
    }, { elicitation });
});

// ---- the rest ----

test('tools/call test_reconnection', (env) =>
    env.open(async (session) => {
        check(textOf(await session.call('test_reconnection')), 'text');
    }));

const updates = (session) => session.notifications.filter((n) => n.method === 'notifications/resources/updated');

test('resources/subscribe, updated, unsubscribe', (env) =>
    env.open(async (session) => {
        const tool = (await session.list('tools')).find((listed) => listed.name.startsWith('test_trigger_resource'));
        if (!tool) {
            await session.subscribe(WATCHED);
            await session.unsubscribe(WATCHED);
            throw new Failure('subscribing works, but no tool test_trigger_resource_* makes the server send an update');
        }
        await session.call(tool.name, {});
        await sleep(200);
        check(updates(session).length === 0, 'update before subscribing', session.notifications);
        check(same(await session.subscribe(WATCHED), {}), 'empty result');
        await session.call(tool.name, {});
        await sleep(300);
        check(same(updates(session).map((n) => n.params.uri), [WATCHED]), 'one update', session.notifications);
        check(same(await session.unsubscribe(WATCHED), {}), 'empty result');
        await session.call(tool.name, {});
        await sleep(300);
        check(updates(session).length === 1, 'update after unsubscribing', session.notifications);
    }));

test('list_changed after test_trigger_tool_change and test_trigger_prompt_change', (env) =>
    env.open(async (session) => {
        const listed = (await session.list('tools')).map((tool) => tool.name);
        for (const [kind, tool] of [['tools', 'test_trigger_tool_change'], ['prompts', 'test_trigger_prompt_change']]) {
            if (!listed.includes(tool)) throw new NotOffered(`${tool} is not listed in the legacy era`, 'this server');
            await session.call(tool);
            await sleep(100);
            const methods = session.notifications.map((n) => n.method);
            check(methods.includes(`notifications/${kind}/list_changed`), `${kind} list_changed`, methods);
        }
    }));

test('notifications/roots/list_changed is accepted', (env) =>
    env.open(async (session) => {
        await session.rootsChanged();
        check(same(await session.ping(), {}), 'ping afterwards');
    }, { roots: () => ({ roots: [{ uri: 'file:///srv/one', name: 'one' }] }) }));

test('methods of 2026-07-28 are not known: -32601', (env) =>
    env.open((session) => refused(session.request('subscriptions/listen', { notifications: {} }), METHOD_NOT_FOUND)));
