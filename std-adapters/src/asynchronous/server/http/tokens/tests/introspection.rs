//! Tokens that the authorization server is asked about.

use std::time::Duration;

use futures_lite::future::{block_on, poll_once};

use super::*;
use crate::asynchronous::http::Authorizer as _;
use crate::asynchronous::http::tokens::Introspection;

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
    let asking = asking(&server).max_age(Duration::from_secs(10));
    assert!(ask(&asking, "token", now).unwrap().principal.expires.is_none());
    // Revoked.
    server.set(INTROSPECT, says(r#"{"active":false}"#));
    assert!(ask(&asking, "token", now.plus(9)).is_ok());
    assert_eq!(ask(&asking, "token", now.plus(10)).unwrap_err(), Refusal::Inactive);
}

#[test]
fn auth_155_auth_144_a_token_is_refused_for_what_the_answer_says() {
    let now = Moment::now();
    let iss = |issuer: &str| active(&format!(r#","iss":"{issuer}""#));
    for (answer, why) in [
        (says(r#"{"active":false,"sub":"ada"}"#), Refusal::Inactive),
        (says(r#"{"active":true,"sub":"ada"}"#), Refusal::Audience),
        (says(r#"{"active":true,"aud":"https://mcp.example.com","sub":"ada"}"#), Refusal::Audience),
        (says(&format!(r#"{{"active":true,"aud":"{AUDIENCE}"}}"#)), Refusal::Subject),
        (iss("https://auth.example.com/"), Refusal::Issuer),
        (active(r#","exp":1"#), Refusal::Expired),
        (active(r#","exp":"never""#), Refusal::Malformed),
        (active(&format!(r#","nbf":{}"#, now.unix + 100)), Refusal::NotYet),
        (active(r#","cnf":{"x5t#S256":"x"}"#), Refusal::Bound),
    ] {
        let server = Server::default().at(INTROSPECT, answer);
        assert_eq!(ask(&asking(&server), "token", now).unwrap_err(), why);
    }
    let server = Server::default().at(INTROSPECT, iss(ISSUER));
    assert!(ask(&asking(&server), "token", now).is_ok());
    let server = Server::default().at(INTROSPECT, says(r#"{"active":true,"client_id":"x"}"#));
    let lenient = asking(&server).demands_audience(false);
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
        let one_more = asking.verify("another", &credentials, now).await;
        assert_eq!(one_more.unwrap_err(), Refusal::Unavailable);
        assert!(server.asked().is_empty());
    });
    server.set(INTROSPECT, active(""));
    assert!(ask(&asking, "another", now).is_ok());
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
