//! Tokens that the authorization server is asked about.

use std::net::IpAddr;
use std::time::Duration;

use futures_lite::future::{block_on, poll_once};

use super::*;
use crate::asynchronous::http::Authorizer as _;
use crate::asynchronous::http::tokens::Introspection;
use mcp_sansio_engine::internal::RefusedTokens;

const INTROSPECT: &str = "https://auth.example.com/introspect";

fn says(answer: &str) -> Answer {
    Answer::Json(answer.to_owned())
}

fn active(others: &str) -> Answer {
    says(&format!(r#"{{"active":true,"aud":"{AUDIENCE}","sub":"ada"{others}}}"#))
}

fn asking(server: &Server) -> Introspection {
    let introspection = Introspection::new(ISSUER, AUDIENCE, "mcp server", "s:=%");
    introspection.connector(server.connector()).endpoint(INTROSPECT)
}

fn ask(introspection: &Introspection, token: &str, now: Moment) -> Result<Arc<Verified>, Refusal> {
    block_on(introspection.verify(token, &credentials(&[]), now))
}

#[test]
fn auth_155_the_server_is_asked_about_a_token_once() {
    let now = Moment::now();
    let others = format!(r#","scope":"a b","exp":{}"#, now.unix + 30);
    let server = Server::default().at(INTROSPECT, active(&others));
    let asking = asking(&server);
    let verified = ask(&asking, "opaque&x=y", now).unwrap();
    assert_eq!((&*verified.principal.issuer, &*verified.principal.subject), (ISSUER, "ada"));
    assert!(verified.principal.has_scope("b") && verified.principal.expires.is_some());
    assert!(ask(&asking, "opaque&x=y", now.plus(29)).is_ok());
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /introspect HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-www-form-urlencoded"), "{head}");
    // mcp+server:s%3A%3D%25
    assert!(head.contains("authorization: Basic bWNwK3NlcnZlcjpzJTNBJTNEJTI1"), "{head}");
    assert_eq!(body, "token=opaque%26x%3Dy&token_type_hint=access_token");
    // The end of the token ends the answer, too (RFC 7662, 2.2).
    server.set(INTROSPECT, says(r#"{"active":false}"#));
    assert_eq!(ask(&asking, "opaque&x=y", now.plus(30)).unwrap_err(), Refusal::Inactive);
    server.set(INTROSPECT, active(&others));
    assert!(ask(&asking, "opaque&x=y", now.plus(89)).is_ok(), "clocks differ");
    assert_eq!(ask(&asking, "opaque&x=y", now.plus(90)).unwrap_err(), Refusal::Expired);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn auth_155_an_answer_is_kept_no_longer_than_its_age() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, active(""));
    let mut asking = asking(&server);
    asking.verifier.max_age = Duration::from_secs(10);
    assert!(ask(&asking, "token", now).unwrap().principal.expires.is_none());
    // Revoked.
    server.set(INTROSPECT, says(r#"{"active":false}"#));
    assert!(ask(&asking, "token", now.plus(9)).is_ok());
    assert_eq!(ask(&asking, "token", now.plus(10)).unwrap_err(), Refusal::Inactive);
}

#[test]
fn auth_155_auth_144_a_token_is_refused_for_what_the_answer_says() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, active(r#","iss":"https://other.example""#));
    assert_eq!(ask(&asking(&server), "token", now).unwrap_err(), Refusal::Issuer);
    let server = Server::default().at(INTROSPECT, says(r#"{"active":true,"client_id":"x"}"#));
    let mut lenient = asking(&server);
    lenient.verifier.demands_audience = false;
    assert_eq!(ask(&lenient, "token", now).unwrap().principal.subject, "client:x");
    let other = r#"{"active":true,"client_id":"x","aud":"https://other.example"}"#;
    server.set(INTROSPECT, says(other));
    assert_eq!(ask(&lenient, "other", now).unwrap_err(), Refusal::Audience);
    let before = server.asked().len();
    assert_eq!(ask(&lenient, &"x".repeat((16 << 10) + 1), now).unwrap_err(), Refusal::TooLong);
    assert_eq!((before, server.asked().len()), (2, 0));
}

#[test]
fn auth_156_a_server_that_cannot_answer_says_nothing_about_a_token() {
    let now = Moment::now();
    for answer in [
        Answer::Refused,
        Answer::Status(500),
        // The credentials of this server are wrong, not the token.
        Answer::Status(401),
        Answer::Silence,
        Answer::Long(100 << 20),
        says("<html>"),
        says("[]"),
        says("{}"),
        says(r#"{"active":"true"}"#),
        says(r#"{"active":false,"active":true}"#),
    ] {
        let server = Server::default().at(INTROSPECT, answer);
        let mut asking = asking(&server);
        asking.source.time = Duration::from_millis(50);
        assert_eq!(ask(&asking, "token", now).unwrap_err(), Refusal::Unavailable);
        let credentials = credentials(&[("authorization", "Bearer token")]);
        assert_eq!(block_on(asking.check(&credentials)).unwrap_err().status(), 503);
        // A failure is not kept.
        server.set(INTROSPECT, active(""));
        assert!(ask(&asking, "token", now).is_ok());
    }
}

#[test]
fn auth_155_requests_with_the_same_token_share_one_question_and_others_are_limited() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, Answer::Silence);
    let asking = asking(&server);
    let tokens: Vec<String> = (0..64).map(|n| format!("token-{n}")).collect();
    let credentials = credentials(&[]);
    block_on(async {
        let mut waiting: Vec<_> = tokens
            .iter()
            .chain(&tokens)
            .map(|token| Box::pin(asking.verify(token, &credentials, now)))
            .collect();
        for waiting in &mut waiting {
            assert!(poll_once(waiting).await.is_none());
        }
        assert_eq!(server.asked().len(), 64);
        let mut one_more = Box::pin(asking.verify("another", &credentials, now));
        assert!(poll_once(&mut one_more).await.is_none());
        assert!(server.asked().is_empty());
    });
    server.set(INTROSPECT, active(""));
    assert!(ask(&asking, "another", now).is_ok());
}

#[test]
fn r3_a1_a_token_beyond_the_limit_is_asked_about_in_its_turn() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, Answer::Silence);
    let asking = asking(&server);
    let tokens: Vec<String> = (0..64).map(|n| format!("junk-{n}")).collect();
    let credentials = credentials(&[]);
    block_on(async {
        let ask = |token| Box::pin(asking.verify(token, &credentials, now));
        let mut junk: Vec<_> = tokens.iter().map(|token| ask(token)).collect();
        for junk in &mut junk {
            assert!(poll_once(junk).await.is_none());
        }
        assert_eq!(server.asked().len(), 64);
        server.set(INTROSPECT, active(""));
        let (mut first, mut second) = (ask("first"), ask("second"));
        assert!(poll_once(&mut first).await.is_none());
        assert!(poll_once(&mut second).await.is_none());
        assert!(server.asked().is_empty());
        // There is room for one question. It is that of the first, also if the second looks first.
        drop(junk.pop());
        assert!(poll_once(&mut second).await.is_none());
        assert!(server.asked().is_empty());
        assert_eq!(first.await.unwrap().principal.subject, "ada");
        assert_eq!(second.await.unwrap().principal.subject, "ada");
        assert_eq!(server.asked().len(), 2);
    });
}

#[test]
fn r3_a1_junk_of_one_address_keeps_no_token_of_another_from_its_turn() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, Answer::Silence);
    let asking = asking(&server);
    let tokens: Vec<String> = (0..200).map(|n| format!("junk-{n}")).collect();
    let [mallory, ada] = [1, 2].map(|n| {
        let head = OwnedHead::new("POST", "/mcp", Headers(Vec::new()));
        Credentials::new(head.peer(IpAddr::from([192, 0, 2, n])), None)
    });
    block_on(async {
        let mut junk: Vec<_> =
            tokens.iter().map(|token| Box::pin(asking.verify(token, &mallory, now))).collect();
        for junk in &mut junk {
            assert!(poll_once(junk).await.is_none());
        }
        server.set(INTROSPECT, active(""));
        let mut token = Box::pin(asking.verify("token", &ada, now));
        assert!(poll_once(&mut token).await.is_none());
        drop(junk.remove(0));
        assert_eq!(token.await.unwrap().principal.subject, "ada");
    });
}

#[test]
fn r3_a1_a_refused_token_is_remembered_for_some_seconds() {
    let now = Moment::now();
    let server = Server::default().at(INTROSPECT, says(r#"{"active":false}"#));
    let asking = asking(&server);
    for later in [0, 9] {
        assert_eq!(ask(&asking, "junk", now.plus(later)).unwrap_err(), Refusal::Inactive);
    }
    assert_eq!(server.asked().len(), 1);
    server.set(INTROSPECT, active(""));
    assert!(ask(&asking, "another", now.plus(9)).is_ok());
    // The test may have taken some of the time.
    assert!(ask(&asking, "junk", now.plus(600)).is_ok());
    assert_eq!(server.asked().len(), 2);
    // A failure of the authorization server is not remembered as a refusal.
    server.set(INTROSPECT, Answer::Status(500));
    assert_eq!(ask(&asking, "new", now).unwrap_err(), Refusal::Unavailable);
    server.set(INTROSPECT, active(""));
    assert!(ask(&asking, "new", now).is_ok());
}

#[test]
fn r3_a1_the_memory_of_refused_tokens_is_bounded() {
    let mut refused = RefusedTokens::default();
    let token = |n: u16| {
        let [high, low] = n.to_be_bytes();
        let mut token = [high; 32];
        token[31] = low;
        token
    };
    for n in 0..=4096 {
        refused.insert(token(n), Refusal::Inactive, 100);
        refused.insert(token(n), Refusal::Inactive, 100);
    }
    assert_eq!(refused.remembered(), 4096);
    assert_eq!(refused.get(&token(0), 100), None);
    assert_eq!(refused.get(&token(1), 109), Some(Refusal::Inactive));
    assert_eq!(refused.get(&token(1), 110), None);
    assert_eq!(refused.remembered(), 0);
}

#[test]
fn auth_155_the_endpoint_is_found_by_the_metadata() {
    let now = Moment::now();
    let metadata = format!(r#"{{"issuer":"{ISSUER}","introspection_endpoint":"{INTROSPECT}"}}"#);
    let server = Server::default().at(METADATA, Answer::Json(metadata)).at(INTROSPECT, active(""));
    let asking = Introspection::new(ISSUER, AUDIENCE, "id", "secret").connector(server.connector());
    assert!(ask(&asking, "one", now).is_ok() && ask(&asking, "two", now).is_ok());
    assert_eq!(server.asked(), [METADATA, INTROSPECT, INTROSPECT]);
    assert!(!format!("{asking:?}").contains("secret"));
}

#[test]
fn auth_155_an_endpoint_that_has_moved_is_found_again() {
    const MOVED: &str = "https://auth.example.com/v2/introspect";
    let at = |url| says(&format!(r#"{{"issuer":"{ISSUER}","introspection_endpoint":"{url}"}}"#));
    let now = Moment::now();
    let server = Server::default().at(METADATA, at(INTROSPECT)).at(INTROSPECT, active(""));
    let found = Introspection::new(ISSUER, AUDIENCE, "id", "secret").connector(server.connector());
    assert!(ask(&found, "one", now).is_ok());
    server.asked();
    server.set(INTROSPECT, Answer::Status(404));
    let fails = |token, seconds| {
        assert_eq!(ask(&found, token, now.plus(seconds)).unwrap_err(), Refusal::Unavailable);
        server.asked()
    };
    assert_eq!(fails("two", 59), [INTROSPECT]);
    // It has not moved, and the metadata is not read again for a minute.
    assert_eq!(fails("two", 60), [INTROSPECT, METADATA]);
    assert_eq!(fails("two", 119), [INTROSPECT]);
    // Without metadata it stays what it was.
    server.set(METADATA, Answer::Status(404));
    assert_eq!(fails("two", 120).first().unwrap(), INTROSPECT);
    server.set(METADATA, at(MOVED));
    server.set(MOVED, active(""));
    assert_eq!(fails("two", 179), [INTROSPECT]);
    assert!(ask(&found, "two", now.plus(180)).is_ok());
    assert_eq!(server.asked(), [INTROSPECT, METADATA, MOVED]);
    assert!(ask(&found, "three", now.plus(180)).is_ok());
    assert_eq!(server.asked(), [MOVED]);
    // One that the program has named is no other's to change.
    let named = asking(&server);
    assert_eq!(ask(&named, "four", now.plus(1000)).unwrap_err(), Refusal::Unavailable);
    assert_eq!(server.asked(), [INTROSPECT]);
}
