// The person at the browser: signs in, consents, and is sent back to the client.
//
//   node person.mjs [--deny] [--stay] URL       of an authorization page
//
// --deny  does not consent
// --stay  prints where the browser would be sent, and does not go there; for clients without a listener

const options = process.argv.slice(2, -1);
const page = process.argv.at(-1);
const cookies = new Map();

async function visit(url, form) {
    const response = await fetch(url, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
        cookies.set(name, value);
    }
    return response;
}

/** The form on a page, or the link that declines it. */
async function answered(url, response) {
    const text = await response.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1];
    if (response.status !== 200 || prompt === undefined) throw new Error(`no form at ${url}: ${response.status} ${text.slice(0, 300)}`);
    const link = (pattern) => new URL(pattern.exec(text)[1].replaceAll('&amp;', '&'), url);
    if (prompt === 'consent' && options.includes('--deny')) return visit(link(/href="([^"]+\/abort)"/));
    return visit(link(/action="([^"]+)"/), { prompt, login: 'alice', password: 'any' });
}

const home = new URL(page).searchParams.get('redirect_uri');
let url = new URL(page);
for (let steps = 0; !url.href.startsWith(home); steps += 1) {
    if (steps === 10) throw new Error(`no way back to the client from ${page}`);
    let response = await visit(url);
    if (response.status < 300) response = await answered(url, response);
    const location = response.headers.get('location');
    if (location === null) throw new Error(`no redirect from ${url}: ${response.status} ${(await response.text()).slice(0, 300)}`);
    url = new URL(location, url);
}
if (options.includes('--stay')) console.log(url.href);
else if (!(await fetch(url)).ok) throw new Error('the client did not expect the person back');
