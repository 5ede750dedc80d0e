// Cases of both eras.
import { check, EXPECTED, Failure, NotOffered, RpcError, same, sleep, Suite, TimedOut } from './harness.mjs';

export const SUITE = new Suite();
const test = (name, run) => SUITE.add(name, run);

export const NON_ASCII = 'Zażółć gęślą jaźń – 日本語 🦀 \u2028 \x7f "\\';
export const INVALID_PARAMS = -32602;
export const METHOD_NOT_FOUND = -32601;

const namesFor = (era, group) => [...EXPECTED[group].both, ...EXPECTED[group][era]];
const missing = (wanted, found) => wanted.filter((name) => !found.includes(name));
export const textOf = (result) => result.content.filter((b) => b.type === 'text').map((b) => b.text).join('\n');
const types = (content) => content.map((block) => block.type);

/** The call must be answered with the JSON-RPC error `code`. */
export async function refused(promise, code) {
    let answer;
    try {
        answer = await promise;
    } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        check(error.code === code, `expected error ${code}`, error.message);
        return error;
    }
    throw new Failure(`expected error ${code}; got the result ${JSON.stringify(answer)}`);
}

export async function stillWorks(session) {
    const result = await session.call('test_simple_text');
    check(textOf(result), 'a later call must still return a text', result);
}

// ---- connecting ----

test('connect: version, capabilities, serverInfo, instructions', async (env) => {
    const seen = await env.open((session) => session.info());
    const method = env.era === 'legacy' ? 'initialize' : 'server/discover';
    const answer = env.wire.resultOf(method);
    check(answer, `no response to ${method} on the wire`);
    check(seen.protocolVersion === EXPECTED.versions[env.era], 'negotiated version', seen.protocolVersion);
    const absent = missing(EXPECTED.capabilities[env.era], Object.keys(seen.capabilities));
    check(absent.length === 0, `capabilities lack ${absent}`, seen.capabilities);
    check(seen.capabilities.resources.subscribe === true, 'resources.subscribe', seen.capabilities);
    check(same(seen.capabilities, answer.capabilities), 'the SDK read other capabilities than were sent', seen, answer);
    const info = env.era === 'legacy' ? answer.serverInfo : answer._meta['io.modelcontextprotocol/serverInfo'];
    check(info.name && info.version, 'serverInfo needs name and version', info);
    check(same(seen.serverInfo, info), 'the SDK read another serverInfo than was sent', seen.serverInfo, info);
    check(seen.instructions === answer.instructions, 'instructions', seen.instructions);
    check(seen.instructions, 'the server must send instructions, so that they are covered');
    if (env.overHttp) return;
    const started = env.wire.processes().length;
    check(started === (env.era === 'legacy' ? 1 : 2), 'processes started (one, and a probe in the modern era)', started);
});

test('connect: to the server directly, without the recorder', (env) =>
    env.open(stillWorks, {}, { tapped: false }));

test('many requests of all kinds in one session', (env) =>
    env.open(async (session) => {
        for (let round = 0; round < 20; round += 1) {
            await stillWorks(session);
            await session.list('tools');
            await session.read('test://static-text');
            await refused(session.call('no_such_tool'), INVALID_PARAMS);
            await session.prompt('test_simple_prompt');
        }
    }));

// ---- listing ----

test('tools/list', (env) =>
    env.open(async (session) => {
        const tools = await session.list('tools');
        const names = tools.map((tool) => tool.name);
        const absent = missing(namesFor(env.era, 'tools'), names);
        check(absent.length === 0, `not listed: ${absent}`, names);
        for (const tool of tools) {
            check(tool.description, 'every tool needs a description', tool);
            check(tool.inputSchema.type === 'object', 'inputSchema.type', tool);
        }
        const again = (await session.list('tools')).map((tool) => tool.name);
        check(same(names, again), 'the order must be the same on each call', names, again);
    }));

test('tools/list keeps JSON Schema 2020-12 keywords', (env) =>
    env.open(async (session) => {
        const tools = await session.list('tools');
        const schema = tools.find((tool) => tool.name === 'json_schema_2020_12_tool').inputSchema;
        check(schema.$schema === 'https://json-schema.org/draft/2020-12/schema', '$schema', schema);
        const lost = missing(['$defs', 'allOf', 'if', 'then', 'else', 'additionalProperties'], Object.keys(schema));
        check(lost.length === 0, `keywords lost: ${lost}`, schema);
        check(Object.values(schema.$defs).some((definition) => '$anchor' in definition), '$anchor', schema);
        check('anyOf' in schema || schema.allOf.some((part) => 'anyOf' in part), 'anyOf', schema);
    }));

