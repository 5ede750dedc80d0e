//! Logins of the client: one for all requests that wait for it, in the time of the person.

use std::cell::OnceCell;
use std::future::ready;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::ReadResourceParams;
use mcp_sansio::{CallOptions, ClientConfig, RawJson};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    Browser, OAuth, OAuthClient, OAuthGrant,
};
use mcp_sansio_adapters::asynchronous::client::{
    Cache, CallError, Client, ConnectError, ConnectionEnd, Connector, HttpError,
};
use mcp_sansio_adapters::store::{MemoryStore, Store as _};
use mcp_sansio_oauth::{SignError, Signer, TokenEndpointAuth, decode_base64url};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::network::{self, NetworkStore};
use crate::scene::{Played, Response, Seen, call, legacy, modern, play_at};
use crate::{CHUNKS, CLIENT, LEGACY, MODERN};

const URL: &str = "https://server/mcp";

/// A person who permits everything, or what else is `said`, after some time.
#[derive(Clone)]
struct Person {
    takes: Duration,
    said: &'static str,
    pages: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
}

/// A page that is open.
struct Page(Arc<AtomicU32>);

impl Drop for Page {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Person {
    fn new(takes: u64, said: &'static str) -> Self {
        let takes = Duration::from_millis(takes);
        Self { takes, said, pages: Arc::default(), closed: Arc::default() }
    }

    fn pages(&self) -> u32 {
        self.pages.load(Ordering::Relaxed)
    }

    fn oauth(&self) -> OAuth {
        OAuth::new("client").browser(self.clone())
    }
}

impl Browser for Person {
    fn redirect_uri(&self, _: Option<&str>) -> io::Result<String> {
        Ok("http://127.0.0.1:4000/callback".into())
    }

    async fn show(&self, url: String) -> io::Result<String> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        let _page = Page(Arc::clone(&self.closed));
        sleep(self.takes).await;
        let state = url.split(['?', '&']).find(|part| part.starts_with("state="));
        Ok(format!("{}&{}", self.said, state.expect("a state")))
    }
}

/// The metadata of the authorization server.
fn metadata() -> Value {
    json!({
        "issuer": "https://server",
        "authorization_endpoint": "https://server/authorize",
        "token_endpoint": "https://server/token",
        "registration_endpoint": "https://server/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "dpop_signing_alg_values_supported": ["ES256"],
    })
}

/// A server whose tokens are `t-1`, `t-2`, ..., and its authorization server.
fn protected(
    mut mcp: impl FnMut(&Seen) -> Response + Send,
) -> impl FnMut(&Seen) -> Response + Send {
    let mut tokens = 0;
    move |seen| match seen.target.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            Response::json(&json!({"resource": URL, "authorization_servers": ["https://server"]}))
        }
        "/.well-known/oauth-authorization-server" => Response::json(&metadata()),
        "/register" => Response::json(&json!({"client_id": "client-1"})),
        "/token" => {
            tokens += 1;
            let token = format!("t-{tokens}");
            Response::json(&json!({"access_token": token, "token_type": "Bearer"}))
        }
        _ => mcp(seen),
    }
}

/// The answer of a token endpoint.
fn tokens(access: &str, refresh: &str) -> Response {
    Response::json(
        &json!({"access_token": access, "token_type": "Bearer", "refresh_token": refresh}),
    )
}

/// The answer of a token endpoint that refuses.
fn refused(error: &str) -> Response {
    Response::json(&json!({"error": error})).with_status(400)
}

fn is_renewal(seen: &Seen) -> bool {
    seen.body.as_str().is_some_and(|form| form.contains("grant_type=refresh_token"))
}

fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(1 << 16))
}

/// Returns the only login of a store: its key and its record.
fn login_in(store: &MemoryStore) -> (String, Vec<u8>) {
    let key = store.keys("oauth/").unwrap().remove(0);
    let record = store.get(&key).unwrap().unwrap();
    (key, record)
}

/// Runs a client that logs in by `oauth`.
fn play_login<R>(
    oauth: OAuth,
    server: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl AsyncFnOnce(Client) -> R,
) -> Played<R> {
    play_config(&MODERN, oauth, server, work)
}

fn play_config<R>(
    config: &'static ClientConfig<'static>,
    oauth: OAuth,
    server: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl AsyncFnOnce(Client) -> R,
) -> Played<R> {
    play_at(URL, Connector::new(config), |http| http.oauth(oauth), 1 << 16, server, work)
}

