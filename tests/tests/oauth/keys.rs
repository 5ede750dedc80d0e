//! Keys: assertions of the client, and tokens that are bound to a key.

use std::cell::RefCell;

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{
    Attempts, Ed25519, Es256, Grant, NotReady, Reaction, RegisteredClient, Setup, SignError,
    Signer, Step, UnixTime, decode_base64url,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::program::Program;
use super::world::{Answer, Asked, ENDPOINT, ISSUER, SETUP, TOKEN};

/// Returns header and claims of a signed text.
fn parts(text: &str) -> [Value; 2] {
    let (signed, _) = text.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    [header, claims].map(|part| {
        let mut decoded = [0; 1024];
        serde_json::from_slice(decode_base64url(part, &mut decoded).unwrap()).unwrap()
    })
}

#[test]
fn auth_117_auth_118_a_client_authenticates_with_a_key() {
    let key = Es256::from_bytes(&[7; 32]).unwrap().key_id("k1");
    let clients = [RegisteredClient { key: Some(&key), ..RegisteredClient::new("service") }];
    for listed in [json!(["private_key_jwt"]), json!(null)] {
        let setup = Setup { grant: Grant::ClientCredentials, clients: &clients, ..SETUP };
        let mut program = Program::new(setup);
        program.world.gives_refresh = false;
        program.world.server()["token_endpoint_auth_methods_supported"] = listed;
        assert_eq!(program.request(), Ok(200));
        program.succeeds_when(|world| world.valid.clear());
        let asked = program.world.requests("/token");
        let assertions: Vec<[Value; 2]> =
            asked.iter().map(|asked| parts(&asked.form("client_assertion").unwrap())).collect();
        let [header, claims] = &assertions[0];
        assert_eq!(header, &json!({"typ": "JWT", "alg": "ES256", "kid": "k1"}));
        let expected = ["service", "service", ISSUER];
        assert_eq!([&claims["iss"], &claims["sub"], &claims["aud"]], expected);
        let now = program.world.now;
        assert!(claims["iat"] == now && claims["exp"].as_u64().unwrap() <= now + 300);
        assert_ne!(claims["jti"], assertions[1][1]["jti"]);
        for asked in asked {
            let expected = Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
            assert_eq!(asked.form("client_assertion_type").as_deref(), expected);
            assert_eq!(asked.form("client_secret"), None);
            assert_eq!(asked.field("authorization"), None);
        }
    }
}

#[test]
fn auth_39_a_client_with_a_metadata_document_authenticates_with_its_key() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    let setup = Setup {
        metadata_document: Some("https://client.test/metadata.json"),
        document_key: Some(&key),
        ..SETUP
    };
    let mut program = Program::new(setup);
    program.world.server()["client_id_metadata_document_supported"] = true.into();
    program.world.server()["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    assert_eq!(program.request(), Ok(200));
    let asked = program.world.requests("/token")[0];
    let [_, claims] = parts(&asked.form("client_assertion").unwrap());
    assert_eq!(claims["sub"], "https://client.test/metadata.json");
}

/// A program whose tokens are bound to its key.
fn bound(key: &dyn Signer) -> Program<'_> {
    let mut program = Program::new(Setup { dpop: Some(key), ..SETUP });
    program.world.challenge = "DPoP algs=\"ES256\"".to_owned();
    program.world.token_type = "DPoP";
    program
}

#[test]
fn auth_134_auth_135_auth_136_each_request_with_a_bound_token_has_a_proof_of_its_own() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    let mut program = bound(&key);
    assert_eq!(program.request(), Ok(200));
    assert_eq!(program.request(), Ok(200));
    let asked = program.world.asked.iter().filter(|asked| asked.field("dpop").is_some());
    let mut ids = Vec::new();
    for asked in asked {
        let [header, claims] = parts(asked.field("dpop").unwrap());
        assert_eq!([&header["typ"], &header["alg"]], ["dpop+jwt", "ES256"]);
        assert_eq!(header["jwk"]["kty"], "EC");
        assert_eq!(header["jwk"]["d"], Value::Null);
        assert_eq!([&claims["htm"], &claims["htu"]], ["POST", &asked.url[..]]);
        assert_eq!(claims["iat"], program.world.now);
        if let Some(field) = asked.field("authorization") {
            let token = field.strip_prefix("DPoP ").unwrap();
            let mut hash = [0; 32];
            decode_base64url(claims["ath"].as_str().unwrap(), &mut hash).unwrap();
            assert_eq!(hash, Sha256::digest(token.as_bytes())[..]);
        } else {
            assert_eq!(claims["ath"], Value::Null);
        }
        ids.push(claims["jti"].clone());
    }
    assert_eq!(ids.len(), 3);
    // A stream is opened twice. Its URL has a query, which a proof leaves out.
    let url = format!("{ENDPOINT}?stream=1");
    for _ in 0..2 {
        let mut proof = String::new();
        let (now, world) = (Some(UnixTime::from_secs(program.world.now)), &mut program.world);
        let put = &mut |name: &str, value: &dyn std::fmt::Display| {
            if name == "dpop" {
                proof = value.to_string();
            }
        };
        let mut machine = program.state.open(&program.setup);
        machine.fields(now, &mut |out| world.random(out), "GET", &url, put).unwrap();
        let [_, claims] = parts(&proof);
        assert_eq!([&claims["htm"], &claims["htu"]], ["GET", ENDPOINT]);
        ids.push(claims["jti"].clone());
    }
    assert!((1..ids.len()).all(|at| !ids[..at].contains(&ids[at])), "{ids:?}");
    // AUTH-139: a refresh has a proof, after a restart, too; without the key there is no token.
    program.restart();
    program.succeeds_after(3600);
    assert!(program.world.requests("/token")[1].field("dpop").is_some());
    program.setup = SETUP;
    assert_eq!(program.state.open(&SETUP).generation(), 0);
}

