//! A 403 that names scopes, and how often that is met.

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{Attempts, Grant, Lost, Reaction, Setup};
use serde_json::json;

use super::program::Program;
use super::world::{Answer, ENDPOINT, PROVIDER, SECRET, SETUP, TOKEN};

fn scopes(program: &Program<'_>) -> Vec<String> {
    let pages = 0..program.world.shown.len();
    pages.map(|n| program.world.page(n, "scope").unwrap_or_default()).collect()
}

fn program() -> Program<'static> {
    let mut program = Program::new(SETUP);
    program.world.challenge = "Bearer scope=\"basic\"".to_owned();
    program
}

#[test]
fn auth_95_auth_96_auth_99_auth_101_more_scope_is_asked_for_with_what_was_asked_before() {
    let mut program = program();
    program.world.needs = "write";
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/register 201
keep
show basic
POST https://as.test/token authorization_code 200
keep
mcp 403
show basic write
POST https://as.test/token authorization_code 200
keep",
    );
    // A later login without a scope in its challenge keeps the union.
    program.restart();
    program.world.challenge = "Bearer".to_owned();
    program.succeeds_when(|world| world.end_tokens());
    assert_eq!(scopes(&program).last().unwrap(), "basic write");
}

#[test]
fn auth_62_auth_64_a_program_asks_for_scope_without_a_person() {
    for grant in [Grant::ClientCredentials, Grant::WorkloadIdentity, Grant::Enterprise(PROVIDER)] {
        let mut program =
            Program::new(Setup { grant, clients: &[SECRET], scope: Some("basic write"), ..SETUP });
        program.world.challenge = "Bearer scope=\"basic more\"".to_owned();
        program.world.needs = "write";
        program.world.gives_refresh = false;
        program.assertions = vec!["one", "two"];
        assert_eq!(program.request(), Ok(200), "{grant:?}");
        let asked: Vec<_> =
            program.world.asked.iter().filter_map(|asked| asked.form("scope")).collect();
        assert_eq!(asked, ["basic", "basic write"], "{grant:?}");
    }
}

#[test]
fn auth_98_a_403_without_end_takes_at_most_three_pages() {
    let mut program = program();
    assert_eq!(program.request(), Ok(200));
    program.world.answer_each(ENDPOINT, (0..20).map(|_| Answer::needs("never")));
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.shown.len(), 3);
    // Nor does another request begin it again.
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.shown.len(), 3);
    // A person who asks for it may try again.
    program.machine(|machine| machine.begin());
    program.drive().unwrap();
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.shown.len(), 5);
}

#[test]
fn auth_95_auth_98_after_another_login_the_same_scope_is_asked_for_again() {
    let mut program = program();
    for _ in 0..3 {
        program.world.end_tokens();
        // Each login is followed by a 403, although its token has the scope.
        let answers = [Answer::challenge(401, "Bearer scope=\"basic\""), Answer::needs("write")];
        program.succeeds_when(|world| world.answer_each(ENDPOINT, answers));
    }
    assert_eq!(scopes(&program).join(", "), format!("basic{}", ", basic write".repeat(5)));
}

#[test]
fn auth_96_a_login_after_a_401_asks_for_what_was_asked_for_before_too() {
    let mut program = program();
    program.world.needs = "write";
    for restarts in [false, false, true] {
        if restarts {
            program.restart();
        }
        program.succeeds_when(|world| world.end_tokens());
    }
    assert_eq!(scopes(&program), ["basic", "basic write", "basic write", "basic write"]);
    // A scope that is new in the challenge is asked for, too, within the scope of the setup.
    program.world.challenge = "Bearer scope=\"read\"".to_owned();
    for (scope, asked) in [(None, "basic write read"), (Some("read write"), "write read")] {
        program.setup.scope = scope;
        program.succeeds_when(|world| world.end_tokens());
        assert_eq!(scopes(&program).last().unwrap(), asked);
    }
}

