use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{
    Attempts, Authorization, AuthorizationState, Grant, IdentityProvider, Lost, Policy, Reaction,
    RegisteredClient, Request, Setup, Step, UnixTime, Url, UrlRules, form,
};

use super::script::Script;
use crate::frames;

/// Lets a client log in, and use its tokens, at servers that answer at random: right, nearly right,
/// wrong or not at all.
///
/// These must hold:
/// - A flow ends, after at most 12 requests and 60 pages for a person.
/// - Each URL is one that the policy allows, and each field's value and body is text without
///   control characters.
/// - No secret is in a failure, a URL or any `Debug` output.
/// - A record can be loaded, and is written again as it was.
/// - At the end nothing is left in the memory.
pub fn login_survives(data: &[u8]) {
    let script = Script::new(data);
    let setup = SETUPS[script.below(SETUPS.len())];
    let mut memory = vec![0; *script.pick(&[16 << 10, 16 << 10, 4096, 1500, 700, 300, 40, 3, 0])];
    let mut program = Program {
        setup,
        state: AuthorizationState::new(&mut memory[..]),
        store: None,
        is_changed: false,
        now: 1_800_000_000,
        has_clock: !script.once_in(8),
        random: 1,
    };
    while !script.is_over() {
        program.act(&script);
    }
    drop(program);
    assert!(memory.iter().all(|byte| *byte == 0), "something is left in the memory");
}

struct Program<'m> {
    setup: Setup<'static>,
    state: AuthorizationState<&'m mut [u8]>,
    store: Option<Vec<u8>>,
    /// Whether a record was changed: it may name a token where it had a URL.
    is_changed: bool,
    now: u64,
    has_clock: bool,
    random: u64,
}

