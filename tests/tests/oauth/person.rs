//! The client's id, the authorization request, and what the browser comes back with.

use mcp_sansio_oauth::{Lost, RegisteredClient, Setup, Step, TokenEndpointAuth};
use serde_json::{Value, json};

use super::program::Program;
use super::world::{Answer, ENDPOINT, ISSUER, REGISTER, TOKEN, client_of};

const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test \"1\"");
const DOCUMENT: &str = "https://client.test/metadata.json";

/// Returns a parameter of the last authorization request.
fn shown(program: &Program<'_>, name: &str) -> Option<String> {
    program.world.page(program.world.shown.len() - 1, name)
}

#[test]
fn auth_34_auth_35_auth_37_a_client_id_is_configured_or_a_document_or_registered_or_asked_for() {
    let clients =
        [RegisteredClient { issuer: Some(ISSUER), ..RegisteredClient::new("configured") }];
    let with_document = Setup { metadata_document: Some(DOCUMENT), ..SETUP };
    for (setup, expected) in [
        (Setup { clients: &clients, ..with_document }, "configured"),
        (with_document, DOCUMENT),
        (SETUP, "client-1"),
        (Setup { registers: false, ..SETUP }, "asked"),
    ] {
        let mut program = Program::new(setup);
        program.world.server()["client_id_metadata_document_supported"] = true.into();
        program.asked_client = Some("asked");
        assert_eq!(program.request(), Ok(200));
        assert_eq!(shown(&program, "client_id").as_deref(), Some(expected));
        assert_eq!(program.world.clients, u32::from(expected == "client-1"));
        // It is kept, and used again.
        program.restart();
        program.asked_client = None;
        program.succeeds_when(|world| world.end_tokens());
        assert_eq!(shown(&program, "client_id").as_deref(), Some(expected));
    }
    // AUTH-37: not where it is not supported.
    let mut program = Program::new(with_document);
    assert_eq!(program.request(), Ok(200));
    assert_eq!(shown(&program, "client_id").as_deref(), Some("client-1"));
}

#[test]
fn auth_41_auth_42_auth_49_a_registration_names_the_application_type_and_the_grants() {
    for (redirect, application_type) in [
        ("http://127.0.0.1:4711/callback", "native"),
        ("http://[::1]:4711/callback", "native"),
        ("http://localhost:3000/callback", "native"),
        ("https://app.test/callback", "web"),
    ] {
        let mut program = Program::new(SETUP);
        program.redirect = redirect;
        assert_eq!(program.request(), Ok(200));
        let asked = program.world.asked.iter().find(|asked| asked.url.ends_with("/register"));
        let body: Value = serde_json::from_str(&asked.unwrap().body).unwrap();
        let expected = json!({
            "client_name": "Test \"1\"",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": application_type,
        });
        assert_eq!(body, expected);
    }
}

#[test]
fn auth_43_a_refused_registration_is_reported() {
    let mut program = Program::new(SETUP);
    let answer = json!({"error": "invalid_client_metadata", "error_description": "no\u{1b}[2J"});
    program.world.answer_next(REGISTER, Answer::json(400, &answer));
    let expected = "the client was not registered (HTTP status 400) (https://as.test/register): \
         invalid_client_metadata: no\\u001b[2J; register the client by hand, and configure its id";
    assert_eq!(program.request().unwrap_err(), expected);
    // The next attempt is free to work.
    assert_eq!(program.request(), Ok(200));
    for answer in [
        Answer::json(201, &json!({})),
        Answer::json(201, &json!({"client_id": 1})),
        Answer::json(201, &json!({"client_id": ""})),
        Answer::new(201, "<html>"),
        Answer::new(302, ""),
        Answer::new(500, ""),
    ] {
        let mut program = Program::new(SETUP);
        program.world.answer_next(REGISTER, answer.clone());
        program.request().unwrap_err();
        assert!(program.store.is_none(), "{answer:?}");
    }
}