#[test]
fn r3_b4_auth_84_what_the_server_did_not_grant_is_not_asked_for_again() {
    for (grants, shown) in [("", ""), ("basic", "basic"), ("basic,other", "basic,other")] {
        let mut program = program();
        program.world.challenge = "Bearer scope=\"basic write\"".to_owned();
        program.world.needs = "write";
        program.world.grants = Some(grants);
        let failure = format!(
            "the authorization server did not grant a scope that the request needs \
             (https://as.test): it gave `{shown}` and not `write`; log in again to give the \
             permission"
        );
        // The second request begins with what the first one has learned, the third with the record.
        assert_eq!(program.request(), Err(failure.clone()));
        assert_eq!(program.state.open(&SETUP).scope(), Some(grants));
        assert_eq!(program.request(), Err(failure.clone()));
        program.restart();
        assert_eq!(program.request(), Err(failure));
        assert_eq!(scopes(&program), ["basic write"]);
        // The token is good for what it was granted for.
        program.succeeds_when(|world| world.needs = "");
        // A person who logs in again is asked for all of it.
        program.world.needs = "write";
        program.world.grants = None;
        program.machine(|machine| machine.begin());
        program.drive().unwrap();
        assert_eq!(program.request(), Ok(200));
        assert_eq!(scopes(&program), ["basic write"; 2]);
        assert_eq!(program.state.open(&SETUP).scope(), Some("basic write"));
    }
}

#[test]
fn auth_84_auth_96_scope_that_is_new_is_asked_for_with_scope_that_was_not_granted() {
    // Of the others nothing is new that may be asked for.
    let cases = [(None, "write", 2), (Some("basic read"), "write", 1), (None, "offline_access", 1)];
    for (scope, new, pages) in cases {
        let mut program = Program::new(Setup { scope, ..SETUP });
        program.world.challenge = "Bearer scope=\"basic read\"".to_owned();
        program.succeeds_when(|world| world.grants = Some("basic"));
        // `basic` contains `read` at this server by now.
        program.world.grants = Some("basic write");
        let answer = Answer::needs(&format!("read {new}"));
        program.world.answer_next(ENDPOINT, answer.clone());
        assert_eq!(program.request().is_ok(), pages == 2);
        program.world.answer_next(ENDPOINT, answer);
        let failure = program.request().unwrap_err();
        assert!(failure.ends_with("and not `read`; log in again to give the permission"));
        assert_eq!(scopes(&program), ["basic read", "basic read write"][..pages]);
    }
}

#[test]
fn auth_84_auth_96_what_a_failed_login_asked_for_was_not_refused() {
    let mut program = program();
    program.succeeds_when(|world| world.grants = Some("basic"));
    program.world.needs = "write";
    program.world.lost.push((TOKEN, Lost::Network));
    let failure = program.request().unwrap_err();
    assert!(failure.starts_with("no connection"), "{failure}");
    assert_eq!(program.state.open(&SETUP).scope(), Some("basic"));
    program.succeeds_when(|world| world.grants = None);
    assert_eq!(scopes(&program), ["basic", "basic write", "basic write"]);
}

#[test]
fn auth_95_a_server_of_2025_03_26_is_asked_for_more_scope() {
    for has_metadata in [false, true] {
        let mut program = program();
        program.world.documents.clear();
        program.world.expires_in = None;
        if has_metadata {
            // That revision says nothing of the methods of PKCE.
            let metadata = program.world.add_server("https://mcp.test");
            metadata["code_challenge_methods_supported"] = json!(null);
        }
        program.log_in();
        program.world.now += 3601;
        program.world.needs = "write";
        program.succeeds_by(
            "mcp 403
show basic write
POST https://mcp.test/token authorization_code 200
keep",
        );
    }
}

#[test]
fn auth_84_a_scope_is_granted_in_any_order_and_between_commas() {
    for grants in ["write basic", "basic,write"] {
        let mut program = program();
        program.succeeds_when(|world| world.grants = Some(grants));
        // This server refuses it nevertheless, twice.
        program.world.answer_each(ENDPOINT, [(); 2].map(|()| Answer::needs("write")));
        assert_eq!(program.request(), Ok(200));
        assert_eq!(scopes(&program), ["basic", "basic write", "basic write"]);
    }
}

#[test]
fn auth_84_a_refresh_without_a_scope_keeps_that_of_the_old_token() {
    let mut program = program();
    program.succeeds_when(|world| world.grants = Some("basic other"));
    program.world.grants = None;
    program.succeeds_after(3600);
    assert!(program.trace().contains("refresh_token 200"));
    assert_eq!(program.state.open(&SETUP).scope(), Some("basic other"));
    program.world.grants = Some("less");
    program.succeeds_after(3600);
    assert_eq!(program.state.open(&SETUP).scope(), Some("less"));
}

#[test]
fn auth_103_other_errors_are_reported() {
    for (status, challenge) in [
        (403, ""),
        (403, "Bearer error=\"invalid_token\""),
        (403, "Bearer"),
        (403, "Bearer error=invalid_token, scope=a"),
        (403, "Basic error=insufficient_scope, scope=a"),
        (403, "Bearer error=insufficient_scope, scope=\"\""),
        (403, "Bearer error=\"insufficient_scope\""),
        (403, "Bearer error=\"insufficient_scope\", scope=\"a\\\"b\""),
        (400, "Bearer"),
        (503, "Bearer"),
    ] {
        let mut program = program();
        program.log_in();
        program.world.answer_next(ENDPOINT, Answer::challenge(status, challenge));
        assert_eq!(program.request(), Ok(status));
        assert_eq!(program.trace(), format!("mcp {status}"));
    }
}