#[test]
fn auth_139_tokens_that_are_bound_to_another_key_are_dropped() {
    let [key, other] = [7, 8].map(|byte| Es256::from_bytes(&[byte; 32]).unwrap());
    for (key_of_next, keeps) in [(Some(&key), true), (Some(&other), false), (None, false)] {
        let mut program = bound(&key);
        assert_eq!(program.request(), Ok(200));
        program.setup = key_of_next.map_or(SETUP, |key| Setup { dpop: Some(key), ..SETUP });
        program.restart();
        assert_eq!(program.machine(|machine| machine.generation() > 0), keeps);
        // Neither is the refresh token sent, with a proof of another key or without one.
        program.world.now += 3600;
        program.trace();
        program.world.token_type = if key_of_next.is_some() { "DPoP" } else { "bearer" };
        program.succeeds_when(|world| world.challenge = "DPoP".to_owned());
        assert_eq!(program.trace().contains("refresh_token"), keeps);
    }
}

#[test]
fn auth_117_auth_136_a_key_for_eddsa_signs_assertions_and_proofs() {
    let key = Ed25519::from_bytes(&[7; 32]).key_id("k2");
    let clients = [RegisteredClient { key: Some(&key), ..RegisteredClient::new("service") }];
    let setup =
        Setup { grant: Grant::ClientCredentials, clients: &clients, dpop: Some(&key), ..SETUP };
    for (algs, has_proof) in [(json!(["ES256", "EdDSA"]), true), (json!(["ES256"]), false)] {
        let mut program = Program::new(setup);
        let server = program.world.server();
        server["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
        server["dpop_signing_alg_values_supported"] = algs;
        if has_proof {
            program.world.token_type = "DPoP";
        }
        assert_eq!(program.request(), Ok(200));
        let asked = program.world.requests("/token")[0];
        let [header, _] = parts(&asked.form("client_assertion").unwrap());
        assert_eq!(header, json!({"typ": "JWT", "alg": "EdDSA", "kid": "k2"}));
        assert_eq!(asked.field("dpop").is_some(), has_proof);
        if let Some(proof) = asked.field("dpop") {
            let [header, _] = parts(proof);
            assert_eq!(header["alg"], "EdDSA");
            assert_eq!(header["jwk"]["kty"], "OKP");
            assert_eq!(header["jwk"].as_object().unwrap().len(), 3);
        }
    }
}

#[test]
fn auth_134_a_server_that_lists_proofs_gets_them_and_another_does_not() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    for (algs, resource, has_proof) in [
        (json!(["RS256", "ES256"]), json!(null), true),
        (json!(["RS256"]), json!(null), false),
        (json!(null), json!(["ES256"]), true),
        (json!(null), json!(null), false),
    ] {
        let mut program = Program::new(Setup { dpop: Some(&key), ..SETUP });
        program.world.server()["dpop_signing_alg_values_supported"] = algs.clone();
        program.world.resource()["dpop_signing_alg_values_supported"] = resource;
        if has_proof {
            program.world.token_type = "dpop";
        }
        assert_eq!(program.request(), Ok(200));
        let asked = program.world.requests("/token")[0];
        assert_eq!(asked.field("dpop").is_some(), has_proof, "{algs}");
    }
    // AUTH-82: a bound token that was not asked for.
    let mut program = Program::new(SETUP);
    program.world.token_type = "DPoP";
    assert!(program.request().unwrap_err().starts_with("the token has a type"));
}

