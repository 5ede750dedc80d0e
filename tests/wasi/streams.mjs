// Calls the slow tool of the component at this URL, and fails unless its first event arrives long before its result.
const meta = { progressToken: 1, 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
const params = { name: 'count_down', arguments: { from: 5, pause: 200 }, _meta: meta }
const response = await fetch(process.argv[2], {
    method: 'POST',
    headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/call',
        'Mcp-Name': 'count_down',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
})
let first
let text = ''
for await (const piece of response.body) {
    first ??= performance.now()
    text += Buffer.from(piece)
}
const apart = performance.now() - first
const events = text.split('\n\n').filter((event) => event.startsWith('data: {'))
if (events.length !== 6 || !events[5].includes('Lift-off')) throw new Error(`not five reports of progress and a result: ${text}`)
if (apart < 500) throw new Error(`the result arrived ${apart} ms after the first event, which takes 1000 ms`)
console.log(`ok: five events, the result ${Math.round(apart)} ms after the first`)