async fn call_once(client: Client) -> Result<String, CallError> {
    call(&client, "a").await
}

/// Makes two calls at once.
async fn call_twice(client: Client) -> bool {
    let (one, two) = (call(&client, "a"), call(&client, "b"));
    let (one, two) = future::zip(one, two).await;
    one.is_ok() && two.is_ok()
}

/// Returns the number of requests for this target.
fn count<R>(played: &Played<R>, target: &str) -> usize {
    played.seen.iter().filter(|seen| seen.target == target).count()
}

/// Calls need a token, the rest does not.
fn calls(seen: &Seen) -> Response {
    match (seen.message(), seen.field("authorization")) {
        ("tools/call", None) => Response::status(401).field("WWW-Authenticate", "Bearer"),
        _ => modern(seen),
    }
}

#[test]
fn auth_94_auth_100_calls_that_are_refused_at_once_lead_to_one_login() {
    for chunk in CHUNKS {
        let person = Person::new(20, "code=c-1");
        let (connector, login) =
            (Connector::new(&MODERN), |http: HttpTransport| http.oauth(person.oauth()));
        let played = play_at(URL, connector, login, chunk, protected(calls), async |client| {
            call_twice(client.clone()).await && call_once(client).await.is_ok()
        });
        assert!(played.result);
        assert_eq!(person.pages(), 1);
        assert_eq!((count(&played, "/register"), count(&played, "/token")), (1, 1));
        // Tokens go to the server alone.
        let (theirs, others): (Vec<_>, Vec<_>) =
            played.seen.iter().partition(|seen| seen.target == "/mcp");
        assert!(others.iter().all(|seen| seen.field("authorization").is_none()));
        assert_eq!(theirs.last().unwrap().field("authorization"), Some("Bearer t-1"));
    }
}

#[test]
fn auth_95_calls_that_want_more_scope_at_once_lead_to_one_more_page() {
    let person = Person::new(20, "code=c-1");
    let mcp = |seen: &Seen| match (seen.message(), seen.field("authorization")) {
        (_, None) => Response::status(401).field("WWW-Authenticate", "Bearer scope=\"read\""),
        ("tools/call", Some("Bearer t-1")) => Response::status(403)
            .field("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"write\""),
        _ => modern(seen),
    };
    assert!(play_login(person.oauth(), protected(mcp), call_twice).result);
    assert_eq!(person.pages(), 2);
}

#[test]
fn a_login_takes_its_time_and_a_call_has_its_own_afterwards() {
    for (is_silent, takes) in [(false, 300), (true, 300 + 150)] {
        let person = Person::new(300, "code=c-1");
        let mcp = move |seen: &Seen| match (seen.message(), seen.field("authorization")) {
            ("x", None) => Response::status(401),
            ("x", _) if is_silent => Response::silence(),
            _ => modern(seen),
        };
        let played = play_login(person.oauth(), protected(mcp), async |client| {
            let options = CallOptions::new().timeout(Duration::from_millis(150));
            let begun = Instant::now();
            (client.request("x", &RawJson::EMPTY, options).await, begun.elapsed())
        });
        let (called, took) = played.result;
        assert_eq!(matches!(called, Err(CallError::TimedOut)), is_silent, "{called:?}");
        assert_eq!((called.is_ok(), took), (!is_silent, Duration::from_millis(takes)));
        assert_eq!(person.pages(), 1);
    }
}

#[test]
fn a_login_ends_with_the_last_call_that_waits_for_it_and_another_begins_anew() {
    let person = Person::new(200, "code=c-1");
    let played = play_login(person.oauth(), protected(calls), async |client| {
        let impatient = async {
            sleep(Duration::from_millis(100)).await;
            Err(CallError::Closed)
        };
        assert!(future::or(call_once(client.clone()), impatient).await.is_err());
        sleep(Duration::from_millis(20)).await;
        assert_eq!((person.pages(), person.closed.load(Ordering::Relaxed)), (1, 1));
        call_once(client).await
    });
    assert_eq!(played.result.unwrap(), "called");
    assert_eq!(person.pages(), 2);
}

