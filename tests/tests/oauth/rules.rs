//! Rules that hold through a whole flow.

use mcp_sansio_oauth::{ClientMetadata, ServerMetadata, Setup, Writer};
use serde_json::{Value, json};

use super::program::Program;
use super::world::{Answer, ENDPOINT, ISSUER, SERVICE, SETUP, TOKEN, server_metadata};

#[test]
fn auth_01_auth_04_auth_09_auth_17_auth_24_auth_40_auth_51_a_401_leads_to_a_token_that_is_used() {
    let mut program = Program::new(SETUP);
    program.world.challenge = "Bearer resource_metadata=\"https://mcp.test/metadata\"".to_owned();
    let metadata = program.world.resource().clone();
    *program.world.document("https://mcp.test/metadata") = metadata;
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/metadata 200
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/register 201
keep
show -
POST https://as.test/token authorization_code 200
keep",
    );
    for _ in 0..2 {
        program.succeeds_at_once();
    }
    for asked in &program.world.requests(ENDPOINT)[1..] {
        assert_eq!(asked.field("authorization"), Some("Bearer access-secret-1"));
    }
    // The token is kept.
    program.restart();
    program.succeeds_at_once();
}

#[test]
fn auth_38_a_metadata_document_is_an_https_url_with_a_path_and_says_who_it_is() {
    for (url, is_used) in [
        ("https://client.test/metadata.json", true),
        ("https://client.test/", false),
        ("https://client.test", false),
        ("http://client.test/metadata.json", false),
        ("client.test/metadata.json", false),
    ] {
        let mut program = Program::new(Setup { metadata_document: Some(url), ..SETUP });
        program.world.server()["client_id_metadata_document_supported"] = true.into();
        assert_eq!(program.request(), Ok(200));
        assert_eq!(program.world.page(0, "client_id").unwrap() == url, is_used, "{url}");
    }
    let mut memory = [0; 1024];
    let mut out = Writer::new(&mut memory);
    let url = "https://client.test/metadata.json";
    ClientMetadata::new("Test \"1\"", &["https://app.test/callback"]).document(url).put(&mut out);
    let document: Value = serde_json::from_str(out.finish().unwrap()).unwrap();
    assert_eq!(document["client_id"], url);
    assert_eq!(document["client_name"], "Test \"1\"");
    assert_eq!(document["redirect_uris"], json!(["https://app.test/callback"]));
}

#[test]
fn auth_57_auth_59_auth_60_the_resource_is_that_of_the_metadata_byte_for_byte() {
    for resource in [ENDPOINT, "https://mcp.test", "https://mcp.test/", "https://MCP.test/mcp"] {
        let mut program = Program::new(SETUP);
        program.world.resource()["resource"] = resource.into();
        assert_eq!(program.request(), Ok(200), "{resource}");
        program.succeeds_after(3600);
        assert_eq!(program.world.page(0, "resource").as_deref(), Some(resource));
        let tokens = program.world.requests(TOKEN);
        assert_eq!(tokens.len(), 2);
        for asked in tokens {
            assert_eq!(asked.form("resource").as_deref(), Some(resource));
        }
    }
    // Without metadata it is the URL of the server, as it was configured.
    let mut program = Program::new(SETUP);
    program.world.documents.clear();
    assert_eq!(program.request(), Ok(200));
    let asked = program.world.requests("https://mcp.test/token");
    assert_eq!(asked[0].form("resource").as_deref(), Some(ENDPOINT));
}

#[test]
fn auth_70_auth_44_an_answer_is_compared_with_the_issuer_of_its_own_flow() {
    let other = "https://second.test";
    let mut program = Program::logged_in(SETUP);
    // The client knows both issuers, and the second one is asked now.
    program.world.valid.clear();
    program.world.move_to(other);
    program.world.redirect = Some(Box::new(|query| format!("{query}&iss={ISSUER}")));
    let failure = program.request().unwrap_err();
    assert!(failure.contains("names another authorization server"), "{failure}");
    program.world.redirect = Some(Box::new(move |query| format!("{query}&iss={other}")));
    assert_eq!(program.request(), Ok(200));
}

#[test]
fn auth_81_auth_52_the_verifier_of_the_page_goes_with_the_code() {
    let mut program = Program::new(SETUP);
    program.show_page();
    // A second page before the code of the first one is used.
    program.machine(|machine| machine.cancel());
    program.machine(|machine| machine.begin());
    assert_eq!(program.drive(), Ok(()));
    // The server has compared them; with another challenge it would not have given a token.
    let code = program.world.asked.last().unwrap().form("code");
    assert_eq!(code.as_deref(), Some("code-2"));
}

#[test]
fn auth_84_auth_96_a_token_is_used_whatever_scope_it_has() {
    // An answer without a scope, with that, with less, and with text that is no scope: each is a
    // token. When the server wants more, that is asked for with what was asked before.
    for scope in [json!(null), json!("a b"), json!("a"), json!(""), json!(" a  \"")] {
        let mut program = Program::new(SETUP);
        program.world.challenge = "Bearer scope=\"a b\"".to_owned();
        let mut body: Value = serde_json::from_slice(&program.world.give("a").body).unwrap();
        body["scope"] = scope;
        program.succeeds_when(|world| world.answer_next(TOKEN, Answer::json(200, &body)));
        program.succeeds_when(|world| world.needs = "c");
        assert_eq!(program.world.shown.len(), 2);
        assert_eq!(program.world.page(1, "scope").as_deref(), Some("a b c"));
    }
}

#[test]
fn auth_97_a_client_of_its_own_gives_up_after_few_attempts() {
    let mut program = Program::new(SERVICE);
    program.world.answer_each(ENDPOINT, (0..20).map(|_| Answer::needs("admin")));
    // The first 403 comes before there is a token, and is reported.
    assert_eq!(program.request(), Ok(403));
    program.succeeds_when(|world| world.queued.clear());
    program.world.answer_each(ENDPOINT, (0..20).map(|_| Answer::needs("admin")));
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.requests(TOKEN).len(), 3);
    assert!(program.world.shown.is_empty());
}

#[test]
fn auth_128_support_of_enterprise_managed_authorization_is_read() {
    let profile = "urn:ietf:params:oauth:grant-profile:id-jag";
    for (profiles, is_supported) in [(json!([profile]), true), (json!(["x"]), false)] {
        let mut metadata = server_metadata(ISSUER);
        metadata["authorization_grant_profiles_supported"] = profiles;
        let text = metadata.to_string();
        let metadata = ServerMetadata::parse(text.as_bytes()).unwrap();
        assert_eq!(metadata.authorization_grant_profiles_supported.contains(profile), is_supported);
    }
}