impl Program<'_> {
    fn view(&mut self) -> Authorization<'_> {
        self.state.open(&self.setup)
    }

    fn now(&self) -> Option<UnixTime> {
        self.has_clock.then_some(UnixTime::from_secs(self.now))
    }

    /// Does something that a program may do at any time, or takes the steps of a flow.
    fn act(&mut self, script: &Script<'_>) {
        let now = self.now();
        match script.below(12) {
            0 => self.view().begin(),
            1 | 2 => {
                let challenge = text(script, CHALLENGES);
                let fields = [("www-authenticate", &challenge[..]), ("dpop-nonce", "nonce")];
                let status = *script.pick(&[401, 401, 403, 400, 500]);
                let head = ResponseHead::new(status, &fields);
                let mut view = self.view();
                let (generation, mut attempts) = (view.generation(), Attempts::new());
                let mut reactions = 0;
                while view.challenged(&head, generation, &mut attempts) != Reaction::Report {
                    reactions += 1;
                    assert!(reactions <= 20, "endless");
                }
            }
            3 => {
                let url = text(script, ENDPOINTS);
                let is_ours = is_same_origin(&url, self.setup.endpoint);
                let mut fields = Vec::new();
                let mut random = self.random;
                let added = self.view().fields(
                    now,
                    &mut |out| fill(&mut random, out),
                    "POST",
                    &url,
                    &mut |name, value| fields.push((name.to_owned(), value.to_string())),
                );
                assert!(added.is_ok() || fields.is_empty());
                assert!(is_ours || fields.is_empty(), "{url} gets a token");
                for (name, value) in &fields {
                    frames::record("field", format_args!("{name}: {value}"));
                    check_value(value);
                }
            }
            4 => {
                let mut record = self.store.clone().unwrap_or_default();
                change(script, &mut record);
                if self.view().load(&record).is_ok() {
                    self.is_changed = true;
                    self.keep();
                }
            }
            5 => self.view().cancel(),
            6 => self.now += 1 << (2 * script.below(12)),
            7 => self.stray_answer(script),
            _ => self.flow(script),
        }
    }

    /// Answers what was perhaps not asked.
    fn stray_answer(&mut self, script: &Script<'_>) {
        let (now, store) = (self.now(), self.store.clone());
        let (kind, answer) = (script.below(7), text(script, BODIES));
        let mut view = self.view();
        match kind {
            0 => view.response(now, &ResponseHead::new(200, &[("a", "b"); 1]), answer.as_bytes()),
            1 => view.failed(Lost::TimedOut),
            2 => view.redirected(&answer),
            3 => view.client(&answer, Some("client-secret")),
            4 => view.assertion(&answer),
            5 => view.locked(store.as_deref()),
            _ => view.redirect_uri(&answer),
        }
    }

    /// Takes steps until there is nothing to do.
    fn flow(&mut self, script: &Script<'_>) {
        let (mut sent, mut shown, mut steps) = (0, 0, 0);
        let (setup, now) = (self.setup, self.now());
        loop {
            steps += 1;
            assert!(steps < 100, "the flow does not end");
            let (is_changed, mut random) = (self.is_changed, self.random);
            self.random = self.random.wrapping_add(1);
            let mut view = self.state.open(&setup);
            let step = view.step(now, &mut |out| fill(&mut random, out));
            let debug = format!("{step:?}");
            assert!(is_changed || !has_secret(&debug), "{debug}");
            match step {
                Step::Ready | Step::Forget => break,
                Step::Failed(failure) => {
                    let text = failure.to_string();
                    frames::record("failure", &text);
                    // Terminals obey all but tabs.
                    assert!(!text.contains(|c: char| c.is_control() && c != '\t'), "{text:?}");
                    assert!(text.len() < 8000 && (is_changed || !has_secret(&text)), "{text}");
                    break;
                }
                Step::Send(request) => {
                    sent += 1;
                    assert!(sent <= 12, "{sent} requests");
                    let url = request.url().to_owned();
                    check_request(&request, &setup);
                    if !self.answer(script, &url) {
                        break;
                    }
                }
                Step::Show(url) => {
                    shown += 1;
                    assert!(shown <= 60, "shown without end");
                    frames::record("page", url);
                    check_url(url, &setup);
                    let url = url.to_owned();
                    self.browse(script, &url);
                }
                Step::Lock => {
                    let mut store = self.store.clone();
                    if let (Some(store), true) = (&mut store, script.once_in(4)) {
                        change(script, store);
                        self.is_changed = true;
                    }
                    self.view().locked(store.as_deref());
                }
                Step::Redirect { .. } => {
                    let uri = text(script, REDIRECTS);
                    self.view().redirect_uri(&uri);
                }
                Step::AskClient { .. } | Step::AskAssertion { .. } if script.once_in(3) => {
                    self.view().cancel();
                }
                Step::AskClient { .. } => self.view().client("asked", Some("client-secret")),
                Step::AskAssertion { .. } => self.view().assertion("assertion-secret"),
                Step::Keep => self.keep(),
            }
        }
    }

    /// Answers a request: as a server would, with something changed, or not at all. Returns `false`
    /// if not: then it is sent again in the next flow.
    fn answer(&mut self, script: &Script<'_>, url: &str) -> bool {
        let now = self.now();
        let good = if url.contains("oauth-protected-resource") {
            BODIES[0]
        } else if url.contains("/.well-known/") {
            BODIES[1]
        } else if url.ends_with("/register") {
            BODIES[2]
        } else if url.ends_with("/exchange") {
            BODIES[4]
        } else {
            BODIES[3]
        };
        let kind = script.below(12);
        let body = match kind {
            0 => text(script, BODIES),
            1 => text(script, &[good]),
            _ => good.to_owned(),
        };
        let status = match kind {
            2 => *script.pick(&[404, 400, 401, 302, 500, 429, 201, 100, 0]),
            3 => {
                self.view().failed(*script.pick(&[Lost::Network, Lost::TooLarge, Lost::Forbidden]));
                return true;
            }
            4 => return false,
            5 => 400,
            _ => 200,
        };
        let body = if status == 400 { text(script, ERRORS) } else { body };
        let fields = [("content-type", "application/json"), ("dpop-nonce", "nonce")];
        self.view().response(now, &ResponseHead::new(status, &fields), body.as_bytes());
        true
    }

    /// Comes back from the page for a person.
    fn browse(&mut self, script: &Script<'_>, url: &str) {
        let (_, query) = url.split_once('?').unwrap();
        let mut states = form::pairs(query).filter(|(name, _)| *name == *"state");
        let state = states.next().unwrap().1.to_string();
        assert!(states.next().is_none(), "{url}");
        let right = format!("code=code-secret&state={state}");
        let mut query = match script.below(6) {
            0 => format!("error=access_denied&error_description=no&state={state}"),
            1 => format!("{right}&iss=https%3A%2F%2Fas.test"),
            2 => format!("{right}&iss=https%3A%2F%2Fevil.test"),
            _ => right,
        }
        .into_bytes();
        if script.once_in(4) {
            change(script, &mut query);
        }
        let query = String::from_utf8_lossy(&query);
        self.view().redirected(&query);
        if script.once_in(8) {
            self.view().redirected(&query);
        }
    }

    /// Saves the record, and checks that it can be loaded.
    fn keep(&mut self) {
        let setup = self.setup;
        let mut record = vec![0; 17 << 10];
        let len = self.view().record(&mut record).unwrap();
        record.truncate(len);
        let mut memory = vec![0; 17 << 10];
        let mut other = AuthorizationState::new(&mut memory[..]);
        let mut other = other.open(&setup);
        assert_eq!(other.load(&record), Ok(()));
        let mut again = vec![0; 17 << 10];
        let len = other.record(&mut again).unwrap();
        assert_eq!(again[..len], record);
        frames::record("record", record.escape_ascii());
        self.store = Some(record);
    }
}

fn check_request(request: &Request<'_>, setup: &Setup<'_>) {
    request.fields(&mut |name, value| {
        frames::record("field", format_args!("{name}: {value}"));
        check_value(&value.to_string());
    });
    let body = str::from_utf8(request.body()).unwrap();
    assert!(!body.contains(char::is_control), "{body:?}");
    frames::record("request", format_args!("{:?} {}", request.method(), request.url()));
    frames::record("body", body);
    check_url(request.url(), setup);
}

