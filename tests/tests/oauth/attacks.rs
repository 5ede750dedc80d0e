//! Attacks of a server and of an authorization server. Each ends in a failure or a refusal, with
//! nothing sent to the attacker. Those on metadata are in `discovery`, those of a page that opens a
//! URL in the person's browser in `person`.

use mcp_sansio_oauth::{Lost, UnixTime};
use serde_json::json;

use super::program::Program;
use super::world::{Answer, ENDPOINT, ISSUER, REGISTER, RESOURCE, SETUP, TOKEN, client_of};

/// Logs in at servers that were changed, and returns how that fails: without a token.
fn failure(change: impl FnOnce(&mut Program<'_>)) -> String {
    let mut program = Program::new(SETUP);
    change(&mut program);
    let failure = program.request().unwrap_err();
    assert_eq!(program.state.open(&SETUP).generation(), 0);
    assert!(!program.state.open(&SETUP).is_running());
    assert!(failure.len() < 2000, "{failure}");
    assert!(!failure.contains(char::is_control), "{failure:?}");
    assert!(!failure.contains("secret"), "{failure}");
    failure
}

#[test]
fn auth_79_text_of_an_error_is_safe_for_terminals_and_bounded() {
    let long = "%1b]0;evil%07%0d%0a".repeat(1000);
    failure(|program| {
        program.world.redirect = Some(Box::new(move |query| {
            let (_, state) = query.split_once('&').unwrap();
            format!("{state}&error={long}&error_description={long}")
        }));
    });
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
    program.show_page();
    let state = program.world.page(0, "state").unwrap();
    let again = format!("code=second&state={state}");
    program.machine(|machine| {
        assert!(!machine.is_answer(&again));
        machine.redirected(&again);
    });
    assert_eq!(program.drive(), Ok(()));
    let code = program.world.asked.last().unwrap().form("code");
    assert_eq!((code.as_deref(), program.world.requests(TOKEN).len()), (Some("code-1"), 1));
}

#[test]
fn auth_80_auth_110_a_token_endpoint_that_redirects_gets_no_second_request() {
    for status in [301, 302, 303, 307, 308] {
        let answer = Answer::new(status, "").field("location", "https://evil.test/token");
        let failure = failure(|program| program.world.answer_next(TOKEN, answer));
        assert!(failure.starts_with("no token was given (HTTP status 30"), "{failure}");
    }
    // Each step of these tests is checked for how many redirects may be followed.
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
    program.world.answer_next(ENDPOINT, Answer::needs(&scope));
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
    for token in ["a\r\nx-evil: 1", "a b", "a\0", "\u{e9}", "\u{7f}", ""] {
        let body = json!({"access_token": token, "token_type": "Bearer"});
        failure(|program| program.world.answer_next(TOKEN, Answer::json(200, &body)));
    }
    let error = json!({"error": forged, "error_description": format!("{forged}\u{1b}[2J")});
    let failure = failure(|program| program.world.answer_next(TOKEN, Answer::json(400, &error)));
    assert!(failure.starts_with("no token was given (HTTP status 400)"), "{failure}");
}

#[test]
fn auth_13_auth_98_auth_100_endless_401_and_403_end() {
    let unauthorized = || Answer::challenge(401, "Bearer");
    let mut program = Program::new(SETUP);
    program.world.answer_each(ENDPOINT, (0..50).map(|_| unauthorized()));
    assert_eq!(program.request(), Ok(401));
    assert_eq!(program.world.shown.len(), 1);

    // Neither another scope each time, nor both statuses in turns.
    for in_turns in [false, true] {
        let mut program = Program::logged_in(SETUP);
        let answers = (0..50).map(|n| match n % 2 {
            1 if in_turns => unauthorized(),
            _ => Answer::needs(&format!("scope{n}")),
        });
        program.world.answer_each(ENDPOINT, answers);
        let end = program.request();
        assert!(matches!(end, Ok(401 | 403)), "{end:?}");
        assert_eq!(program.world.shown.len(), 3, "{in_turns}");
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
    assert_eq!(second.trace(), "lock\nmcp 200");
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
            let mut machine = program.state.open(&program.setup);
            let added = machine.fields(now, &mut |_| {}, method, url, &mut |name, value| {
                fields.push((name.to_owned(), value.to_string()));
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
fn auth_83_a_token_is_renewed_before_its_life_ends_and_no_life_overflows() {
    for (expires_in, renewed_after) in [
        ("3600", Some(3570)),
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
}