#[test]
fn only_a_person_who_permits_it_is_logged_in() {
    let store = memory();
    let settings = || OAuth::new("client").store(Arc::clone(&store));
    assert!(!settings().is_logged_in(URL).unwrap());
    let mut registrations = 0;
    for (said, is_permitted) in [("error=access_denied", false), ("code=c-1", true)] {
        let oauth = settings().browser(Person::new(0, said));
        let played = play_login(oauth, protected(calls), call_once);
        assert_eq!(played.result.is_ok(), is_permitted);
        // The registration is kept, but is no login.
        assert_eq!(settings().is_logged_in("https://SERVER/mcp").unwrap(), is_permitted);
        registrations += count(&played, "/register");
    }
    assert_eq!(registrations, 1);
    assert!(settings().log_out(URL).unwrap());
    assert!(!settings().log_out(URL).unwrap() && !settings().is_logged_in(URL).unwrap());
}

#[test]
fn r3_c2_a_log_out_before_or_during_a_renewal_is_not_undone() {
    for is_during in [false, true] {
        let store = memory();
        let settings = || OAuth::new("client").store(Arc::clone(&store));
        // The second program has no person. Its token is refused, and it is logged out by another.
        for is_second in [false, true] {
            let (elsewhere, mut other) = (settings(), protected(calls));
            let server = move |seen: &Seen| {
                let renews = is_renewal(seen);
                let is_refused = is_second && seen.message() == "tools/call";
                if is_second && if is_during { renews } else { is_refused } {
                    elsewhere.log_out(URL).unwrap();
                }
                match seen.field("authorization") {
                    _ if renews => tokens("t-2", "r"),
                    _ if seen.body.is_string() => tokens("t-1", "r"),
                    Some("Bearer t-1") if is_refused => Response::status(401),
                    _ => other(seen),
                }
            };
            let oauth = settings();
            let person = Person::new(0, "code=c-1");
            let oauth = if is_second { oauth } else { oauth.browser(person) };
            let played = play_login(oauth, server, call_once);
            assert_eq!(played.result.is_ok(), !is_second, "during: {is_during}");
            assert_eq!(settings().is_logged_in(URL).unwrap(), !is_second, "during: {is_during}");
            let renewals = played.seen.iter().filter(|seen| is_renewal(seen)).count();
            assert_eq!(renewals, usize::from(is_second && is_during));
        }
    }
}

/// Logs in, and returns the record with its key. Its token is `t-1`, with a refresh token.
fn login_of_another() -> (String, Vec<u8>) {
    let store = memory();
    let oauth = OAuth::new("client").store(Arc::clone(&store)).browser(Person::new(0, "code=c-1"));
    let mut other = protected(calls);
    let server = move |seen: &Seen| match seen.target.as_str() {
        "/token" => tokens("t-1", "r"),
        _ => other(seen),
    };
    let played = play_login(oauth, server, call_once);
    assert!(played.result.is_ok());
    login_in(&store)
}

#[test]
fn auth_89_a_registration_leaves_the_login_of_another_program() {
    // The other program logs in before this one needs a token, or while it registers.
    for moment in ["tools/call", "/register"] {
        let (key, record) = login_of_another();
        let store = memory();
        let (elsewhere, kept, mut other) = (Arc::clone(&store), record.clone(), protected(calls));
        let server = move |seen: &Seen| {
            let is_refused = seen.field("authorization").is_none();
            if is_refused && [seen.message(), &seen.target].contains(&moment) {
                elsewhere.put(&key, &kept, None).unwrap();
            }
            other(seen)
        };
        let settings = || OAuth::new("client").store(Arc::clone(&store));
        let person = Person::new(0, "error=access_denied");
        let oauth = settings().browser(person.clone());
        let played = play_login(oauth, server, call_once);
        // A login that is there already spares the person the page.
        let is_shared = moment == "tools/call";
        assert_eq!((played.result.is_ok(), person.pages()), (is_shared, u32::from(!is_shared)));
        assert!(settings().is_logged_in(URL).unwrap(), "{moment}");
        assert_eq!(login_in(&store).1, record, "{moment}");
    }
}

#[test]
fn auth_89_a_renewal_is_kept_although_another_program_registers_meanwhile() {
    let (key, record) = login_of_another();
    let store = memory();
    store.put(&key, &record, None).unwrap();
    let elsewhere = Arc::clone(&store);
    let server = move |seen: &Seen| match seen.field("authorization") {
        _ if is_renewal(seen) => {
            // The same tokens, and another client.
            let mut registered = record.clone();
            let at = record.windows(8).position(|part| part == b"client-1").unwrap();
            registered[at + 7] = b'2';
            elsewhere.put(&key, &registered, None).unwrap();
            tokens("new", "r-2")
        }
        Some("Bearer t-1") if seen.message() == "tools/call" => Response::status(401),
        _ => protected(calls)(seen),
    };
    let oauth = OAuth::new("client").store(Arc::clone(&store));
    let played = play_login(oauth, server, call_once);
    assert_eq!(played.result.unwrap(), "called");
    let (_, kept) = login_in(&store);
    let has = |text: &[u8]| kept.windows(text.len()).any(|part| part == text);
    assert!(has(b"new") && has(b"r-2"));
}

