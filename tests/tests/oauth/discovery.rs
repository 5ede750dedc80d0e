//! Discovery: metadata of the resource and of its authorization server.

use mcp_sansio_oauth::{Grant, Policy, RegisteredClient, Setup, UrlRules};
use serde_json::json;

use super::program::Program;
use super::world::{Answer, ENDPOINT, ISSUER, RESOURCE, SECRET, SETUP, World, server_metadata};

const ROOT: &str = "https://mcp.test/.well-known/oauth-protected-resource";

/// Returns the metadata that was read, and how it ended.
fn discovery(program: &mut Program<'_>) -> (Vec<String>, String) {
    let end = match program.request() {
        Ok(status) => status.to_string(),
        Err(failure) => failure,
    };
    let trace = program.trace();
    let gets = trace.lines().filter_map(|line| line.strip_prefix("GET "));
    (gets.map(str::to_owned).collect(), end)
}

/// The same of a program in a world that was changed.
fn discover(setup: Setup<'_>, change: impl FnOnce(&mut World)) -> (Vec<String>, String) {
    let mut program = Program::new(setup);
    change(&mut program.world);
    discovery(&mut program)
}

#[test]
fn auth_18_the_url_of_a_challenge_is_read_and_no_other() {
    let mut program = Program::new(SETUP);
    let custom = "https://mcp.test/custom/metadata.json?x=y";
    let metadata = program.world.resource().clone();
    *program.world.document(custom) = metadata;
    // The first two are of a proxy.
    program.world.challenge = format!(
        "Basic realm=\"a\", Bearer realm=\"a\", Bearer scope=\"b\", resource_metadata=\"{custom}\""
    );
    let (read, end) = discovery(&mut program);
    assert_eq!(read[0], format!("{custom} 200"));
    assert!(!read.iter().any(|url| url.contains("oauth-protected-resource")));
    assert_eq!(end, "200");

    // There is no second place.
    let (read, end) = discover(SETUP, |world| {
        world.challenge = "Bearer resource_metadata=\"https://mcp.test/other\"".to_owned();
    });
    assert_eq!(read, ["https://mcp.test/other 404"]);
    let expected = "the server has no resource metadata (https://mcp.test/other); \
                    check the URL, or use it without a login, or set a token by hand";
    assert_eq!(end, expected);
}

#[test]
fn auth_19_without_a_url_the_path_comes_first_and_then_the_root() {
    let mut program = Program::new(SETUP);
    program.world.documents.remove(0);
    *program.world.document(ROOT) =
        json!({"resource": "https://mcp.test", "authorization_servers": [ISSUER]});
    let (read, end) = discovery(&mut program);
    assert_eq!(read[..2], [format!("{RESOURCE} 404"), format!("{ROOT} 200")]);
    assert_eq!(end, "200");
    // AUTH-59: the identifier of the metadata, byte for byte.
    let shown = program.world.shown.concat();
    assert!(shown.ends_with("&resource=https%3A%2F%2Fmcp.test"), "{shown}");
}

#[test]
fn auth_21_metadata_of_another_resource_is_refused() {
    // The test of `resource_matches` has more of them.
    for resource in ["https://other.test/mcp", "https://mcp.test/mcp-evil", ""] {
        let (read, end) = discover(SETUP, |world| world.resource()["resource"] = resource.into());
        assert_eq!(read, [format!("{RESOURCE} 200")], "{resource}");
        assert!(end.starts_with("the resource metadata is about another server"), "{end}");
    }
}

#[test]
fn auth_22_metadata_without_an_authorization_server_ends_the_attempt() {
    for servers in [json!(null), json!([]), json!([1])] {
        let (_, end) = discover(SETUP, |world| world.resource()["authorization_servers"] = servers);
        assert!(end.starts_with("the resource metadata names no authorization server"), "{end}");
    }
}

#[test]
fn auth_23_the_server_with_credentials_is_chosen_else_the_first_that_is_allowed() {
    let names_servers = |world: &mut World| {
        world.resource()["authorization_servers"] =
            json!(["https://first.test", "ftp://x", ISSUER]);
    };
    let clients = [RegisteredClient { issuer: Some(ISSUER), ..RegisteredClient::new("id") }];
    let allowed = Policy { issuers: Some(&[ISSUER]), ..Policy::new() };
    for setup in [Setup { clients: &clients, ..SETUP }, Setup { policy: allowed, ..SETUP }] {
        let (read, end) = discover(setup, names_servers);
        assert!(read[1].starts_with(ISSUER), "{read:?}");
        assert_eq!(end, "200");
    }
    let none = Policy { issuers: Some(&["https://none.test"]), ..Policy::new() };
    let (_, end) = discover(Setup { policy: none, ..SETUP }, names_servers);
    assert!(end.contains("allow its issuer in the policy"));
    assert!(discover(SETUP, names_servers).0[1].starts_with("https://first.test/"));
}

