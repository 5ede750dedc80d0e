// Calls the tools of the component at this URL with the npm package @modelcontextprotocol/client, beside whose node_modules
// this file is copied.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const lock = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url), 'utf8'))
const client = new Client({ name: 'wasi', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])))
const { tools } = await client.listTools()
assert.deepEqual(tools.map((tool) => tool.name), ['echo', 'add', 'count_down'])
const call = async (name, args, options) => (await client.callTool({ name, arguments: args }, options)).content[0].text
assert.equal(await call('echo', { text: 'Grüße' }), 'Grüße')
const progress = []
const onprogress = ({ progress: done, total }) => progress.push([done, total])
assert.equal(await call('count_down', { from: 3, pause: 10 }, { onprogress }), 'Lift-off')
assert.deepEqual(progress, [[0, 3], [1, 3], [2, 3]])
await client.close()
console.log(`ok: @modelcontextprotocol/client ${lock.packages['node_modules/@modelcontextprotocol/client'].version}`)
