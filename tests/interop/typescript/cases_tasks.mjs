// Cases of tasks in 2025-11-25, which only version 1 of the SDK has.
import { INVALID_PARAMS, METHOD_NOT_FOUND, refused, textOf } from './cases_common.mjs';
import { check, NotOffered, RpcError, same, sleep, Suite } from './harness.mjs';

export const SUITE = new Suite('legacy');
const RELATED = 'io.modelcontextprotocol/related-task';
const TERMINAL = ['completed', 'failed', 'cancelled'];

/** A case with one session, for servers with these tools. */
function test(name, run, handlers = {}) {
    SUITE.add(`tasks: ${name}`, (env) =>
        env.open(async (session) => {
            const tools = new Map((await session.list('tools')).map((tool) => [tool.name, tool]));
            if (!tools.has('slow_compute')) throw new NotOffered('no tool slow_compute', 'this server');
            await run(session.tasks, { env, session, tools });
        }, handlers));
}

function checkTask(task, ...statuses) {
    check(statuses.includes(task.status), `status ${statuses}`, task);
    check(task.taskId, 'taskId', task);
    for (const stamp of ['createdAt', 'lastUpdatedAt']) {
        check(/T.*(Z|[+-]\d\d:\d\d)$/.test(task[stamp]) && !Number.isNaN(Date.parse(task[stamp])), `${stamp} with a time zone`, task);
    }
}

function checkRelated({ _meta }, { taskId }) {
    check(same(_meta?.[RELATED], { taskId }), 'the related task in _meta', _meta);
}

/** Polls until the task has one of these. */
async function until(tasks, task, ...statuses) {
    for (;;) {
        const seen = await tasks.get(task);
        if (statuses.includes(seen.status)) return seen;
        check(!TERMINAL.includes(seen.status), `never ${statuses}`, seen);
        await sleep(seen.pollInterval ?? 500);
    }
}

test('capability, and execution of the tools', async (_tasks, { session, tools }) => {
    const { tasks } = (await session.info()).capabilities;
    check(tasks?.cancel, 'tasks with cancel', tasks);
    check(tasks.requests.tools.call, 'tools/call', tasks);
    const support = (name) => tools.get(name).execution?.taskSupport ?? 'forbidden';
    check(support('greet') === 'forbidden', 'greet is never a task', support('greet'));
    check(support('slow_compute') === 'optional', 'slow_compute may be one', support('slow_compute'));
    check(support('failing_job') === 'required', 'failing_job has to be one', support('failing_job'));
});

test('created, polled with the text of its status, and its result', async (tasks) => {
    const task = await tasks.start('slow_compute', { seconds: 1, label: 'first' }, 30_000);
    checkTask(task, 'working');
    const texts = [];
    let seen;
    do {
        seen = await tasks.get(task);
        checkTask(seen, 'working', 'completed');
        check(seen.createdAt === task.createdAt && seen.ttl === task.ttl, 'the same task', seen);
        texts.push(seen.statusMessage ?? '');
        await sleep(seen.pollInterval ?? 500);
    } while (seen.status === 'working');
    check(texts.some(Boolean), 'a text of the status', texts);
    const result = await tasks.result(task);
    check(textOf(result).includes('first') && !result.isError, "the tool's text", result);
    checkRelated(result, task);
    check(textOf(await tasks.result(task)) === textOf(result), 'the same result again');
});

test("the SDK's stream of one call: created, status, result", async (tasks) => {
    const seen = [];
    for await (const message of tasks.stream('slow_compute', { seconds: 1, label: 'streamed' })) seen.push(message);
    check(seen[0].type === 'taskCreated', 'created first', seen);
    check(seen.some(({ type, task }) => type === 'taskStatus' && task.status === 'working'), 'a status', seen);
    const last = seen.at(-1);
    check(last.type === 'result' && textOf(last.result).includes('streamed'), 'the result last', last);
});

test('tasks/result waits for the end', async (tasks) => {
    const task = await tasks.start('slow_compute', { seconds: 1, label: 'waiting' });
    const result = await tasks.result(task);
    check(textOf(result).includes('waiting'), "the tool's text", result);
    checkTask(await tasks.get(task), 'completed');
});