#[test]
fn auth_24_the_endpoints_are_those_of_the_metadata_of_either_kind() {
    for suffix in ["oauth-authorization-server", "openid-configuration"] {
        let mut program = Program::new(SETUP);
        program.world.documents.remove(1);
        *program.world.document(&format!("{ISSUER}/.well-known/{suffix}")) = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://pages.test/start",
            "token_endpoint": "https://api.test/v1/token",
            "registration_endpoint": "https://api.test/v2/register",
            "code_challenge_methods_supported": ["S256"],
        });
        assert_eq!(program.request(), Ok(200));
        let trace = program.trace();
        let posts: Vec<&str> = trace.lines().filter(|line| line.starts_with("POST")).collect();
        let expected = [
            "POST https://api.test/v2/register 201",
            "POST https://api.test/v1/token authorization_code 200",
        ];
        assert_eq!(posts, expected);
        assert!(program.world.shown[0].starts_with("https://pages.test/start?response_type="));
    }
}

#[test]
fn auth_25_auth_26_auth_27_auth_31_the_places_of_server_metadata_are_tried_in_order() {
    let plain = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
    let with_path = [
        "/.well-known/oauth-authorization-server/tenant1",
        "/.well-known/openid-configuration/tenant1",
        "/tenant1/.well-known/openid-configuration",
    ];
    for (issuer, places) in [
        (ISSUER.to_owned(), &plain[..]),
        (format!("{ISSUER}/"), &plain[..]),
        (format!("{ISSUER}/tenant1"), &with_path[..]),
        (format!("{ISSUER}/tenant1/"), &with_path[..]),
    ] {
        for good in 0..=places.len() {
            let mut program = Program::new(SETUP);
            program.world.documents.remove(1);
            program.world.resource()["authorization_servers"] = json!([issuer]);
            if let Some(place) = places.get(good) {
                let metadata = server_metadata(&issuer);
                *program.world.document(&format!("{ISSUER}{place}")) = metadata;
            }
            let (read, end) = discovery(&mut program);
            let tried = (good + 1).min(places.len());
            let expected = places[..tried].iter().enumerate().map(|(at, place)| {
                format!("{ISSUER}{place} {}", if at == good { 200 } else { 404 })
            });
            assert!(read[1..].iter().cloned().eq(expected), "{read:?}");
            if good < places.len() {
                assert_eq!(end, "200");
            } else {
                assert!(end.starts_with("the authorization server has no metadata"), "{end}");
            }
        }
    }
    // Metadata that is there and bad, and a server that fails, are not "not here".
    for answer in [Answer::new(500, ""), Answer::json(200, &json!({"issuer": 1}))] {
        let (read, end) = discover(SETUP, |world| world.answer_next(ISSUER, answer));
        assert_eq!(read.len(), 2, "{end}");
    }
}

#[test]
fn auth_28_a_page_in_place_of_metadata_is_not_here() {
    for body in ["<html>", "", "[]", "null", "{\"issuer\":", "\u{feff}{}"] {
        let mut program = Program::new(SETUP);
        program.world.answer_next(RESOURCE, Answer::new(200, body));
        *program.world.document(ROOT) =
            json!({"resource": ENDPOINT, "authorization_servers": [ISSUER]});
        program.world.answer_next(ISSUER, Answer::new(200, body));
        *program.world.document("https://as.test/.well-known/openid-configuration") =
            server_metadata(ISSUER);
        let (read, end) = discovery(&mut program);
        assert_eq!(read.len(), 4, "{read:?}");
        assert_eq!(end, "200");
    }
}

#[test]
fn auth_29_auth_30_metadata_of_another_issuer_is_not_used() {
    for issuer in [
        "https://as.test/",
        "https://AS.test",
        "https://as.test:443",
        "https://%61s.test",
        "http://as.test",
        "https://evil.test",
        "",
    ] {
        let mut program = Program::new(SETUP);
        program.world.server()["issuer"] = issuer.into();
        let (read, end) = discovery(&mut program);
        assert_eq!(read.len(), 2);
        let expected = "the metadata names another issuer \
                        (https://as.test/.well-known/oauth-authorization-server)";
        assert_eq!(end, expected);
        assert_eq!(program.world.clients, 0);
    }
}

