// The server of a dial, against hosts of the official packages: one in this process, and one in a browser that shows the page.
//
//   node dial.test.mjs SERVER [ARGUMENT...]
//
// CHROMIUM: the browser. APPS_META: JSON text with a value for each of some types of the extension's schema. SCREENSHOT: a file to write.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import test, { after, before } from 'node:test';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
    getToolUiResourceUri, isToolVisibilityAppOnly, RESOURCE_MIME_TYPE,
} from '@modelcontextprotocol/ext-apps/app-bridge';
import Ajv from 'ajv/dist/2020.js';
import { chromium } from 'playwright-core';

const here = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');
const [command, ...args] = process.argv.slice(2);
const UI = { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } };
const ERAS = { legacy: 'legacy', modern: { pin: '2026-07-28' } };

async function connect(mode, extensions) {
    const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: { extensions }, versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
    return client;
}

/** The tool with a page, and the page. */
async function dial(client) {
    const { tools } = await client.listTools();
    const tool = tools.find((tool) => getToolUiResourceUri(tool));
    const { contents: [page] } = await client.readResource({ uri: getToolUiResourceUri(tool) });
    return { tools, tool, page };
}

const { $defs, ...schema } = JSON.parse(here('node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json'));
const ajv = new Ajv({ strict: false });
function assertValid(type, value) {
    const validate = ajv.compile({ ...$defs[type], $id: undefined });
    assert(validate(value), `${type}: ${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`);
}

test('all members of the types are those of the schema', () => {
    const types = JSON.parse(process.env.APPS_META);
    for (const [type, value] of Object.entries(types)) {
        assertValid(type, value);
        assert.deepEqual(Object.keys(value).sort(), Object.keys($defs[type].properties).filter((key) => !$defs[type].properties[key].not).sort());
        assert.throws(() => assertValid(type, { ...value, other: 1 }), /additional properties/);
    }
    assert.equal(Object.keys(types).length, 5);
});

for (const [era, mode] of Object.entries(ERAS)) {
    test(`a host finds the page (${era})`, async () => {
        const client = await connect(mode, UI);
        assert.deepEqual(Object.keys(client.getServerCapabilities().extensions), Object.keys(UI));
        const { tools, tool, page } = await dial(client);
        tools.forEach(({ _meta }) => assertValid('McpUiToolMeta', _meta.ui));
        assert.deepEqual(tools.filter(isToolVisibilityAppOnly).map(({ name }) => name), ['set_zero']);
        const { resources: [listed] } = await client.listResources();
        assert.deepEqual([listed.uri, page.uri], [getToolUiResourceUri(tool), listed.uri]);
        for (const { mimeType, _meta } of [listed, page]) {
            assert.equal(mimeType, RESOURCE_MIME_TYPE);
            assertValid('McpUiResourceMeta', _meta.ui);
        }
        assert.match(page.text, /^<!doctype html>/);
        await client.close();
    });
    test(`a host without pages gets text (${era})`, async () => {
        const client = await connect(mode, {});
        const { content } = await client.callTool({ name: 'measure', arguments: {} });
        assert.deepEqual(content, [{ type: 'text', text: '{"acceleration":1000}' }]);
        await client.close();
    });
}

let client, browser, site;
before(async () => {
    client = await connect(ERAS.modern, UI);
    browser = await chromium.launch({
        executablePath: process.env.CHROMIUM,
        args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    });
    site = createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url, 'http://host');
        const files = {
            '/': ['text/html', '<!doctype html><link rel="icon" href="data:,"><script src="host.js"></script><body></body>'],
            '/host.js': ['text/javascript', here('built/host.js')],
            '/sandbox.html': ['text/html', here('sandbox.html')],
        };
        const [type, body] = files[pathname] ?? [];
        if (!type) return response.writeHead(404).end();
        response.writeHead(200, { 'content-type': type, ...(searchParams.has('csp') && { 'content-security-policy': searchParams.get('csp') }) });
        response.end(body);
    });
    await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
});
after(async () => {
    await browser?.close();
    site?.close();
    await client?.close();
});

/** The policy of the extension's text for a page that declares no origins. */
const STRICTEST = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    + "media-src 'self' data:; object-src 'none'; connect-src 'none'";

