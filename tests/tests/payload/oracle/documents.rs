//! Documents and answers of authorization against `serde_json`, and what is signed.
//!
//! A document is refused where a member that is read has another type, or occurs twice; a map would
//! have the last of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::JsonStr;
use mcp_sansio_oauth::{
    ClientMetadata, Ed25519, List, OAuthError, RegistrationResponse, ResourceMetadata,
    ServerMetadata, TokenResponse, UnixTime, Writer, dpop, jws,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::random::{self, Random, rounds};

/// The type of a member.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Text,
    List,
    Flag,
    Seconds,
}
use Kind::{Flag, List as Strings, Seconds, Text};

type Members = [(&'static str, Kind)];

/// A random document: its text, and its value if the members can be read.
fn document(random: &mut Random, members: &Members, required: &[&str]) -> (String, Option<Value>) {
    let (mut text, mut map, mut is_good) = (String::from("{"), Map::new(), true);
    for _ in 0..random.below(2 * members.len()) {
        let (name, kind) = match random.one_in(8) {
            true => (random::text(random), None),
            false => {
                let (name, kind) = random.pick(members);
                (name.to_owned(), Some(kind))
            }
        };
        // Mostly once, so that good documents are common.
        if map.contains_key(&name) && !random.one_in(40) {
            continue;
        }
        let mut value =
            if random.one_in(30) { random::value(random, 2) } else { fitting(random, kind) };
        // The test of seconds has those that depend on how they are written.
        if kind == Some(Seconds) && (value.is_f64() || value.is_string()) {
            value = Value::Null;
        }
        is_good &= kind.is_none_or(|kind| fits(&value, kind) && !map.contains_key(&name));
        let comma = if text.len() > 1 { "," } else { "" };
        text += comma;
        random::spell_string(random, &name, &mut text);
        text += ":";
        text += &random::spelled(random, &value);
        map.insert(name, value);
    }
    text += "}";
    is_good &= required.iter().all(|name| map.get(*name).is_some_and(|value| !value.is_null()));
    (text, is_good.then_some(Value::Object(map)))
}

fn fitting(random: &mut Random, kind: Option<Kind>) -> Value {
    match kind {
        _ if random.one_in(12) => Value::Null,
        None => random::value(random, 3),
        Some(Text) => random::text(random).into(),
        Some(Strings) => {
            let element = |random: &mut Random| match random.one_in(6) {
                true => random::value(random, 1),
                false => random::text(random).into(),
            };
            (0..random.below(4)).map(|_| element(random)).collect()
        }
        Some(Flag) => random.one_in(2).into(),
        Some(Seconds) => (random.next() >> random.below(64)).into(),
    }
}

fn fits(value: &Value, kind: Kind) -> bool {
    value.is_null()
        || match kind {
            Text => value.is_string(),
            Strings => value.is_array(),
            Flag => value.is_boolean(),
            Seconds => value.is_u64(),
        }
}

fn is(read: Option<JsonStr<'_>>, value: &Value, name: &str) {
    assert_eq!(
        read.map(|read| read.to_string()).as_deref(),
        value[name].as_str(),
        "{name}: {value}"
    );
}

fn is_list(read: List<'_>, value: &Value, name: &str) {
    assert_eq!(read.is_present(), !value[name].is_null(), "{name}: {value}");
    let strings = value[name].as_array().into_iter().flatten().filter_map(Value::as_str);
    assert!(read.iter().map(|text| text.to_string()).eq(strings), "{name}: {value}");
}

fn is_flag(read: bool, value: &Value, name: &str) {
    assert_eq!(read, value[name].as_bool().unwrap_or(false), "{name}: {value}");
}

/// Reads random documents with `read`, which returns whether it takes one, and compares it with its
/// value.
fn compare(
    seed: u64,
    members: &Members,
    required: &[&str],
    read: impl Fn(&str, Option<&Value>) -> bool,
) {
    let mut random = Random::new(seed);
    let mut good = 0;
    for _ in 0..rounds() {
        let (text, value) = document(&mut random, members, required);
        let expected = value.is_some();
        assert_eq!(read(&text, value.as_ref()), expected, "{text}");
        good += u64::from(expected);
        // Only JSON is read.
        let mut chars: Vec<char> = text.chars().collect();
        random::mutate(&mut random, &mut chars);
        let changed: String = chars.into_iter().collect();
        assert!(!read(&changed, None) || serde_json::from_str::<IgnoredAny>(&changed).is_ok());
    }
    assert!(good > rounds() / 20, "only {good} were good");
}

#[test]
fn auth_20_documents_of_resources_are_read_as_serde_json_does() {
    let members = [
        ("resource", Text),
        ("authorization_servers", Strings),
        ("scopes_supported", Strings),
        ("dpop_signing_alg_values_supported", Strings),
        ("dpop_bound_access_tokens_required", Flag),
        ("resource_name", Text),
    ];
    compare(10, &members, &["resource"], |text, value| {
        let Ok(read) = ResourceMetadata::parse(text.as_bytes()) else { return false };
        let Some(value) = value else { return true };
        is(Some(read.resource), value, "resource");
        is(read.resource_name, value, "resource_name");
        is_list(read.authorization_servers, value, "authorization_servers");
        is_list(read.scopes_supported, value, "scopes_supported");
        is_list(read.dpop_signing_algs, value, "dpop_signing_alg_values_supported");
        is_flag(read.requires_dpop, value, "dpop_bound_access_tokens_required");
        true
    });
}

#[test]
fn auth_24_auth_28_documents_of_servers_are_read_as_serde_json_does() {
    let members = [
        ("issuer", Text),
        ("issuer", Text),
        ("authorization_endpoint", Text),
        ("token_endpoint", Text),
        ("registration_endpoint", Text),
        ("jwks_uri", Text),
        ("introspection_endpoint", Text),
        ("revocation_endpoint", Text),
        ("scopes_supported", Strings),
        ("grant_types_supported", Strings),
        ("code_challenge_methods_supported", Strings),
        ("token_endpoint_auth_methods_supported", Strings),
        ("token_endpoint_auth_signing_alg_values_supported", Strings),
        ("dpop_signing_alg_values_supported", Strings),
        ("authorization_grant_profiles_supported", Strings),
        ("client_id_metadata_document_supported", Flag),
        ("authorization_response_iss_parameter_supported", Flag),
    ];
    compare(11, &members, &["issuer"], |text, value| {
        let Ok(read) = ServerMetadata::parse(text.as_bytes()) else { return false };
        let Some(value) = value else { return true };
        assert!(read.is_of_issuer(value["issuer"].as_str().unwrap()));
        is(read.authorization_endpoint, value, "authorization_endpoint");
        is(read.token_endpoint, value, "token_endpoint");
        is(read.registration_endpoint, value, "registration_endpoint");
        is(read.jwks_uri, value, "jwks_uri");
        is(read.introspection_endpoint, value, "introspection_endpoint");
        is(read.revocation_endpoint, value, "revocation_endpoint");
        is_list(read.scopes_supported, value, "scopes_supported");
        is_list(read.grant_types_supported, value, "grant_types_supported");
        is_list(read.code_challenge_methods_supported, value, "code_challenge_methods_supported");
        let methods = "token_endpoint_auth_methods_supported";
        is_list(read.token_endpoint_auth_methods_supported, value, methods);
        let algs = "token_endpoint_auth_signing_alg_values_supported";
        is_list(read.token_endpoint_auth_signing_algs, value, algs);
        is_list(read.dpop_signing_algs, value, "dpop_signing_alg_values_supported");
        let profiles = "authorization_grant_profiles_supported";
        is_list(read.authorization_grant_profiles_supported, value, profiles);
        let documents = "client_id_metadata_document_supported";
        is_flag(read.supports_client_id_metadata_document, value, documents);
        is_flag(read.sends_issuer, value, "authorization_response_iss_parameter_supported");
        true
    });
}

#[test]
fn auth_82_auth_83_answers_are_read_as_serde_json_does() {
    let members = [
        ("token_type", Text),
        ("token_type", Text),
        ("expires_in", Seconds),
        ("refresh_token", Text),
        ("scope", Text),
        ("issued_token_type", Text),
        ("id_token", Text),
    ];
    compare(12, &members, &["token_type"], |text, value| {
        // Random texts are hardly ever tokens.
        let text = text.replacen('{', r#"{"access_token":"a",  "#, 1).replace(",  }", "}");
        let Ok(read) = TokenResponse::parse(text.as_bytes()) else { return false };
        let Some(value) = value else { return true };
        is(Some(read.token_type_text), value, "token_type");
        assert_eq!(read.expires_in, value["expires_in"].as_u64());
        let refresh = value["refresh_token"].as_str().filter(|token| !token.is_empty());
        assert_eq!(read.refresh_token.map(|token| token.to_string()).as_deref(), refresh);
        is(read.scope, value, "scope");
        is(read.issued_token_type, value, "issued_token_type");
        is(read.id_token, value, "id_token");
        true
    });
    let members = [
        ("client_id", Text),
        ("client_id", Text),
        ("client_secret", Text),
        ("client_secret_expires_at", Seconds),
        ("token_endpoint_auth_method", Text),
    ];
    compare(13, &members, &["client_id"], |text, value| {
        let read = RegistrationResponse::parse(text.as_bytes());
        let Some(value) = value else { return read.is_ok() };
        let text = |name: &str| value[name].as_str().filter(|text| !text.is_empty());
        // An empty id is none.
        let (Ok(read), Some(id)) = (&read, text("client_id")) else {
            return read.is_err() && text("client_id").is_none();
        };
        assert_eq!(read.client_id, id);
        assert_eq!(read.client_secret.map(|it| it.to_string()).as_deref(), text("client_secret"));
        let ends = value["client_secret_expires_at"].as_u64().filter(|ends| *ends > 0);
        assert_eq!(read.client_secret_expires_at, ends);
        is(read.token_endpoint_auth_method, value, "token_endpoint_auth_method");
        true
    });
    compare(14, &[("error", Text)], &["error"], |text, value| {
        let Some(read) = OAuthError::parse(text.as_bytes()) else { return false };
        if let Some(value) = value {
            is(Some(read.code()), value, "error");
        }
        assert!(!read.to_string().contains(|c: char| c.is_control() && c != '\t'));
        true
    });
}

#[test]
fn auth_83_seconds_are_read_as_some_servers_write_them() {
    for (written, expected) in [
        ("60", Some(60)),
        ("60.9", Some(60)),
        (r#""60""#, Some(60)),
        (r#""60.0""#, Some(60)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("1.5e3", None),
        ("1e3", None),
        ("-1", None),
        (r#""+1""#, None),
        (r#""1.x""#, None),
        (r#""""#, None),
        (r#"" 1""#, None),
        ("[1]", None),
    ] {
        let body = format!(r#"{{"access_token":"a","token_type":"b","expires_in":{written}}}"#);
        let read = TokenResponse::parse(body.as_bytes()).ok().map(|read| read.expires_in.unwrap());
        assert_eq!(read, expected, "{written}");
    }
}

#[test]
fn auth_117_auth_136_what_is_signed_is_json() {
    let mut random = Random::new(15);
    let key = random::text(&mut random);
    let key = Ed25519::from_bytes(&[7; 32]).key_id(&key);
    for _ in 0..rounds() / 100 {
        let [one, other, third] = [(); 3].map(|()| random::text(&mut random));
        let now = UnixTime::from_secs(random.next() >> random.below(64));
        let mut memory = vec![0; 1 << 15];
        let mut out = Writer::new(&mut memory);
        jws::put_assertion(&one, &other, now, &[7; 16], &key, &mut out).unwrap();
        let [header, claims] = parts(out.finish().unwrap());
        assert_eq!(header, json!({"typ": "JWT", "alg": "EdDSA", "kid": key_id(&key)}));
        assert_eq!([&claims["iss"], &claims["sub"], &claims["aud"]], [&one, &one, &other]);
        assert_eq!(claims["iat"], now.as_secs());

        let mut out = Writer::new(&mut memory);
        let proof = dpop::Proof {
            method: &one,
            url: &other,
            now,
            random: [7; 16],
            access_token: None,
            nonce: Some(&third),
        };
        dpop::put_proof(&proof, &key, &mut out).unwrap();
        let [_, claims] = parts(out.finish().unwrap());
        let url = other.split(['?', '#']).next().unwrap();
        assert_eq!([&claims["htm"], &claims["htu"], &claims["nonce"]], [&one, url, &third]);

        let mut out = Writer::new(&mut memory);
        ClientMetadata::new(&one, &[&other, &third]).scope(&third).key(&key).put(&mut out);
        let value: Value = serde_json::from_str(out.finish().unwrap()).unwrap();
        assert_eq!([&value["client_name"], &value["scope"]], [&one, &third]);
        assert_eq!(value["redirect_uris"], json!([other, third]));
        assert_eq!(value["jwks"]["keys"][0]["kid"], key_id(&key));
    }
}

fn key_id<'k>(key: &'k Ed25519<'_>) -> &'k str {
    mcp_sansio_oauth::Signer::key_id(key).unwrap()
}

fn parts(text: &str) -> [Value; 2] {
    let (signed, _) = text.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    [header, claims]
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
}