#[test]
fn auth_16_auth_32_metadata_is_asked_for_without_a_token() {
    let mut program = Program::logged_in(SETUP);
    program.succeeds_when(|world| world.valid.clear());
    let gets = program.world.asked.iter().filter(|asked| asked.method == "GET");
    for asked in gets {
        assert_eq!(asked.field("accept"), Some("application/json"));
        assert_eq!(asked.field("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.fields.len(), 2);
    }
}

#[test]
fn auth_53_a_server_without_pkce_is_refused() {
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"])] {
        let mut program = Program::new(SETUP);
        program.world.server()["code_challenge_methods_supported"] = methods.clone();
        let (_, end) = discovery(&mut program);
        assert!(end.starts_with("the authorization server does not list PKCE with S256"), "{end}");
        assert_eq!((program.world.clients, program.world.shown.len()), (0, 0));
        // The caller may allow it by name.
        let policy = Policy { without_pkce: &[ISSUER], ..Policy::new() };
        let (_, end) = discover(Setup { policy, ..SETUP }, |world| {
            world.server()["code_challenge_methods_supported"] = methods;
        });
        assert_eq!(end, "200");
    }
}

#[test]
fn auth_104_auth_105_auth_107_a_server_of_2025_03_26_is_its_own_authorization_server() {
    let base = "https://mcp.test/.well-known/oauth-authorization-server";
    let mut program = Program::new(SETUP);
    program.world.documents.clear();
    program.succeeds_by(&format!(
        "mcp 401
GET {RESOURCE} 404
GET {ROOT} 404
GET {base} 404
POST https://mcp.test/register 201
keep
show -
POST https://mcp.test/token authorization_code 200
keep"
    ));
    assert!(program.world.shown[0].starts_with("https://mcp.test/authorize?response_type=code&"));

    // A server that has no login at all.
    let (read, end) = discover(SETUP, |world| {
        world.documents.clear();
        world.answer_next("https://mcp.test/register", Answer::new(404, "no JSON"));
    });
    assert_eq!(read.len(), 3);
    let said = "the server has no resource metadata (https://mcp.test/mcp); ";
    assert!(end.starts_with(said), "{end}");

    let mut program = Program::new(SETUP);
    program.world.documents.clear();
    let metadata = program.world.add_server("https://mcp.test");
    metadata["token_endpoint"] = "https://mcp.test/oauth/token".into();
    metadata["code_challenge_methods_supported"] = json!(null);
    assert_eq!(program.request(), Ok(200));
    assert!(program.trace().contains("POST https://mcp.test/oauth/token authorization_code 200"));

    let (_, end) = discover(SETUP, |world| {
        world.documents.clear();
        *world.document(base) = server_metadata("https://evil.test");
    });
    assert!(end.starts_with("the metadata names another issuer"));
}

#[test]
fn auth_106_the_rules_of_2025_03_26_are_for_servers_without_resource_metadata() {
    for answer in [Answer::new(500, ""), Answer::new(302, ""), Answer::new(429, "")] {
        let (read, end) = discover(SETUP, |world| {
            world.documents.clear();
            world.answer_next(RESOURCE, Answer::new(404, ""));
            world.answer_next(ROOT, answer);
        });
        assert_eq!(read.len(), 2, "{end}");
        assert!(end.starts_with("HTTP status"), "{end}");
    }
    let policy = Policy { legacy: false, ..Policy::new() };
    let (read, end) = discover(Setup { policy, ..SETUP }, |world| world.documents.clear());
    assert_eq!(read.len(), 2);
    assert!(end.starts_with("the server has no resource metadata"));
}

#[test]
fn auth_108_auth_109_auth_111_urls_are_https_to_the_internet() {
    let bad = [
        "http://as.test/x",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user@as.test/x",
        "https://as.test/x#y",
        "https://as.test/x y",
        "https://as.test/x\r\ny",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:10.0.0.1]/x",
        "https://[fd00::1]/x",
        "https://0x7f000001/x",
        "",
    ];
    for url in bad {
        for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
            let (read, end) = discover(SETUP, |world| world.server()[member] = url.into());
            assert_eq!(read.len(), 2);
            assert!(end.starts_with("the URL must not be used"), "{url}: {end}");
            assert!(!end.contains('\r'));
        }
        let (read, end) =
            discover(SETUP, |world| world.resource()["authorization_servers"] = json!([url]));
        assert_eq!(read.len(), 1, "{url}");
        assert!(end.starts_with("the URL must not be used"), "{url}: {end}");
        let (read, end) = discover(SETUP, |world| {
            world.challenge = format!("Bearer resource_metadata=\"{url}\"")
        });
        assert_eq!(read.len(), 0, "{url}");
        assert!(end.starts_with("the URL must not be used"), "{url}: {end}");
    }
    // On this machine http is good where the policy says so.
    let here = "http://localhost:3000";
    let policy = Policy { urls: UrlRules::new().loopback_http(true), ..Policy::new() };
    let (_, end) = discover(Setup { policy, ..SETUP }, |world| world.move_to(here));
    assert_eq!(end, "200");
}