#[test]
fn auth_89_auth_90_a_renewal_that_was_not_saved_is_the_one_that_is_renewed() {
    let (key, record) = login_of_another();
    let store = Arc::new(MemoryStore::new(1 << 12));
    store.put(&key, &record, None).unwrap();
    let (elsewhere, mut number) = (Arc::clone(&store), 1);
    let server = move |seen: &Seen| match (seen.body.as_str(), seen.field("authorization")) {
        (Some(_), _) => {
            number += 1;
            if number == 2 {
                let fills = |len: &usize| elsewhere.put("other", &vec![0; *len], None).is_ok();
                assert!((0..1 << 12).rev().any(|len| fills(&len)));
            }
            tokens(&format!("t-{number}"), &format!("r-{number}"))
        }
        (_, Some("Bearer t-1" | "Bearer t-2")) if seen.message() == "tools/call" => {
            Response::status(401)
        }
        _ => protected(calls)(seen),
    };
    let oauth = OAuth::new("client").store(Arc::clone(&store));
    let played = play_login(oauth, server, async |client| {
        let why = call_once(client.clone()).await.unwrap_err().to_string();
        assert!(why.contains("the store is full"), "{why}");
        store.remove("other").unwrap();
        call_once(client).await
    });
    assert_eq!(played.result.unwrap(), "called");
    let forms: Vec<_> = played.seen.iter().filter_map(|seen| seen.body.as_str()).collect();
    let [first, second] = forms[..] else { panic!("{forms:?}") };
    assert!(first.contains("&refresh_token=r&") && second.contains("&refresh_token=r-2&"));
    let (_, kept) = login_in(&store);
    assert!(kept.windows(3).any(|part| part == b"r-3"));
}

#[test]
fn auth_89_a_renewal_is_not_given_up_with_the_last_call_that_waits_for_it() {
    // The next call comes before the answer, or after it, or never.
    for pause in [Some(0), Some(200), None] {
        let (key, record) = login_of_another();
        let store = memory();
        store.put(&key, &record, None).unwrap();
        let mut other = protected(calls);
        let server = move |seen: &Seen| match seen.field("authorization") {
            _ if is_renewal(seen) => tokens("t-2", "r-2").takes(200),
            Some("Bearer t-1") if seen.message() == "tools/call" => Response::status(401),
            _ => other(seen),
        };
        let oauth = OAuth::new("client").store(Arc::clone(&store));
        let played = play_login(oauth, server, async |client| {
            let impatient = async {
                sleep(Duration::from_millis(100)).await;
                Err(CallError::Closed)
            };
            assert!(future::or(call_once(client.clone()), impatient).await.is_err());
            sleep(Duration::from_millis(pause?)).await;
            Some(call_once(client).await.unwrap())
        });
        assert_eq!(played.result.as_deref(), pause.map(|_| "called"));
        assert_eq!(played.seen.iter().filter(|seen| is_renewal(seen)).count(), 1, "{pause:?}");
        let (_, kept) = login_in(&store);
        assert_eq!(kept.windows(3).any(|part| part == b"r-2"), pause.is_some());
        // It ends with its transport at the latest.
        assert_eq!(store.keys("lock/").unwrap().len(), 0);
        assert_eq!(Arc::strong_count(&store), 1);
    }
}

