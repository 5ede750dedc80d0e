// Cases of tasks with ext-tasks, which speaks both dialects: that of 2025-11-25, and the extension of 2026-07-28.
import { INVALID_PARAMS, METHOD_NOT_FOUND, textOf } from './cases_common.mjs';
import { check, NotOffered, same, sleep, Suite } from './harness.mjs';
import { EXTENSION, framed, taskSession } from './tasks_ext.mjs';

export const SUITE = new Suite();
const MISSING_CAPABILITY = -32021;
const DECLARED = { extensions: { [EXTENSION]: {} } };
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** Runs with a task session of a server that has these tools in the dialect of the mode. */
async function withTasks(env, run, handlers = {}) {
    return env.open(async (session) => {
        const names = (await session.list('tools')).map(({ name }) => name);
        if (!names.includes('slow_compute')) throw new NotOffered('no tool slow_compute', 'this server');
        const { capabilities } = await session.info();
        const offered = env.era === 'modern' ? capabilities.extensions?.[EXTENSION] : capabilities.tasks;
        if (!offered) throw new NotOffered('tasks in this revision', 'this server');
        const tasks = taskSession({ ...session, ...handlers });
        try {
            return await run(tasks.session, tasks, session);
        } finally {
            await tasks.session.close();
        }
    }, handlers);
}

const test = (name, run, handlers, era) =>
    SUITE.add(`tasks: ${name}`, (env) => withTasks(env, (tasks, more, session) => run(tasks, { env, ...more, session }), handlers), era);
const modern = (name, run, handlers) => test(name, run, handlers, 'modern');

const PREFERRED = { task: { preference: 'prefer' } };
const LABELLED = (label, seconds = 1) => ['slow_compute', { seconds, label }, PREFERRED];

async function started(tasks, ...call) {
    const execution = await tasks.callTool(...call);
    check(execution.kind === 'task', 'a task', execution.kind);
    return execution;
}

/** The result of a call, as a task or not. */
async function settled(execution) {
    const { outcome } = await execution.settle();
    check(outcome.status === 'completed', 'completed', outcome);
    return outcome.result;
}

async function refusedBy(promise, code) {
    const error = await promise.then((result) => ({ result }), (caught) => caught);
    check(error.code === code, `error ${code}`, error.result ?? `${error}`);
}

async function until(controller, ...statuses) {
    for (;;) {
        const seen = await controller.snapshot();
        if (statuses.includes(seen.status)) return seen;
        check(!['completed', 'failed', 'cancelled'].includes(seen.status), `never ${statuses}`, seen);
        await sleep(seen.suggestedPollIntervalMs ?? 500);
    }
}

test('what the server can do, as ext-tasks reads it', async (tasks, { modern: isModern }) => {
    const { execution, cancellation, inputResponses } = tasks.capabilities;
    check(execution && cancellation && inputResponses === isModern, 'execution and cancellation', tasks.capabilities);
});

test('created, its updates, and its result', async (tasks) => {
    const execution = await started(tasks, ...LABELLED('first', 2));
    const seen = [];
    for await (const event of execution.updates()) if (event.type === 'task') seen.push(event.task);
    check(seen.some(({ statusMessage }) => statusMessage), 'a text of the status', seen);
    for (const { createdAt, lastUpdatedAt } of seen) {
        check(!Number.isNaN(Date.parse(createdAt)) && !Number.isNaN(Date.parse(lastUpdatedAt)), 'stamps', seen);
    }
    const result = await settled(execution);
    check(textOf(result).includes('first') && !result.isError, "the tool's text", result);
});

test('a tool that is never a task: a result at once', async (tasks) => {
    const execution = await tasks.callTool('greet', { name: 'Ada' });
    check(execution.kind === 'immediate', 'no task', execution.kind);
    check(textOf(await settled(execution)) === 'Hello, Ada!', 'greet');
});

