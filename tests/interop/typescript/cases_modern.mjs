// Cases of the stateless era (2026-07-28).
import { INVALID_PARAMS, METHOD_NOT_FOUND, NON_ASCII, refused, stillWorks, textOf } from './cases_common.mjs';
import { check, Failure, RpcError, same, sleep, Suite } from './harness.mjs';

export const SUITE = new Suite('modern');
const test = (name, run) => SUITE.add(name, run);
const MRTR = 'test_input_required_result_';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const WATCHED = 'test://watched-resource';

/** Handlers that answer everything, and remember in `asked` what was asked. */
function answering(asked = []) {
    const samples = { string: 'Łucja', boolean: true, number: 1.5, integer: 3 };
    return {
        sampling() {
            asked.push('sampling');
            return { role: 'assistant', content: { type: 'text', text: 'Paryż 🗼' }, model: 'interop-model' };
        },
        elicitation({ requestedSchema }) {
            asked.push('elicitation');
            const filled = Object.entries(requestedSchema.properties).map(([key, { type }]) => [key, samples[type]]);
            return { action: 'accept', content: Object.fromEntries(filled) };
        },
        roots() {
            asked.push('roots');
            return { roots: [{ uri: 'file:///srv/one', name: 'one' }, { uri: 'file:///srv/two', name: 'two' }] };
        },
    };
}

async function fulfilled(env, name, wanted) {
    const asked = [];
    const result = await env.open((session) => session.call(MRTR + name), answering(asked));
    check(!result.isError, 'isError', result);
    check(same(asked.sort(), wanted.sort()), 'input requests of the server', asked);
    check(textOf(result), 'text', result);
    return textOf(result);
}

const toolCalls = (env) => env.wire.sent().filter((m) => m.method === 'tools/call').map((m) => m.params);

// ---- input_required, handled by the SDK ----

test('input_required: elicitation', async (env) => {
    const text = await fulfilled(env, 'elicitation', ['elicitation']);
    check(text.includes('Łucja'), 'the text must contain the name', text);
});

test('input_required: sampling', async (env) => {
    const text = await fulfilled(env, 'sampling', ['sampling']);
    check(text.includes('Paryż 🗼'), "the text must contain the model's answer", text);
});

test('input_required: list_roots', async (env) => {
    const text = await fulfilled(env, 'list_roots', ['roots']);
    check(['file:///srv/one', 'one', '2'].some((part) => text.includes(part)), 'the text must show the roots', text);
});

test('input_required: request_state', async (env) => {
    const text = await fulfilled(env, 'request_state', ['elicitation']);
    check(text.includes('state-ok'), 'state-ok', text);
});

test('input_required: multiple_inputs in one round', async (env) => {
    await fulfilled(env, 'multiple_inputs', ['sampling', 'elicitation', 'roots']);
    const calls = toolCalls(env);
    check(calls.length === 2, 'two calls', calls);
    const keys = Object.keys(calls[1].inputResponses).sort();
    check(same(keys, ['client_roots', 'greeting', 'user_name']), 'keys', keys);
    check(calls[1].requestState, 'requestState must be echoed', calls[1]);
});

test('input_required: multi_round', async (env) => {
    await fulfilled(env, 'multi_round', ['elicitation', 'elicitation']);
    const calls = toolCalls(env);
    const keys = calls.map((call) => Object.keys(call.inputResponses ?? {}));
    check(same(keys, [[], ['step1'], ['step2']]), 'rounds', keys);
    check(calls[1].requestState !== calls[2].requestState, 'requestState must change', calls);
});

test('input_required: test_streaming_elicitation', (env) =>
    env.open(async (session) => {
        const first = await session.callRound('test_streaming_elicitation', {});
        check(first.resultType === 'input_required', 'resultType', first);
        const methods = Object.values(first.inputRequests).map((request) => request.method);
        check(same(methods, ['elicitation/create']), 'one elicitation', first);
    }, answering()));

test('input_required: test_input_required_result_prompt', async (env) => {
    const asked = [];
    const { messages } = await env.open((session) => session.prompt('test_input_required_result_prompt'), answering(asked));
    check(same(asked, ['elicitation']), 'asked', asked);
    check(messages[0].content.text.includes('Łucja'), 'the prompt must contain the context', messages);
});