#[test]
fn a_login_that_was_asked_for_does_not_end_with_a_renewal_that_failed() {
    let store = memory();
    let mut tokens = 0;
    // The second program begins with a token that is to be renewed, which fails.
    for is_second in [false, true] {
        let oauth = OAuth {
            grant: OAuthGrant::WorkloadIdentity,
            clients: vec![OAuthClient::new("client-1")],
            ..OAuth::new("client").store(Arc::clone(&store))
        };
        let oauth = oauth.assertion(|_, _| async {
            sleep(Duration::from_millis(20)).await;
            Ok("jwt-1".to_owned())
        });
        let mut other = protected(calls);
        let server = move |seen: &Seen| {
            if seen.target != "/token" {
                return other(seen);
            }
            tokens += 1;
            if is_second && tokens == 1 {
                return refused("invalid_request");
            }
            Response::json(
                &json!({"access_token": "t-1", "token_type": "Bearer", "expires_in": 3600}),
            )
        };
        let kept = OnceCell::new();
        let login = |http: HttpTransport| {
            let http = http.oauth(oauth);
            kept.get_or_init(|| http.clone());
            http
        };
        let connector = Connector::new(&MODERN);
        let played = play_at(URL, connector, login, 1 << 16, server, async |client| {
            let login = async {
                sleep(Duration::from_millis(5)).await;
                if is_second { kept.get().unwrap().login().await } else { Ok(()) }
            };
            future::zip(call_once(client), login).await
        });
        assert!(played.result.0.is_ok() && played.result.1.is_ok(), "{:?}", played.result);
        assert_eq!(count(&played, "/token"), if is_second { 2 } else { 1 });
        // The time at which the token is renewed, which has a key and a length, is long ago.
        let (key, mut record) = login_in(&store);
        let at = record.windows(4).position(|part| part == [19, 1, 10, 0]).unwrap();
        record[at + 4..at + 14].copy_from_slice(b"1000000000");
        store.put(&key, &record, None).unwrap();
    }
}

#[test]
fn cache_14_a_login_and_a_step_up_begin_with_an_empty_cache() {
    let person = Person::new(0, "code=c-1");
    let mcp = |seen: &Seen| match (seen.message(), seen.field("authorization")) {
        (_, None) => Response::status(401),
        ("tools/call", Some("Bearer t-2")) => Response::status(403)
            .field("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"write\""),
        ("resources/read", Some(token)) => {
            let contents = [json!({"uri": "a:1", "text": token})];
            let hint = json!({"ttlMs": 60_000, "cacheScope": "private"});
            let mut result = json!({"resultType": "complete", "contents": contents});
            result.as_object_mut().unwrap().extend(hint.as_object().unwrap().clone());
            Response::result(seen, &result)
        }
        _ => modern(seen),
    };
    let kept = OnceCell::new();
    let login = |http: HttpTransport| kept.get_or_init(|| http.oauth(person.oauth())).clone();
    let connector = Connector::new(&MODERN).middleware(Cache::new(1 << 16));
    let played = play_at(URL, connector, login, 1 << 16, protected(mcp), async |client| {
        let read = async || {
            let params = ReadResourceParams::new("a:1");
            let result = client.request("resources/read", &params, CallOptions::new()).await;
            result.unwrap().as_json().as_str().to_owned()
        };
        call_once(client.clone()).await.unwrap();
        let mut texts = vec![read().await, read().await];
        kept.get().unwrap().login().await.unwrap();
        texts.extend([read().await, read().await]);
        call_once(client.clone()).await.unwrap();
        texts.extend([read().await, read().await]);
        texts
    });
    let tokens = ["t-1", "t-1", "t-2", "t-2", "t-3", "t-3"];
    for (text, token) in played.result.iter().zip(tokens) {
        assert!(text.contains(token), "{text} is not for {token}");
    }
    let reads = played.seen.iter().filter(|seen| seen.message() == "resources/read");
    assert_eq!(reads.count(), 3);
}

#[test]
fn auth_79_a_login_that_fails_while_connecting_is_told_by_each_call() {
    let everything = |seen: &Seen| match seen.field("authorization") {
        None => Response::status(401).field("WWW-Authenticate", "Bearer"),
        Some(_) => modern(seen),
    };
    let metadata_is_missing = |seen: &Seen| match seen.method.as_str() {
        "GET" => Response::status(500),
        _ => Response::status(401),
    };
    let person = Person::new(0, "error=access_denied");
    let texts = |played: Played<[CallError; 2]>| {
        assert!(matches!(played.end, Ok(ConnectionEnd::ConnectFailed(ConnectError::Http(_)))));
        let [first, second] = played.result.map(|error| error.to_string());
        assert_eq!(first, second);
        first
    };
    let calls = async |client: Client| {
        let first = call_once(client.clone()).await.unwrap_err();
        [first, call_once(client).await.unwrap_err()]
    };
    let said = texts(play_config(&CLIENT, person.oauth(), protected(everything), calls));
    assert_eq!(
        said,
        "cannot connect to `https://server/mcp`: not authorized: access was denied: access_denied; \
         log in again to give the permission"
    );
    assert_eq!(person.pages(), 1);
    let said = texts(play_config(&CLIENT, person.oauth(), metadata_is_missing, calls));
    assert_eq!(
        said,
        "cannot connect to `https://server/mcp`: not authorized: HTTP status 500 \
         (https://server/.well-known/oauth-protected-resource/mcp); try again later"
    );
}