test('resources/list', (env) =>
    env.open(async (session) => {
        const resources = await session.list('resources');
        const absent = missing(EXPECTED.resources, resources.map((resource) => resource.uri));
        check(absent.length === 0, `not listed: ${absent}`, resources);
        check(resources.every((resource) => resource.name), 'every resource needs a name', resources);
    }));

test('resources/templates/list', (env) =>
    env.open(async (session) => {
        const templates = await session.list('templates');
        const absent = missing(EXPECTED.templates, templates.map((template) => template.uriTemplate));
        check(absent.length === 0, `not listed: ${absent}`, templates);
    }));

test('prompts/list', (env) =>
    env.open(async (session) => {
        const prompts = await session.list('prompts');
        const absent = missing(namesFor(env.era, 'prompts'), prompts.map((prompt) => prompt.name));
        check(absent.length === 0, `not listed: ${absent}`, prompts);
        check(prompts.every((prompt) => prompt.description), 'every prompt needs a description', prompts);
        const { arguments: args } = prompts.find((prompt) => prompt.name === 'test_prompt_with_arguments');
        const required = Object.fromEntries(args.map((a) => [a.name, a.required ?? false]));
        check(same(required, { arg1: true, arg2: true }), 'test_prompt_with_arguments', required);
    }));

test('lists of several pages are collected without gaps or repetitions', async (env) => {
    const keys = { tools: 'name', resources: 'uri', templates: 'uriTemplate', prompts: 'name' };
    await env.open(async (session) => {
        for (const [kind, key] of Object.entries(keys)) {
            const found = (await session.list(kind)).map((item) => item[key]);
            check(new Set(found).size === found.length, `${kind} listed twice`, found);
        }
    });
    const paged = env.wire.received().some((m) => m.result?.nextCursor !== undefined);
    if (!paged) throw new NotOffered('every list fits one page', 'this server');
});

// ---- tools ----

async function oneCall(env, name, args) {
    const result = await env.open((session) => session.call(name, args));
    check(!result.isError, 'isError', result);
    return result.content;
}

const decoded = (base64) => Buffer.from(base64, 'base64').toString('latin1');

function checkImage(block) {
    check(block.mimeType === 'image/png', 'mimeType', block.mimeType);
    check(decoded(block.data).startsWith('\x89PNG\r\n\x1a\n'), 'PNG data', block.data.slice(0, 40));
}

test('tools/call test_simple_text', async (env) => {
    const content = await oneCall(env, 'test_simple_text');
    check(same(types(content), ['text']) && content[0].text, 'one text block', content);
});

test('tools/call test_image_content', async (env) => {
    const content = await oneCall(env, 'test_image_content');
    check(same(types(content), ['image']), 'one image block', content);
    checkImage(content[0]);
});

test('tools/call test_audio_content', async (env) => {
    const content = await oneCall(env, 'test_audio_content');
    check(same(types(content), ['audio']), 'one audio block', content);
    check(content[0].mimeType === 'audio/wav', 'mimeType', content);
    check(decoded(content[0].data).startsWith('RIFF'), 'WAV data', content);
});

test('tools/call test_embedded_resource', async (env) => {
    const content = await oneCall(env, 'test_embedded_resource');
    check(same(types(content), ['resource']), 'one resource block', content);
    const { resource } = content[0];
    check(resource.uri === 'test://embedded-resource', 'uri', resource);
    check(resource.mimeType && resource.text, 'mimeType and text', resource);
});

test('tools/call test_multiple_content_types', async (env) => {
    const content = await oneCall(env, 'test_multiple_content_types');
    check(same(types(content), ['text', 'image', 'resource']), 'text, image, resource', content);
    checkImage(content[1]);
});

test('tools/call test_error_handling: isError', (env) =>
    env.open(async (session) => {
        const result = await session.call('test_error_handling');
        check(result.isError === true, 'isError', result);
        check(textOf(result), 'text', result);
        await stillWorks(session);
    }));

test('tools/call test_tool_with_progress: three increasing notifications', async (env) => {
    const seen = [];
    await env.open(async (session) => {
        await session.call('test_tool_with_progress', {}, { progress: (item) => seen.push(item) });
        await sleep(50);
    });
    check(same(seen.map((item) => item.progress), [0, 50, 100]), 'progress', seen);
    check(seen.every((item) => item.total === 100), 'total', seen);
});

test('tools/call test_tool_with_progress: none unless asked', async (env) => {
    await oneCall(env, 'test_tool_with_progress');
    const sent = env.wire.received().filter((m) => m.method === 'notifications/progress');
    check(sent.length === 0, 'progress without a token', sent);
});

