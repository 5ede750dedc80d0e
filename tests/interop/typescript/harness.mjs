// Case runner shared by the TypeScript clients: one session per case, one printed line per case.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const HERE = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const EXPECTED = JSON.parse(readFileSync(path.join(HERE, 'expected.json'), 'utf8'));
const CASE_TIMEOUT = 30_000;

/** A JSON-RPC error: one the server answered with, or one a handler refuses with. */
export class RpcError extends Error {
    constructor(code, message, data) {
        super(`error ${code}: ${message} (data: ${JSON.stringify(data)})`);
        Object.assign(this, { code, data });
    }
}

/** The SDK gave up waiting for an answer. */
export class TimedOut extends Error {}

/** The SDK, in this mode, has no way to do what the case needs (or the server has nothing to try it on). */
export class NotOffered extends Error {
    constructor(reason, by = 'this SDK/mode') {
        super(`not offered by ${by}: ${reason}`);
    }
}

/** A check that did not hold. */
export class Failure extends Error {}

export function check(condition, message, ...seen) {
    if (!condition) throw new Failure(message + seen.map((item) => `; got ${JSON.stringify(item)}`).join(''));
}

export const same = isDeepStrictEqual;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The lines a case's server processes exchanged with the SDK, in order. */
export class Wire {
    constructor(directory) {
        this.directory = directory;
    }

    processes() {
        const files = readdirSync(this.directory).map((name) => path.join(this.directory, name));
        files.sort((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs);
        return files.map((file) => readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)));
    }

    #messages(direction) {
        return this.processes().flat().filter((record) => record.dir === direction).map((record) => JSON.parse(record.line));
    }

    /** Of all requests or all responses, over HTTP: `{ start, status, fields }`. */
    heads(direction) {
        return this.processes().flat().filter((record) => record.dir === direction).map(({ line }) => {
            const [start, ...lines] = line.trim().split('\r\n');
            const pairs = lines.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]);
            return { start, status: Number(start.split(' ')[1]), fields: Object.fromEntries(pairs) };
        });
    }

    sent() {
        return this.#messages('c2s');
    }

    received() {
        return this.#messages('s2c');
    }

    /** The result of the first `method` request, if it was sent and answered. */
    resultOf(method) {
        for (const request of this.sent().filter((m) => m.method === method && 'id' in m)) {
            const answer = this.received().find((m) => !('method' in m) && m.id === request.id);
            if (answer) return answer.result;
        }
    }
}

/** What a case gets: who it is running as, and how to use a session. */
class Env {
    constructor(sdk, mode, era, command, wire) {
        Object.assign(this, { sdk, mode, era, command, wire });
    }

    get overHttp() {
        return transportTo(this.command) !== 'stdio';
    }

    /** Connects, runs `body`, closes whatever happened. */
    async open(body, handlers = {}, { tapped = true } = {}) {
        if (tapped && this.overHttp) return this.#openTapped(body, handlers);
        const tap = ['python3', path.join(HERE, 'wiretap.py'), this.wire.directory];
        return this.#openAt(tapped ? [...tap, ...this.command] : this.command, body, handlers);
    }

    async #openTapped(body, handlers) {
        const tap = spawn('python3', [path.join(HERE, 'httptap.py'), this.wire.directory, ...this.command], {
            stdio: ['pipe', 'pipe', 'inherit'],
        });
        const ended = once(tap, 'exit');
        try {
            const [url] = await once(tap.stdout, 'data');
            return await this.#openAt([String(url).trim()], body, handlers);
        } finally {
            tap.stdin.end();
            await ended;
        }
    }

    async #openAt(command, body, handlers) {
        const session = await this.sdk.connect(this.mode, command, handlers);
        try {
            return await body(session);
        } finally {
            await session.close();
        }
    }
}

/** The cases of one file, by the era and the transports they belong to; without any, they are for all. */
export class Suite {
    cases = [];

    constructor(era, transports = ['stdio', 'http', 'http+sse']) {
        Object.assign(this, { era, transports });
    }

    add(name, run, era = this.era, transport = undefined) {
        this.cases.push({ name, era, transports: transport ? [transport] : this.transports, run });
    }
}

async function withTimeout(promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Failure(`no result after ${CASE_TIMEOUT} ms`)), CASE_TIMEOUT);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

export function transportTo([command]) {
    if (!command.startsWith('http://')) return 'stdio';
    return command.endsWith('/sse') ? 'http+sse' : 'http';
}

async function runMode(sdk, mode, command, suites) {
    const era = mode === 'legacy' ? 'legacy' : 'modern';
    const transport = transportTo(command);
    const shown = transport === 'stdio' ? [] : [transport];
    const label = [sdk.LABEL, mode, ...shown].join(' ');
    const only = process.env.INTEROP_CASE ?? '';
    const cases = suites.flatMap((suite) => suite.cases);
    const fits = (c) => (c.era === undefined || c.era === era) && c.transports.includes(transport);
    const wanted = cases.filter((c) => fits(c) && c.name.includes(only));
    let failed = 0;
    for (const [index, { name, run }] of wanted.entries()) {
        const number = String(index).padStart(3, '0');
        const directory = path.join(process.env.INTEROP_LOGS, [sdk.SLUG, mode, ...shown].join('-'), number);
        mkdirSync(directory, { recursive: true });
        try {
            await withTimeout(run(new Env(sdk, mode, era, command, new Wire(directory))));
            console.log(`PASS ${label}: ${name}`);
        } catch (error) {
            if (error instanceof NotOffered) {
                console.log(`N/A  ${label}: ${name} -- ${error.message}`);
                continue;
            }
            failed += 1;
            const known = error instanceof Failure || error instanceof RpcError;
            const text = known ? error.message : `${error?.name ?? 'error'}: ${error?.message ?? error}`;
            console.log(`FAIL ${label}: ${name} -- ${text.replace(/\s+/g, ' ').slice(0, 600)} [wire ${number}]`);
            if (process.env.INTEROP_TRACE) console.error(error);
        }
    }
    return failed;
}

/** `node client_vN.mjs COMMAND [ARGUMENT...]`, or `node client_vN.mjs URL`; an URL that ends with `/sse` is one of 2024-11-05's transport. */
export async function main(sdk, suites) {
    const command = process.argv.slice(2);
    const modes = (transportTo(command) === 'http+sse' ? ['legacy'] : sdk.MODES).filter((mode) => (process.env.INTEROP_MODE ?? mode) === mode);
    let failed = 0;
    if (sdk.MODES.length === 1) {
        console.log(`N/A  ${sdk.LABEL}: every case of 2026-07-28 -- ${new NotOffered('it supports only the handshake era').message}`);
    }
    for (const mode of modes) failed += await runMode(sdk, mode, command, suites);
    process.exit(failed ? 1 : 0);
}