test('isError: failed in 2025-11-25, completed since', async (tasks, { modern: isModern }) => {
    const execution = await started(tasks, 'failing_job', {});
    const { outcome, lastTask } = await execution.settle();
    check(lastTask.status === (isModern ? 'completed' : 'failed'), 'status', lastTask);
    if (isModern) check(outcome.result.isError === true && textOf(outcome.result), 'isError with a text', outcome);
});

test('protocol error: the task has failed', async (tasks, { modern: isModern }) => {
    const { outcome } = await (await started(tasks, 'protocol_error_job', {})).settle();
    check(outcome.status === 'failed', 'failed', outcome);
    if (isModern) check(outcome.error.code === -32603, 'the code', outcome.error.code);
});

test('cancelled', async (tasks) => {
    const execution = await started(tasks, ...LABELLED('stopped', 60));
    await execution.cancel();
    const { outcome } = await execution.settle();
    check(outcome.status === 'cancelled', 'cancelled', outcome);
});

test('unknown id: -32602', async (tasks, { modern: isModern }) => {
    const nothing = tasks.task('00000000-0000-0000-0000-000000000000');
    await refusedBy(nothing.snapshot(), INVALID_PARAMS);
    await refusedBy(nothing.cancel(), INVALID_PARAMS);
    if (isModern) await refusedBy(nothing.update({}), INVALID_PARAMS);
});

test('five at once, each with its own result', async (tasks) => {
    const labels = [0, 1, 2, 3, 4].map((n) => `task number ${n}`);
    const executions = await Promise.all(labels.map((label) => started(tasks, ...LABELLED(label))));
    check(new Set(executions.map(({ handle }) => handle.taskId)).size === 5, 'five ids');
    const texts = await Promise.all(executions.map(async (execution) => textOf(await settled(execution))));
    check(labels.every((label, index) => texts[index].includes(label)), 'each its own', texts);
});

test('detached, and looked at by its id', async (tasks) => {
    const execution = await started(tasks, ...LABELLED('by id'));
    await execution.detach();
    const { status, result } = await tasks.task(execution.handle.taskId).result();
    check(status === 'completed' && textOf(result).includes('by id'), "the tool's text", result);
});

SUITE.add('tasks: detached, and resumed on a new connection', async (env) => {
    let reference;
    await withTasks(env, async (tasks) => {
        const execution = await started(tasks, ...LABELLED('reconnected'));
        await execution.handoff((kept) => {
            reference = JSON.stringify(kept);
        });
    });
    await withTasks(env, async (tasks) => {
        const resumed = await tasks.resumeTask(JSON.parse(reference));
        check(textOf(await settled(resumed)).includes('reconnected'), "the tool's text");
    });
}, 'modern', 'http');

// ---- questions: in 2025-11-25 ext-tasks does not call tasks/result while one is open ----

const accept = (content) => ({ action: 'accept', content });

function asking(answer) {
    const asked = [];
    const taskInput = (request, context) => {
        asked.push({ ...request, ...context });
        return answer(request.params);
    };
    return [{ capabilities: { elicitation: { form: {} } }, taskInput }, asked];
}

const [confirming, confirmed] = asking(() => accept({ confirm: true }));

modern('a question inside of a task', async (tasks) => {
    confirmed.length = 0;
    const execution = await started(tasks, 'confirm_delete', { filename: 'old.txt' });
    check(textOf(await settled(execution)).includes('old.txt'), "the tool's text");
    check(confirmed.length === 1 && confirmed[0].params.message.includes('old.txt'), 'one question', confirmed);
    const { delivery, taskId } = confirmed[0];
    check(delivery === 'task-update', 'its way', delivery);
    check(taskId === execution.handle.taskId, 'its task', taskId);
}, confirming);

const [declining] = asking(() => ({ action: 'decline' }));

modern('a question inside of a task is declined', async (tasks) => {
    const text = textOf(await settled(await started(tasks, 'confirm_delete', { filename: 'dear.txt' })));
    check(text.includes('dear.txt') && !text.includes('deleted'), "the tool's text", text);
}, declining);

