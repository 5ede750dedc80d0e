//! Attacks of a server, of an authorization server, and of a page that opens a URL in the person's
//! browser. Each ends in a failure or a refusal, with nothing sent to the attacker. Those on
//! metadata are in `discovery`.

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{
    Lost, Policy, Purpose, RegisteredClient, Setup, Step, TokenResponse, UnixTime,
};
use serde_json::{Value, json};

use super::program::Program;
use super::world::{Answer, ENDPOINT, ISSUER, client_of, form, server_metadata};

const SETUP: Setup<'_> = Setup::new(ENDPOINT, "Test");
const RESOURCE: &str = "https://mcp.test/.well-known/oauth-protected-resource/mcp";
const TOKEN: &str = "https://as.test/token";
const REGISTER: &str = "https://as.test/register";

/// Logs in with a browser that returns with another query than the server's, and returns how that
/// ends: without a token request.
fn redirected(sends_issuer: bool, change: impl Fn(&str) -> String + 'static) -> String {
    let mut program = Program::new(SETUP);
    program.world.server()["authorization_response_iss_parameter_supported"] = sends_issuer.into();
    program.world.redirect = Some(Box::new(change));
    let failure = program.request().unwrap_err();
    assert_eq!(program.world.requests(TOKEN).len(), 0);
    assert_eq!(program.world.shown.len(), 1, "the person is not asked again");
    assert_eq!(program.allocations, 0);
    failure
}

/// Logs in at servers that were changed, and returns how that fails: without a token.
fn failure(change: impl FnOnce(&mut Program<'_>)) -> String {
    let mut program = Program::new(SETUP);
    change(&mut program);
    let failure = program.request().unwrap_err();
    assert_eq!(program.state.open(&SETUP).generation(), 0);
    assert!(!program.state.open(&SETUP).is_running());
    assert!(failure.len() < 1000, "{failure}");
    assert!(!failure.contains(char::is_control), "{failure:?}");
    assert!(!failure.contains("secret"), "{failure}");
    failure
}

#[test]
fn auth_61_auth_78_an_answer_with_another_state_is_dropped() {
    let with_state = |state: &'static str| {
        redirected(false, move |query| {
            let (code, _) = query.split_once("&state=").unwrap();
            format!("{code}{state}")
        })
    };
    for state in ["", "&state=", "&state=x", "&State=x"] {
        let failure = with_state(state);
        assert!(failure.contains("the answer belongs to another login"), "{failure}");
    }
    for change in [
        |query: &str| query[..query.len() - 1].to_owned(),
        |query: &str| format!("{query}A"),
        |query: &str| query.replace("state=", "state=%20"),
    ] {
        assert!(redirected(false, change).contains("another login"));
    }
}

#[test]
fn auth_78_a_parameter_that_occurs_twice_is_refused() {
    for extra in ["&code=evil", "&state=x", "&%63ode=evil", "code=evil&", "&iss=a&iss=a"] {
        let failure = redirected(false, move |query| match extra.strip_suffix('&') {
            Some(first) => format!("{first}&{query}"),
            None => format!("{query}{extra}"),
        });
        assert!(failure.contains("occurs twice"), "{failure}");
        assert!(!failure.contains("evil"), "{failure}");
    }
}

#[test]
fn auth_72_auth_75_auth_76_the_code_of_another_issuer_goes_nowhere() {
    for sends_issuer in [false, true] {
        for iss in [
            "https://evil.test",
            "https%3A%2F%2Fas.test%2F",
            "https%3A%2F%2FAS.test",
            "https%3A%2F%2Fas.test%3A443",
            "HTTPS%3A%2F%2Fas.test",
            "https%253A%252F%252Fas.test",
            "",
        ] {
            let failure = redirected(sends_issuer, move |query| format!("{query}&iss={iss}"));
            assert!(failure.contains("names another authorization server"), "{iss}: {failure}");
            assert!(!failure.contains("evil"), "{failure}");
        }
    }
}

#[test]
fn auth_73_an_answer_without_the_issuer_that_was_promised_is_dropped() {
    let failure = redirected(true, str::to_owned);
    assert!(failure.contains("does not name its authorization server"), "{failure}");
}

