//! Rules that hold through a whole flow.

use mcp_sansio_oauth::{
    ClientMetadata, Grant, RegisteredClient, ServerMetadata, Setup, Step, UnixTime, Writer,
};
use serde_json::{Value, json};

use super::program::Program;
use super::world::{Answer, Asked, ENDPOINT, ISSUER, form, server_metadata};

const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test");

#[test]
fn auth_01_auth_04_auth_09_auth_24_auth_40_a_client_follows_the_flow_of_the_specification() {
    let mut program = Program::new(SETUP);
    program.world.challenge = "Bearer resource_metadata=\"https://mcp.test/metadata\"".to_owned();
    let metadata = program.world.resource().clone();
    *program.world.document("https://mcp.test/metadata") = metadata;
    for _ in 0..3 {
        assert_eq!(program.request(), Ok(200));
    }
    assert_eq!(
        program.trace(),
        "mcp 401
GET https://mcp.test/metadata 200
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/register 201
keep
show -
POST https://as.test/token authorization_code 200
keep
ready
mcp 200
mcp 200
mcp 200"
    );
    for asked in &program.world.requests(ENDPOINT)[1..] {
        assert_eq!(asked.field("authorization"), Some("Bearer access-secret-1"));
    }
}

#[test]
fn auth_16_auth_31_metadata_is_asked_for_at_registered_places_with_the_version() {
    let mut program = Program::new(SETUP);
    program.world.documents.clear();
    *program.world.document("https://mcp.test/.well-known/oauth-protected-resource") =
        json!({"resource": ENDPOINT, "authorization_servers": ["https://as.test/tenant"]});
    let failure = program.request().unwrap_err();
    assert!(failure.starts_with("the authorization server has no metadata"), "{failure}");
    let gets: Vec<&Asked> =
        program.world.asked.iter().filter(|asked| asked.method == "GET").collect();
    assert_eq!(gets.len(), 5);
    for asked in gets {
        assert_eq!(asked.field("mcp-protocol-version"), Some("2026-07-28"));
        let (_, place) = asked.url.split_once("/.well-known/").unwrap();
        let suffix = place.split('/').next().unwrap();
        let registered =
            ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"];
        assert!(registered.contains(&suffix), "{}", asked.url);
    }
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
        let (_, query) = program.world.shown[0].split_once('?').unwrap();
        assert_eq!(form(query, "client_id").unwrap() == url, is_used, "{url}");
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
        program.world.now += 3600;
        assert_eq!(program.request(), Ok(200));
        let (_, query) = program.world.shown[0].split_once('?').unwrap();
        assert_eq!(form(query, "resource").as_deref(), Some(resource));
        let tokens = program.world.requests("https://as.test/token");
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
    let mut program = Program::new(SETUP);
    assert_eq!(program.request(), Ok(200));
    // The client knows both issuers, and the second one is asked now.
    program.world.valid.clear();
    program.world.resource()["authorization_servers"] = json!([other]);
    *program.world.document(&format!("{other}/.well-known/oauth-authorization-server")) =
        server_metadata(other);
    program.world.iss = Some(ISSUER);
    let failure = program.request().unwrap_err();
    assert!(failure.contains("names another authorization server"), "{failure}");
    program.world.iss = Some(other);
    assert_eq!(program.request(), Ok(200));
}

#[test]
fn auth_81_auth_52_the_verifier_of_the_page_goes_with_the_code() {
    let mut program = Program::new(SETUP);
    assert_eq!(program.request(), Ok(200));
    // The server has compared them; with another challenge it would not have given a token.
    let asked = program.world.requests("https://as.test/token");
    assert!(asked[0].form("code_verifier").is_some());
    let mut program = Program::new(SETUP);
    program.machine(|machine| machine.begin());
    while program.world.shown.is_empty() {
        assert!(program.step().is_none());
    }
    // A second page before the code of the first one is used.
    program.machine(|machine| machine.cancel());
    program.machine(|machine| machine.begin());
    assert_eq!(program.drive(), Ok(()));
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
        program.world.answer_next("https://as.test/token", Answer::json(200, &body));
        assert_eq!(program.request(), Ok(200));
        program.world.needs = "c";
        assert_eq!(program.request(), Ok(200));
        assert_eq!(program.world.shown.len(), 2);
        let (_, query) = program.world.shown[1].split_once('?').unwrap();
        assert_eq!(form(query, "scope").as_deref(), Some("a b c"));
    }
}

#[test]
fn auth_97_a_client_of_its_own_gives_up_after_few_attempts() {
    let clients = [RegisteredClient {
        secret: Some("client-secret"),
        issuer: Some(ISSUER),
        ..RegisteredClient::new("id")
    }];
    let mut program =
        Program::new(Setup { grant: Grant::ClientCredentials, clients: &clients, ..SETUP });
    let challenge = "Bearer error=insufficient_scope, scope=\"admin\"";
    for _ in 0..20 {
        let answer = Answer::new(403, "").field("www-authenticate", challenge);
        program.world.answer_next(ENDPOINT, answer);
    }
    // The first 403 comes before there is a token, and is reported.
    assert_eq!(program.request(), Ok(403));
    program.world.queued.clear();
    assert_eq!(program.request(), Ok(200));
    for _ in 0..20 {
        let answer = Answer::new(403, "").field("www-authenticate", challenge);
        program.world.answer_next(ENDPOINT, answer);
    }
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.requests("https://as.test/token").len(), 3);
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

#[test]
fn auth_132_the_platform_is_told_issuer_and_token_endpoint() {
    let clients = [RegisteredClient::new("workload")];
    let setup = Setup { grant: Grant::WorkloadIdentity, clients: &clients, ..SETUP };
    let mut program = Program::new(setup);
    program.machine(|machine| machine.begin());
    for _ in 0..5 {
        let world = &mut program.world;
        let mut machine = program.state.open(&setup);
        let now = Some(UnixTime::from_secs(world.now));
        if let Step::AskAssertion { audience, token_endpoint } =
            machine.step(now, &mut |out| world.random(out))
        {
            assert_eq!((audience, token_endpoint), (ISSUER, "https://as.test/token"));
            return;
        }
        assert!(program.step().is_none());
    }
    panic!("no assertion was asked for");
}
