//! Renewal of tokens.

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{Attempts, Lost, Reaction};
use serde_json::json;

use super::program::{Outcome, Program};
use super::world::{Answer, ENDPOINT, SETUP, TOKEN};

#[test]
fn auth_56_auth_83_auth_88_a_token_is_renewed_shortly_before_it_ends() {
    let mut program = Program::logged_in(SETUP);
    program.world.now += 3569;
    program.succeeds_at_once();
    program.world.now += 1;
    program.succeeds_by(
        "lock
POST https://as.test/token refresh_token 200
keep",
    );
    let refresh = *program.world.requests(TOKEN).last().unwrap();
    assert_eq!(refresh.form("refresh_token").as_deref(), Some("refresh-secret-1"));
    assert_eq!(refresh.form("resource").as_deref(), Some(ENDPOINT));
    assert_eq!(refresh.form("scope"), None);
    // The new refresh token has replaced the old one, also in the record.
    program.restart();
    program.succeeds_after(3600);
    assert_eq!(program.world.refresh.as_deref(), Some("refresh-secret-3"));
}

/// Changes the store as another program, whose renewal is refused before its person is asked.
fn refused_elsewhere(program: &mut Program<'_>, is_early: bool) {
    let mut other = Program::new(SETUP);
    other.store.clone_from(&program.store);
    other.restart();
    other.world.now = program.world.now;
    if is_early {
        other.world.valid.push(("access-secret-1".to_owned(), String::new()));
    }
    other.world.lost.push(("https://as.test/.well-known", Lost::Network));
    assert_eq!(other.request().is_ok(), is_early);
    assert!(other.trace().contains("refresh_token 400\nkeep"));
    program.store = other.store;
}

#[test]
fn r3_c2_a_refresh_token_that_another_program_found_dead_is_not_sent_again() {
    for is_early in [true, false] {
        let mut program = Program::logged_in(SETUP);
        program.world.now += if is_early { 3580 } else { 0 };
        refused_elsewhere(&mut program, is_early);
        if !is_early {
            program.world.valid.clear();
        }
        assert_eq!(program.request(), Ok(200));
        let trace = program.trace();
        assert!(trace.contains("lock") && !trace.contains("refresh_token"), "{trace}");
        // The access token is used to its end. If that is over, a person logs in.
        assert_eq!(program.world.shown.len(), if is_early { 1 } else { 2 });
    }
}

#[test]
fn r3_c2_a_log_out_by_another_program_is_not_undone() {
    for is_early in [true, false] {
        let mut program = Program::logged_in(SETUP);
        program.store = None;
        if is_early {
            program.world.now += 3580;
        } else {
            program.world.valid.clear();
        }
        // The person does not log in again.
        program.world.lost.push(("https://as.test/", Lost::Network));
        program.request().unwrap_err();
        let trace = program.trace();
        assert!(trace.contains("lock") && !trace.contains("refresh_token"), "{trace}");
        assert_eq!(program.store, None);
        assert_eq!(program.machine(|machine| machine.generation()), 0);
    }
}

#[test]
fn auth_94_a_late_401_after_a_log_out_and_another_login_begins_no_flow() {
    let mut program = Program::logged_in(SETUP);
    let (record, fields) = (program.store.clone().unwrap(), [("www-authenticate", "Bearer")]);
    let head = ResponseHead::new(401, &fields);
    let before = program.machine(|machine| machine.generation());
    program.machine(|machine| machine.forget());
    assert_eq!(program.machine(|machine| machine.generation()), 0);
    program.machine(|machine| machine.load(&record)).unwrap();
    let mut attempts = Attempts::new();
    let reaction = program.machine(|machine| machine.challenged(&head, before, &mut attempts));
    assert_eq!(reaction, Reaction::SendAgain);
    assert!(!program.state.open(&SETUP).is_running());
}

#[test]
fn auth_89_tokens_of_another_program_are_taken_at_the_start_of_a_flow() {
    let mut program = Program::logged_in(SETUP);
    let mut other = Program::logged_in(SETUP);
    let old = program.store.clone().unwrap();
    other.world.now += 3600;
    assert_eq!(other.request(), Ok(200));
    let newer = other.store.clone().unwrap();
    program.machine(|machine| machine.begin());
    assert!(!program.machine(|machine| machine.load_newer(&old)));
    assert!(!program.machine(|machine| machine.load_newer(&[])));
    assert!(program.state.open(&SETUP).is_running());
    assert!(program.machine(|machine| machine.load_newer(&newer)));
    assert!(!program.state.open(&SETUP).is_running());
    program.world = other.world;
    program.succeeds_at_once();
}

#[test]
fn auth_89_a_record_with_tokens_of_two_issuers_is_not_newer_for_ever() {
    let mut program = Program::logged_in(SETUP);
    let mut record = program.store.clone().unwrap();
    // Before a text are its tag and the number of its issuer. The second one has an access token,
    // and the first one keeps its refresh token.
    for (text, tag, by) in [("https://as.test/authorize", 6, 4), ("access-secret-1", 16, 16)] {
        let at = record.windows(text.len()).position(|part| part == text.as_bytes()).unwrap();
        assert_eq!(record[at - 4..at - 2], [tag, 1]);
        record[at - 4..at - 2].copy_from_slice(&[by, 2]);
        record[at] += 1;
    }
    program.store = Some(record);
    program.succeeds_after(3600);
    assert!(program.trace().starts_with("lock\nPOST https://as.test/token refresh_token 200"));
}