#[test]
fn auth_77_the_error_of_another_issuer_is_not_shown() {
    let error = "&error=access_denied&error_description=Call+555&error_uri=https%3A%2F%2Fevil.test";
    let with_error = |iss: &'static str| {
        redirected(true, move |query| {
            let (_, state) = query.split_once('&').unwrap();
            format!("{state}{error}{iss}")
        })
    };
    for iss in ["&iss=https://evil.test", ""] {
        let failure = with_error(iss);
        for text in ["555", "evil", "denied"] {
            assert!(!failure.contains(text), "{failure}");
        }
    }
    // The same from our issuer is said.
    let failure = with_error("&iss=https://as.test");
    assert!(failure.contains("access was denied") && failure.contains("555"), "{failure}");
}

#[test]
fn auth_79_text_of_an_error_is_safe_for_terminals_and_bounded() {
    let long = "%1b]0;evil%07%0d%0a".repeat(1000);
    let failure = redirected(false, move |query| {
        let (_, state) = query.split_once('&').unwrap();
        format!("{state}&error={long}&error_description={long}")
    });
    assert!(!failure.contains(char::is_control), "{failure:?}");
    assert!(failure.len() < 4000, "{}", failure.len());
}

#[test]
fn auth_79_a_url_in_an_error_is_bounded_in_bytes() {
    let long = "\u{e9}".repeat(600);
    let failure = failure(|program| {
        program.world.challenge = format!("Bearer resource_metadata=\"https://mcp.test/{long}\"");
    });
    let start = "the URL must not be used: ";
    assert!(failure.starts_with(start), "{failure}");
    let (_, url) = failure.split_once('(').unwrap();
    let (url, _) = url.split_once(')').unwrap();
    assert_eq!(url, format!("https://mcp.test/{}", "\u{e9}".repeat(247)));
}

#[test]
fn auth_78_a_code_is_used_once() {
    // A second answer to the same page finds nothing that waits for it.
    let mut program = Program::new(SETUP);
    program.machine(|machine| machine.begin());
    while program.world.shown.is_empty() {
        assert!(program.step().is_none());
    }
    let state = {
        let query = program.world.shown[0].split_once('?').unwrap().1;
        form(query, "state").unwrap()
    };
    program.machine(|machine| {
        let again = format!("code=second&state={state}");
        assert!(!machine.is_answer(&again));
        machine.redirected(&again);
    });
    assert_eq!(program.drive(), Ok(()));
    let code = program.world.asked.last().unwrap().form("code");
    assert_eq!((code.as_deref(), program.world.requests(TOKEN).len()), (Some("code-1"), 1));

    // A token request that was lost is not sent a second time, since the code may be spent.
    let failure = failure(|program| program.world.lost.push((TOKEN, Lost::Network)));
    assert!(failure.starts_with("no connection (https://as.test/token)"), "{failure}");
}

#[test]
fn auth_80_auth_110_a_token_endpoint_that_redirects_gets_no_second_request() {
    for status in [301, 302, 303, 307, 308] {
        let answer = Answer::new(status, "").field("location", "https://evil.test/token");
        let failure = failure(|program| program.world.answer_next(TOKEN, answer));
        assert!(failure.starts_with("no token was given (HTTP status 30"), "{failure}");
    }
    let mut program = Program::new(SETUP);
    program.machine(|machine| machine.begin());
    let mut posts = 0;
    loop {
        let world = &mut program.world;
        let mut machine = program.state.open(&SETUP);
        if let Step::Send(request) =
            machine.step(Some(UnixTime::from_secs(world.now)), &mut |out| world.random(out))
        {
            let is_get = request.method() == "GET";
            assert_eq!(request.max_redirects(), if is_get { 3 } else { 0 });
            posts += u32::from(!is_get);
        }
        if program.step().is_some() {
            break;
        }
    }
    assert!(posts >= 2);
}

#[test]
fn auth_82_a_token_of_another_type_is_refused() {
    for kind in ["MAC", "mac", "N_A", "DPoP", "bearer ", "", "Bearer\r\nx: y"] {
        let body = json!({"access_token": "secret-a", "token_type": kind});
        let failure = failure(|program| {
            program.world.answer_next(TOKEN, Answer::json(200, &body));
        });
        assert!(failure.starts_with("the token has a type that cannot be used"), "{failure}");
    }
}

