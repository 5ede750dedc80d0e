//! Tokens that are bound to a key, and the proofs of it.

use futures_lite::future::block_on;
use mcp_sansio::types::{EmptyResult, Implementation};
use mcp_sansio::{ServerConfig, ServerFeatures};
use mcp_sansio_engine::site::OwnedHead;

use super::keys::{self, encode, token};
use super::*;
use crate::asynchronous::http::tokens::Dpop;
use crate::asynchronous::http::tokens::dpop::BadProof;
use crate::asynchronous::http::{
    AuthorizationError, Authorizer as _, HttpOptions, HttpServer, ProtectedResource,
};
use crate::asynchronous::{App, Context};

/// The token, its key's thumbprint and the proof of RFC 9449, 7.1.
const RFC_TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
const RFC_JKT: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
const RFC_PROOF: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
const RFC_TIME: u64 = 1_562_262_618;
/// Thumbprint of the key of RFC 8037, A.3.
const ED25519_JKT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

/// Thumbprint of the key of RFC 7515, A.3.
const P256_JKT: &str = "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U";

/// A request with a proof.
fn request(method: &str, url: (&'static str, &str), proofs: &[&str]) -> Credentials {
    let fields = proofs.iter().map(|proof| ("dpop", (*proof).to_owned())).collect();
    let head = OwnedHead::new(method, url.1, Headers(fields));
    Credentials::new(head, Some(url.0.into()))
}

fn with_nonces(secret: [u8; 32]) -> Dpop {
    Dpop { nonces: Some(secret), ..Dpop::new() }
}

fn with_dpop(jwt: Jwt, dpop: Dpop) -> Jwt {
    Jwt { dpop: Some(dpop), ..jwt }
}

const HERE: (&str, &str) = ("https://mcp.example.com", "/mcp?x=y");

#[test]
fn auth_140_the_proof_of_the_rfc_is_accepted_once() {
    let at = |seconds| RFC_TIME + seconds;
    let resource = ("https://resource.example.org", "/protectedresource");
    let get = request("GET", resource, &[RFC_PROOF]);
    let dpop = Dpop::new();
    assert_eq!(dpop.check(&get, RFC_TOKEN, RFC_JKT, at(2)), Ok(()));
    let again = dpop.check(&get, RFC_TOKEN, RFC_JKT, at(3));
    assert_eq!(again, Err(BadProof::Invalid("the proof was used before")));
    for proofs in [&[RFC_PROOF; 2][..], &[]] {
        let refused =
            dpop.check(&request("GET", resource, proofs), RFC_TOKEN, RFC_JKT, at(2)).unwrap_err();
        assert_eq!(refused, BadProof::Invalid("there must be one proof"));
    }
    let late = dpop.check(&get, RFC_TOKEN, RFC_JKT, at(301)).unwrap_err();
    assert_eq!(late, BadProof::Invalid("the proof is too old, or from the future"));
}

#[test]
fn r3_a2_a_proof_is_made_at_most_thirty_seconds_from_now() {
    let now = Moment::now();
    let made = |ahead: u64| {
        let claims = proof_claims("token", "1", now.plus(ahead));
        check(&Dpop::new(), &proof_header(), &claims, now)
    };
    let late = BadProof::Invalid("the proof is too old, or from the future");
    assert_eq!((made(30), made(31)), (Ok(()), Err(late)));
}

/// The header of a proof under the key of RFC 8037.
fn proof_header() -> String {
    format!(r#"{{"typ":"dpop+jwt","alg":"EdDSA","jwk":{}}}"#, keys::ED25519)
}

/// The claims of a proof for `token`.
fn proof_claims(token: &str, jti: &str, now: Moment) -> String {
    let ath = encode(ring::digest::digest(&ring::digest::SHA256, token.as_bytes()));
    let iat = now.unix;
    format!(
        r#"{{"htm":"POST","htu":"https://mcp.example.com/mcp","jti":"{jti}","iat":{iat},"ath":"{ath}"}}"#
    )
}

fn with_nonce(claims: &str, nonce: &str) -> String {
    claims.replacen('{', &format!(r#"{{"nonce":"{nonce}","#), 1)
}

fn check(dpop: &Dpop, header: &str, claims: &str, now: Moment) -> Result<(), BadProof> {
    let proof = token(Algorithm::EdDsa, header, claims);
    dpop.check(&request("POST", HERE, &[&proof]), "token", ED25519_JKT, now.unix)
}

#[test]
fn auth_140_a_proof_is_refused_for_each_of_its_parts() {
    let now = Moment::now();
    let (header, claims) = (proof_header(), proof_claims("token", "1", now));
    assert_eq!(check(&Dpop::new(), &header, &claims, now), Ok(()));
    let key = keys::ED25519;
    for (from, to, why) in [
        ("dpop+jwt", "JWT", "the type is not dpop+jwt"),
        ("\"EdDSA\"", "\"none\"", "the signature algorithm is not allowed"),
        ("\"EdDSA\"", "\"HS256\"", "the signature algorithm is not allowed"),
        ("\"EdDSA\"", "\"ES256\"", "the proof has no public key for its algorithm"),
        ("\"jwk\"", "\"x5c\"", "the proof has no public key for its algorithm"),
        (key, keys::P256, "the proof has no public key for its algorithm"),
        (key, r#"{"kty":"oct","k":"AA"}"#, "the key of the proof is not public"),
        ("\"kty\"", "\"d\":\"AA\",\"kty\"", "the key of the proof is not public"),
        ("11qYAYK", "12qYAYK", "the signature of the proof is invalid"),
        ("\"alg\"", "\"crit\":[],\"alg\"", "there is an unknown critical extension"),
        ("\"alg\"", "\"alg\":\"none\",\"alg\"", "the proof is malformed"),
    ] {
        let changed = header.replacen(from, to, 1);
        assert_ne!(changed, header);
        let result = check(&Dpop::new(), &changed, &claims, now);
        assert_eq!(result, Err(BadProof::Invalid(why)), "{changed}");
    }
    for (from, to, why) in [
        ("\"POST\"", "\"post\"", "the proof is for another method"),
        ("\"htm\"", "\"x\"", "the proof is for another method"),
        ("\"htu\"", "\"x\"", "the proof is for another URL"),
        ("/mcp\"", "/mcp/\"", "the proof is for another URL"),
        ("/mcp\"", "/mcp-evil\"", "the proof is for another URL"),
        ("/mcp\"", "/MCP\"", "the proof is for another URL"),
        ("https://", "http://", "the proof is for another URL"),
        ("mcp.example.com", "mcp.example.com.evil.example", "the proof is for another URL"),
        ("mcp.example.com", "mcp.example.com:8443", "the proof is for another URL"),
        ("\"ath\"", "\"x\"", "the proof is for another token"),
        ("\"jti\":\"1\"", "\"jti\":\"\"", "the proof has no jti"),
        ("\"jti\"", "\"x\"", "the proof has no jti"),
        ("\"jti\":\"1\"", "\"jti\":1", "the proof is malformed"),
        ("\"iat\"", "\"x\"", "the proof is too old, or from the future"),
        ("\"iat\":", "\"iat\":-", "the proof is malformed"),
        ("\"jti\"", "\"jti\":\"0\",\"jti\"", "the proof is malformed"),
    ] {
        let changed = claims.replacen(from, to, 1);
        assert_ne!(changed, claims);
        let result = check(&Dpop::new(), &header, &changed, now);
        assert_eq!(result, Err(BadProof::Invalid(why)), "{changed}");
    }
    // The same URL.
    for to in ["https://MCP.example.com:443/mcp", "https://mcp.example.com/mcp?a=b#c"] {
        let claims = claims.replace("https://mcp.example.com/mcp", to);
        assert_eq!(check(&Dpop::new(), &header, &claims, now), Ok(()), "{to}");
    }
    for rubbish in ["", "x", "a.b.c", &"A".repeat(20 << 10)] {
        let request = request("POST", HERE, &[rubbish]);
        assert!(Dpop::new().check(&request, "token", ED25519_JKT, now.unix).is_err());
    }
}

#[test]
fn auth_142_a_proof_is_remembered_while_it_is_good() {
    let now = Moment::now();
    let dpop = Dpop { max_proofs: 3, ..Dpop::new() };
    let used = |jti: &str, made: Moment, at: Moment| {
        check(&dpop, &proof_header(), &proof_claims("token", jti, made), at).is_err()
    };
    for jti in ["1", "2", "3"] {
        assert!(!used(jti, now, now));
    }
    for jti in ["1", "2", "3"] {
        assert!(used(jti, now, now.plus(300)), "{jti}");
    }
    // The memory is bounded: a fourth takes the place of one of the first three.
    assert!(!used("4", now.plus(1), now.plus(1)));
    assert!(used("4", now.plus(1), now.plus(1)));
    let forgotten = ["1", "2", "3"].into_iter().filter(|jti| !used(jti, now, now.plus(1)));
    assert!(forgotten.count() >= 1);
    // A proof that is too old is refused by its time, and takes no memory.
    assert!(!used("5", now.plus(400), now.plus(400)));
    assert_eq!(dpop.remembered(), 1);
}

#[test]
fn r3_a2_proofs_of_one_key_are_not_forgotten_for_those_of_another() {
    let now = Moment::now();
    let dpop = Dpop { max_proofs: 10, ..Dpop::new() };
    let is_used = |algorithm: Algorithm, id: u32, made: Moment| {
        let (name, key) = (algorithm.name(), keys::public(algorithm));
        let header = format!(r#"{{"typ":"dpop+jwt","alg":"{name}","jwk":{key}}}"#);
        let proof = token(algorithm, &header, &proof_claims("token", &id.to_string(), made));
        let jkt = if algorithm == Algorithm::EdDsa { ED25519_JKT } else { P256_JKT };
        dpop.check(&request("POST", HERE, &[&proof]), "token", jkt, now.unix).is_err()
    };
    let [ada, mallory] = [Algorithm::EdDsa, Algorithm::Es256];
    // Those of ada end before all of mallory's.
    for id in 0..4 {
        assert!(!is_used(ada, id, now));
    }
    for id in 0..30 {
        assert!(!is_used(mallory, id, now.plus(30)));
    }
    assert!((0..4).all(|id| is_used(ada, id, now)));
    assert_eq!(dpop.remembered(), 10);
}

#[test]
fn auth_142_a_nonce_is_good_for_five_minutes_in_all_processes() {
    let now = Moment::now();
    let dpop = with_nonces([7; 32]);
    let with = |dpop: &Dpop, jti: &str, nonce: &str, now: Moment| {
        let claims = with_nonce(&proof_claims("token", jti, now), nonce);
        check(dpop, &proof_header(), &claims, now)
    };
    let without = check(&dpop, &proof_header(), &proof_claims("token", "1", now), now);
    let Err(BadProof::Nonce(nonce)) = without else { panic!("{without:?}") };
    // The proof was not used: its jti is still good.
    assert_eq!(with(&dpop, "1", &nonce, now), Ok(()));
    assert_eq!(with(&dpop, "2", &nonce, now.plus(300)), Ok(()));
    // The clock of another process may be behind.
    let before = |secs| Moment { unix: now.unix - secs, ..now };
    assert_eq!(with(&with_nonces([7; 32]), "1", &nonce, before(30)), Ok(()));
    let changed = format!("{}{}", &nonce[..20], nonce[20..].replace(['A', 'B', 'C'], "D"));
    let changed = if changed == nonce { encode([0; 40]) } else { changed };
    for (dpop, nonce, at) in [
        (&dpop, &*nonce, now.plus(301)),
        (&dpop, &*nonce, before(31)),
        (&dpop, &*changed, now),
        (&dpop, "", now),
        (&dpop, "AAAA", now),
        (&with_nonces([8; 32]), &*nonce, now),
    ] {
        let result = with(dpop, "3", nonce, at);
        assert!(matches!(result, Err(BadProof::Nonce(_))), "{nonce} {result:?}");
    }
    // A proof that is wrong gets no nonce.
    let wrong = proof_claims("token", "1", now).replace("POST", "GET");
    assert!(matches!(check(&dpop, &proof_header(), &wrong, now), Err(BadProof::Invalid(_))));
}

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::NONE);

#[test]
fn auth_142_an_old_nonce_is_replaced_with_a_response() {
    let now = Moment::now();
    let bound = bound_to(ED25519_JKT, now);
    // Returns the nonce of the response to a request whose own nonce is this many seconds old.
    let next = |age: u64| {
        let old = Moment { unix: now.unix - age, ..now };
        let proof = |nonce: &str, made: Moment| {
            let claims = with_nonce(&proof_claims(&bound, "1", made), nonce);
            token(Algorithm::EdDsa, &proof_header(), &claims)
        };
        let request = request("POST", HERE, &[&proof("", old)]);
        let asked = with_nonces([7; 32]).check(&request, &bound, ED25519_JKT, old.unix);
        let Err(BadProof::Nonce(nonce)) = asked else { panic!("{asked:?}") };
        let jwt = with_dpop(jwt(&server()), with_nonces([7; 32]));
        let resource = ProtectedResource::new("https://mcp.example.com/mcp", ISSUER);
        let options = HttpOptions::new().protected_resource(resource).authorize(jwt);
        let app = App::new(&CONFIG, |ctx: Context| async move { ctx.reply(&EmptyResult::new()) });
        let server = HttpServer::new(&app, options).unwrap();
        let fields = [
            ("host", "localhost".to_owned()),
            ("authorization", format!("DPoP {bound}")),
            ("dpop", proof(&nonce, now)),
        ];
        let mut exchange = server.exchange(OwnedHead::new("POST", "/mcp", Headers(fields.into())));
        exchange.end_body();
        let response = block_on(exchange.response());
        let nonce = response.fields.iter().find(|(name, _)| *name == "dpop-nonce");
        (response.status, nonce.map(|(_, nonce)| nonce.clone()))
    };
    assert_eq!(next(0), (406, None));
    assert_eq!(next(140), (406, None));
    let (status, Some(nonce)) = next(160) else { panic!("no nonce") };
    assert_eq!(status, 406, "its token is accepted, but it has no field Accept");
    let claims = with_nonce(&proof_claims("token", "2", now), &nonce);
    let dpop = with_nonces([7; 32]);
    assert_eq!(check(&dpop, &proof_header(), &claims, now.plus(140)), Ok(()));
    let (status, nonce) = next(320);
    assert!(status == 401 && nonce.is_some());
}

/// Sends a token with a proof for it.
fn send(jwt: &Jwt, scheme: &str, token: &str, proof: bool) -> Result<String, AuthorizationError> {
    let now = Moment::now();
    let jti = format!("{:?}", std::time::Instant::now());
    let claims = proof_claims(token, &jti, now);
    let proof = proof.then(|| keys::token(Algorithm::EdDsa, &proof_header(), &claims));
    let authorization = format!("{scheme} {token}");
    let fields: Vec<_> = [("authorization", Some(&authorization)), ("dpop", proof.as_ref())]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?.as_str())))
        .collect();
    let credentials = credentials(&fields);
    let checked = block_on(jwt.check(&credentials));
    // A token that needs a proof is not known without one, and no proof is used up.
    if let Some(known) = jwt.known(&credentials) {
        assert!(proof.is_none() && checked.as_ref().is_ok_and(|it| Arc::ptr_eq(it, &known)));
    }
    checked.map(|principal| principal.subject.clone())
}

#[test]
fn auth_141_auth_142_a_bound_token_is_used_with_its_proof_alone() {
    let (now, server) = (Moment::now(), server());
    let (bound, of_another) = (bound_to(ED25519_JKT, now), bound_to(RFC_JKT, now));
    let unbound = good(Algorithm::Es256, now);
    let dpop = with_dpop(jwt(&server), Dpop::new());
    assert_eq!(send(&dpop, "DPoP", &bound, true).unwrap(), "ada");
    assert_eq!(send(&dpop, "dpop", &bound, true).unwrap(), "ada", "the token is known by now");
    assert_eq!(send(&dpop, "Bearer", &unbound, false).unwrap(), "ada");
    let required = with_dpop(jwt(&server), Dpop { required: true, ..Dpop::new() });
    assert_eq!(send(&required, "DPoP", &bound, true).unwrap(), "ada");
    let nonces = with_dpop(jwt(&server), with_nonces([1; 32]));
    let without = jwt(&server);
    for (jwt, scheme, token, proof, error) in [
        (&dpop, "Bearer", &bound, true, "invalid_token"),
        (&dpop, "Bearer", &bound, false, "invalid_token"),
        (&dpop, "DPoP", &bound, false, "invalid_dpop_proof"),
        (&dpop, "DPoP", &of_another, true, "invalid_dpop_proof"),
        (&dpop, "DPoP", &unbound, true, "invalid_token"),
        (&required, "Bearer", &unbound, false, "invalid_token"),
        (&nonces, "DPoP", &bound, true, "use_dpop_nonce"),
        (&without, "Bearer", &bound, false, "invalid_token"),
        (&without, "DPoP", &bound, true, "invalid_token"),
    ] {
        let refused = send(jwt, scheme, token, proof).unwrap_err();
        let text = format!("{refused:?}");
        assert_eq!(refused.status(), 401);
        assert!(text.contains(error), "{scheme} {error}: {text}");
        let names_dpop = text.contains("RS256 PS256 ES256 EdDSA Ed25519");
        assert_eq!(names_dpop, !std::ptr::eq(jwt, &without), "{text}");
        assert_eq!(text.contains("nonce: Some"), std::ptr::eq(jwt, &nonces), "{text}");
    }
    // A client without a token learns which kinds there are.
    let missing = |jwt: &Jwt| {
        let error = block_on(jwt.check(&credentials(&[]))).unwrap_err();
        format!("{error:?}").matches("Challenge {").count()
    };
    assert_eq!((missing(&without), missing(&dpop), missing(&required)), (1, 2, 1));
}