#[test]
fn auth_102_a_call_says_why_there_is_no_login_for_its_new_session() {
    let person = Person::new(0, "error=access_denied");
    let mut sessions = 0;
    let mcp = move |seen: &Seen| match seen.message() {
        "initialize" if sessions == 1 => Response::status(401),
        "initialize" => {
            sessions += 1;
            legacy(seen)
        }
        "tools/call" => Response::status(404),
        _ => legacy(seen),
    };
    let played = play_config(&LEGACY, person.oauth(), protected(mcp), call_once);
    let Err(CallError::Http(HttpError::NotAuthorized(why))) = played.result else {
        panic!("{:?}", played.result)
    };
    assert_eq!(
        why,
        "access was denied: access_denied; \
         log in again to give the permission"
    );
}

#[test]
fn auth_102_the_end_of_a_session_renews_no_token_and_asks_no_person() {
    // The token is refused just before the connection is closed, or is to be renewed.
    for is_due in [false, true] {
        let person = Person::new(0, "code=c-1");
        let mut other = protected(move |seen: &Seen| {
            match (seen.method.as_str(), seen.field("authorization")) {
                (_, None) => Response::status(401),
                ("DELETE", _) if !is_due => Response::status(401),
                _ => legacy(seen),
            }
        });
        let mut tokens = json!({"access_token": "t", "token_type": "Bearer", "refresh_token": "r"});
        tokens["expires_in"] = if is_due { 1 } else { 3600 }.into();
        let server = move |seen: &Seen| match seen.body.as_str() {
            Some(_) => Response::json(&tokens),
            None => other(seen),
        };
        let played = play_config(&LEGACY, person.oauth(), server, async |client| {
            let called = call_once(client.clone()).await;
            // Tokens end by the time of the day.
            thread::sleep(Duration::from_secs(is_due.into()));
            called
        });
        assert!(played.result.is_ok() && played.end.is_ok());
        // The client does not wait for the answer, and the refresh token would be spent.
        let [.., before, end] = &played.seen[..] else { panic!("{:?}", played.seen) };
        assert_eq!((end.method.as_str(), end.field("authorization")), ("DELETE", Some("Bearer t")));
        assert_eq!(before.target, "/mcp");
        assert_ne!(before.method, "DELETE");
        assert_eq!(person.pages(), 1);
    }
}

/// A browser that notes how many locks there are while its page is shown.
struct Watched(Person, Arc<MemoryStore>, Arc<Mutex<Vec<String>>>);

impl Browser for Watched {
    fn redirect_uri(&self, last: Option<&str>) -> io::Result<String> {
        self.0.redirect_uri(last)
    }

    async fn show(&self, url: String) -> io::Result<String> {
        note(&self.2, "page", &self.1);
        self.0.show(url).await
    }
}

fn note(notes: &Mutex<Vec<String>>, what: &str, store: &MemoryStore) {
    let locks = store.keys("lock/").unwrap().len();
    notes.lock().unwrap().push(format!("{what} {locks}"));
}

