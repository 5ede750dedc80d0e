//! Grants without a page for a person.

use mcp_sansio_oauth::{Grant, IdentityProvider, RegisteredClient, Setup, TokenEndpointAuth};
use serde_json::json;

use super::program::Program;
use super::world::{
    Answer, ENDPOINT, ISSUER, PROVIDER, SECRET, SERVICE, SETUP, TOKEN, client_of, id_jag,
};

#[test]
fn auth_115_auth_116_auth_119_auth_120_a_client_gets_a_token_for_itself() {
    for (listed, method, is_basic) in [
        (json!(["client_secret_basic"]), None, true),
        (json!(["client_secret_post"]), None, false),
        (json!(["client_secret_post", "client_secret_basic"]), None, true),
        (json!(null), None, true),
        (json!(["client_secret_basic"]), Some(TokenEndpointAuth::Post), false),
    ] {
        let clients = [RegisteredClient { method, ..SECRET }];
        let mut program =
            Program::new(Setup { grant: Grant::ClientCredentials, clients: &clients, ..SETUP });
        program.world.gives_refresh = false;
        program.world.resource()["scopes_supported"] = json!(["a", "b"]);
        program.world.server()["token_endpoint_auth_methods_supported"] = listed.clone();
        // It needs no PKCE, no authorization endpoint, and no registration.
        program.world.server()["code_challenge_methods_supported"] = json!(null);
        program.world.server()["authorization_endpoint"] = json!(null);
        program.succeeds_by(
            "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/token client_credentials 200
keep",
        );
        let asked = program.world.requests("/token")[0];
        assert_eq!(client_of(asked), ("id".into(), Some("client-secret".into())));
        assert_eq!(asked.field("authorization").is_some(), is_basic, "{listed}");
        assert_eq!(asked.form("resource").as_deref(), Some(ENDPOINT));
        assert_eq!(asked.form("scope").as_deref(), Some("a b"));
    }
}

#[test]
fn auth_121_a_token_for_itself_is_asked_for_anew() {
    let mut program = Program::new(SERVICE);
    program.world.gives_refresh = false;
    program.log_in();
    program.succeeds_after(3590);
    // The metadata is an hour old nearly, and used.
    assert_eq!(program.trace(), "POST https://as.test/token client_credentials 200\nkeep\nmcp 200");
    program.world.now += 3590;
    program.world.answer_next(TOKEN, Answer::new(503, ""));
    // A failure before the end leaves the token in use.
    assert_eq!(program.request(), Ok(200));
    assert!(program.trace().ends_with("client_credentials 503\nmcp 200"));
    program.world.valid.clear();
    program.world.answer_next(TOKEN, Answer::error(400, "invalid_scope"));
    assert!(program.request().unwrap_err().contains("invalid_scope"));
}

#[test]
fn auth_120_without_an_id_nothing_is_registered() {
    let mut program = Program::new(Setup { grant: Grant::ClientCredentials, ..SETUP });
    assert_eq!(program.request(), Ok(401));
    assert!(program.trace().contains("ask client"));
    assert_eq!(program.world.clients, 0);
}