#[test]
fn auth_42_a_redirect_uri_that_is_refused_is_tried_with_the_other_application_type() {
    let refusal = || Answer::error(400, "invalid_redirect_uri");
    let mut program = Program::new(SETUP);
    program.succeeds_when(|world| world.answer_next(REGISTER, refusal()));
    let types = program.world.asked.iter().filter(|asked| asked.url.ends_with("/register"));
    let types: Vec<bool> = types.map(|asked| asked.body.contains("\"native\"")).collect();
    assert_eq!(types, [true, false]);
    let mut program = Program::new(SETUP);
    program.world.answer_each(REGISTER, [refusal(), refusal()]);
    assert!(program.request().unwrap_err().contains("invalid_redirect_uri"));
}

#[test]
fn auth_47_the_client_authenticates_as_the_registration_says() {
    for (listed, registered, secret, expected) in [
        (json!(["client_secret_basic"]), json!("client_secret_basic"), true, "basic"),
        (json!(["client_secret_post"]), json!("client_secret_post"), true, "post"),
        (json!(["none"]), json!("none"), false, "none"),
        (json!(["none"]), json!("none"), true, "none"),
        (json!(["client_secret_post", "client_secret_basic"]), json!(null), true, "basic"),
        (json!(["client_secret_post", "none"]), json!(null), true, "post"),
        (json!(null), json!(null), true, "basic"),
        (json!(null), json!(null), false, "none"),
        (json!(["client_secret_jwt"]), json!("client_secret_jwt"), true, "basic"),
        (json!(["client_secret_basic"]), json!("client_secret_basic"), false, "none"),
    ] {
        let mut program = Program::new(SETUP);
        program.world.server()["token_endpoint_auth_methods_supported"] = listed.clone();
        program.world.registration = json!({"token_endpoint_auth_method": registered});
        if secret {
            program.world.registration["client_secret"] = "s".into();
        }
        assert_eq!(program.request(), Ok(200));
        let asked = *program.world.requests("/token").last().unwrap();
        let is_basic = asked.field("authorization").is_some();
        let (id, secret) = client_of(asked);
        let used = match secret {
            Some(_) if is_basic => "basic",
            Some(_) => "post",
            None => "none",
        };
        assert_eq!((used, &id[..]), (expected, "client-1"), "{listed} {registered}");
    }
}