#[test]
fn auth_113_endless_answers_end_the_flow() {
    for url in [RESOURCE, ISSUER, REGISTER, TOKEN] {
        for lost in [Lost::TooLarge, Lost::TimedOut, Lost::Network, Lost::Forbidden] {
            let failure = failure(|program| program.world.lost.push((url, lost)));
            assert!(failure.starts_with(&lost.to_string()), "{failure}");
        }
    }
    // A driver that reads on hands the machine texts for which the arena has no room.
    let long = "a".repeat(1 << 20);
    for (url, body) in [
        (RESOURCE, json!({"resource": ENDPOINT, "authorization_servers": [long]})),
        (RESOURCE, json!({"resource": format!("{ENDPOINT}/{long}")})),
        (REGISTER, json!({"client_id": long})),
        (REGISTER, json!({"client_id": "a", "client_secret": long})),
        (TOKEN, json!({"access_token": long, "token_type": "Bearer"})),
        (TOKEN, json!({"access_token": "a", "token_type": "Bearer", "refresh_token": long})),
    ] {
        failure(|program| program.world.answer_next(url, Answer::json(200, &body)));
    }
    for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let url = format!("https://as.test/{long}");
        failure(|program| program.world.server()[member] = url.into());
    }
}

#[test]
fn auth_113_ten_thousand_scopes_are_refused() {
    let names: Vec<String> = (0..10_000).map(|n| format!("scope:{n}")).collect();
    failure(|program| program.world.resource()["scopes_supported"] = json!(names));
    let scope = names.join(" ");

    // Those of a challenge are not asked for.
    let mut program = Program::new(SETUP);
    program.world.challenge = format!("Bearer scope=\"{scope}\"");
    assert_eq!(program.request(), Ok(200));
    assert!(!program.world.shown[0].contains("scope"));
    let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
    let answer = Answer::new(403, "").field("www-authenticate", &challenge);
    program.world.answer_next(ENDPOINT, answer);
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.shown.len(), 1);
}

#[test]
fn auth_114_text_of_a_peer_forges_no_field_url_or_form() {
    let forged = "a\r\nx-evil: 1\0\"\\&client_x=b#%";
    let is_url = |url: &str| url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let mut program = Program::new(SETUP);
        program.world.registration = json!({
            "client_secret": forged,
            "token_endpoint_auth_method": method,
        });
        // The id comes first in the answer, so this one is put in its place.
        let mut answer = program.world.registration.clone();
        answer["client_id"] = forged.into();
        program.world.answer_next(REGISTER, Answer::json(201, &answer));
        program.world.challenge = format!("Bearer scope=\"{forged}\"");
        assert_eq!(program.request(), Ok(200), "{method}");
        for shown in &program.world.shown {
            assert!(is_url(shown) && !shown.contains('#'), "{shown}");
            assert!(!shown.contains("&client_x"), "{shown}");
        }
        for asked in &program.world.asked {
            assert!(is_url(&asked.url));
            for (_, value) in &asked.fields {
                assert!(!value.contains(|c: char| c.is_control()), "{value:?}");
            }
            assert!(asked.method == "GET" || !asked.body.contains(['\r', '\n', '\0']));
        }
        let asked = program.world.asked.iter().find(|asked| asked.url == TOKEN).unwrap();
        assert_eq!(client_of(asked).0, forged);
    }
    // A token is a field's value as it is, so it has to be one.
    for token in ["a\r\nx-evil: 1", "a b", "a\0", "\u{e9}", ""] {
        let body = json!({"access_token": token, "token_type": "Bearer"});
        failure(|program| program.world.answer_next(TOKEN, Answer::json(200, &body)));
    }
    let error = json!({"error": forged, "error_description": format!("{forged}\u{1b}[2J")});
    let failure = failure(|program| program.world.answer_next(TOKEN, Answer::json(400, &error)));
    assert!(failure.starts_with("no token was given (HTTP status 400)"), "{failure}");
}

