// HTTP for both TypeScript servers: a loopback port, and an event store for resumed streams.
import { createServer } from 'node:http';

export const RETRY_MS = 100;

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

/** All that the streams of one session have carried. */
export class Events {
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