#[test]
fn auth_88_a_refresh_token_without_a_successor_is_kept() {
    let mut program = Program::logged_in(SETUP);
    program.world.gives_refresh = false;
    for _ in 0..2 {
        program.succeeds_after(3600);
        assert_eq!(program.world.refresh.as_deref(), Some("refresh-secret-1"));
    }
    assert_eq!(program.trace().matches("refresh_token 200").count(), 2);
}

#[test]
fn auth_83_a_token_of_a_second_is_renewed_once_a_request() {
    let mut program = Program::new(SETUP);
    program.world.expires_in = Some(1);
    program.log_in();
    program.succeeds_after(10);
    assert_eq!(program.trace().matches("refresh_token").count(), 1);
}

#[test]
fn auth_90_a_renewal_that_fails_early_leaves_the_token_in_use() {
    let answers = [
        Answer::error(400, "invalid_grant"),
        Answer::error(401, "invalid_client"),
        Answer::new(429, ""),
        Answer::new(503, "<html>"),
        Answer::new(200, "<html>"),
        Answer::json(200, &json!({"access_token": "a", "token_type": "mac"})),
    ];
    let lost = Outcome::Lost(Lost::Network);
    for outcome in answers.map(Outcome::Answer).into_iter().chain([lost]) {
        let mut program = Program::logged_in(SETUP);
        program.world.now += 3580;
        program.outcomes = vec![(program.sent, outcome.clone())];
        assert_eq!(program.request(), Ok(200), "{outcome:?}");
        let trace = program.trace();
        assert!(trace.contains("refresh_token") && trace.ends_with("mcp 200"), "{trace}");
        // It is not tried again before the token ends.
        assert_eq!(program.request(), Ok(200));
        assert_eq!(program.trace(), "mcp 200", "{outcome:?}");
    }
}

#[test]
fn auth_33_auth_100_a_401_leads_to_metadata_one_refresh_and_then_a_flow() {
    let mut program = Program::logged_in(SETUP);
    program.world.valid.clear();
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
lock
POST https://as.test/token refresh_token 200
keep",
    );
    // The refresh token has ended, too.
    program.world.end_tokens();
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
lock
POST https://as.test/token refresh_token 400
keep
GET https://as.test/.well-known/oauth-authorization-server 200
show -
POST https://as.test/token authorization_code 200
keep",
    );
}

#[test]
fn auth_100_a_token_that_is_refused_after_its_refresh_leads_to_a_person() {
    let mut program = Program::logged_in(SETUP);
    // The first token is refused, and so is the one of the refresh.
    program.world.answer_each(ENDPOINT, [(); 2].map(|()| Answer::challenge(401, "Bearer")));
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
lock
POST https://as.test/token refresh_token 200
keep
mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
show -
POST https://as.test/token authorization_code 200
keep",
    );
    // A later request begins with a refresh again.
    program.succeeds_when(|world| world.valid.clear());
    assert!(program.trace().contains("refresh_token 200\nkeep\nmcp 200"));
}

#[test]
fn auth_83_auth_100_a_server_of_2025_03_26_is_asked_for_a_refresh_before_a_person() {
    let mut program = Program::new(SETUP);
    program.world.documents.clear();
    program.world.expires_in = None;
    program.log_in();
    let discovery = "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 404
GET https://mcp.test/.well-known/oauth-protected-resource 404
GET https://mcp.test/.well-known/oauth-authorization-server 404
lock
";
    program.world.valid.clear();
    let renewed = "POST https://mcp.test/token refresh_token 200
keep";
    program.succeeds_by(&format!("{discovery}{renewed}"));
    // The refresh token has ended, too.
    program.world.end_tokens();
    let shown = "POST https://mcp.test/token refresh_token 400
keep
show -
POST https://mcp.test/token authorization_code 200
keep";
    program.succeeds_by(&format!("{discovery}{shown}"));
}

#[test]
fn auth_90_a_refresh_that_is_lost_drops_no_token() {
    for failing in [
        Answer::new(500, ""),
        Answer::new(408, ""),
        Answer::new(429, ""),
        Answer::new(200, "x"),
        Answer::new(302, ""),
    ] {
        let mut program = Program::logged_in(SETUP);
        program.world.valid.clear();
        program.world.answer_next(TOKEN, failing);
        program.request().unwrap_err();
        assert_eq!(program.request(), Ok(200));
        assert!(program.trace().ends_with(
            "lock
POST https://as.test/token refresh_token 200
keep
mcp 200"
        ));
    }
}

#[test]
fn auth_87_without_a_refresh_token_a_person_logs_in_again() {
    let mut program = Program::new(SETUP);
    program.succeeds_when(|world| world.gives_refresh = false);
    program.world.now += 3600;
    program.world.valid.clear();
    program.trace();
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
GET https://as.test/.well-known/oauth-authorization-server 200
show -
POST https://as.test/token authorization_code 200
keep",
    );
}

#[test]
fn auth_50_invalid_client_registers_once_more() {
    let mut program = Program::logged_in(SETUP);
    program.world.valid.clear();
    program.world.answer_next(TOKEN, Answer::error(401, "invalid_client"));
    program.succeeds_by(
        "mcp 401
GET https://mcp.test/.well-known/oauth-protected-resource/mcp 200
lock
POST https://as.test/token refresh_token 401
keep
GET https://as.test/.well-known/oauth-authorization-server 200
POST https://as.test/register 201
keep
show -
POST https://as.test/token authorization_code 200
keep",
    );
    program.world.end_tokens();
    program.world.answer_each(TOKEN, (0..3).map(|_| Answer::error(401, "invalid_client")));
    program.request().unwrap_err();
    assert_eq!(program.trace().matches("/register").count(), 1);
}
