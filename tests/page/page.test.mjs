// A page in a browser with the client of examples/page, beside two servers.
//
//   node page.test.mjs EVERYTHING-SERVER SDK-SERVER       each a command, one word a line
//
// CHROMIUM: the browser. PAGE_DIR: the files of the page.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { extname, join } from 'node:path';
import test, { after, before } from 'node:test';

import { chromium } from 'playwright-core';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const SERVERS = { 'everything-server': process.argv[2], 'an SDK of 2025-11-25': process.argv[3] };

/** A server, and a site with the page whose /mcp leads to it. `seen` has what was sent to it. */
async function serve(command) {
    const [program, ...args] = command.split('\n');
    const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const target = await new Promise((resolve, reject) => {
        let said = '';
        const hear = (piece) => {
            const url = (said += piece).match(/http:\/\/\S+\/mcp/);
            if (url) resolve(new URL(url[0]));
        };
        server.stdout.on('data', hear);
        server.stderr.on('data', hear);
        server.on('exit', () => reject(new Error(`${program} has ended: ${said}`)));
    });
    const seen = [];
    const site = createServer(async (request, response) => {
        const { pathname } = new URL(request.url, 'http://host');
        if (pathname !== '/mcp') {
            const name = pathname === '/' ? 'index.html' : pathname;
            const file = await readFile(join(process.env.PAGE_DIR, name)).catch(() => undefined);
            return response.writeHead(file ? 200 : 404, { 'content-type': TYPES[extname(name)] ?? 'text/plain' }).end(file);
        }
        const headers = { ...request.headers, host: target.host };
        delete headers.origin;
        const { method } = request;
        const onward = httpRequest({ host: target.hostname, port: target.port, path: target.pathname, method, headers }, (answer) => {
            response.writeHead(answer.statusCode, answer.headers);
            answer.pipe(response);
        });
        let body = '';
        request.on('data', (piece) => { body += piece; });
        request.on('end', () => seen.push({ method, headers: request.headers, message: body && JSON.parse(body) }));
        request.pipe(onward);
        response.on('close', () => onward.destroy());
        onward.on('error', () => response.destroy());
    });
    await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
    const close = () => {
        site.closeAllConnections();
        site.close();
        server.kill();
    };
    return { url: `http://127.0.0.1:${site.address().port}/`, seen, close };
}

let browser;
const sites = {};
before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    for (const [name, command] of Object.entries(SERVERS)) sites[name] = await serve(command);
});
after(async () => {
    await browser?.close();
    Object.values(sites).forEach((site) => site.close());
});

async function open(name) {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(`${error}`));
    await page.goto(sites[name].url);
    await page.waitForSelector('option', { state: 'attached' });
    return { page, errors };
}

for (const name of Object.keys(SERVERS)) {
    const isModern = name === 'everything-server';
    test(`a person calls a tool of ${name}`, async () => {
        const { page, errors } = await open(name);
        const [tool, args, expected] = isModern ? ['test_simple_text', '{}', 'This is a simple text'] : ['echo', '{"text":"grüße"}', 'grüße'];
        await page.selectOption('select', tool);
        await page.fill('[name=args]', args);
        await page.click('button');
        await page.waitForFunction((text) => document.querySelector('pre').textContent.includes(text), expected);
        assert.deepEqual(errors, []);
        await page.close();
    });

    test(`calls at once, progress, errors, cancellation and the end, with ${name}`, async () => {
        const { page, errors } = await open(name);
        const { seen } = sites[name];
        const from = seen.length;
        const result = await page.evaluate(async (isModern) => {
            const { Client } = await import('./page.js');
            const client = await Client.connect(new URL('/mcp', location).href);
            const call = (name, args, options) => client.call('tools/call', { name, arguments: args }, options);
            const slow = (seconds, options) => call('slow', isModern ? { seconds } : { steps: seconds, ms: 1000 }, options);
            const progress = [];
            const abort = new AbortController();
            const all = await Promise.allSettled([
                slow(2, { onProgress: (params) => progress.push(params.progress) }),
                client.call('tools/list'),
                call('no such tool', {}),
                client.call('tools/call', 5),
                slow(60, { signal: abort.signal, onProgress: () => abort.abort() }),
            ]);
            client.close();
            const after = await client.call('tools/list').then(() => 'called', (error) => error.message);
            return { all: all.map(({ value, reason }) => value ?? reason.message), progress, after };
        }, isModern);
        const [slow, { tools }, unknown, invalid, aborted] = result.all;
        assert.match(slow.content[0].text, isModern ? /./ : /done/);
        assert.ok(tools.length > 10 && result.progress.length >= 2, JSON.stringify(result));
        assert.match(unknown.content?.[0].text ?? unknown, /no such tool/i);
        assert.match(invalid, /JSON object/);
        assert.match(aborted, /aborted/);
        assert.match(result.after, /./);
        assert.notEqual(result.after, 'called');
        const sent = seen.slice(from);
        const revision = sent.at(-1).headers['mcp-protocol-version'];
        assert.equal(revision, isModern ? '2026-07-28' : '2025-11-25');
        if (!isModern) {
            assert.ok(sent.some(({ message }) => message.method === 'notifications/cancelled'));
            for (let tries = 0; tries < 50 && seen.at(-1).method !== 'DELETE'; tries++) await new Promise((done) => setTimeout(done, 100));
            assert.equal(seen.at(-1).method, 'DELETE');
        }
        assert.deepEqual(errors, []);
        await page.close();
    });
}

test('a server that is gone, and a URL of none, are errors', async () => {
    const { page } = await open('everything-server');
    const messages = await page.evaluate(async () => {
        const { Client } = await import('./page.js');
        const connect = (url) => Client.connect(url).then(() => 'connected', (error) => error.message);
        return [await connect('http://127.0.0.1:9/mcp'), await connect('nonsense'), await connect(new URL('/nothing', location).href)];
    });
    assert.match(messages[0], /connection/);
    assert.match(messages[1], /http:\/\//);
    assert.match(messages[2], /404/);
    await page.close();
});
