//! Tokens that are accepted and that are refused.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use futures_lite::future::block_on;

use super::keys::{self, encode, token};
use super::*;
use crate::asynchronous::http::tokens::Dpop;
use crate::asynchronous::http::{Authorizer as _, HttpOptions};
use crate::auth::tokens::ALGORITHMS;
use crate::auth::tokens::jwks::KeySet;
use crate::auth::tokens::jwt::is_valid;
use mcp_sansio_engine::site::Denied;
use mcp_sansio_oauth::Signature;
use mcp_sansio_oauth::jws::MAX_TOKEN;

/// The claims of RFC 7515, A.2 and A.3.
const JOE: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

#[test]
fn auth_154_signatures_of_the_rfcs_are_verified() {
    let vectors = [
        (
            Algorithm::Rs256,
            format!("eyJhbGciOiJSUzI1NiJ9.{JOE}"),
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        (
            Algorithm::Es256,
            format!("eyJhbGciOiJFUzI1NiJ9.{JOE}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            Algorithm::EdDsa,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ];
    for (algorithm, message, signature) in vectors {
        let set = keys::set(&[keys::public(algorithm).to_owned()]);
        let set = KeySet::parse(set.as_bytes(), 1).unwrap();
        let key = set.keys[0].key.map(Vec::as_slice);
        let verifies = |algorithm, signature: &[u8]| {
            is_valid(&Signature { key, algorithm, message: message.as_bytes(), signature })
        };
        let mut signature = keys::decode(signature);
        assert!(verifies(algorithm, &signature), "{algorithm:?}");
        for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            assert!(!verifies(other, &signature));
        }
        signature[5] ^= 1;
        assert!(!verifies(algorithm, &signature));
        assert!(!verifies(algorithm, b""));
    }
}

#[test]
fn auth_154_auth_14_a_good_token_says_who_it_is() {
    let (now, server, jwt) = scene();
    let begin = credentials(&[]).now();
    for algorithm in Algorithm::ALL {
        let others = r#","scope":"files:read files:write","x":{"y":1}"#;
        let token = good_with(algorithm, now, others);
        let verified = verify(&jwt, &token, now).unwrap();
        let principal = &verified.principal;
        assert_eq!((&*principal.issuer, &*principal.subject), (ISSUER, "ada"));
        assert!(principal.has_scope("files:write"));
        assert_eq!(principal.claims, claims(now, others));
        let left = principal.expires.unwrap().saturating_duration_since(begin).as_millis();
        assert!((3_650_000..=3_660_001).contains(&left), "{left}");
    }
    assert_eq!(server.asked(), [METADATA, JWKS]);
}

#[test]
fn auth_154_only_allowed_algorithms_are_used() {
    let (now, _, mut jwt) = scene();
    jwt.verifier.algorithms = vec![Algorithm::Es256].into();
    assert!(verify(&jwt, &good(Algorithm::Es256, now), now).is_ok());
    let other = good(Algorithm::Rs256, now);
    assert_eq!(refused(&jwt, &other, now), Refusal::Algorithm);
}

#[test]
fn auth_154_a_token_that_is_refused_for_what_it_says_causes_no_request() {
    let (now, server, jwt) = scene();
    for (claims, why) in [
        (claims(now, "").replace(AUDIENCE, "https://other.example"), Refusal::Audience),
        (claims(now, r#","cnf":{}"#), Refusal::Bound),
    ] {
        let token = token(Algorithm::Es256, &header(Algorithm::Es256), &claims);
        assert_eq!(refused(&jwt, &token, now), why, "{claims}");
    }
    assert!(server.asked().is_empty());
}

#[test]
fn auth_154_a_token_that_was_changed_is_refused() {
    let (now, _, jwt) = scene();
    for algorithm in Algorithm::ALL {
        let good = good(algorithm, now);
        let parts: Vec<&str> = good.split('.').collect();
        let [header, signed, signature] = parts[..] else { panic!("{good}") };
        let root = encode(claims(now, "").replace("ada", "root"));
        let cases = [
            (format!("{header}.{root}.{signature}"), Refusal::Signature),
            (format!("{header}.{signed}."), Refusal::Signature),
            (format!("{header}.{signed}.AAAA"), Refusal::Signature),
            (format!("{header}.{signed}.{}", encode([0; 64])), Refusal::Signature),
            (format!("{header}.{signed}.{}", encode([0; 256])), Refusal::Signature),
            (format!("{header}.{signed}.{signature}="), Refusal::Malformed),
            (format!("{header}.{signed}.{signature}."), Refusal::Malformed),
            (format!("{header}.{signed}.{signature}.x.y"), Refusal::Malformed),
            (format!("{header}.{signed}"), Refusal::Malformed),
            (format!("{header}..{signature}"), Refusal::Malformed),
            (format!(" {good}"), Refusal::Malformed),
            (String::new(), Refusal::Malformed),
            ("..".to_owned(), Refusal::Malformed),
        ];
        for (token, why) in cases {
            assert_eq!(refused(&jwt, &token, now), why, "{algorithm:?} {token}");
        }
        assert!(verify(&jwt, &good, now).is_ok());
    }
    // Other alphabets of Base64 would give a token a second spelling.
    let claims = claims(now, r#","x":"???>>>""#);
    let header = header(Algorithm::EdDsa);
    for engine in [&STANDARD, &URL_SAFE] {
        let signed = format!("{}.{}", engine.encode(&header), engine.encode(&claims));
        let signature = engine.encode(keys::sign(Algorithm::EdDsa, signed.as_bytes()));
        let token = format!("{signed}.{signature}");
        assert_eq!(refused(&jwt, &token, now), Refusal::Malformed);
    }
}

#[test]
fn auth_154_a_token_has_at_most_16_kib() {
    let (now, _, jwt) = scene();
    let of_length = |length: usize| {
        let mut fill = length * 3 / 4 - 300;
        loop {
            let others = format!(r#","x":"{}""#, "x".repeat(fill));
            let token = good_with(Algorithm::EdDsa, now, &others);
            if token.len() >= length {
                return token;
            }
            fill += 1;
        }
    };
    let longest = of_length(MAX_TOKEN - 1);
    assert!(longest.len() <= MAX_TOKEN && verify(&jwt, &longest, now).is_ok());
    let longer = of_length(MAX_TOKEN + 1);
    assert_eq!(refused(&jwt, &longer, now), Refusal::TooLong);
}

#[test]
fn auth_154_a_known_token_is_not_verified_again_until_it_expires() {
    let (now, _, jwt) = scene();
    let token = good(Algorithm::Rs256, now);
    let first = verify(&jwt, &token, now).unwrap();
    let second = verify(&jwt, &token, now.plus(100)).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert!(verify(&jwt, &token, now.plus(3659)).is_ok());
    assert_eq!(refused(&jwt, &token, now.plus(3660)), Refusal::Expired);
}

#[test]
fn auth_154_a_token_that_was_checked_is_known_as_it_was_sent() {
    let (now, _, jwt) = scene();
    let [good, other] = ["", r#","x":1"#].map(|more| good_with(Algorithm::Es256, now, more));
    let known = |value: &str| jwt.known(&credentials(&[("authorization", value)]));
    assert_eq!(known(&format!("Bearer {good}")), None);
    let sent = credentials(&[("authorization", &format!("Bearer {good}"))]);
    let principal = block_on(jwt.check(&sent)).unwrap();
    for value in [format!("Bearer {good}"), format!("bearer  {good} ")] {
        assert!(known(&value).is_some_and(|known| Arc::ptr_eq(&known, &principal)), "{value}");
    }
    // The signature of one token under the claims of another.
    let (claims, _) = other.rsplit_once('.').unwrap();
    let (_, signature) = good.rsplit_once('.').unwrap();
    let forged = format!("{claims}.{signature}");
    assert_eq!(refused(&jwt, &forged, now), Refusal::Signature);
    for value in [
        format!("Bearer {forged}"),
        format!("Bearer {other}"),
        format!("DPoP {good}"),
        format!("Bearer {good}x"),
        format!("Bearer {}", &good[1..]),
        good.clone(),
        String::new(),
    ] {
        assert_eq!(known(&value), None, "{value}");
    }
    let good = format!("Bearer {good}");
    assert_eq!(jwt.known(&credentials(&[("authorization", &*good); 2])), None, "two of them");
}

#[test]
fn auth_11_auth_145_auth_156_the_response_says_what_is_wrong() {
    let (now, server) = (Moment::now(), server());
    let jwt = Jwt { scope: Some("files:read".into()), ..jwt(&server) };
    let check = |value: &str| {
        let credentials = credentials(&[("authorization", value)]);
        block_on(jwt.check(&credentials)).map(|principal| principal.subject.clone())
    };
    let good = good(Algorithm::Es256, now);
    assert_eq!(check(&format!("Bearer {good}")).unwrap(), "ada");
    for value in ["Basic x".to_owned(), format!("Bearer {good}x"), format!("DPoP {good}")] {
        let error = check(&value).unwrap_err();
        assert_eq!(error.status(), 401, "{value}");
        let error = format!("{error:?}");
        assert!(error.contains("files:read") && !error.contains(&good), "{error}");
    }
    let bound = bound_to("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I", now);
    let error = check(&format!("Bearer {bound}")).unwrap_err();
    assert!(format!("{error:?}").contains("bound to a key"), "auth_142: {error:?}");
    // An `Authorizer`, as the options take it.
    let _ = HttpOptions::new().authorize(jwt);
    let unreachable = Server::default().at(METADATA, Answer::Refused);
    let credentials = credentials(&[("authorization", &format!("Bearer {good}"))]);
    let error = block_on(super::jwt(&unreachable).check(&credentials)).unwrap_err();
    assert_eq!(error.status(), 503);
}

#[test]
fn auth_06_two_authorization_fields_are_a_malformed_request() {
    let bearer = "Bearer error=\"invalid_request\", \
         error_description=\"there is more than one Authorization field\"";
    let dpop = format!("{}, algs=\"{ALGORITHMS}\"", bearer.replace("Bearer", "DPoP"));
    let good = format!("Bearer {}", good(Algorithm::Es256, Moment::now()));
    for (settings, challenges) in [
        (None, vec![bearer]),
        (Some(Dpop { required: true, ..Dpop::new() }), vec![&*dpop]),
        (Some(Dpop::new()), vec![bearer, &*dpop]),
    ] {
        let jwt = Jwt { scope: Some("files:read".into()), dpop: settings, ..jwt(&server()) };
        for values in [[&*good, &*good], [&*good, "Basic x"], ["", ""]] {
            let credentials = credentials(&values.map(|value| ("authorization", value)));
            let error = block_on(jwt.check(&credentials)).unwrap_err();
            let denied = challenges
                .iter()
                .fold(Denied::new(400), |denied, challenge| denied.challenge(*challenge));
            assert_eq!(error.denied(None), denied, "{values:?}");
        }
    }
}