#[test]
fn auth_36_auth_48_credentials_are_encoded_before_they_are_joined() {
    let (id, secret) = ("a:b c", "p%:+/\u{e9}");
    let (secret_of, issuer) = (Some(secret), Some(ISSUER));
    let client = RegisteredClient { secret: secret_of, issuer, ..RegisteredClient::new(id) };
    for method in [None, Some(TokenEndpointAuth::Basic), Some(TokenEndpointAuth::Post)] {
        let clients = [RegisteredClient { method, ..client }];
        let mut program = Program::new(Setup { clients: &clients, ..SETUP });
        assert_eq!(program.request(), Ok(200));
        let asked = *program.world.requests("/token").last().unwrap();
        assert_eq!(client_of(asked), (id.to_owned(), Some(secret.to_owned())));
        assert_eq!(asked.field("authorization").is_some(), method != Some(TokenEndpointAuth::Post));
        // Configured credentials are not kept.
        let kept = program.store.as_ref().unwrap();
        assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
}

#[test]
fn auth_50_a_secret_that_has_ended_is_replaced() {
    let mut program = Program::new(SETUP);
    program.world.gives_refresh = false;
    program.world.registration =
        json!({"client_secret": "s", "client_secret_expires_at": program.world.now + 100});
    assert_eq!(program.request(), Ok(200));
    for (later, clients) in [(99, 1), (1, 2)] {
        program.world.now += later;
        program.succeeds_when(|world| world.valid.clear());
        assert_eq!(program.world.clients, clients);
    }
}

#[test]
fn auth_68_another_redirect_uri_is_registered_anew() {
    let mut program = Program::new(SETUP);
    program.succeeds_when(|world| world.gives_refresh = false);
    program.redirect = "http://127.0.0.1:4712/callback";
    program.succeeds_when(|world| world.valid.clear());
    assert_eq!(program.world.clients, 2);
    assert_eq!(shown(&program, "redirect_uri").as_deref(), Some(program.redirect));
}

#[test]
fn auth_90_tokens_are_renewed_for_their_client_after_a_failed_login_of_another() {
    let mut program = Program::logged_in(SETUP);
    // The port is taken, so the client registers again, and the person gives no more scope.
    program.redirect = "http://127.0.0.1:4712/callback";
    program.world.needs = "write";
    let deny = |query: &str| query.replace("code=code-2", "error=access_denied");
    program.world.redirect = Some(Box::new(deny));
    program.request().unwrap_err();
    assert_eq!(program.world.clients, 2);
    program.world.needs = "";
    for _ in 0..2 {
        program.restart();
        program.trace();
        program.succeeds_after(3580);
        assert!(program.trace().contains("refresh_token 200"));
        let asked = *program.world.requests("/token").last().unwrap();
        assert_eq!(client_of(asked), ("client-1".to_owned(), None));
    }
    // A server that does not know it any more is asked once, and the new client stays.
    program.world.valid.clear();
    program.world.redirect = None;
    program.succeeds_when(|world| world.answer_next(TOKEN, Answer::error(401, "invalid_client")));
    assert_eq!(program.world.clients, 2);
    assert_eq!(shown(&program, "client_id").as_deref(), Some("client-2"));
}

#[test]
fn auth_67_a_redirect_uri_is_https_or_on_this_machine() {
    for redirect in ["http://evil.test/cb", "com.example:/cb", "javascript:1", "", "/cb"] {
        let mut program = Program::new(SETUP);
        program.redirect = redirect;
        assert!(program.request().unwrap_err().starts_with("the redirect URI is neither"));
        assert_eq!((program.world.clients, program.world.shown.len()), (0, 0));
    }
}

#[test]
fn auth_54_auth_55_auth_56_auth_58_auth_61_auth_71_an_authorization_request_has_its_parameters() {
    let mut program = Program::new(SETUP);
    program.world.server()["authorization_endpoint"] = "https://as.test/authorize?tenant=a".into();
    assert_eq!(program.request(), Ok(200));
    program.succeeds_when(|world| world.end_tokens());
    let page = |n, name| program.world.page(n, name);
    for (n, url) in program.world.shown.iter().enumerate() {
        assert!(url.starts_with("https://as.test/authorize?tenant=a&response_type=code&"));
        assert_eq!(page(n, "resource").as_deref(), Some(ENDPOINT));
        assert_eq!(page(n, "redirect_uri").as_deref(), Some(program.redirect));
        assert_eq!(page(n, "state").unwrap().len(), 43);
        assert_eq!(page(n, "scope"), None);
    }
    // Verifier and state are new each time.
    assert_ne!(page(0, "state"), page(1, "state"));
    assert_ne!(page(0, "code_challenge"), page(1, "code_challenge"));
    let asked = *program.world.requests("/token").last().unwrap();
    assert_eq!(asked.form("resource").as_deref(), Some(ENDPOINT));
    assert_eq!(asked.form("code_verifier").unwrap().len(), 43);
    assert!(!program.world.shown[1].contains(&asked.form("code_verifier").unwrap()));
}

#[test]
fn auth_62_auth_63_auth_64_auth_65_auth_66_the_scope_is_that_of_the_challenge_or_the_metadata() {
    let offline = json!(["a", "offline_access"]);
    for (challenge, supported, server, narrow, expected) in [
        ("a b", json!(["c"]), json!(null), None, Some("a b")),
        ("", json!(["c", "d"]), json!(null), None, Some("c d")),
        ("", json!(null), json!(["x"]), None, None),
        ("", json!([]), json!(null), None, None),
        ("", json!(["c", 1, "b c", "d"]), json!(null), None, Some("c d")),
        ("a", json!(null), offline.clone(), None, Some("a offline_access")),
        ("", json!(null), offline.clone(), None, Some("offline_access")),
        // The resource must not list it, and where the server does not, it is left out.
        ("a offline_access", json!(null), json!(null), None, Some("a")),
        ("a b", json!(null), json!(null), Some("b c"), Some("b")),
        ("a", json!(null), json!(null), Some("b c"), Some("b c")),
        ("a \\\" b", json!(["c"]), json!(null), None, Some("c")),
    ] {
        let setup = narrow.map_or(SETUP, |narrow| Setup { scope: Some(narrow), ..SETUP });
        let mut program = Program::new(setup);
        if !challenge.is_empty() {
            program.world.challenge = format!("Bearer scope=\"{challenge}\"");
        }
        program.world.resource()["scopes_supported"] = supported.clone();
        program.world.server()["scopes_supported"] = server.clone();
        assert_eq!(program.request(), Ok(200));
        assert_eq!(shown(&program, "scope").as_deref(), expected, "{challenge} {supported}");
        let consents = expected.is_some_and(|scope| scope.contains("offline"));
        assert_eq!(shown(&program, "prompt").is_some(), consents);
    }
}

/// Logs in with a browser that returns with another query than the server's. Returns how that ends:
/// without a token request, unless it is good.
fn redirected(
    sends_issuer: bool,
    change: impl Fn(&str) -> String + 'static,
) -> Result<u16, String> {
    let mut program = Program::new(SETUP);
    program.world.server()["authorization_response_iss_parameter_supported"] = sends_issuer.into();
    program.world.redirect = Some(Box::new(change));
    let end = program.request();
    assert_eq!(program.world.requests(TOKEN).len(), usize::from(end.is_ok()));
    assert_eq!(program.world.shown.len(), 1, "the person is not asked again");
    // An answer that comes late is ignored.
    program.machine(|machine| machine.redirected("code=code-1&state=x"));
    assert!(!program.state.open(&SETUP).is_running());
    end
}

#[test]
fn auth_72_auth_73_auth_74_auth_75_auth_76_the_issuer_of_an_answer_is_compared() {
    for sends_issuer in [true, false] {
        for (iss, is_good) in [
            ("&iss=https%3A%2F%2Fas.test", true),
            ("&iss=https://as.test", true),
            ("", !sends_issuer),
            ("&iss=https://evil.test", false),
            ("&iss=https%3A%2F%2Fas.test%2F", false),
            ("&iss=https://AS.test", false),
            ("&iss=HTTPS://as.test", false),
            ("&iss=https://as.test:443", false),
            ("&iss=https://%61s.test%2561", false),
            ("&iss=https%253A%252F%252Fas.test", false),
            ("&iss=", false),
        ] {
            let expected = match iss {
                _ if is_good => Ok(200),
                "" => {
                    Err("the answer does not name its authorization server in `iss`; log in again")
                }
                _ => Err("the answer names another authorization server in `iss`; log in again"),
            };
            let end = redirected(sends_issuer, move |query| format!("{query}{iss}"));
            assert_eq!(end, expected.map_err(str::to_owned), "{sends_issuer} {iss}");
        }
    }
}

#[test]
fn auth_61_auth_77_auth_78_an_answer_that_is_not_ours_is_dropped_and_not_shown() {
    const ERROR: &str = "error=attack&error_description=attack";
    type Bend = fn(&str) -> String;
    let another = "the answer belongs to another login: its `state` is not ours";
    let neither = "the answer has neither a code nor an error";
    let bends: [(Bend, &str); 20] = [
        (|query| query.replace("state=", "state=x"), another),
        (|query| query.replace("state=", "state=%20"), another),
        (|query| query.replace("state=", "State="), another),
        (|query| query.replace("state=", "state=x") + "&iss=https://evil.test", another),
        (|query| query[..query.len() - 1].to_owned(), another),
        (|query| format!("{query}A"), another),
        (|query| format!("{query}+"), another),
        (|_| "code=code-1".to_owned(), another),
        (|_| "code=code-1&state=".to_owned(), another),
        (|_| String::new(), another),
        (|query| format!("{query}&state=x"), "the parameter `state` occurs twice"),
        (|query| format!("{query}&code=attack"), "the parameter `code` occurs twice"),
        (|query| format!("code=attack&{query}"), "the parameter `code` occurs twice"),
        (|query| format!("{query}&%63ode=attack"), "the parameter `code` occurs twice"),
        (|query| format!("{query}&iss=a&iss=a"), "the parameter `iss` occurs twice"),
        (|query| query.replace("code=", "kode="), neither),
        (|query| query.replace("code=code-1", "code="), neither),
        (|query| format!("{query}&error=invalid_request"), neither),
        (
            |query| query.replace("code=code-1", ERROR) + "&iss=https://evil.test",
            "the answer names another authorization server in `iss`",
        ),
        (|query| query.replace("code=code-1&state=", &format!("{ERROR}&state=x")), another),
    ];
    for (row, (bend, why)) in bends.into_iter().enumerate() {
        assert_eq!(redirected(false, bend), Err(format!("{why}; log in again")), "row {row}");
    }
    // Nor is an error without the issuer that was promised.
    let end = redirected(true, |query| query.replace("code=code-1", ERROR));
    assert!(end.is_err_and(|failure| !failure.contains("attack")));
}

#[test]
fn auth_79_a_person_who_says_no_is_told_apart() {
    let mut program = Program::new(SETUP);
    let deny = |query: &str| query.replace("code=code-1", "error=access_denied");
    program.world.redirect = Some(Box::new(deny));
    let expected = "access was denied: access_denied; log in again to give the permission";
    assert_eq!(program.request().unwrap_err(), expected);
    let fail = "error=server_error&error_description=it%0Abroke";
    program.world.redirect = Some(Box::new(|query| query.replace("code=code-2", fail)));
    let expected = "the authorization server refused the request: server_error: it\\nbroke";
    assert_eq!(program.request().unwrap_err(), expected);
}

#[test]
fn auth_80_auth_82_an_answer_of_the_token_endpoint_must_be_usable() {
    let token = |kind: &str| json!({"access_token": "new-secret", "token_type": kind});
    for (answer, expected) in [
        (Answer::error(400, "invalid_grant"), "no token was given (HTTP status 400)"),
        (Answer::new(200, "<html>"), "unusable document: the body is no JSON object"),
        (Answer::json(200, &json!({"token_type": "Bearer"})), "unusable document"),
        (Answer::json(200, &json!({"access_token": "a"})), "unusable document"),
        (
            Answer::json(200, &json!({"access_token": "a\r\nb", "token_type": "bearer"})),
            "unusable document: the member `access_token` has a wrong type or value",
        ),
        (Answer::json(201, &token("Bearer")), "no token was given (HTTP status 201)"),
    ] {
        let mut program = Program::new(SETUP);
        program.world.answer_next(TOKEN, answer.clone());
        let failure = program.request().unwrap_err();
        assert!(failure.starts_with(expected), "{failure}");
        assert!(!failure.contains("secret"));
        assert_eq!(program.state.open(&SETUP).generation(), 0);
    }
    for (kind, is_good) in [
        ("Bearer", true),
        ("bearer", true),
        ("BEARER", true),
        ("MAC", false),
        ("N_A", false),
        ("DPoP", false),
        ("bearer ", false),
        ("", false),
        ("Bearer\r\nx: y", false),
    ] {
        let mut program = Program::new(SETUP);
        program.world.valid.push(("new-secret".to_owned(), String::new()));
        program.world.answer_next(TOKEN, Answer::json(200, &token(kind)));
        let expected = "the token has a type that cannot be used (https://as.test/token)";
        let expected = if is_good { Ok(200) } else { Err(expected.to_owned()) };
        assert_eq!(program.request(), expected, "{kind}");
    }
}

#[test]
fn auth_78_a_code_is_sent_once() {
    let mut program = Program::new(SETUP);
    for lost in [Lost::Network, Lost::TooLarge] {
        program.world.lost.push((TOKEN, lost));
        program.request().unwrap_err();
        assert_eq!(program.trace().matches("/token authorization_code").count(), 1);
    }
    // A step that was not answered is not sent again either.
    let mut program = Program::new(SETUP);
    program.show_page();
    for is_first in [true, false] {
        let mut machine = program.state.open(&SETUP);
        let step = machine.step(None, &mut |_| {});
        assert_eq!(matches!(step, Step::Send(_)), is_first, "{step:?}");
    }
}
