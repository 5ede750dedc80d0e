// A session does this alike with both versions of the SDK.

/** `client` and `transport` are of the SDK; `translated` makes its errors those of the harness. */
export class Session {
    notifications = [];

    constructor(client, transport, translated) {
        Object.assign(this, { client, transport, translated });
        client.fallbackNotificationHandler = async (notification) => {
            this.notifications.push(notification);
        };
    }

    get logs() {
        return this.notifications.filter((n) => n.method === 'notifications/message').map((n) => n.params);
    }

    async info() {
        return {
            protocolVersion: this.protocolVersion,
            capabilities: this.client.getServerCapabilities(),
            serverInfo: this.client.getServerVersion(),
            instructions: this.client.getInstructions(),
        };
    }

    ping() {
        return this.translated(() => this.client.ping());
    }

    prompt(name, args) {
        return this.translated(() => this.client.getPrompt({ name, arguments: args }));
    }

    complete(ref, name, value) {
        return this.translated(() => this.client.complete({ ref, argument: { name, value } }));
    }

    setLevel(level) {
        return this.translated(() => this.client.setLoggingLevel(level));
    }

    subscribe(uri) {
        return this.translated(() => this.client.subscribeResource({ uri }));
    }

    unsubscribe(uri) {
        return this.translated(() => this.client.unsubscribeResource({ uri }));
    }

    rootsChanged() {
        return this.translated(() => this.client.sendRootsListChanged());
    }

    /** Over HTTP, where closing alone leaves the session to the server. */
    endSession() {
        return this.transport.terminateSession();
    }

    close() {
        return this.client.close();
    }
}