/// A program of an organization, whose identity provider answers with an assertion.
fn enterprise(provider: IdentityProvider<'static>) -> Program<'static> {
    let setup = Setup { grant: Grant::Enterprise(provider), clients: &[SECRET], ..SETUP };
    let mut program = Program::new(setup);
    program.assertions = vec!["identity-secret", "identity-secret-2"];
    program.world.gives_refresh = false;
    program
}

#[test]
fn auth_122_auth_123_auth_124_auth_125_auth_126_auth_127_an_organization_permits_it() {
    let mut program = enterprise(PROVIDER);
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
GET https://as.test/.well-known/oauth-authorization-server 200
ask assertion for https://idp.test at https://idp.test/oauth/token
POST https://idp.test/oauth/token urn:ietf:params:oauth:grant-type:token-exchange 200
POST https://as.test/token urn:ietf:params:oauth:grant-type:jwt-bearer 200
keep",
    );
    let [exchange, grant] = program.world.requests("/token")[..] else { panic!() };
    for (name, value) in [
        ("subject_token", "identity-secret"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("audience", ISSUER),
        ("resource", ENDPOINT),
    ] {
        assert_eq!(exchange.form(name).as_deref(), Some(value));
    }
    assert_eq!(client_of(exchange), ("at-the-provider".into(), Some("provider-secret".into())));
    assert_eq!(grant.form("assertion").as_deref(), Some("jag-secret"));
    assert_eq!(client_of(grant), ("id".into(), Some("client-secret".into())));
    // Neither is kept.
    for secret in ["identity-secret", "jag-secret", "provider-secret"] {
        let kept = program.store.as_ref().unwrap();
        assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
    // Without another assertion the token is used to its end, and nobody is asked for one again.
    program.assertions.clear();
    program.world.now += 3590;
    for asked in ["ask assertion for https://idp.test at https://idp.test/oauth/token\n", ""] {
        assert_eq!(program.request(), Ok(200));
        assert_eq!(program.trace(), format!("{asked}mcp 200"));
    }
}

#[test]
fn auth_37_auth_126_a_metadata_document_is_the_id_where_an_organization_permits_it() {
    let document = "https://client.test/metadata.json";
    let setup =
        Setup { grant: Grant::Enterprise(PROVIDER), metadata_document: Some(document), ..SETUP };
    let mut program = Program::new(setup);
    program.assertions = vec!["identity-secret"];
    program.world.server()["client_id_metadata_document_supported"] = true.into();
    assert_eq!(program.request(), Ok(200));
    let [exchange, grant] = program.world.requests("/token")[..] else { panic!() };
    assert_eq!(client_of(exchange).0, "at-the-provider");
    assert_eq!(client_of(grant), (document.into(), None));
}

#[test]
fn auth_125_auth_129_an_answer_of_the_provider_must_be_usable() {
    let mut other = id_jag();
    other["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token".into();
    for (answer, expected) in [
        (Answer::json(200, &other), "the token has a type that cannot be used"),
        (
            Answer::error(400, "invalid_grant"),
            "the identity provider gave no token (HTTP status 400)",
        ),
        (Answer::new(302, ""), "the identity provider gave no token (HTTP status 302)"),
        (Answer::new(200, "x"), "unusable document"),
    ] {
        let mut program = enterprise(PROVIDER);
        program.world.answer_next("https://idp.test/", answer);
        let failure = program.request().unwrap_err();
        assert!(failure.starts_with(expected) && !failure.contains("secret"), "{failure}");
        // The next attempt asks for another identity token.
        assert_eq!(program.assertions, ["identity-secret-2"]);
    }
    let provider = IdentityProvider::new("https://idp.test", "http://idp.test/x", SECRET);
    let failure = enterprise(provider).request().unwrap_err();
    assert!(failure.starts_with("the URL must not be used"), "{failure}");
}

#[test]
fn auth_130_auth_131_auth_132_auth_133_a_platform_gives_the_assertion() {
    const CLIENTS: &[RegisteredClient<'_>] = &[RegisteredClient::new("workload")];
    let mut program =
        Program::new(Setup { grant: Grant::WorkloadIdentity, clients: CLIENTS, ..SETUP });
    program.assertions = vec!["platform-secret", "platform-secret-2"];
    program.succeeds_when(|world| world.gives_refresh = false);
    assert!(program.trace().contains(
        "ask assertion for https://as.test at https://as.test/token
POST https://as.test/token urn:ietf:params:oauth:grant-type:jwt-bearer 200"
    ));
    let asked = program.world.requests("/token")[0];
    assert_eq!(asked.form("assertion").as_deref(), Some("platform-secret"));
    assert_eq!(asked.form("client_id").as_deref(), Some("workload"));
    assert_eq!(asked.form("resource").as_deref(), Some(ENDPOINT));
    assert_eq!(asked.form("scope"), None);
    // A refused one is not sent twice, and nothing else is tried.
    program.world.valid.clear();
    program.world.answer_next(TOKEN, Answer::error(400, "invalid_grant"));
    assert!(program.request().unwrap_err().contains("invalid_grant"));
    let trace = program.trace();
    assert_eq!(trace.matches("POST").count(), 1, "{trace}");
}