#[test]
fn auth_64_a_step_up_stays_within_the_scope_of_the_setup() {
    let mut program = Program::new(Setup { scope: Some("basic read"), ..SETUP });
    program.world.challenge = "Bearer scope=\"basic\"".to_owned();
    program.world.needs = "read write";
    assert_eq!(program.request(), Ok(403));
    // `read` is allowed: it is asked for, and that was not enough.
    assert!(scopes(&program)[1..].iter().all(|scope| scope == "basic read"));
    program.world.needs = "write";
    let pages = program.world.shown.len();
    assert_eq!(program.request(), Ok(403));
    assert_eq!(program.world.shown.len(), pages);
}

#[test]
fn auth_94_a_request_whose_token_was_renewed_meanwhile_is_sent_again() {
    let mut program = program();
    let fields = [("www-authenticate", "Bearer")];
    let head = ResponseHead::new(401, &fields);
    let mut attempts = [Attempts::new(), Attempts::new()];
    // Two requests without a token.
    for attempts in &mut attempts {
        let reaction = program.machine(|machine| machine.challenged(&head, 0, attempts));
        assert_eq!(reaction, Reaction::Authorize);
    }
    program.drive().unwrap();
    assert_eq!(program.world.shown.len(), 1);
    let generation = program.state.open(&SETUP).generation();
    assert_ne!(generation, 0);
    // A third one was sent before, and answered after.
    let late = &mut Attempts::new();
    assert_eq!(program.machine(|machine| machine.challenged(&head, 0, late)), Reaction::SendAgain);
    assert!(!program.state.open(&SETUP).is_running());
    // So it is only where there is a token: here it was thrown away meanwhile.
    let mut other = self::program();
    let early = &mut Attempts::new();
    let reaction = other.machine(|machine| machine.challenged(&head, generation, early));
    assert_eq!(reaction, Reaction::Authorize);
    // That ends, too, if it never gets the new token.
    let reactions = (0..10).map(|_| program.state.open(&SETUP).challenged(&head, 0, late));
    assert_eq!(reactions.last(), Some(Reaction::Report));
}

#[test]
fn auth_96_scope_that_was_withdrawn_is_not_asked_for_for_ever() {
    let refuse = |query: &str| format!("error=invalid_scope&{}", query.split_once('&').unwrap().1);
    let mut program = program();
    program.succeeds_when(|world| world.needs = "write");
    // After a 403 the new scope may be the one that is refused: the others are asked for again.
    program.world.needs = "never";
    program.world.redirect = Some(Box::new(refuse));
    assert!(program.request().unwrap_err().ends_with("invalid_scope"));
    program.world.needs = "";
    program.world.end_tokens();
    assert!(program.request().unwrap_err().ends_with("invalid_scope"));
    program.world.redirect = None;
    program.restart();
    assert_eq!(program.request(), Ok(200));
    let asked = ["basic", "basic write", "basic write never", "basic write", "basic"];
    assert_eq!(scopes(&program), asked);
}

#[test]
fn auth_96_a_program_does_not_ask_for_scope_that_was_withdrawn_for_ever() {
    for grant in [Grant::ClientCredentials, Grant::Enterprise(PROVIDER)] {
        let mut program = Program::new(Setup { grant, clients: &[SECRET], ..SETUP });
        program.world.challenge = "Bearer scope=\"old\"".to_owned();
        program.world.gives_refresh = false;
        program.assertions = vec!["one", "two", "three"];
        assert_eq!(program.request(), Ok(200), "{grant:?}");
        program.world.challenge = "Bearer scope=\"new\"".to_owned();
        program.world.end_tokens();
        for url in [TOKEN, "https://idp.test/oauth/token"] {
            program.world.answer_next(url, Answer::error(400, "invalid_scope"));
        }
        assert!(program.request().unwrap_err().ends_with("invalid_scope"), "{grant:?}");
        program.world.queued.clear();
        assert_eq!(program.request(), Ok(200), "{grant:?}");
        let asked = program.world.asked.iter().filter_map(|asked| asked.form("scope"));
        assert_eq!(asked.collect::<Vec<_>>(), ["old", "old new", "new"], "{grant:?}");
    }
}