/** A result, or undefined where the server refused. */
async function unlessRefused(promise) {
    try {
        return await promise;
    } catch (error) {
        if (!(error instanceof RpcError)) throw error;
    }
}

test('input_required: the user declines, then cancels', (env) =>
    env.open(async (session) => {
        for (const action of ['decline', 'cancel']) {
            const answer = await unlessRefused(session.callRound(`${MRTR}elicitation`, {}, { user_name: { action } }));
            check(!answer || 'content' in answer || 'inputRequests' in answer, 'a complete or input_required result', answer);
        }
        await stillWorks(session);
    }, answering()));

// ---- input_required, round by round ----

test('input_required: unusable answers are asked again or refused', (env) =>
    env.open(async (session) => {
        const accepted = { action: 'accept', content: { name: 'x' } };
        const unusable = [
            { wrong_key: accepted },
            { user_name: { action: 'accept', content: {} } },
            { user_name: 42 },
            { user_name: null },
        ];
        for (const answers of unusable) {
            const answer = await unlessRefused(session.callRound(`${MRTR}elicitation`, {}, answers));
            check(!answer || answer.resultType === 'input_required', 'input required again', answers, answer);
        }
        const extra = await session.callRound(`${MRTR}elicitation`, {}, { user_name: accepted, extra: accepted });
        check(textOf(extra).includes('x'), 'extra keys are ignored', extra);
    }, answering()));

async function stateLeg(session) {
    const first = await session.callRound(`${MRTR}tampered_state`, {});
    check(first.requestState, 'requestState', first);
    const answers = {};
    for (const [key, request] of Object.entries(first.inputRequests ?? {})) {
        check(request.method === 'elicitation/create', 'an elicitation', request);
        answers[key] = answering().elicitation(request.params);
    }
    return { answers, state: first.requestState };
}

test('input_required: tampered state is an error', (env) =>
    env.open(async (session) => {
        const { answers, state } = await stateLeg(session);
        const middle = Math.floor(state.length / 2);
        const flipped = state.slice(0, middle) + (state[middle] === 'A' ? 'B' : 'A') + state.slice(middle + 1);
        for (const bad of [flipped, `${state}x`, state.slice(0, -1), 'nonsense']) {
            await refused(session.callRound(`${MRTR}tampered_state`, {}, answers, bad), INVALID_PARAMS);
        }
        await stillWorks(session);
    }, answering()));

test('input_required: untampered state is accepted', (env) =>
    env.open(async (session) => {
        const { answers, state } = await stateLeg(session);
        const result = await session.callRound(`${MRTR}tampered_state`, {}, answers, state);
        check(result.content && textOf(result), 'text', result);
    }, answering()));

test('input_required: only declared capabilities are asked for', (env) =>
    env.open(async (session) => {
        const first = await session.callRound(`${MRTR}capabilities`, {});
        const methods = [...new Set(Object.values(first.inputRequests).map((request) => request.method))];
        check(same(methods, ['sampling/createMessage']), 'methods', methods);
    }, { sampling: answering().sampling }));

test('test_missing_capability: -32021 without sampling, a result with it', async (env) => {
    await env.open(async (session) => {
        const error = await refused(session.call('test_missing_capability'), -32021);
        check(error.data?.requiredCapabilities?.sampling, 'data.requiredCapabilities', error.data);
        await stillWorks(session);
    });
    await env.open(async (session) => {
        check(!(await session.call('test_missing_capability')).isError, 'isError');
    }, { sampling: answering().sampling });
});

// ---- other tools ----

test('tools/call test_custom_header echoes non-ASCII', (env) =>
    env.open(async (session) => {
        await session.list('tools');
        const text = textOf(await session.call('test_custom_header', { value: NON_ASCII }));
        check(text.includes(NON_ASCII), 'the value must come back', text);
    }));

test('logging: only when the request sets logLevel', (env) =>
    env.open(async (session) => {
        const logged = async (options) => {
            const before = session.logs.length;
            await session.call('test_logging_tool', {}, options);
            await sleep(50);
            return session.logs.length - before;
        };
        check((await logged()) === 0, 'message without logLevel', session.logs);
        check((await logged({ logLevel: 'debug' })) > 0, 'message with logLevel debug');
        check((await logged()) === 0, 'the level holds for one request', session.logs);
    }));