#[test]
fn auth_13_auth_98_auth_100_endless_401_and_403_end() {
    let unauthorized = Answer::new(401, "").field("www-authenticate", "Bearer");
    let forbidden = |scope: &str| {
        let challenge = format!("Bearer error=insufficient_scope, scope=\"{scope}\"");
        Answer::new(403, "").field("www-authenticate", &challenge)
    };
    let mut program = Program::new(SETUP);
    (0..50).for_each(|_| program.world.answer_next(ENDPOINT, unauthorized.clone()));
    assert_eq!(program.request(), Ok(401));
    assert_eq!(program.world.shown.len(), 1);

    // Neither the same scope each time, nor another one each time, nor both statuses in turns.
    for turn in 0..3 {
        let mut program = Program::logged_in(SETUP);
        for n in 0..50 {
            let answer = match turn {
                0 => forbidden("same"),
                1 => forbidden(&format!("scope{n}")),
                _ if n % 2 == 0 => forbidden("same"),
                _ => unauthorized.clone(),
            };
            program.world.answer_next(ENDPOINT, answer);
        }
        let end = program.request();
        assert!(matches!(end, Ok(401 | 403)), "{end:?}");
        assert_eq!(program.world.shown.len(), 3, "{turn}");
        // The next message does not begin anew with what was in vain.
        if turn == 0 {
            assert_eq!(program.request(), Ok(403));
            assert_eq!(program.world.shown.len(), 3);
        }
    }
}

#[test]
fn auth_89_of_two_programs_one_refreshes() {
    let mut first = Program::logged_in(SETUP);
    let mut second = Program::new(SETUP);
    second.store.clone_from(&first.store);
    second.restart();
    first.world.now += 3600;
    assert_eq!(first.request(), Ok(200));
    assert!(first.trace().contains("refresh_token 200"));
    // The second one waits for the lock, and takes what the first one kept. Its own refresh token
    // would be used twice, which servers take for a theft.
    second.world.now = first.world.now;
    second.world.valid = first.world.valid.clone();
    second.store.clone_from(&first.store);
    assert_eq!(second.request(), Ok(200));
    assert_eq!(second.trace(), "lock\nready\nmcp 200");
}

#[test]
fn auth_45_auth_91_a_new_authorization_server_gets_no_secret_of_the_old_one() {
    let evil = "https://evil.test";
    for clients in [
        &[RegisteredClient {
            secret: Some("client-secret"),
            issuer: Some(ISSUER),
            ..RegisteredClient::new("id")
        }][..],
        &[],
    ] {
        let mut program = Program::new(Setup { clients, ..SETUP });
        program.world.registration = json!({"client_secret": "registered-secret"});
        assert_eq!(program.request(), Ok(200));
        program.restart();
        program.world.valid.clear();
        program.world.resource()["authorization_servers"] = json!([evil]);
        let mut metadata = server_metadata(evil);
        metadata["registration_endpoint"] = json!(null);
        *program.world.document("https://evil.test/.well-known/oauth-authorization-server") =
            metadata;
        assert_ne!(program.request(), Ok(200));
        let to_evil = program.world.asked.iter().filter(|asked| asked.url.starts_with(evil));
        for asked in to_evil {
            let all = format!("{asked:?}");
            assert!(!all.contains("secret") && !all.contains("client-1"), "{all}");
        }
    }
}

#[test]
fn auth_91_auth_92_auth_05_a_token_goes_to_its_server_alone() {
    let mut program = Program::logged_in(SETUP);
    let now = Some(UnixTime::from_secs(program.world.now));
    for (url, is_ours) in [
        (ENDPOINT, true),
        ("https://mcp.test/mcp?resume=1", true),
        ("https://MCP.test:443/mcp", true),
        ("https://evil.test/mcp", false),
        ("http://mcp.test/mcp", false),
        ("https://mcp.test:444/mcp", false),
        ("https://mcp.test.evil.test/mcp", false),
        ("https://mcp.test@evil.test/mcp", false),
        ("//evil.test/mcp", false),
        ("/mcp", false),
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let mut fields: Vec<(String, String)> = Vec::new();
            let added = program.machine(|machine| {
                machine.fields(now, &mut |_| {}, method, url, &mut |name, value| {
                    fields.push((name.to_owned(), value.to_string()));
                })
            });
            assert_eq!(added, Ok(()));
            let token = ("authorization".to_owned(), "Bearer access-secret-1".to_owned());
            assert_eq!(fields == [token], is_ours, "{method} {url}");
            assert!(is_ours || fields.is_empty());
        }
    }
    for asked in &program.world.asked {
        assert!(!asked.url.contains("secret"), "{}", asked.url);
    }
}