#[test]
fn other_programs_do_not_wait_for_the_person_or_the_platform_of_this_one() {
    let stores = [(); 2].map(|()| memory());
    let (person, platform) = (&stores[0], &stores[1]);
    let notes = Arc::<Mutex<Vec<_>>>::default();
    // The second time the token is refused, and cannot be renewed.
    for (store, is_second) in [(person, false), (person, true), (platform, false), (platform, true)]
    {
        let watched = Watched(Person::new(0, "code=c-1"), Arc::clone(store), Arc::clone(&notes));
        let oauth = OAuth::new("client").store(Arc::clone(store));
        let oauth = if Arc::ptr_eq(store, person) {
            oauth.browser(watched)
        } else {
            let clients = vec![OAuthClient::new("client-1")];
            let oauth = OAuth { grant: OAuthGrant::WorkloadIdentity, clients, ..oauth };
            oauth.assertion(move |_, _| {
                note(&watched.2, "assertion", &watched.1);
                ready(Ok("jwt-1".to_owned()))
            })
        };
        let (mut other, kept, noting) = (protected(calls), Arc::clone(store), Arc::clone(&notes));
        let server = move |seen: &Seen| match (seen.body.as_str(), seen.field("authorization")) {
            (Some(_), _) if is_renewal(seen) => {
                note(&noting, "renewal", &kept);
                refused("invalid_request")
            }
            (Some(_), _) => {
                note(&noting, "token", &kept);
                tokens(if is_second { "t-2" } else { "t-1" }, "r")
            }
            (None, Some("Bearer t-1")) if is_second => Response::status(401),
            _ => other(seen),
        };
        let played = play_login(oauth, server, call_once);
        assert_eq!(played.result.unwrap(), "called");
    }
    // A renewal is under the lock, a login is not.
    let expected = ["page 0", "token 0", "renewal 1", "page 0", "token 0"];
    let of_platform = expected.map(|note| note.replace("page", "assertion"));
    assert_eq!(*notes.lock().unwrap(), [expected.map(str::to_owned), of_platform].concat());
}

#[test]
fn a_login_is_found_over_the_network_by_the_next_program() {
    let address = network::serve(memory());
    for pages in [1, 0] {
        let person = Person::new(0, "code=c-1");
        let store = NetworkStore::new(address);
        let oauth = OAuth::new("client").store(store).browser(person.clone());
        let played = play_login(oauth, protected(calls), call_once);
        assert_eq!(played.result.unwrap(), "called");
        assert_eq!(person.pages(), pages);
    }
}

/// A key whose signatures nobody verifies.
struct Unverified;

impl Signer for Unverified {
    fn alg(&self) -> &str {
        "ES256"
    }

    fn sign(&self, _: &[&[u8]], _: &mut [u8]) -> Result<usize, SignError> {
        Ok(64)
    }

    fn jwk(&self, put: &mut dyn FnMut(&str, &str)) {
        for (name, text) in [("crv", "P-256"), ("kty", "EC"), ("x", "x"), ("y", "y")] {
            put(name, text);
        }
    }
}

#[test]
fn auth_138_a_nonce_of_any_response_is_in_the_proof_of_the_next_request() {
    let person = Person::new(0, "code=c-1");
    let mut other = protected(|seen: &Seen| match (seen.message(), seen.field("dpop")) {
        ("tools/call", None) => Response::status(401).field("WWW-Authenticate", "DPoP"),
        ("tools/call", _) => {
            let tool = seen.body["params"]["name"].as_str().unwrap();
            modern(seen).field("DPoP-Nonce", &format!("after-{tool}"))
        }
        _ => modern(seen),
    });
    let server = move |seen: &Seen| match seen.target.as_str() {
        "/token" => Response::json(&json!({"access_token": "t-1", "token_type": "DPoP"})),
        _ => other(seen),
    };
    let oauth = OAuth { dpop: Some(Arc::new(Unverified)), ..OAuth::new("client").browser(person) };
    let played = play_login(oauth, server, async |client| {
        for tool in ["a", "b", "c"] {
            call(&client, tool).await.unwrap();
        }
    });
    let calls = played.seen.iter().filter(|seen| seen.message() == "tools/call");
    let nonces: Vec<Value> = calls.filter_map(|seen| seen.field("dpop")).map(nonce).collect();
    assert_eq!(nonces, [Value::Null, "after-a".into(), "after-b".into()]);
}

/// Returns the nonce of a proof.
fn nonce(proof: &str) -> Value {
    let (claims, mut decoded) = (proof.split('.').nth(1).unwrap(), [0; 1024]);
    let claims: Value =
        serde_json::from_slice(decode_base64url(claims, &mut decoded).unwrap()).unwrap();
    claims["nonce"].clone()
}