#[test]
fn auth_137_auth_138_nonces_are_taken_at_both_ends() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    let mut program = bound(&key);
    let ask = |nonce: &str| Answer::error(400, "use_dpop_nonce").field("DPoP-Nonce", nonce);
    program.succeeds_when(|world| world.answer_next(TOKEN, ask("server-1")));
    let asked = program.world.requests("/token");
    assert_eq!(asked.len(), 2);
    let nonce = |asked: &Asked| parts(asked.field("dpop").unwrap())[1]["nonce"].clone();
    let nonces = [asked[0], asked[1]].map(nonce);
    assert_eq!(nonces, [Value::Null, "server-1".into()]);
    assert_eq!(asked[0].form("code"), asked[1].form("code"));

    let refused = |nonce: &str| {
        Answer::challenge(401, "DPoP error=\"use_dpop_nonce\", algs=\"ES256\"")
            .field("dpop-nonce", nonce)
    };
    program.trace();
    program.world.answer_next(ENDPOINT, refused("resource-1"));
    program.world.answer_next(ENDPOINT, Answer::new(200, "").field("dpop-nonce", "resource-2"));
    assert_eq!(program.request(), Ok(200));
    program.succeeds_by("mcp 401\nmcp 200");
    let last = program.world.asked.iter().rev().take(3);
    let nonces = last.map(nonce).collect::<Vec<_>>();
    assert_eq!(nonces, ["resource-2".into(), "resource-1".into(), Value::Null]);

    // A nonce may end at either end while a person logs in.
    program.world.end_tokens();
    let over = Answer::challenge(401, "DPoP");
    program.world.answer_each(ENDPOINT, [refused("resource-3"), over, refused("resource-4")]);
    let grant = Answer::error(400, "invalid_grant");
    program.world.answer_each(TOKEN, [ask("server-2"), grant, ask("server-3")]);
    assert_eq!(program.request(), Ok(200));
    program.trace();

    // Neither end can ask without end.
    program.world.answer_each(ENDPOINT, (0..9).map(|at| refused(&format!("resource-{at}"))));
    assert_eq!(program.request(), Ok(401));
    assert_eq!(program.trace(), "mcp 401\nmcp 401");
    program.world.queued.clear();
    program.world.end_tokens();
    program.world.answer_each(TOKEN, (0..9).map(|at| ask(&format!("server-{at}"))));
    assert!(program.request().unwrap_err().contains("use_dpop_nonce"));
    // The refresh is sent twice, and so is the code.
    assert_eq!(program.trace().matches("POST https://as.test/token").count(), 4);
}

#[test]
fn auth_114_a_nonce_is_checked_before_it_is_used() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    for nonce in ["a\"b", "a b", "a\\b", "", &"n".repeat(257)] {
        let mut program = bound(&key);
        assert_eq!(program.request(), Ok(200));
        let refused =
            Answer::challenge(401, "DPoP error=\"use_dpop_nonce\"").field("dpop-nonce", nonce);
        program.world.answer_next(ENDPOINT, refused);
        assert_eq!(program.request(), Ok(401), "{nonce}");
    }
}

/// A key in a secure element, which is no `Sync`, and answers as often as it says.
struct Element {
    key: Es256<'static>,
    answers: RefCell<u32>,
}

impl Signer for Element {
    fn alg(&self) -> &str {
        self.key.alg()
    }

    fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError> {
        let mut answers = self.answers.borrow_mut();
        *answers = answers.checked_sub(1).ok_or(SignError::Unavailable)?;
        self.key.sign(message, out)
    }

    fn jwk(&self, put: &mut dyn FnMut(&str, &str)) {
        self.key.jwk(put);
    }
}

#[test]
fn a_secure_element_that_does_not_answer_is_named() {
    let key = Element { key: Es256::from_bytes(&[7; 32]).unwrap(), answers: RefCell::new(0) };
    let mut program = bound(&key);
    let failed = program.request().unwrap_err();
    assert!(failed.starts_with("the key did not sign the request"), "{failed}");
    assert_eq!(program.world.requests("/token").len(), 0);
    // For the token, then for the proof at the resource, too.
    key.answers.replace(1);
    let failed = program.request().unwrap_err();
    assert_eq!(failed, "the key did not sign the proof of possession");
    key.answers.replace(1);
    assert_eq!(program.request(), Ok(200));
}

#[test]
fn without_a_clock_nothing_is_signed_and_a_plain_login_works() {
    let key = Es256::from_bytes(&[7; 32]).unwrap();
    let mut program = bound(&key);
    assert_eq!(program.request(), Ok(200));
    let mut machine = program.state.open(&program.setup);
    let put = &mut |_: &str, _: &dyn std::fmt::Display| panic!("nothing may be put");
    assert_eq!(machine.fields(None, &mut |_| {}, "POST", ENDPOINT, put), Err(NotReady::NoClock));
    let fields = [("www-authenticate", "DPoP")];
    let head = ResponseHead::new(401, &fields);
    let generation = machine.generation();
    let reaction = machine.challenged(&head, generation, &mut Attempts::new());
    assert_eq!(reaction, Reaction::Authorize);
    let now = Some(UnixTime::from_secs(program.world.now));
    assert!(matches!(machine.step(now, &mut |_| {}), Step::Send(_)));
    let body = json!({"resource": ENDPOINT, "authorization_servers": [ISSUER]}).to_string();
    machine.response(None, &ResponseHead::new(200, &[]), body.as_bytes());
    assert!(matches!(machine.step(None, &mut |_| {}), Step::Lock));
    machine.locked(None);
    let Step::Failed(failure) = machine.step(None, &mut |_| {}) else { panic!() };
    assert!(failure.to_string().starts_with("the time of the day is not known"), "{failure}");
}