#[test]
fn auth_86_auth_93_secrets_are_not_shown() {
    let clients = [RegisteredClient {
        secret: Some("client-secret"),
        issuer: Some(ISSUER),
        ..RegisteredClient::new("id")
    }];
    let setup = Setup { clients: &clients, ..SETUP };
    let mut program = Program::new(setup);
    program.world.redirect = Some(Box::new(|query| query.replace("code-", "code-secret-")));
    let mut shown = format!("{setup:?} {:?}", Policy::new());
    program.machine(|machine| machine.begin());
    let (verifier, failure) = loop {
        let now = Some(UnixTime::from_secs(program.world.now));
        let mut machine = program.state.open(&setup);
        let step = machine.step(now, &mut |out| program.world.random(out));
        shown.push_str(&format!("{step:?}"));
        let Step::Send(request) = step else {
            assert!(program.step().is_none());
            continue;
        };
        if request.purpose() != Purpose::Token {
            assert!(program.step().is_none());
            continue;
        }
        let body = str::from_utf8(request.body()).unwrap();
        assert!(body.contains("code-secret"));
        let verifier = form(body, "code_verifier").unwrap();
        machine.response(now, &ResponseHead::new(400, &[("a", "b"); 1]), b"code-secret-1");
        let Step::Failed(failure) = machine.step(now, &mut |_| {}) else { panic!("no end") };
        break (verifier, failure.to_string());
    };
    shown.push_str(&failure);
    let refused = json!({"access_token": "access-secret", "token_type": "x", "id_token": "secret"});
    let refused = refused.to_string();
    shown.push_str(&format!("{:?}", TokenResponse::parse(refused.as_bytes()).unwrap()));
    assert!(shown.contains("no token was given (HTTP status 400) (https://as.test/token)"));
    for secret in ["secret", "Basic", &verifier] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn auth_21_auth_29_members_that_occur_twice_are_refused() {
    let twice = |value: &Value, name: &str, other: &str| {
        let text = value.to_string();
        format!("{},\"{name}\":\"{other}\"}}", text.strip_suffix('}').unwrap())
    };
    let mut program = Program::new(SETUP);
    for (url, name) in [
        (RESOURCE, "resource"),
        ("https://as.test/.well-known/oauth-authorization-server", "issuer"),
        ("https://as.test/.well-known/oauth-authorization-server", "token_endpoint"),
    ] {
        let body = twice(program.world.document(url), name, "https://evil.test");
        let failure = failure(|program| program.world.answer_next(url, Answer::new(200, body)));
        assert!(failure.contains(name), "{failure}");
        assert!(!failure.contains("evil"), "{failure}");
    }
}

#[test]
fn auth_83_a_life_is_read_in_each_spelling_and_never_overflows() {
    for (expires_in, renewed_after) in [
        ("3600", Some(3570)),
        ("\"3600\"", Some(3570)),
        ("3600.9", Some(3570)),
        ("10", Some(5)),
        ("0", None),
        ("null", None),
        ("18446744073709551615", None),
    ] {
        let body = format!(
            "{{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"refresh_token\":\"r\",\
             \"expires_in\":{expires_in}}}"
        );
        let mut program = Program::new(SETUP);
        program.world.valid.push(("a".to_owned(), String::new()));
        program.world.answer_next(TOKEN, Answer::new(200, body));
        assert_eq!(program.request(), Ok(200), "{expires_in}");
        let is_due = |program: &mut Program<'_>, after| {
            let now = UnixTime::from_secs(program.world.now + after);
            program.machine(|machine| machine.is_due(Some(now)))
        };
        match renewed_after {
            Some(secs) => {
                assert!(!is_due(&mut program, secs - 1), "{expires_in}");
                assert!(is_due(&mut program, secs), "{expires_in}");
            }
            None => assert!(!is_due(&mut program, 1 << 40), "{expires_in}"),
        }
    }
    for expires_in in ["-1", "true", "\"soon\"", "[]", "\"\"", "18446744073709551616"] {
        let body = format!(
            "{{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":{expires_in}}}"
        );
        let failure = failure(|program| program.world.answer_next(TOKEN, Answer::new(200, body)));
        assert!(failure.contains("expires_in"), "{failure}");
    }
}
