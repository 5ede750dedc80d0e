//! Authentication, hosts and origins.

use std::future::ready;

use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpOptions, Principal, ProtectedResource,
};

use crate::site::{Site, modern, modern_with, post, principal, request};

fn guarded() -> Site {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")
            .scopes(["tools"]);
    let check = |credentials: Credentials| {
        ready(match credentials.token() {
            Some(name @ ("anna" | "otto")) => Ok(principal(name)),
            Some("weak") => Err(AuthorizationError::insufficient_scope("tools")),
            Some(_) => Err(AuthorizationError::invalid_token().scope("tools")),
            None => Err(AuthorizationError::missing_token().scope("tools")),
        })
    };
    let options = HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() };
    Site::with(options.protected_resource(resource).authorize(check))
}

#[test]
fn auth_03_auth_06_auth_07_auth_11_auth_12_auth_14_http_06_invalid_or_no_token_gets_a_challenge() {
    let site = guarded();
    let metadata =
        "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
    for (token, status, challenge) in [
        (None, 401, "Bearer scope=\"tools\", "),
        (Some("Bearer wrong"), 401, "Bearer error=\"invalid_token\", scope=\"tools\", "),
        (Some("Basic anna"), 401, "Bearer scope=\"tools\", "),
        (Some("Bearer weak"), 403, "Bearer error=\"insufficient_scope\", scope=\"tools\", "),
    ] {
        let fields: Vec<_> = token.map(|token| ("Authorization", token)).into_iter().collect();
        let own = [fields.as_slice(), &[("Mcp-Session-Id", "x")]].concat();
        for asked in [
            modern_with("echo", &fields),
            post(&own, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            request("GET", "/mcp", &own, ""),
            request("DELETE", "/mcp", &own, ""),
            request("GET", "/sse", &fields, ""),
            request("POST", "/sse?session=x", &fields, "{}"),
        ] {
            let answer = site.send(&asked);
            assert_eq!(answer.status, status, "{asked}");
            assert_eq!(
                answer.field("www-authenticate"),
                Some(format!("{challenge}{metadata}").as_str())
            );
        }
    }
    // A token in the query does not count.
    let in_query = modern("echo").replace("/mcp", "/mcp?access_token=anna");
    assert_eq!(site.send(&in_query).status, 401);
    assert_eq!(site.send(&modern_with("who", &[("Authorization", "Bearer anna")])).text(), "anna");
    assert_eq!(Site::new().send(&modern("who")).text(), "nobody");
}

#[test]
fn s8_the_challenge_names_the_metadata_of_a_resource_with_a_query_or_a_slash() {
    for resource in [
        "http://localhost/mcp?x=y",
        "http://localhost/mcp/",
        "http://localhost/?x=y",
        "http://localhost/",
    ] {
        let options = HttpOptions::new()
            .protected_resource(ProtectedResource::new(resource, "https://auth.example.com"))
            .authorize(|_| ready(Err::<Principal, _>(AuthorizationError::missing_token())));
        let site = Site::with(options);
        let denied = site.send(&modern("echo"));
        let challenge = denied.field("www-authenticate").unwrap();
        let target = challenge
            .strip_prefix("Bearer resource_metadata=\"http://localhost")
            .and_then(|rest| rest.strip_suffix('"'));
        let answer = site.send(&request("GET", target.unwrap(), &[], ""));
        assert_eq!(answer.status, 200, "{challenge}");
        assert!(answer.body.contains(&format!("\"resource\":\"{resource}\"")), "{answer:?}");
    }
}