test('tools/call: a tool with an outputSchema returns structuredContent', (env) =>
    env.open(async (session) => {
        const samples = { number: 2, integer: 2, string: NON_ASCII, boolean: true, array: [], object: {} };
        const tool = (await session.list('tools')).find((listed) => 'outputSchema' in listed);
        if (!tool) throw new NotOffered('no listed tool declares an outputSchema', 'this server');
        const { properties, required = [] } = tool.inputSchema;
        const args = Object.fromEntries(required.map((key) => [key, samples[properties[key].type]]));
        const result = await session.call(tool.name, args);
        check('structuredContent' in result, `${tool.name}: structuredContent`, result);
        check(result.content.length > 0, `${tool.name}: content for older clients`, result);
    }));

test('tools/call unknown tool: -32602', (env) =>
    env.open(async (session) => {
        await refused(session.call('no_such_tool'), INVALID_PARAMS);
        await stillWorks(session);
    }));

test('unknown method: -32601', (env) =>
    env.open(async (session) => {
        await refused(session.request('unknown/method'), METHOD_NOT_FOUND);
        await refused(session.request('unknown/method', { key: NON_ASCII }), METHOD_NOT_FOUND);
        await stillWorks(session);
    }));

// ---- resources ----

test('resources/read text', async (env) => {
    const { contents } = await env.open((session) => session.read('test://static-text'));
    check(contents.length === 1 && contents[0].uri === 'test://static-text', 'one entry', contents);
    check(contents[0].mimeType === 'text/plain' && contents[0].text, 'text/plain', contents);
});

test('resources/read binary', async (env) => {
    const { contents } = await env.open((session) => session.read('test://static-binary'));
    check(contents[0].mimeType === 'image/png', 'mimeType', contents);
    check(decoded(contents[0].blob).startsWith('\x89PNG'), 'PNG blob', contents);
});

test('resources/read of a template', async (env) => {
    const { contents } = await env.open((session) => session.read('test://template/123/data'));
    check(contents[0].uri === 'test://template/123/data' && contents[0].text.includes('123'), '123', contents);
});

test('resources/read unknown resource: -32002 (legacy), -32602 (modern)', (env) =>
    env.open(async (session) => {
        const uri = 'test://no-such-resource';
        // The 2.x client reports the legacy code as the modern one; the recording has the original.
        const code = env.era === 'legacy' && env.sdk.SLUG === 'typescript-v1' ? -32002 : INVALID_PARAMS;
        const error = await refused(session.read(uri), code);
        check(error.data?.uri === uri, 'data.uri', error.data);
        const sent = env.wire.received().filter((m) => 'error' in m).map((m) => m.error.code);
        check(same(sent, [env.era === 'legacy' ? -32002 : INVALID_PARAMS]), 'code on the wire', sent);
        await stillWorks(session);
    }));

// ---- prompts and completion ----

const onePrompt = (env, name, args) => env.open(async (session) => (await session.prompt(name, args)).messages);

test('prompts/get test_simple_prompt', async (env) => {
    const messages = await onePrompt(env, 'test_simple_prompt');
    check(messages[0].content.type === 'text' && messages[0].content.text, 'text', messages);
});

test('prompts/get test_prompt_with_arguments, non-ASCII', async (env) => {
    const [message] = await onePrompt(env, 'test_prompt_with_arguments', { arg1: NON_ASCII, arg2: 'élan 🎉' });
    const { text } = message.content;
    check(text.includes(NON_ASCII) && text.includes('élan 🎉'), 'both values must come back', text);
});

test('prompts/get test_prompt_with_embedded_resource', async (env) => {
    const messages = await onePrompt(env, 'test_prompt_with_embedded_resource', { resourceUri: 'test://example' });
    const blocks = messages.map((m) => m.content).filter((block) => block.type === 'resource');
    check(blocks.length === 1 && blocks[0].resource.uri === 'test://example', 'resource', messages);
});

test('prompts/get test_prompt_with_image', async (env) => {
    const messages = await onePrompt(env, 'test_prompt_with_image');
    const blocks = messages.map((m) => m.content).filter((block) => block.type === 'image');
    check(blocks.length === 1, 'one image', messages);
    checkImage(blocks[0]);
});

test('prompts/get with a missing argument, and of an unknown prompt: -32602', (env) =>
    env.open(async (session) => {
        await refused(session.prompt('test_prompt_with_arguments', { arg1: 'only' }), INVALID_PARAMS);
        await refused(session.prompt('test_prompt_with_arguments'), INVALID_PARAMS);
        await refused(session.prompt('no_such_prompt'), INVALID_PARAMS);
    }));

