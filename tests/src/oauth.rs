//! Any bytes as what a client of an authorization server reads: challenges, documents, queries and
//! URLs. Nothing panics, and what is read is what is there.

use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::challenges;
use mcp_sansio_oauth::{
    OAuthError, RedirectAnswer, RedirectOutcome, ResourceMetadata, ServerMetadata, TokenResponse,
    Url, UrlRules, WellKnownPath, Writer,
    form::{self, Form},
    resource_matches, scope,
};
use serde_json::{Map, Value};

/// Reads the bytes as each of them, and as changes of a valid one.
///
/// # Panics
/// When something is read otherwise than `serde_json` reads it, a text for people is not bounded
/// and safe, or what was written is not read again.
pub fn survives(data: &[u8]) {
    read(data);
    for valid in VALID {
        read(&changed(valid.as_bytes(), data));
    }
}

/// Returns the bytes with the changes that `data` stands for, three bytes each.
pub(crate) fn changed(valid: &[u8], data: &[u8]) -> Vec<u8> {
    let mut changed = valid.to_vec();
    for change in data.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]) >> 2) % changed.len();
        match change[0] & 3 {
            0 => changed.insert(at, change[2]),
            1 if changed.len() > 1 => drop(changed.remove(at)),
            _ => changed[at] = change[2],
        }
    }
    changed
}

fn read(data: &[u8]) {
    documents(data);
    let Ok(text) = str::from_utf8(data) else { return };
    challenge(text);
    query(text);
    url(text);
}

fn documents(body: &[u8]) {
    let json: Option<Map<String, Value>> = serde_json::from_slice(body).ok();
    let member = |name: &str| json.as_ref().map(|json| json.get(name).cloned().unwrap_or_default());
    let same = |name, text: String| assert!(member(name).is_none_or(|value| value == text));
    if let Ok(metadata) = ResourceMetadata::parse(body) {
        same("resource", metadata.resource.to_string());
        let servers: Vec<String> =
            metadata.authorization_servers.iter().map(|text| text.to_string()).collect();
        let there = member("authorization_servers").unwrap_or_default();
        let strings = there.as_array().into_iter().flatten().filter_map(Value::as_str);
        assert!(json.is_none() || servers.iter().eq(strings), "{servers:?} {there}");
    }
    if let Ok(metadata) = ServerMetadata::parse(body) {
        let issuer = metadata.issuer.to_string();
        assert!(metadata.is_of_issuer(&issuer) && !metadata.is_of_issuer("https://other"));
        same("issuer", issuer);
        if let Some(url) = metadata.token_endpoint {
            same("token_endpoint", url.to_string());
        }
    }
    if let Ok(answer) = TokenResponse::parse(body) {
        let token = answer.access_token.to_string();
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic()) && !token.is_empty());
        same("access_token", token);
        let _ = (answer.token_type(), answer.expires_in);
    }
    if let Some(error) = OAuthError::parse(body) {
        let text = error.to_string();
        let is_obeyed = |c: char| c.is_control() && c != '\t';
        assert!(text.len() < 4000 && !text.contains(is_obeyed), "{text:?}");
        same("error", error.code().to_string());
    }
}

fn challenge(value: &str) {
    let fields = [("www-authenticate", value)];
    for challenge in challenges(&ResponseHead::new(401, &fields)).take(1000) {
        assert!(!challenge.scheme.is_empty() && value.contains(challenge.scheme));
        for (name, text) in challenge.iter() {
            assert!(!name.is_empty() && value.contains(text));
            assert!(challenge.get(name).is_some());
        }
    }
}

fn query(query: &str) {
    let decoded: Vec<(String, String)> =
        form::pairs(query).map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mut memory = vec![0; 3 * decoded.iter().map(|(a, b)| a.len() + b.len() + 2).sum::<usize>()];
    let mut out = Writer::new(&mut memory);
    let mut form = Form::new(&mut out);
    for (name, value) in &decoded {
        form.pair(name, value);
    }
    let written = out.finish().expect("there is room");
    let again = form::pairs(written).map(|(name, value)| (name.to_string(), value.to_string()));
    assert!(again.eq(decoded.iter().cloned()), "{query:?}");

    let Ok(answer) = RedirectAnswer::parse(query) else { return };
    let only = |wanted: &str| {
        let mut found = decoded.iter().filter(|(name, _)| name == wanted);
        let first = found.next().map(|(_, value)| value.clone());
        assert!(found.next().is_none(), "{wanted} twice in {query:?}");
        first
    };
    assert!(!answer.has_state("another state"));
    let state = only("state").unwrap_or_default();
    if let Ok(RedirectOutcome::Code(code)) = answer.check(&state, "https://as.test", false) {
        assert_eq!(Some(code.to_string()), only("code"));
        assert_eq!(only("error"), None);
        assert!(only("iss").is_none_or(|iss| iss == "https://as.test"));
    }
}

fn url(text: &str) {
    let _ = (scope::is_valid(text), resource_matches(text, "https://mcp.test/mcp"));
    let Ok(url) = Url::parse(text) else { return };
    let query = url.query().map_or(String::new(), |query| format!("?{query}"));
    assert_eq!(format!("{}{}{query}", url.origin_text(), url.path()), text);
    assert!(url.check(UrlRules::new()).is_err() || url.is_secure() && !url.is_loopback());
    assert!(resource_matches(text, text));
    for place in [WellKnownPath::Inserted, WellKnownPath::Appended, WellKnownPath::Root] {
        let there = url.well_known("oauth-authorization-server", place).to_string();
        let there = Url::parse(&there).expect("it is a URL");
        assert!(there.is_same_origin(url) && there.path().contains("/.well-known/oauth-"));
    }
}

const VALID: [&str; 7] = [
    r#"{"resource":"https://mcp.test/mcp","authorization_servers":["https://as.test"],"scopes_supported":["a","b"]}"#,
    r#"{"issuer":"https://as.test","token_endpoint":"https://as.test/token","code_challenge_methods_supported":["S256"]}"#,
    r#"{"access_token":"a.b-c","token_type":"Bearer","expires_in":60,"refresh_token":"r","scope":"a b"}"#,
    r#"{"error":"invalid_grant","error_description":"The code has expired"}"#,
    r#"Basic realm="a, \"b", Bearer error=insufficient_scope , scope = "z", DPoP algs="ES256""#,
    "code=a%20b+c&state=state&iss=https%3A%2F%2Fas.test&error=x",
    "https://user.test:8443/path/a?query=b&c",
];