#[test]
fn auth_46_configured_credentials_go_to_no_other_issuer() {
    let clients = [RegisteredClient { issuer: Some("https://old.test"), ..SECRET }];
    let (read, end) = discover(Setup { clients: &clients, ..SETUP }, |_| {});
    assert_eq!(read.len(), 1);
    assert!(end.starts_with("the credentials belong to another authorization server"), "{end}");

    // Without an issuer the server would choose who gets the secret: nothing is asked of it.
    let open = [RegisteredClient { issuer: None, ..SECRET }];
    for grant in [Grant::AuthorizationCode, Grant::ClientCredentials, Grant::WorkloadIdentity] {
        let (read, end) = discover(Setup { grant, clients: &open, ..SETUP }, |_| {});
        assert_eq!(read, [""; 0]);
        assert!(end.contains("set the client's `issuer`"), "{end}");
    }

    // A client without a secret is bound to the first one.
    let clients = [RegisteredClient::new("id")];
    let mut program = Program::new(Setup { clients: &clients, ..SETUP });
    assert_eq!(program.request(), Ok(200));
    program.restart();
    program.world.valid.clear();
    program.world.resource()["authorization_servers"] = json!(["https://evil.test"]);
    let (_, end) = discovery(&mut program);
    assert!(end.starts_with("the credentials belong to another authorization server"), "{end}");
    let asked = &program.world.asked;
    assert!(asked.iter().all(|asked| !asked.url.starts_with("https://evil.test")));
}

#[test]
fn auth_33_auth_44_auth_45_auth_91_another_authorization_server_gets_no_credentials_of_the_old() {
    let other = "https://second.test";
    let mut program = Program::new(SETUP);
    program.world.registration = json!({"client_secret": "registered-secret"});
    program.log_in();
    program.world.valid.clear();
    program.world.move_to(other);
    program.world.registration = json!({});
    program.succeeds_by(&format!(
        "mcp 401
GET {RESOURCE} 200
GET {other}/.well-known/oauth-authorization-server 200
POST {other}/register 201
keep
show -
POST {other}/token authorization_code 200
keep"
    ));
    let to_other = program.world.asked.iter().filter(|asked| asked.url.starts_with(other));
    for asked in to_other {
        for old in ["client-1", "refresh-secret-1", "registered-secret", "access-secret-1"] {
            assert!(!format!("{asked:?}").contains(old), "{old}: {asked:?}");
        }
    }
    // The old tokens are in the record no more, so that the new ones are used after a restart.
    program.restart();
    program.succeeds_at_once();
    // Back at the first one, its registration is used again.
    program.world.end_tokens();
    program.succeeds_when(|world| world.move_to(ISSUER));
    assert_eq!(program.world.clients, 2);
    assert!(program.world.shown[2].contains("client_id=client-1&"));
}

#[test]
fn auth_44_the_tokens_in_use_stay_when_a_fifth_authorization_server_comes() {
    let issuers = ["https://1.test", "https://2.test", "https://3.test", "https://4.test"];
    let mut program = Program::new(SETUP);
    let log_in = |program: &mut Program<'_>, issuer: &str| {
        program.world.end_tokens();
        program.world.move_to(issuer);
        program.request()
    };
    for issuer in issuers {
        assert_eq!(log_in(&mut program, issuer), Ok(200));
    }
    assert_eq!(program.world.clients, 4);
    // The first one is in use again, and its client is known.
    assert_eq!(log_in(&mut program, issuers[0]), Ok(200));
    assert_eq!(program.world.clients, 4);
    let valid = program.world.valid.clone();
    program.world.answer_next("https://5.test/register", Answer::new(500, ""));
    log_in(&mut program, "https://5.test").unwrap_err();
    program.world.valid = valid;
    program.trace();
    program.succeeds_at_once();
    // One of the others has made room.
    assert_eq!(log_in(&mut program, "https://5.test"), Ok(200));
    assert_eq!(log_in(&mut program, issuers[0]), Ok(200));
    assert_eq!(program.world.clients, 5);
}
