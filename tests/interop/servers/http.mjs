// HTTP for the TypeScript servers: a loopback port, sessions, and an event store for resumed streams.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

/** The port that `--http PORT` asks for, if it was asked for. */
export function wantedPort() {
    const [way, port] = process.argv.slice(2);
    return way === '--http' ? Number(port) : undefined;
}

/** Serves on a loopback port and prints the URL of Streamable HTTP. */
export function listen(port, serve) {
    const listener = createServer((request, response) => {
        serve(request, response, new URL(request.url, 'http://localhost')).catch((error) => {
            console.error(error);
            response.destroy();
        });
    });
    listener.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}

/** The sessions of Streamable HTTP: each has a server of its own, and a transport of the SDK. */
export class Sessions {
    open = new Map();

    constructor(Transport, serverOf) {
        Object.assign(this, { Transport, serverOf });
    }

    /** The transport of a session, if it is open; without an id, of a new one. */
    async transport(id) {
        if (typeof id === 'string') return this.open.get(id);
        const transport = new this.Transport({
            sessionIdGenerator: randomUUID,
            eventStore: new Events(),
            retryInterval: 100,
            onsessioninitialized: (opened) => this.open.set(opened, transport),
            onsessionclosed: (closed) => this.open.delete(closed),
        });
        await this.serverOf().connect(transport);
        return transport;
    }

    /** Handles a request of Node.js. */
    async handle(request, response) {
        const transport = await this.transport(request.headers['mcp-session-id']);
        if (transport === undefined) response.writeHead(404).end();
        else await transport.handleRequest(request, response);
    }
}

/** All that the streams of one session have carried. */
class Events {
    sent = [];

    async storeEvent(stream, message) {
        this.sent.push({ stream, message });
        return String(this.sent.length);
    }

    async getStreamIdForEventId(event) {
        return this.sent[Number(event) - 1]?.stream;
    }

    async replayEventsAfter(event, { send }) {
        const last = Number(event);
        const { stream } = this.sent[last - 1];
        for (const [index, sent] of this.sent.slice(last).entries()) {
            // A priming event is stored as a message without members.
            if (sent.stream === stream && 'jsonrpc' in sent.message) await send(String(last + index + 1), sent.message);
        }
        return stream;
    }
}
