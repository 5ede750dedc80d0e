// A host in a browser, of the official package: shows a page in a sandbox, and hands it results.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** Shows a page. `callTool` is the test's. Returns when the page has initialized itself. */
window.show = async (sandbox, resource, capabilities, hostContext) => {
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts allow-same-origin';
    frame.src = sandbox;
    frame.width = 340;
    document.body.replaceChildren(frame);
    const bridge = new AppBridge(null, { name: 'host', version: '1.0.0' }, capabilities, { hostContext });
    bridge.oncalltool = (params) => window.callTool(params);
    bridge.onsizechange = ({ height }) => {
        frame.height = height;
    };
    const isReady = new Promise((resolve) => {
        bridge.onsandboxready = resolve;
    });
    const isInitialized = new Promise((resolve) => {
        bridge.oninitialized = resolve;
    });
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    await isReady;
    await bridge.sendSandboxResourceReady(resource);
    await isInitialized;
    await bridge.sendToolInput({ arguments: {} });
    window.bridge = bridge;
};