fn check_url(url: &str, setup: &Setup<'_>) {
    let is_here = setup.endpoint.starts_with("http:");
    let rules = UrlRules::new().loopback_http(is_here).inner_addresses(is_here);
    let parsed = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(parsed.check(rules), Ok(()), "{url}");
}

/// Whether a text has a secret; the names of members have the word, too.
fn has_secret(text: &str) -> bool {
    text.replace("client_secret", "").contains("secret")
}

fn check_value(value: &str) {
    assert!(value.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{value:?}");
}

fn is_same_origin(url: &str, other: &str) -> bool {
    matches!((Url::parse(url), Url::parse(other)), (Ok(a), Ok(b)) if a.is_same_origin(b))
}

fn fill(random: &mut u64, out: &mut [u8]) {
    for byte in out {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (*random >> 33) as u8;
    }
}

/// Returns one of the texts, perhaps with changes.
fn text(script: &Script<'_>, from: &[&str]) -> String {
    let mut text = script.pick(from).as_bytes().to_vec();
    if script.once_in(3) {
        change(script, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn change(script: &Script<'_>, bytes: &mut Vec<u8>) {
    for _ in 0..1 + script.below(3) {
        let at = (256 * script.below(256) + script.below(256)) % (bytes.len() + 1);
        match script.below(4) {
            0 => bytes.insert(at, script.byte()),
            1 => drop(bytes.splice(at.., [])),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = script.byte();
                }
            }
        }
    }
}

const ENDPOINT: &str = "https://mcp.test/mcp";
const ENDPOINTS: &[&str] = &[ENDPOINT, "https://mcp.test/mcp?x=y", "https://evil.test/mcp", ""];
const REDIRECTS: &[&str] = &[
    "http://127.0.0.1:4711/callback",
    "http://127.0.0.1:4711/callback",
    "http://[::1]:4711/callback",
    "https://app.test/callback",
    "http://evil.test/callback",
];
const CHALLENGES: &[&str] = &[
    "Bearer",
    "Bearer resource_metadata=\"https://mcp.test/.well-known/oauth-protected-resource/mcp\"",
    "Bearer error=\"insufficient_scope\", scope=\"files:write\"",
    "Bearer error=\"insufficient_scope\", scope=\"files:write other\"",
    "DPoP algs=\"ES256\", error=\"use_dpop_nonce\"",
    "Basic realm=\"a, b\", Bearer scope=\"files:read\"",
];
/// Resource metadata, server metadata, a registration, tokens, an assertion of a provider.
const BODIES: &[&str] = &[
    r#"{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"scopes_supported":["files:read"],"dpop_signing_alg_values_supported":["ES256"]}"#,
    r#"{"issuer":"https://as.test","authorization_endpoint":"https://as.test/authorize?a=b","token_endpoint":"https://as.test/token","registration_endpoint":"https://as.test/register","code_challenge_methods_supported":["S256"],"scopes_supported":["offline_access"],"token_endpoint_auth_methods_supported":["none","client_secret_basic"]}"#,
    r#"{"client_id":"registered","client_secret":"client-secret","client_secret_expires_at":1800003600}"#,
    r#"{"access_token":"access-secret","token_type":"Bearer","expires_in":60,"refresh_token":"refresh-secret","scope":"files:read"}"#,
    r#"{"access_token":"grant-secret","token_type":"N_A","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag"}"#,
    r#"{"issuer":"https://evil.test","token_endpoint":"https://evil.test/token"}"#,
    "<html>",
];
const ERRORS: &[&str] = &[
    r#"{"error":"invalid_grant"}"#,
    r#"{"error":"invalid_client"}"#,
    r#"{"error":"invalid_redirect_uri","error_description":"no\u001b[2J"}"#,
    r#"{"error":"use_dpop_nonce"}"#,
    "",
];
const CLIENT: RegisteredClient<'_> = RegisteredClient {
    secret: Some("client-secret"),
    issuer: Some("https://as.test"),
    ..RegisteredClient::new("configured")
};
const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Chaos");
const SETUPS: [Setup<'_>; 6] = [
    SETUP,
    Setup { scope: Some("files:read files:write"), registers: false, ..SETUP },
    Setup { grant: Grant::ClientCredentials, clients: &[CLIENT], ..SETUP },
    Setup {
        clients: &[CLIENT],
        grant: Grant::Enterprise(IdentityProvider::new(
            "https://idp.test",
            "https://idp.test/exchange",
            CLIENT,
        )),
        ..SETUP
    },
    Setup { clients: &[CLIENT], grant: Grant::WorkloadIdentity, ..SETUP },
    Setup {
        policy: Policy {
            urls: UrlRules::new().loopback_http(true).inner_addresses(true),
            ..Policy::new()
        },
        ..Setup::new("http://localhost:3000/mcp", "Chaos")
    },
];
