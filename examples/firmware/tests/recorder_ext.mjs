// The recorder with the npm package `@modelcontextprotocol/ext-tasks` as the client, which has the tasks of 2026-07-28.
//
// usage: node recorder_ext.mjs COMMAND..., beside the modules of tests/interop
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import assert from 'node:assert/strict';

import { EXTENSION, taskSession } from './tasks_ext.mjs';

const [command, ...args] = process.argv.slice(2);
const capabilities = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } };
const client = new Client({ name: 'recorder', version: '1' }, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
const transport = new StdioClientTransport({ command, args });
await client.connect(transport);

const asked = [];
const taskInput = (request) => {
    asked.push(request.params.message);
    return { action: 'accept', content: { erase: true } };
};
const { session: tasks } = taskSession({ client, transport, capabilities, taskInput });

async function started(input) {
    const execution = await tasks.callTool('erase', input, { task: { preference: 'prefer' } });
    assert.equal(execution.kind, 'task');
    return execution;
}

// A task that asks.
let settled = await (await started({ first: 0, count: 9 })).settle();
assert.deepEqual([settled.outcome.status, settled.outcome.result.structuredContent], ['completed', { pages: 9 }]);
assert.equal(asked.length, 1);

// One whose updates are watched.
let execution = await started({ first: 0, count: 16, sure: true });
const texts = [];
for await (const event of execution.updates()) if (event.type === 'task') texts.push(event.task.statusMessage);
assert(texts.some((text) => /^Page \d+ of 16$/.test(text)), `${texts}`);
assert.deepEqual((await execution.settle()).outcome.result.structuredContent, { pages: 16 });

// One that is cancelled.
execution = await started({ first: 0, count: 16, sure: true });
await execution.cancel();
assert.equal((await execution.settle()).outcome.status, 'cancelled');

// A tool that is no task.
const counted = await tasks.callTool('count_pages', {});
assert.equal(counted.kind, 'immediate');

await tasks.close();
await client.close();
console.log('PASS 2026-07-28: ext-tasks calls, is asked, polls and cancels');
