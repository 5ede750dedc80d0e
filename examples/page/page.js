// A client of MCP in a page: `fetch` moves what the component says.
import { mcp } from './client/page.js';

const now = () => BigInt(Math.floor(performance.now()));

/**
 * A connection to the server of a URL. That server must be of the page's origin, or allow it (CORS,
 * which also has to expose the field `Mcp-Session-Id`).
 */
export class Client {
    #url;
    #client;
    /** What waits for the ends of calls. */
    #calls = new Map();
    /** The requests that are open. */
    #open = new Map();
    #timer;

    static async connect(url) {
        const client = new Client(url);
        await client.#end((time) => client.#client.connected(time));
        return client;
    }

    constructor(url) {
        this.#url = url;
        this.#client = said(() => mcp.Client.connect(now(), url));
    }

    /** Resolves with the result; fails if the server responds with an error. */
    call(method, params = {}, { onProgress, signal } = {}) {
        return this.#end((time) => this.#client.call(time, method, JSON.stringify(params)), onProgress, signal);
    }

    /** Ends the session, and with it all calls. */
    close() {
        this.#client.close(now());
        this.#turn();
    }

    #end(begin, onProgress, signal) {
        return new Promise((resolve, reject) => {
            signal?.throwIfAborted();
            const call = said(() => begin(now()));
            this.#calls.set(call, { resolve, reject, onProgress });
            signal?.addEventListener('abort', () => {
                if (!this.#calls.delete(call)) return;
                this.#client.cancel(now(), call);
                reject(signal.reason);
                this.#turn();
            });
            this.#turn();
        });
    }

    /** Does all that is to be done now. */
    #turn() {
        for (let step; (step = this.#client.next(now())); ) {
            const { tag, val } = step;
            if (tag === 'send') this.#send(val);
            else if (tag === 'abort') this.#open.get(val)?.abort();
            else if (tag === 'progress') this.#progress(val);
            else if (tag === 'report') console.warn(val);
            else this.#finished(val);
        }
        clearTimeout(this.#timer);
        const due = this.#client.due();
        if (due === undefined) return;
        // A browser takes a longer delay for none.
        const delay = Math.min(Math.max(Number(due - now()), 0), 2 ** 31 - 1);
        this.#timer = setTimeout(() => this.#turn(), delay);
    }

    /** Not called here, where its error would look like one of the request. */
    #progress({ call, params }) {
        const onProgress = this.#calls.get(call)?.onProgress;
        if (onProgress) queueMicrotask(() => onProgress(JSON.parse(params)));
    }

    #finished({ call, outcome: { tag, val } }) {
        const waiting = this.#calls.get(call);
        this.#calls.delete(call);
        if (tag === 'ok') waiting?.resolve(JSON.parse(val));
        else waiting?.reject(new Error(val));
    }

    async #send({ exchange, method, target, fields, body }) {
        const abort = new AbortController();
        this.#open.set(exchange, abort);
        let isComplete = false;
        try {
            const response = await fetch(new URL(target, this.#url), { method, headers: fields, body, signal: abort.signal });
            this.#client.response(now(), exchange, response.status, [...response.headers]);
            this.#turn();
            const reader = response.body?.getReader();
            for (let part; reader && !(part = await reader.read()).done; ) {
                this.#client.body(now(), exchange, part.value);
                this.#turn();
            }
            isComplete = true;
        } catch {
            // The browser has said why in its console.
        }
        this.#open.delete(exchange);
        this.#client.end(now(), exchange, isComplete);
        this.#turn();
    }
}

/** The result; the error of a component has its text beside the message. */
function said(run) {
    try {
        return run();
    } catch (error) {
        throw new Error(error.payload ?? error);
    }
}
