//! Tokens, good and bad, against a server of our own. Keys and some signatures are those of RFCs.

pub(crate) mod dpop;
pub(crate) mod introspection;
pub(crate) mod jwks;
pub(crate) mod jwt;
pub(crate) mod keys;
pub(crate) mod server;

use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::block_on;
use mcp_sansio::http::Fields;
use mcp_sansio_engine::site::OwnedHead;

use super::{Algorithm, Jwt, Moment, Refusal, Verified};
use crate::asynchronous::http::Credentials;
use server::{Answer, Server};

const ISSUER: &str = "https://auth.example.com";
const AUDIENCE: &str = "https://mcp.example.com/mcp";
const METADATA: &str = "https://auth.example.com/.well-known/oauth-authorization-server";
const JWKS: &str = "https://auth.example.com/jwks";

/// Claims that are accepted, for an hour, with others beside them.
fn claims(now: Moment, others: &str) -> String {
    let (iat, exp) = (now.unix, now.unix + 3600);
    format!(
        r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","sub":"ada","iat":{iat},"exp":{exp}{others}}}"#
    )
}

/// A header that is accepted.
fn header(algorithm: Algorithm) -> String {
    format!(r#"{{"typ":"at+jwt","alg":"{0}","kid":"{0}"}}"#, algorithm.name())
}

/// Returns a good token.
fn good(algorithm: Algorithm, now: Moment) -> String {
    good_with(algorithm, now, "")
}

/// Returns a good token with other claims, too.
fn good_with(algorithm: Algorithm, now: Moment, others: &str) -> String {
    keys::token(algorithm, &header(algorithm), &claims(now, others))
}

/// Returns a good token that is bound to the key with this thumbprint.
fn bound_to(jkt: &str, now: Moment) -> String {
    good_with(Algorithm::Es256, now, &format!(r#","cnf":{{"jkt":"{jkt}"}}"#))
}

/// Returns a server with a key of each algorithm.
fn server() -> Server {
    let keys = Algorithm::ALL.map(|algorithm| keys::named(algorithm, algorithm.name()));
    let metadata = format!(r#"{{"issuer":"{ISSUER}","jwks_uri":"{JWKS}"}}"#);
    Server::default().at(METADATA, Answer::Json(metadata)).at(JWKS, Answer::Json(keys::set(&keys)))
}

fn jwt(server: &Server) -> Jwt {
    Jwt::new(ISSUER, AUDIENCE).connector(server.connector())
}

/// Returns the time, a server and the check of its tokens.
fn scene() -> (Moment, Server, Jwt) {
    let server = server();
    let jwt = jwt(&server);
    (Moment::now(), server, jwt)
}

struct Headers(Vec<(&'static str, String)>);

impl Fields for Headers {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.0.iter().filter(|(own, _)| *own == name).nth(n).map(|(_, value)| value.as_bytes())
    }
}

fn credentials(fields: &[(&'static str, &str)]) -> Credentials {
    let fields = Headers(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect());
    let head = OwnedHead::new("POST", "/mcp", fields);
    Credentials::new(head, Some("https://mcp.example.com".into()))
}

fn verify(jwt: &Jwt, token: &str, now: Moment) -> Result<Arc<Verified>, Refusal> {
    block_on(jwt.verify(token, &credentials(&[]), now))
}

fn refused(jwt: &Jwt, token: &str, now: Moment) -> Refusal {
    verify(jwt, token, now).unwrap_err()
}

impl Moment {
    fn now() -> Self {
        Self::of(&credentials(&[]))
    }

    fn plus(self, seconds: u64) -> Self {
        let instant = self.instant + Duration::from_secs(seconds);
        Self { unix: self.unix + seconds, instant }
    }
}
