//! Sources of keys, and times at which they are asked.

use std::time::Duration;

use futures_lite::future::{block_on, poll_once};

use super::keys::{self, named, set, token};
use super::*;
use crate::asynchronous::http::tokens::Jwks;

/// A token under the key `kid` of ES256.
fn under(kid: &str, now: Moment) -> String {
    let header = format!(r#"{{"typ":"at+jwt","alg":"ES256","kid":"{kid}"}}"#);
    token(Algorithm::Es256, &header, &claims(now, ""))
}

fn with_keys(kids: &[&str]) -> Answer {
    let keys: Vec<_> = kids.iter().map(|kid| named(Algorithm::Es256, kid)).collect();
    Answer::Json(set(&keys))
}

/// The same, with the URL of the keys.
fn fetching() -> (Moment, Server, Jwt) {
    let (now, server, jwt) = scene();
    (now, server, jwt.keys(Jwks::from_url(JWKS)))
}

#[test]
fn auth_154_a_new_key_is_fetched_when_a_token_names_it() {
    let (now, server, jwt) = scene();
    server.set(JWKS, with_keys(&["one"]));
    assert!(verify(&jwt, &under("one", now), now).is_ok());
    server.set(JWKS, with_keys(&["one", "two"]));
    // Not yet: the keys are younger than a minute.
    assert_eq!(refused(&jwt, &under("two", now), now.plus(59)), Refusal::Key);
    assert_eq!(server.asked().len(), 2);
    assert!(verify(&jwt, &under("two", now), now.plus(60)).is_ok());
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn auth_154_a_flood_of_unknown_keys_causes_one_request_a_minute() {
    let (now, server, jwt) = fetching();
    for n in 0..1000 {
        // Forged: the keys are unknown.
        let token = under(&format!("kid-{n}"), now);
        assert_eq!(refused(&jwt, &token, now.plus(n / 5)), Refusal::Key);
    }
    // At 0, 60, 120 and 180 s.
    assert_eq!(server.asked().len(), 4);
    let other = under("kid", now).replacen("eyJ", "eyK", 1);
    assert_eq!(refused(&jwt, &other, now.plus(1000)), Refusal::Malformed);
    assert!(server.asked().is_empty());
}

#[test]
fn auth_154_keys_are_fetched_again_by_age_and_withdrawn_ones_are_gone() {
    let (now, server, jwt) = scene();
    server.set(JWKS, with_keys(&["one", "two"]));
    let mut keys = Jwks::from_url(JWKS);
    keys.max_age = Duration::from_secs(300);
    let jwt = jwt.keys(keys);
    let token = under("one", now);
    assert!(verify(&jwt, &token, now).is_ok());
    server.set(JWKS, with_keys(&["two"]));
    assert!(verify(&jwt, &token, now.plus(299)).is_ok());
    // Known tokens are forgotten with their keys.
    assert_eq!(refused(&jwt, &token, now.plus(300)), Refusal::Key);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn auth_156_keys_stay_when_they_cannot_be_fetched_again() {
    for failure in [
        Answer::Refused,
        Answer::Status(500),
        Answer::Status(404),
        Answer::Json("<html>".to_owned()),
        Answer::Json(r#"{"keys":[]}"#.to_owned()),
        Answer::Json(r#"{"keys":{}}"#.to_owned()),
    ] {
        let (now, server, jwt) = fetching();
        assert!(verify(&jwt, &good(Algorithm::Rs256, now), now).is_ok());
        server.set(JWKS, failure);
        let later = now.plus(600);
        assert!(verify(&jwt, &good(Algorithm::Es256, now), later).is_ok());
        assert!(verify(&jwt, &good(Algorithm::EdDsa, now), later.plus(59)).is_ok());
        assert_eq!(server.asked().len(), 2, "a failure is not repeated within a minute");
        // Whether the key of a token exists is not known: the client must keep its token.
        assert_eq!(refused(&jwt, &under("new", now), later), Refusal::Unavailable);
    }
}

#[test]
fn auth_156_without_keys_a_token_cannot_be_checked() {
    let (now, server, jwt) = scene();
    server.set(JWKS, Answer::Status(503));
    let token = good(Algorithm::Es256, now);
    assert_eq!(refused(&jwt, &token, now), Refusal::Unavailable);
    assert_eq!(refused(&jwt, &token, now.plus(4)), Refusal::Unavailable);
    assert_eq!(server.asked().len(), 2);
    // An error that no key can change is still told.
    assert_eq!(refused(&jwt, "x.y.z", now.plus(4)), Refusal::Malformed);
    let error = block_on(jwt.fetch_keys()).unwrap_err().to_string();
    assert_eq!(error, "https://auth.example.com/jwks: the response has status 503");
    server.set(JWKS, with_keys(&["ES256"]));
    assert!(verify(&jwt, &token, now.plus(9)).is_ok());
}

#[test]
fn auth_156_a_set_that_is_too_long_or_too_slow_is_none() {
    for answer in [Answer::Long(100 << 20), Answer::Silence] {
        let (now, server, mut jwt) = scene();
        server.set(JWKS, answer);
        jwt.source.time = Duration::from_millis(50);
        assert_eq!(refused(&jwt, &good(Algorithm::Es256, now), now), Refusal::Unavailable);
    }
}

#[test]
fn auth_156_those_who_come_meanwhile_share_one_request() {
    let (now, server, jwt) = fetching();
    let (es256, eddsa) = (good(Algorithm::Es256, now), good(Algorithm::EdDsa, now));
    let credentials = credentials(&[]);
    server.set(JWKS, Answer::Silence);
    let mut one = Box::pin(jwt.verify(&eddsa, &credentials, now));
    let mut other = Box::pin(jwt.verify(&es256, &credentials, now));
    block_on(async {
        assert!(poll_once(&mut one).await.is_none());
        assert!(poll_once(&mut other).await.is_none());
        assert_eq!(server.asked().len(), 1);
        // The first has gone away: the other asks in its place.
        drop(one);
        server.set(JWKS, with_keys(&["ES256"]));
        assert!(other.await.is_ok());
    });
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn auth_156_a_request_that_goes_away_takes_no_keys_with_it() {
    let (now, server, jwt) = fetching();
    server.set(JWKS, Answer::Silence);
    let token = good(Algorithm::Es256, now);
    {
        let credentials = credentials(&[]);
        let mut gone = Box::pin(jwt.verify(&token, &credentials, now));
        assert!(block_on(poll_once(&mut gone)).is_none());
    }
    server.set(JWKS, with_keys(&["ES256"]));
    // A client that sends requests and goes away causes at most one a second.
    assert_eq!(refused(&jwt, &token, now), Refusal::Unavailable);
    assert!(verify(&jwt, &token, now.plus(1)).is_ok());
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn auth_154_requests_that_go_away_do_not_keep_old_keys_alive() {
    for pause in [1, 2, 60] {
        let (now, server, jwt) = fetching();
        server.set(JWKS, with_keys(&["one"]));
        let (known, forged) = (under("one", now), under("none", now));
        assert!(verify(&jwt, &known, now).is_ok());
        server.set(JWKS, Answer::Silence);
        let later = now.plus(600);
        let credentials = credentials(&[]);
        let mut gone = Box::pin(jwt.verify(&forged, &credentials, later));
        assert!(block_on(poll_once(&mut gone)).is_none());
        // Others do not wait for the attempt.
        assert!(verify(&jwt, &known, later).is_ok());
        drop(gone);
        server.set(JWKS, with_keys(&["two"]));
        assert!(verify(&jwt, &known, later).is_ok());
        assert_eq!(refused(&jwt, &known, later.plus(pause)), Refusal::Key, "{pause} s later");
    }
}

#[test]
fn auth_154_a_token_without_a_key_id_needs_the_only_key() {
    let (now, server, jwt) = fetching();
    let nameless = |algorithm: Algorithm| {
        let header = format!(r#"{{"typ":"at+jwt","alg":"{}"}}"#, algorithm.name());
        token(algorithm, &header, &claims(now, ""))
    };
    server.set(JWKS, with_keys(&["one", "two"]));
    assert_eq!(refused(&jwt, &nameless(Algorithm::Es256), now), Refusal::Key);
    server.set(JWKS, with_keys(&["one"]));
    assert!(verify(&jwt, &nameless(Algorithm::Es256), now.plus(60)).is_ok());
    // The only key was replaced by another, which nothing names.
    let ours = keys::public(Algorithm::EdDsa).to_owned();
    let theirs =
        ours.replace("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", &keys::encode([9; 32]));
    let jwt = super::jwt(&server).keys(Jwks::from_url(JWKS));
    server.set(JWKS, Answer::Json(set(&[theirs])));
    assert_eq!(refused(&jwt, &nameless(Algorithm::EdDsa), now), Refusal::Signature);
    server.set(JWKS, Answer::Json(set(&[ours])));
    assert!(verify(&jwt, &nameless(Algorithm::EdDsa), now.plus(60)).is_ok());
}

#[test]
fn auth_25_auth_26_auth_28_auth_29_keys_are_found_by_the_metadata_of_the_issuer() {
    let issuer = "https://auth.example.com/tenant1";
    let places = [
        "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example.com/.well-known/openid-configuration/tenant1",
        "https://auth.example.com/tenant1/.well-known/openid-configuration",
    ];
    let metadata = format!(r#"{{"issuer":"{issuer}","jwks_uri":"{JWKS}"}}"#);
    for (at, place) in places.iter().enumerate() {
        let server = Server::default()
            .at(place, Answer::Json(metadata.clone()))
            .at(JWKS, with_keys(&["ES256"]));
        let jwt = Jwt::new(issuer, AUDIENCE).connector(server.connector());
        block_on(jwt.fetch_keys()).unwrap();
        assert_eq!(server.asked(), [&places[..=at], &[JWKS]].concat());
    }
    // A page in place of metadata is not here.
    for page in ["<html>", "[]", ""] {
        let server = Server::default()
            .at(places[0], Answer::Json(page.to_owned()))
            .at(places[1], Answer::Json(metadata.clone()))
            .at(JWKS, with_keys(&["ES256"]));
        let jwt = Jwt::new(issuer, AUDIENCE).connector(server.connector());
        block_on(jwt.fetch_keys()).unwrap();
        assert_eq!(server.asked(), [&places[..2], &[JWKS]].concat(), "{page}");
    }
    let server = places.iter().fold(Server::default(), |server, place| {
        server.at(place, Answer::Json("<html>".to_owned()))
    });
    let jwt = Jwt::new(issuer, AUDIENCE).connector(server.connector());
    let error = block_on(jwt.fetch_keys()).unwrap_err().to_string();
    assert_eq!((error, server.asked().len()), (format!("{}: no metadata", places[2]), 3));
    // Metadata of another issuer is not used, and no further place is tried.
    for (metadata, why) in [
        (metadata.replace("tenant1", "tenant1/"), "the metadata is of another issuer"),
        (metadata.replace("jwks_uri", "x"), "the metadata has no `jwks_uri`"),
        (metadata.replace("jwks_uri", "issuer"), "no metadata"),
    ] {
        let server = Server::default().at(places[0], Answer::Json(metadata));
        let jwt = Jwt::new(issuer, AUDIENCE).connector(server.connector());
        let error = block_on(jwt.fetch_keys()).unwrap_err().to_string();
        assert_eq!((error, server.asked().len()), (format!("{}: {why}", places[0]), 1));
    }
}

#[test]
fn auth_108_keys_come_over_tls_or_from_this_machine() {
    let plain = "http://auth.example.com";
    let jwt = Jwt::new(plain, AUDIENCE).connector(Server::default().connector());
    assert!(block_on(jwt.fetch_keys()).is_err());
    for uri in ["http://auth.example.com/jwks", "http://127.0.0.1/jwks", "file:///etc/passwd"] {
        let metadata = format!(r#"{{"issuer":"{ISSUER}","jwks_uri":"{uri}"}}"#);
        let server = Server::default().at(METADATA, Answer::Json(metadata));
        assert!(block_on(super::jwt(&server).fetch_keys()).is_err(), "{uri}");
        assert_eq!(server.asked(), [METADATA], "{uri}");
    }
    for url in ["http://127.0.0.1:9000/jwks", "http://localhost:9000/jwks", "https://10.0.0.1/jwks"]
    {
        let server = Server::default().at(url, with_keys(&["ES256"]));
        let jwt = super::jwt(&server).keys(Jwks::from_url(url));
        assert!(block_on(jwt.fetch_keys()).is_ok(), "{url}");
    }
}