const [naming, named] = asking(({ message }) => accept({ name: message.includes('first') ? 'Grace' : 'Hopper' }));

modern('two questions inside of a task', async (tasks) => {
    named.length = 0;
    const text = textOf(await settled(await started(tasks, 'multi_input', {})));
    check(named.length === 2, 'two questions', named);
    check(text.includes('Grace') && text.includes('Hopper'), 'both answers', text);
}, naming);

modern('a question before the task is created', async (tasks) => {
    named.length = 0;
    const execution = await started(tasks, 'test_tool_with_task', {});
    check(named.length === 1 && named[0].delivery === 'request-retry', 'one question, with the call', named);
    check(textOf(await settled(execution)).includes('Hopper'), "the tool's text has the answer");
}, naming);

modern('of two questions one is answered: the other stays, and unknown keys change nothing', async (tasks) => {
    const execution = await started(tasks, 'multi_input', {});
    const { taskId } = execution.handle;
    await execution.detach();
    const task = tasks.task(taskId);
    const asked = async () => {
        const seen = await until(task, 'input_required');
        return Object.entries(seen.raw.inputRequests);
    };
    let open = await asked();
    for (let polls = 0; open.length < 2 && polls < 20; polls += 1) {
        await sleep(50);
        open = await asked();
    }
    check(open.length === 2, 'two keys', open);
    const [[first], [second]] = open;
    await task.update({ [first]: accept({ name: 'Grace' }) });
    check(same((await asked()).map(([key]) => key), [second]), 'the other key alone');
    await task.update({ [first]: accept({ name: 'Ada' }), nothing: accept({ name: 'Ada' }) });
    check(same((await asked()).map(([key]) => key), [second]), 'nothing has changed');
    await task.update({ [second]: accept({ name: 'Hopper' }) });
    const { result } = await task.result();
    check(textOf(result).includes('Grace') && textOf(result).includes('Hopper'), 'both answers', result);
}, { capabilities: { elicitation: { form: {} } } });

test('a task that waits for an answer is cancelled', async (tasks) => {
    const execution = await started(tasks, 'confirm_delete', { filename: 'x' }, PREFERRED);
    const { taskId } = execution.handle;
    await execution.detach();
    await until(tasks.task(taskId), 'input_required');
    await tasks.task(taskId).cancel();
    await until(tasks.task(taskId), 'cancelled');
}, { capabilities: { elicitation: { form: {} } } });

// ---- what ext-tasks does not send ----

const answered = async (raw, method, params, capabilities) => raw.dispatch(framed(method, params, capabilities));

const NO_LISTENING = new NotOffered('subscriptions/listen', 'this server');

async function refusedRaw(raw, method, params, capabilities, code) {
    const { error, result } = await answered(raw, method, params, capabilities);
    check(error?.code === code, `${method}: error ${code}`, error ?? result);
    return error;
}

modern('not declared by the request: plain results, or -32021', async (tasks, { raw }) => {
    const { error, result } = await answered(raw, 'tools/call', { name: 'slow_compute', arguments: { seconds: 0, label: 'plainly' } }, {});
    check(result?.resultType === 'complete' && textOf(result).includes('plainly'), 'a plain result', error ?? result);
    const { data } = await refusedRaw(raw, 'tools/call', { name: 'failing_job', arguments: {} }, {}, MISSING_CAPABILITY);
    check(same(data.requiredCapabilities.extensions, { [EXTENSION]: {} }), 'what is missing', data);
    const { handle } = await started(tasks, ...LABELLED('mine', 60));
    for (const method of ['tasks/get', 'tasks/cancel']) {
        await refusedRaw(raw, method, { taskId: handle.taskId }, {}, MISSING_CAPABILITY);
    }
    await refusedRaw(raw, 'tasks/update', { taskId: handle.taskId, inputResponses: {} }, {}, MISSING_CAPABILITY);
    await tasks.cancelTask(handle.taskId);
});