const removed = {
    ping: (session) => session.ping(),
    'logging/setLevel': (session) => session.setLevel('info'),
    'resources/subscribe': (session) => session.subscribe(WATCHED),
    'resources/unsubscribe': (session) => session.unsubscribe(WATCHED),
};
for (const [method, call] of Object.entries(removed)) {
    test(`removed method ${method}: -32601`, (env) => env.open((session) => refused(call(session), METHOD_NOT_FOUND)));
}

// ---- subscriptions/listen ----

const changes = (session, method = /list_changed$/) => session.notifications.filter((n) => method.test(n.method));
const changesOnWire = (env) => env.wire.received().filter((m) => m.method?.endsWith('/list_changed'));

test('subscriptions/listen: acknowledged, list_changed delivered, ends cleanly', async (env) => {
    await env.open(async (session) => {
        const subscription = await session.listen({ toolsListChanged: true, promptsListChanged: true });
        check(same(subscription.honoredFilter, { toolsListChanged: true, promptsListChanged: true }), 'honoured', subscription.honoredFilter);
        await session.call('test_trigger_tool_change');
        await session.call('test_trigger_prompt_change');
        await sleep(100);
        const methods = changes(session).map((n) => n.method).sort();
        check(same(methods, ['notifications/prompts/list_changed', 'notifications/tools/list_changed']), 'delivered', methods);
        await subscription.close();
        check((await subscription.closed) === 'local', 'closed', await subscription.closed);
        await session.call('test_trigger_tool_change');
        await sleep(200);
        check(changes(session).length === 2, 'no notification after the end', changes(session));
        await stillWorks(session);
    });
    const listen = env.wire.sent().find((m) => m.method === 'subscriptions/listen');
    for (const message of changesOnWire(env)) {
        check(message.params._meta[SUBSCRIPTION] === listen.id, 'subscriptionId', message);
    }
});

test('subscriptions/listen: the filter is honoured', (env) =>
    env.open(async (session) => {
        const subscription = await session.listen({ promptsListChanged: true });
        check(same(subscription.honoredFilter, { promptsListChanged: true }), 'honoured', subscription.honoredFilter);
        await session.call('test_trigger_tool_change');
        await session.call('test_trigger_prompt_change');
        await sleep(100);
        const methods = changes(session).map((n) => n.method);
        check(same(methods, ['notifications/prompts/list_changed']), 'only the requested notifications', methods);
        await subscription.close();
    }));

test('subscriptions/listen: two at once, each with its own filter', async (env) => {
    await env.open(async (session) => {
        const first = await session.listen({ toolsListChanged: true });
        const second = await session.listen({ toolsListChanged: true, promptsListChanged: true });
        await session.call('test_trigger_tool_change');
        await sleep(100);
        check(changes(session).length === 2, 'one for each', changes(session));
        await second.close();
        await session.call('test_trigger_tool_change');
        await sleep(100);
        check(changes(session).length === 3, 'the first continues', changes(session));
        await first.close();
    });
    const stamps = changesOnWire(env).map((m) => m.params._meta[SUBSCRIPTION]);
    check(stamps.length === 3 && new Set(stamps).size === 2, 'stamps', stamps);
});

test('subscriptions/listen: resources/updated for a subscribed uri', (env) =>
    env.open(async (session) => {
        const tool = (await session.list('tools')).find((listed) => listed.name.startsWith('test_trigger_resource'));
        const subscription = await session.listen({ resourceSubscriptions: [WATCHED] });
        check(same(subscription.honoredFilter, { resourceSubscriptions: [WATCHED] }), 'honoured', subscription.honoredFilter);
        if (!tool) throw new Failure('subscribing works, but no tool test_trigger_resource_* makes the server send an update');
        await session.call(tool.name, {});
        await sleep(100);
        check(same(changes(session, /updated$/).map((n) => n.params.uri), [WATCHED]), 'updated', session.notifications);
        await subscription.close();
    }));

test('subscriptions/listen: open while the session closes', async (env) => {
    let subscription;
    await env.open(async (session) => {
        subscription = await session.listen({ toolsListChanged: true });
    });
    const cause = await subscription.closed;
    check(['remote', 'graceful', 'local'].includes(cause), 'closed', cause);
});
