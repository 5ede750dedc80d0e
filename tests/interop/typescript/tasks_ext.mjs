// A session of the npm package `@modelcontextprotocol/ext-tasks` on a client of `@modelcontextprotocol/client` 2.x.
import { ProtocolError } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

export const EXTENSION = 'io.modelcontextprotocol/tasks';
const VERSION = '2026-07-28';
const CLIENT = { name: 'interop', version: '1' };

/**
 * Requests that the client itself cannot send, since it does not know their results. They share its transport.
 * The transport writes the header fields of a message by itself.
 */
export class RawRequests {
    #waiting = new Map();
    #sent = 0;

    constructor(transport) {
        this.transport = transport;
        const next = transport.onmessage;
        transport.onmessage = (message, extra) => {
            const done = 'method' in message ? undefined : this.#waiting.get(message.id);
            if (!done) return next(message, extra);
            this.#waiting.delete(message.id);
            return done(message);
        };
    }

    /** `{ kind: 'result', result }` or `{ kind: 'error', error }`, as ext-tasks wants it. */
    dispatch = async (request) => {
        this.#sent += 1;
        const id = `raw-${this.#sent}`;
        const answered = new Promise((resolve) => {
            this.#waiting.set(id, resolve);
        });
        try {
            await this.transport.send({ jsonrpc: '2.0', id, ...request });
        } catch (error) {
            this.#waiting.delete(id);
            return { kind: 'error', error: refusal(error) };
        }
        const { result, error } = await answered;
        return error ? { kind: 'error', error } : { kind: 'result', result };
    };
}

/** The error in the body of a response whose status is not 200. */
function refusal(error) {
    if (error instanceof ProtocolError) return { code: error.code, message: error.message, data: error.data };
    try {
        return JSON.parse(error.data.text).error;
    } catch {
        throw error;
    }
}

/** The metadata of a request in 2026-07-28. */
export function framed(method, params, capabilities) {
    const _meta = {
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientInfo': CLIENT,
        'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    return { method, params: { ...params, _meta } };
}

/** With `raw`, for requests that ext-tasks does not send. */
export function taskSession({ client, transport, capabilities, taskInput }) {
    const raw = new RawRequests(transport);
    const modern = client.getProtocolEra() === 'modern';
    const framing = { protocolVersion: VERSION, clientInfo: CLIENT, clientCapabilities: capabilities };
    const session = createTaskSessionFromClient(client, {
        endpointId: 'interop',
        onInputRequest: taskInput,
        ...(modern && { rawDispatch: raw.dispatch, v2RequestFraming: framing }),
    });
    return { session, raw, modern };
}