modern('tasks/result and tasks/list are of 2025-11-25: -32601', async (tasks, { raw }) => {
    const { handle } = await started(tasks, ...LABELLED('done', 1));
    await refusedRaw(raw, 'tasks/result', { taskId: handle.taskId }, DECLARED, METHOD_NOT_FOUND);
    await refusedRaw(raw, 'tasks/list', {}, DECLARED, METHOD_NOT_FOUND);
});

modern('the member `task` of 2025-11-25 is ignored', async (_tasks, { raw }) => {
    const params = { name: 'greet', arguments: { name: 'Ada' }, task: { ttl: 1000 } };
    const { result } = await answered(raw, 'tools/call', params, DECLARED);
    check(result?.resultType === 'complete' && textOf(result) === 'Hello, Ada!', 'a plain result', result);
});

modern('the frames: flat and without members of other states', async (tasks, { raw }) => {
    const { result: created } = await answered(raw, 'tools/call', { name: 'slow_compute', arguments: { seconds: 1, label: 'flat' } }, DECLARED);
    check(created.resultType === 'task' && created.taskId && 'ttlMs' in created, 'flat', created);
    const absent = ['task', 'result', 'error', 'inputRequests', 'requestState', 'ttl', 'pollInterval'];
    check(absent.every((member) => !(member in created)), 'nothing else', created);
    const { result: cancelled } = await answered(raw, 'tasks/cancel', { taskId: created.taskId }, DECLARED);
    const { _meta, ...ack } = cancelled;
    check(same(ack, { resultType: 'complete' }), 'an empty acknowledgement', cancelled);
    const { result: again } = await answered(raw, 'tasks/cancel', { taskId: created.taskId }, DECLARED);
    check(again?.resultType === 'complete', 'the same once more', again);
});

modern('subscriptions/listen with taskIds: notifications/tasks until the end', async (tasks, { raw, session }) => {
    const told = [];
    const next = raw.transport.onmessage;
    raw.transport.onmessage = (message, extra) => {
        if (message.params?._meta?.[SUBSCRIPTION] === undefined) return next(message, extra);
        return told.push(message);
    };
    const { handle } = await started(tasks, ...LABELLED('told', 2));
    const listening = answered(raw, 'subscriptions/listen', { notifications: { taskIds: [handle.taskId] } }, DECLARED);
    let refused;
    listening.then(({ error }) => (refused = error), () => {});
    for (let waited = 0; told.length === 0 && !refused && waited < 50; waited += 1) await sleep(20);
    if (refused?.code === METHOD_NOT_FOUND) throw NO_LISTENING;
    const [acknowledged] = told;
    check(acknowledged?.method === 'notifications/subscriptions/acknowledged', 'acknowledged first', told);
    if (!acknowledged.params.notifications.taskIds) throw new NotOffered('taskIds in subscriptions', 'this server');
    check(same(acknowledged.params.notifications.taskIds, [handle.taskId]), 'the id', acknowledged);
    const states = () => told.filter(({ method }) => method === 'notifications/tasks').map(({ params }) => params);
    for (let waited = 0; states().at(-1)?.status !== 'completed' && waited < 300; waited += 1) await sleep(20);
    const last = states().at(-1);
    check(last?.status === 'completed' && textOf(last.result).includes('told'), 'the end, with the result', states());
    check(states().every(({ taskId }) => taskId === handle.taskId), 'this task alone', states());
    check(session.notifications.length === 0, 'nothing outside of the stream', session.notifications);
    await raw.transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: acknowledged.params._meta[SUBSCRIPTION] } });
});

modern('subscriptions/listen with taskIds, not declared: -32021', async (tasks, { raw }) => {
    const { handle } = await started(tasks, ...LABELLED('quiet', 60));
    const { error, result } = await answered(raw, 'subscriptions/listen', { notifications: { taskIds: [handle.taskId] } }, {});
    if (error?.code === METHOD_NOT_FOUND) throw NO_LISTENING;
    check(error?.code === MISSING_CAPABILITY, 'error -32021', error ?? result);
    await tasks.cancelTask(handle.taskId);
});