test('tasks/result twice at once: both are answered', async (tasks) => {
    const task = await tasks.start('slow_compute', { seconds: 1, label: 'both' });
    const results = await Promise.all([tasks.result(task), tasks.result(task)]);
    check(results.every((result) => textOf(result).includes('both')), 'two results', results);
});

test('tasks/result abandoned: the task goes on', async (tasks) => {
    const task = await tasks.start('slow_compute', { seconds: 1, label: 'again' });
    let ended = false;
    await tasks.result(task, AbortSignal.timeout(300)).then(() => (ended = true), () => {});
    check(!ended, 'no result within 0.3 s');
    const result = await tasks.result(task);
    check(textOf(result).includes('again'), "the tool's text", result);
    checkTask(await tasks.get(task), 'completed');
});

test('isError: the task has failed, its result is kept', async (tasks) => {
    const task = await tasks.start('failing_job');
    checkTask(await until(tasks, task, ...TERMINAL), 'failed');
    const result = await tasks.result(task);
    check(result.isError === true && textOf(result), 'isError with a text', result);
    checkRelated(result, task);
});

test('protocol error: the task has failed, tasks/result is that error', async (tasks) => {
    const task = await tasks.start('protocol_error_job');
    checkTask(await until(tasks, task, ...TERMINAL), 'failed');
    await refused(tasks.result(task), -32603);
});

test('cancelled at once; again, its result, and after its end: refused', async (tasks) => {
    const task = await tasks.start('slow_compute', { seconds: 60, label: 'stopped' });
    checkTask(await tasks.cancel(task), 'cancelled');
    checkTask(await tasks.get(task), 'cancelled');
    await refused(tasks.cancel(task), INVALID_PARAMS);
    const error = await tasks.result(task).catch((caught) => caught);
    check(error instanceof RpcError, 'a cancelled task has no result', error);
    const done = await tasks.start('slow_compute', { seconds: 0, label: 'done' });
    await until(tasks, done, 'completed');
    await refused(tasks.cancel(done), INVALID_PARAMS);
});

test('unknown id: -32602', async (tasks) => {
    const nothing = { taskId: '00000000-0000-0000-0000-000000000000' };
    for (const method of [tasks.get, tasks.result, tasks.cancel]) await refused(method(nothing), INVALID_PARAMS);
});

