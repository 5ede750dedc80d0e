// What the component imports.
export const random = () => crypto.getRandomValues(new Uint32Array(1))[0];
export const unixMs = () => BigInt(Date.now());
