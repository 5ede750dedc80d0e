// Calls a fleet, of which each request may reach another server, with one of the npm packages of the official SDK.
//
//   node fleet.mjs v1|v2 URL CALLS QUESTIONS CHANGES
//
// It prints a line for each mode: the client, what it has done, and what of that went wrong.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [sdk, url, ...counts] = process.argv.slice(2);
const [CALLS, QUESTIONS, CHANGES] = counts.map(Number);
const URI = 'fleet:resource';
const V1 = '@modelcontextprotocol/sdk';
const SDKS = {
    v1: [V1, ['legacy'], `${V1}/client/index.js`, `${V1}/client/streamableHttp.js`, `${V1}/types.js`],
    v2: ['@modelcontextprotocol/client', ['legacy', 'auto', '2026-07-28'], '@modelcontextprotocol/client'],
};
const [name, modes, ...modules] = SDKS[sdk];
const { Client, StreamableHTTPClientTransport, ElicitRequestSchema } = Object.assign({}, ...(await Promise.all(modules.map((path) => import(path)))));
const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8'));
const label = `typescript ${name.split('/')[1]} ${lock.packages[`node_modules/${name}`].version}`;

async function visit(mode) {
    const negotiated = mode.startsWith('2') ? { pin: mode } : mode;
    const client = new Client({ name: 'fleet', version: '1' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: negotiated } });
    client.setRequestHandler(sdk === 'v1' ? ElicitRequestSchema : 'elicitation/create', async () => ({ action: 'accept', content: {} }));
    let updates = 0;
    client.fallbackNotificationHandler = async ({ method }) => {
        updates += method === 'notifications/resources/updated';
    };
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const said = async (tool, args = {}) => (await client.callTool({ name: tool, arguments: args })).content[0].text;
    let wrong = 0;
    for (let call = 0; call < CALLS; call++) wrong += !(await said('echo', { text: `${call}` })).startsWith(`${call} n`);
    for (let question = 0; question < QUESTIONS; question++) wrong += (await said('ask')) !== 'accept';
    if (mode === 'legacy') await client.subscribeResource({ uri: URI });
    else await client.listen({ resourceSubscriptions: [URI] });
    // The bus carries it to the server with the stream a moment after the response.
    await sleep(1000);
    // The subscription may be told of a change that was made just before it.
    const before = updates;
    for (let change = 0; change < CHANGES; change++) {
        await said('touch');
        for (let time = 0; time < 5000 && updates - before <= change; time += 10) await sleep(10);
    }
    wrong += Math.abs(CHANGES - (updates - before));
    await client.close();
    console.log([`${label} ${mode}`, CALLS + QUESTIONS + CHANGES, wrong].join('\t'));
}

for (const mode of modes) await visit(mode);
