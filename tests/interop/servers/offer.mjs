// The offer of every reference server, in wire form, and the state that its tools change.
//
// The SDK files beside this one send requests and notifications.
import { readFileSync } from 'node:fs';

export const DATA = JSON.parse(readFileSync(new URL('offer.json', import.meta.url), 'utf8'));
export const COUNTER = 'test://counter';
const ITEM = 'test://item/';

/** A tool, resource, prompt or cursor that is not there. */
class Unknown extends Error {}

/** With `logging` the SDKs answer logging/setLevel, and keep to it. */
export const OPTIONS = {
    instructions: DATA.instructions,
    capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
    },
};

export const INVALID_PARAMS = -32602;
export const RESOURCE_NOT_FOUND = -32002;

/** Returns a function that looks something up, and throws the SDK's error where it is not there. */
export const refusingWith = (SdkError) => (find, code = INVALID_PARAMS) => {
    try {
        return find();
    } catch (error) {
        throw error instanceof Unknown ? new SdkError(code, `unknown: ${error.message}`) : error;
    }
};

export const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });

export class Offer {
    extra = new Set();
    counter = 0;
    cancelled = 0;
    subscribed = new Set();

    // ---- lists ----

    tools() {
        return this.extra.has('tools') ? [...DATA.tools, DATA.extraTool] : DATA.tools;
    }

    prompts() {
        return this.extra.has('prompts') ? [...DATA.prompts, DATA.extraPrompt] : DATA.prompts;
    }

    resources() {
        return this.extra.has('resources') ? [...DATA.resources, DATA.extraResource] : DATA.resources;
    }

    /** The cursor is the index of the page's first resource. */
    resourcePage(cursor) {
        const resources = this.resources();
        const start = Number(cursor ?? 0);
        if (!(Number.isInteger(start) && start >= 0 && start < resources.length)) throw new Unknown(`cursor ${cursor}`);
        const end = start + DATA.resourcesPerPage;
        const page = { resources: resources.slice(start, end) };
        return end < resources.length ? { ...page, nextCursor: String(end) } : page;
    }

    // ---- results ----

    read(uri) {
        if (uri.startsWith(ITEM) && uri !== ITEM) {
            return { uri, mimeType: 'text/plain', text: `item ${uri.slice(ITEM.length)}` };
        }
        const known = this.resources().find((resource) => resource.uri === uri);
        if (!known) throw new Unknown(`resource ${uri}`);
        const contents = { uri, mimeType: known.mimeType };
        if (uri === 'test://blob') return { ...contents, blob: DATA.blob };
        const live = { [COUNTER]: this.counter, 'test://cancelled': this.cancelled };
        return { ...contents, text: String(live[uri] ?? DATA.texts[uri]) };
    }

    prompt(name, args = {}) {
        if (!this.prompts().some((prompt) => prompt.name === name)) throw new Unknown(`prompt ${name}`);
        if (name === 'with_args' && args.name === undefined) throw new Unknown('the argument name is missing');
        const said = name === 'with_args' ? `Hello, ${args.name}` : name;
        return { description: name, messages: [{ role: 'user', content: { type: 'text', text: said } }] };
    }

    complete({ name, value }) {
        const values = (DATA.completions[name] ?? []).filter((known) => known.startsWith(value));
        return { values, total: values.length, hasMore: false };
    }

    /** The tools that need nothing of the client. */
    call(name, args) {
        switch (name) {
            case 'echo': return text(args.text);
            case 'add': return { ...text(args.a + args.b), structuredContent: { sum: args.a + args.b } };
            case 'fail': return { ...text('this tool always fails'), isError: true };
            case 'big': return text('x'.repeat(args.bytes));
            case 'image': return { content: [DATA.image] };
            case 'mixed': return { content: DATA.mixed };
            case 'extra': if (this.extra.has('tools')) return text('extra');
        }
        throw new Unknown(`tool ${name}`);
    }

    change(what) {
        if (what === 'counter') this.counter += 1;
        else if (!this.extra.delete(what)) this.extra.add(what);
    }

    /** Reports progress before and after the stream of its call is closed, if it can be. */
    async hangUp(close, report) {
        const pause = () => new Promise((resolve) => setTimeout(resolve, 50));
        await report({ progress: 1, total: 2 });
        await pause();
        close?.();
        await pause();
        await report({ progress: 2, total: 2 });
        return text('done');
    }

    /** Takes its time, and notices when it is cancelled. */
    async slow({ steps, ms }, signal, report) {
        for (let step = 1; step <= steps; step += 1) {
            await new Promise((resolve) => setTimeout(resolve, ms));
            if (signal.aborted) {
                this.cancelled += 1;
                break;
            }
            await report({ progress: step, total: steps, message: `step ${step}` });
        }
        return text('done');
    }
}