/** Shows the page in a browser. Returns its frame, and what went wrong in it. */
async function show(html, capabilities = { serverTools: {} }, hostContext = { theme: 'light' }) {
    const errors = [], called = [];
    const page = await browser.newPage({ viewport: { width: 360, height: 320 } });
    page.on('pageerror', (error) => errors.push(`${error}`));
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
    page.on('request', (request) => {
        const { origin } = new URL(request.url());
        if (origin !== 'null' && ![host, sandbox].includes(origin)) errors.push(`request: ${request.url()}`);
    });
    await page.exposeFunction('callTool', async (params) => {
        const result = await client.callTool(params);
        called.push([params.name, result.structuredContent.acceleration]);
        return result;
    });
    const { port } = site.address();
    // Two names, so that the page has an origin of its own.
    const [host, sandbox] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
    await page.goto(host);
    await page.evaluate((args) => window.show(...args), [`${sandbox}/sandbox.html?csp=${encodeURIComponent(STRICTEST)}`, { html }, capabilities, hostContext]);
    const frame = page.frames().find((frame) => frame.parentFrame()?.parentFrame());
    const result = (result) => page.evaluate((result) => window.bridge.sendToolResult(result), result);
    return { page, frame, errors, called, result };
}

/** Checks the text and the angle between the needle on the screen and the vertical. */
async function shows(frame, acceleration) {
    await reads(frame, `${(acceleration / 1000).toFixed(2)} g`);
    const degrees = await frame.evaluate(() => {
        const line = document.getElementById('needle'), { a, b, c, d } = line.getScreenCTM();
        const [x, y] = [line.x2.baseVal.value - line.x1.baseVal.value, line.y2.baseVal.value - line.y1.baseVal.value];
        return Math.atan2(a * x + c * y, -(b * x + d * y)) * 180 / Math.PI;
    });
    const expected = Math.max(-90, Math.min(90, acceleration * 0.045));
    assert(Math.abs(degrees - expected) < 0.1, `${degrees} instead of ${expected}`);
}

async function reads(frame, text) {
    let shown;
    for (let tries = 0; tries < 200 && shown !== text; tries += 1) {
        if (tries) await frame.waitForTimeout(50);
        shown = await frame.textContent('#value');
    }
    assert.equal(shown, text);
}

test('the dial shows what the sensor measures', async () => {
    const { page: { text, _meta } } = await dial(client);
    assert.equal(_meta.ui.csp, undefined);
    const { page, frame, errors, called, result } = await show(text);
    const measured = await client.callTool({ name: 'measure', arguments: {} });
    await result(measured);
    await shows(frame, measured.structuredContent.acceleration);
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
    for (const acceleration of [-2000, 500, 0, 2147483647, -2147483648]) {
        await result({ content: [], structuredContent: { acceleration } });
        await shows(frame, acceleration);
    }

    // The buttons call tools of the server through the host.
    for (const name of ['measure', 'set_zero']) {
        await frame.click(`#${name}`);
        while (called.at(-1)?.[0] !== name) await page.waitForTimeout(50);
        await shows(frame, called.at(-1)[1]);
    }
    assert.equal(called.at(-1)[1], 0);

    await result({ content: [{ type: 'text', text: 'The <b>sensor' }], isError: true });
    await reads(frame, 'The <b>sensor');
    assert.deepEqual(await page.evaluate(() => window.bridge.teardownResource({})), {});
    assert.deepEqual(errors, []);
    await page.close();
});

test('the dial adopts the colours of the host, and needs no tools of it', async () => {
    const { page: { text } } = await dial(client);
    const { page, frame, errors } = await show(text, {}, { theme: 'dark', styles: { variables: { '--color-text-primary': 'rgb(1, 2, 3)' } } });
    const { color, background } = await frame.evaluate(() => {
        const { color, backgroundColor: background } = getComputedStyle(document.body);
        return { color, background };
    });
    assert.deepEqual([color, background], ['rgb(1, 2, 3)', 'rgb(23, 23, 23)']);
    assert.equal(await frame.isVisible('#measure'), false);
    await page.evaluate(() => window.bridge.setHostContext({ theme: 'light' }));
    await frame.waitForFunction(() => getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)', null, { timeout: 5000 });
    assert.deepEqual(errors, []);
    await page.close();
});

// These two show that the others can fail.
for (const [what, script, error] of [
    ['an error of a page is seen', () => 'missing()', /missing is not defined/],
    ['a page that uses the network is stopped', (site) => `fetch('http://127.0.0.1:${site.address().port}/').catch(() => {})`, /Content Security Policy/],
]) {
    test(what, async () => {
        const { page: { text } } = await dial(client);
        const { page, errors } = await show(text.replace('<script>', `<script>setTimeout(() => ${script(site)})\n`));
        for (let tries = 0; tries < 100 && errors.length === 0; tries += 1) await page.waitForTimeout(50);
        assert.match(errors.join(), error);
        await page.close();
    });
}