#[test]
fn auth_116_auth_120_a_login_and_a_program_s_own_token_keep_to_their_settings() {
    let person = Person::new(0, "code=c-1");
    let here = || OAuth::new("client").browser(person.clone());
    let (url, secret) = (|url: &str| url.to_owned(), Some("secret".to_owned()));
    let (client, issuer) = (OAuthClient::new("client-1"), Some(url("https://other")));
    let other = OAuthClient { secret: secret.clone(), issuer, ..client.clone() };
    let open = OAuthClient { secret: secret.clone(), ..client.clone() };
    let known = OAuthClient { issuer: Some(url("https://server")), ..open.clone() };
    let posts = OAuthClient { method: Some(TokenEndpointAuth::Post), ..known.clone() };
    let key = Some(Arc::new(Unverified) as _);
    let with_key = OAuthClient { secret: None, key, ..known.clone() };
    let clients = |client: &OAuthClient, grant| OAuth {
        clients: vec![client.clone()],
        grant,
        ..OAuth::new("client")
    };
    let service = |client: &OAuthClient| OAuth {
        scope: Some("read".to_owned()),
        ..clients(client, OAuthGrant::ClientCredentials)
    };
    let says = |jwt: &'static str| move |_, _| ready(Ok(jwt.to_owned()));
    let document = || OAuth { metadata_document: Some(url("https://client/me.json")), ..here() };
    let of_issuer = |issuer| OAuth { issuers: Some(vec![url(issuer)]), ..here() };
    let idp = OAuthGrant::Enterprise {
        issuer: url("https://server/idp"),
        token_endpoint: url("https://server/idp/token"),
        client: OAuthClient { secret, ..OAuthClient::new("client-2") },
    };
    let workload = clients(&client, OAuthGrant::WorkloadIdentity);
    let trusted = OAuth { without_pkce: vec![url("https://server")], ..here() };
    let signs = OAuth { document_key: Some(Arc::new(Unverified)), ..document() };
    let pkce = "code_challenge_methods_supported";
    // The second is what the server leaves out of its metadata.
    for (oauth, missing, expected) in [
        (here(), "", Ok("client_id=client-1")),
        (OAuth { registers: false, ..here() }, "", Err("not registered at https://server")),
        (of_issuer("https://other"), "", Err("issuer")),
        (of_issuer("https://server"), "", Ok("client_id=client-1")),
        // The credentials of another server are for no one else.
        (clients(&other, OAuthGrant::ClientCredentials), "", Err("belong to another")),
        (clients(&open, OAuthGrant::ClientCredentials), "", Err("set the client's `issuer`")),
        (service(&known), "", Ok("grant_type=client_credentials&scope=read&")),
        (service(&known), "", Ok(" Basic Y2xpZW50LTE6c2VjcmV0.")),
        (service(&posts), "", Ok("&client_id=client-1&client_secret=secret .")),
        (service(&with_key), "", Ok("&client_assertion=")),
        (here(), pkce, Err("PKCE")),
        (trusted, pkce, Ok("code_verifier=")),
        (here(), "resource", Ok("client_id=client-1")),
        (OAuth { legacy: false, ..here() }, "resource", Err("metadata")),
        (document(), "", Ok("client_id=https%3A%2F%2Fclient%2Fme.json")),
        (signs, "", Ok("client_assertion=")),
        (workload.assertion(says("jwt-1")), "", Ok("assertion=jwt-1")),
        (clients(&client, idp).assertion(says("jwt-2")), "", Ok("assertion=from-jwt-2")),
    ] {
        let mut common = protected(calls);
        let server = move |seen: &Seen| match seen.target.as_str() {
            "/.well-known/oauth-protected-resource/mcp" if missing == "resource" => {
                Response::status(404)
            }
            "/.well-known/oauth-protected-resource" => Response::status(404),
            "/.well-known/oauth-authorization-server" => {
                let mut metadata = metadata();
                metadata["client_id_metadata_document_supported"] = true.into();
                metadata.as_object_mut().unwrap().remove(missing);
                Response::json(&metadata)
            }
            "/idp/token" => {
                assert!(seen.body.as_str().unwrap().contains("subject_token=jwt-2"));
                let kind = "urn:ietf:params:oauth:token-type:id-jag";
                Response::json(
                    &json!({"access_token": "from-jwt-2", "issued_token_type": kind, "token_type": "N_A"}),
                )
            }
            _ => common(seen),
        };
        let played = play_login(oauth, server, call_once);
        let asked = played.seen.iter().find(|seen| seen.target == "/token");
        match expected {
            Ok(form) => {
                assert_eq!(played.result.unwrap(), "called");
                let asked = asked.unwrap();
                let authorization = asked.field("authorization").unwrap_or_default();
                let sent = format!("{} {authorization}.", asked.body.as_str().unwrap());
                assert!(sent.contains(form), "{sent}");
            }
            Err(why) => {
                let failed = format!("{:?}", played.result.unwrap_err());
                assert!(failed.contains(why) && asked.is_none(), "{failed}");
            }
        }
    }
}