const completes = (ref, name) => async (env) => {
    const { completion } = await env.open((session) => session.complete(ref, name, '1'));
    check(Array.isArray(completion.values) && completion.values.length <= 100, 'values', completion);
};
test('completion/complete for a prompt argument', completes({ type: 'ref/prompt', name: 'test_prompt_with_arguments' }, 'arg1'));
test('completion/complete for a template variable', completes({ type: 'ref/resource', uri: 'test://template/{id}/data' }, 'id'));

// ---- concurrency, cancelling, timeouts, closing ----

const fifty = (run) => Promise.all(Array.from({ length: 50 }, (_, index) => run(index)));

test('50 concurrent slow calls', (env) =>
    env.open(async (session) => {
        // One after the other, they would take longer than a case may.
        const texts = await fifty(async () => textOf(await session.call('slow', { seconds: 1 })));
        check(texts.every(Boolean), '50 texts', texts);
    }));

test('50 concurrent requests are answered each with its own answer', (env) =>
    env.open(async (session) => {
        const wrong = [];
        await fifty(async (index) => {
            const token = index % 2 ? `<${index}-é>` : String(index + 1000);
            const text = index % 2
                ? (await session.prompt('test_prompt_with_arguments', { arg1: token, arg2: 'x' })).messages[0].content.text
                : (await session.read(`test://template/${token}/data`)).contents[0].text;
            if (!text.includes(token)) wrong.push(`${token} not in ${text}`);
        });
        check(wrong.length === 0, 'responses of other calls', wrong.slice(0, 3));
    }));

test('a slow call reports progress, another is answered meanwhile', async (env) => {
    const values = [];
    const order = [];
    await env.open(async (session) => {
        const options = { progress: (item) => values.push(item.progress) };
        const slow = session.call('slow', { seconds: 0.8 }, options).then(() => order.push('slow'));
        await sleep(200);
        await stillWorks(session);
        order.push('fast');
        await slow;
    });
    check(same(order, ['fast', 'slow']), 'order of responses', order);
    const increasing = values.every((value, index) => index === 0 || value > values[index - 1]);
    check(values.length >= 3 && increasing, 'increasing progress every 100 ms', values);
});

/** Calls, aborts after two progress notifications; what the SDK reports about the call. */
async function abandon(session, name, args) {
    const controller = new AbortController();
    let seen = 0;
    const progress = () => {
        seen += 1;
        if (seen === 2) controller.abort('the test cancelled');
    };
    try {
        await session.call(name, args, { progress, signal: controller.signal });
    } catch (error) {
        check(controller.signal.aborted, 'the call failed before it was cancelled', String(error));
        return;
    }
    throw new Failure('response before the cancellation');
}

test('cancel a slow call: no late response, the session goes on', async (env) => {
    await env.open(async (session) => {
        // Longer than a case may take: cancelling does not wait for the call.
        await abandon(session, 'slow', { seconds: 600 });
        await stillWorks(session);
        await sleep(2000);
        await stillWorks(session);
    });
    const cancelled = env.wire.sent().filter((m) => m.method === 'notifications/cancelled').map((m) => m.params.requestId);
    if (env.overHttp && env.era === 'modern') {
        check(cancelled.length === 0, 'a modern client cancels by disconnecting', cancelled);
        return;
    }
    check(cancelled.length === 1, 'one cancellation on the wire', cancelled);
    const late = env.wire.received().filter((m) => m.id === cancelled[0] && !('method' in m));
    check(late.length === 0, 'response to a cancelled request', late);
});

test('cancel a slow call: the tool is told', (env) =>
    env.open(async (session) => {
        const name = `interop-${process.pid}-${env.mode}`;
        const told = async () => textOf(await session.call('slow_cancelled', { name }));
        check(await told() === 'no', 'before');
        await abandon(session, 'slow', { seconds: 600, name });
        while (await told() !== 'yes') await sleep(50);
    }));

test('a call times out at the client: the session goes on', (env) =>
    env.open(async (session) => {
        try {
            await session.call('slow', { seconds: 2 }, { timeout: 300 });
        } catch (error) {
            if (!(error instanceof TimedOut)) throw error;
            await stillWorks(session);
            await sleep(2000);
            await stillWorks(session);
            return;
        }
        throw new Failure('expected a timeout');
    }));

test('a timeout that is not reached', (env) =>
    env.open(async (session) => {
        check(textOf(await session.call('slow', { seconds: 0.2 }, { timeout: 25000 })), 'text');
    }));

test('closing with a call in flight', async (env) => {
    let pending;
    await env.open(async (session) => {
        pending = session.call('slow', { seconds: 20 }).then(() => 'answered', () => 'failed');
        await sleep(300);
    });
    const outcome = await pending;
    check(outcome === 'failed', 'the call in flight', outcome);
});
