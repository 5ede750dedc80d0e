// Visits the board at a URL with the npm package @modelcontextprotocol/client, beside whose node_modules this file is copied. One era at a time, since
// connections that the first leaves open let the board close one that the second is about to use.
//
//   node network_sdk.mjs URL TOKEN ERA      legacy or modern
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, era] = process.argv.slice(2);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const mode = { legacy: 'legacy', modern: { pin: '2026-07-28' } }[era];
const client = new Client({ name: 'visitor', version: '1' }, { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
assert.equal((await client.listTools()).tools.length, 40);
const read = await Promise.all([3, 4, 5].map((number) => client.callTool({ name: 'read_pin', arguments: { number } })));
assert.deepEqual(read.map(({ structuredContent }) => structuredContent.number), [3, 4, 5]);
const progress = [];
const swept = await client.callTool({ name: 'sweep', arguments: { steps: 3, period: 50 } }, { onprogress: (params) => progress.push(params.progress) });
assert.ok(!swept.isError && progress.length >= 2, JSON.stringify({ swept, progress }));
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
assert.ok(contents.length);
await client.close();
console.log(`PASS @modelcontextprotocol/client, ${era}`);