test('tasks/list has what was created', async (tasks, { session }) => {
    if (!(await session.info()).capabilities.tasks.list) throw new NotOffered('tasks/list', 'this server');
    const created = [];
    for (const label of ['a', 'b', 'c']) created.push((await tasks.start('slow_compute', { seconds: 0, label })).taskId);
    const listed = new Map();
    let cursor;
    do {
        const page = await tasks.list(cursor);
        for (const task of page.tasks) listed.set(task.taskId, task);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    for (const id of created) checkTask(listed.get(id) ?? {}, 'working', 'completed');
});

test('five at once, each with its own result', async (tasks) => {
    const labels = [0, 1, 2, 3, 4].map((n) => `task number ${n}`);
    const created = await Promise.all(labels.map((label) => tasks.start('slow_compute', { seconds: 1, label })));
    check(new Set(created.map(({ taskId }) => taskId)).size === 5, 'five ids', created);
    for (const [index, task] of [...created.entries()].reverse()) {
        const result = await tasks.result(task);
        check(textOf(result).includes(labels[index]), `the result of ${labels[index]}`, result);
        checkRelated(result, task);
    }
});

test('a tool that may be one, without `task`: a plain result', async (_tasks, { session }) => {
    const result = await session.call('slow_compute', { seconds: 0, label: 'plainly' });
    check(textOf(result).includes('plainly'), "the tool's text", result);
    check(textOf(await session.call('greet', { name: 'Ada' })) === 'Hello, Ada!', 'greet');
});

test('`task` for a tool that forbids it, and none for one that requires it: -32601', async (tasks, { session }) => {
    await refused(tasks.start('greet', { name: 'Ada' }), METHOD_NOT_FOUND);
    // The SDK's callTool would refuse by itself.
    await refused(session.request('tools/call', { name: 'failing_job', arguments: {} }), METHOD_NOT_FOUND);
    await refused(tasks.start('no_such_tool'), INVALID_PARAMS);
});

const accept = (content) => ({ action: 'accept', content });

const confirmed = [];
const confirming = { elicitation: (params) => (confirmed.push(params), accept({ confirm: true })) };

test('a question inside of a task comes while tasks/result waits', async (tasks, { env }) => {
    confirmed.length = 0;
    const task = await tasks.start('confirm_delete', { filename: 'old.txt' });
    checkTask(await until(tasks, task, 'input_required'), 'input_required');
    const result = await tasks.result(task);
    check(textOf(result).includes('old.txt'), "the tool's text", result);
    check(confirmed.length === 1 && confirmed[0].message.includes('old.txt'), 'one question', confirmed);
    checkRelated(env.wire.received().find(({ method }) => method === 'elicitation/create').params, task);
    checkTask(await tasks.get(task), 'completed');
}, confirming);

test("a question inside of a task, by the SDK's stream", async (tasks) => {
    let last;
    for await (const message of tasks.stream('confirm_delete', { filename: 'new.txt' })) last = message;
    check(last.type === 'result' && textOf(last.result).includes('new.txt'), 'the result last', last);
}, confirming);

test('a question inside of a task is declined', async (tasks) => {
    const text = textOf(await tasks.result(await tasks.start('confirm_delete', { filename: 'dear.txt' })));
    check(text.includes('dear.txt') && !text.includes('deleted'), "the tool's text", text);
}, { elicitation: () => ({ action: 'decline' }) });

const named = [];
const naming = {
    elicitation(params) {
        named.push(params);
        return accept({ name: params.message.includes('first') ? 'Grace' : 'Hopper' });
    },
};

test('two questions inside of a task', async (tasks) => {
    named.length = 0;
    const text = textOf(await tasks.result(await tasks.start('multi_input')));
    check(named.length === 2, 'two questions', named);
    check(text.includes('Grace') && text.includes('Hopper'), 'both answers', text);
}, naming);

test('a task that waits for an answer is cancelled', async (tasks) => {
    const task = await tasks.start('confirm_delete', { filename: 'x' });
    await until(tasks, task, 'input_required');
    checkTask(await tasks.cancel(task), 'cancelled');
    checkTask(await tasks.get(task), 'cancelled');
}, confirming);

test('notifications/tasks/status, if any, is of a known task', async (tasks, { session }) => {
    const task = await tasks.start('slow_compute', { seconds: 1, label: 'told' });
    await tasks.result(task);
    await sleep(100);
    for (const { params } of session.notifications.filter(({ method }) => method === 'notifications/tasks/status')) {
        check(params.taskId === task.taskId, "the task's id", params);
        checkTask(params, 'working', 'completed');
    }
});

async function hosted({ env, session, tools }, tool, args, text) {
    if (!tools.has(tool)) throw new NotOffered(`no tool ${tool}`, 'this server');
    const result = await session.call(tool, args);
    check(textOf(result) === text, 'the answer', result);
    const methods = env.wire.received().filter((m) => 'method' in m && 'id' in m).map((m) => m.method);
    check(methods.includes('tasks/get') && methods.at(-1) === 'tasks/result', 'the task was polled, and its result fetched', methods);
}

test('asked by a task of the client: elicitation', (_tasks, context) =>
    hosted(context, 'ask_user_as_task', {}, 'accept Ada'),
{ hostsTasks: true, elicitation: () => accept({ name: 'Ada' }) });

const sampled = { role: 'assistant', content: { type: 'text', text: 'forty-two' }, model: 'm', stopReason: 'endTurn' };

test('asked by a task of the client: sampling', (_tasks, context) =>
    hosted(context, 'ask_model_as_task', { prompt: '?' }, 'forty-two'),
{ hostsTasks: true, sampling: () => sampled });
