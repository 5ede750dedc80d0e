//! Each request of each flow with each outcome, and seeded chaos: it ends, within its limits, shows
//! no secret, loses no token that works, allocates nothing, and works afterwards.

use mcp_sansio_oauth::{
    AuthorizationState, Grant, Lost, Policy, RecordError, Setup, Step, UnixTime,
};
use mcp_sansio_tests::random::Random;
use serde_json::json;

use super::program::{Memory, Outcome, Program};
use super::world::{Answer, PROVIDER, SECRET, SERVICE, SETUP};

/// Programs at the start of each flow.
fn flows() -> Vec<(&'static str, Program<'static>)> {
    let logged_in = || {
        let mut program = Program::new(SETUP);
        program.world.registration = json!({"client_secret": "registered-secret"});
        program.log_in();
        program.sent = 0;
        program
    };
    let with_assertions = |grant| {
        let mut program = Program::new(Setup { grant, clients: &[SECRET], ..SETUP });
        program.assertions = vec!["identity-secret"; 9];
        program
    };
    let mut refused = logged_in();
    refused.world.valid.clear();
    let mut ended = logged_in();
    ended.world.now += 3600;
    let mut without_refresh = logged_in();
    without_refresh.world.end_tokens();
    let mut step_up = logged_in();
    step_up.world.needs = "more";
    let mut legacy = Program::new(SETUP);
    legacy.world.documents.clear();
    let service = Program::new(SERVICE);
    vec![
        ("first login", Program::new(SETUP)),
        ("refused token", refused),
        ("ended token", ended),
        ("refused tokens", without_refresh),
        ("more scope", step_up),
        ("2025-03-26", legacy),
        ("client credentials", service),
        ("enterprise", with_assertions(Grant::Enterprise(PROVIDER))),
        ("workload", with_assertions(Grant::WorkloadIdentity)),
    ]
}

fn outcomes() -> Vec<Outcome> {
    let error = |code| Answer::error(400, code);
    let mut all: Vec<Outcome> = [
        Answer::json(200, &json!({})),
        Answer::json(201, &json!({"client_id": "id", "secret": "shown-secret"})),
        Answer::new(204, ""),
        Answer::new(302, "").field("location", "https://evil.test/"),
        Answer::new(400, ""),
        Answer::new(404, "shown-secret"),
        Answer::new(429, ""),
        Answer::new(500, "shown-secret"),
        Answer::new(200, "<html>shown-secret"),
        Answer::new(200, "{\"access_token\":\"shown-secret\",\"token_ty"),
        Answer::new(200, [0xff; 40]),
        Answer::new(200, "[".repeat(5000)),
        Answer::json(200, &json!({"access_token": "x".repeat(20_000), "token_type": "bearer"})),
        Answer::json(200, &json!({"access_token": "shown-secret", "token_type": "mac"})),
        error("invalid_client"),
        error("invalid_grant"),
        error("invalid_redirect_uri"),
        error("use_dpop_nonce"),
    ]
    .map(Outcome::Answer)
    .into();
    all.extend([Lost::Network, Lost::TooLarge, Lost::TimedOut, Lost::Forbidden].map(Outcome::Lost));
    all
}

/// Checks what holds at any time.
fn check(program: &mut Program<'_>, what: &str) {
    let trace = program.trace();
    for flow in trace.split_inclusive("mcp ") {
        let requests = flow.lines().filter(|line| line.starts_with(['G', 'P'])).count();
        let pages = flow.lines().filter(|line| line.starts_with("show")).count();
        assert!(requests <= 12 && pages <= 2, "{what}:\n{trace}");
    }
    let verifiers = program.world.asked.iter().filter_map(|asked| asked.form("code_verifier"));
    let secrets = ["secret", "code-", "code_verifier", "Basic"].map(str::to_owned);
    for secret in verifiers.chain(secrets) {
        assert!(!program.shown.contains(&secret), "{what}: {}", program.shown);
    }
}

#[test]
fn auth_90_auth_93_auth_113_each_request_with_each_outcome_ends_and_works_afterwards() {
    for (at, (name, mut good)) in flows().into_iter().enumerate() {
        let begins_with = good.state.open(&good.setup).generation();
        assert_eq!(good.request(), Ok(200), "{name}:\n{}", good.trace());
        assert!(good.sent > 0, "{name}");
        for bad in 0..good.sent {
            for outcome in outcomes() {
                let what = format!("{name}, request {bad}: {outcome:?}");
                let (_, mut program) = flows().swap_remove(at);
                program.outcomes = vec![(bad, outcome)];
                let first = program.request();
                if first.is_err() && begins_with > 0 && program.world.valid.len() > 1 {
                    // The token that worked is still there.
                    assert_ne!(program.state.open(&program.setup).generation(), 0, "{what}");
                }
                check(&mut program, &what);
                program.world.needs = if program.world.needs.is_empty() { "" } else { "other" };
                assert_eq!(program.request(), Ok(200), "{what}, after {first:?}");
                check(&mut program, &what);
            }
        }
    }
}

#[test]
fn auth_113_chaos_ends_and_a_login_works_afterwards() {
    let outcomes = outcomes();
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let count = flows().len();
        let (name, mut program) = flows().swap_remove(random.below(count));
        for _ in 0..random.below(30) {
            let at = random.below(60);
            program.outcomes.push((at, outcomes[random.below(outcomes.len())].clone()));
        }
        for _ in 0..random.below(8) {
            program.world.now += random.below(4000) as u64;
            match random.below(9) {
                0 => program.world.valid.clear(),
                1 => program.world.refresh = None,
                2 => program.machine(|machine| machine.cancel()),
                3 => program.machine(|machine| machine.begin()),
                4 => program.restart(),
                // Answers that nothing asked for.
                5 => program.machine(|machine| {
                    machine.redirected("code=x&state=y");
                    machine.locked(None);
                    machine.failed(Lost::Network);
                    machine.client("x", None);
                }),
                6 => {
                    program.step();
                }
                _ => {
                    let _ = program.request();
                }
            }
            check(&mut program, name);
        }
        program.outcomes.clear();
        program.machine(|machine| machine.cancel());
        program.machine(|machine| machine.begin());
        assert_eq!(program.drive(), Ok(()), "{name}, seed {seed}:\n{}", program.trace());
        assert_eq!(program.request(), Ok(200), "{name}, seed {seed}:\n{}", program.trace());
        check(&mut program, name);
    }
}

#[test]
fn auth_113_memory_of_any_size_ends_the_flow_or_is_enough() {
    let mut smallest = None;
    for size in (0..4096).step_by(16) {
        let mut program = Program::new(SETUP);
        program.state = AuthorizationState::new(Memory::new(size));
        match program.request() {
            Ok(status) => assert_eq!(status, 200),
            Err(failure) => {
                assert!(failure.starts_with("the memory for the authorization"), "{failure}");
                assert_eq!(smallest, None, "{size}");
                continue;
            }
        }
        smallest.get_or_insert(size);
    }
    assert!(smallest.is_some_and(|size| size <= 2048), "{smallest:?}");
}

#[test]
fn auth_86_what_is_kept_is_erased_when_it_is_replaced_and_at_the_end() {
    let record = Program::logged_in(SETUP).store.unwrap();
    assert!(record.windows(6).any(|part| part == b"secret"));
    let mut memory = vec![1; 4096];
    let mut state = AuthorizationState::new(&mut memory[..]);
    state.open(&SETUP).load(&record).unwrap();
    assert_eq!(state.open(&SETUP).generation(), 1);
    drop(state);
    assert!(memory.iter().all(|byte| *byte == 0));
}

#[test]
fn auth_93_nothing_of_a_flow_is_left_in_memory() {
    for (name, mut program) in flows() {
        let (memory, seen) = Memory::observed(16 << 10);
        program.state = AuthorizationState::new(memory);
        if let Some(record) = &program.store {
            program.state.open(&program.setup).load(record).unwrap();
        }
        assert_eq!(program.request(), Ok(200), "{name}");
        program.state.open(&program.setup);
        let memory = seen.lock().unwrap();
        let verifiers = program.world.asked.iter().filter_map(|asked| asked.form("code_verifier"));
        let mut secrets: Vec<String> = verifiers.collect();
        secrets.extend(
            ["code-", "identity-", "jag-", "provider-", "Basic ", "grant_type", "code="]
                .map(str::to_owned),
        );
        // A token that was replaced, too.
        secrets.extend((program.world.valid.len() > 1).then(|| "access-secret-1".to_owned()));
        for secret in secrets {
            let found = memory.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{name}: {secret}");
        }
    }
}

#[test]
fn auth_85_a_record_is_checked_before_it_is_taken() {
    let record = Program::logged_in(SETUP).store.unwrap();
    let load = |record: &[u8]| {
        let mut state = AuthorizationState::new(vec![0; 4096].into_boxed_slice());
        let loaded = state.open(&SETUP).load(record);
        assert_eq!(loaded.is_ok(), state.open(&SETUP).generation() > 0);
        loaded
    };
    assert_eq!(load(&record), Ok(()));
    for len in 0..record.len() {
        assert!(load(&record[..len]).is_err(), "{len}");
    }
    assert_eq!(load(&[&[9], &record[1..]].concat()), Err(RecordError::Version));
    assert_eq!(load(&[&record[..], &[7, 0, 0, 0]].concat()), Err(RecordError::Damaged));
    // A token that would end its header field.
    let at = record.windows(13).position(|part| part == b"access-secret").unwrap();
    for byte in *b"\r\n\0 \x06\x7f" {
        let mut changed = record.clone();
        changed[at + 6] = byte;
        assert_eq!(load(&changed), Err(RecordError::Damaged));
    }
    // The URL of the issuer becomes one of its endpoints.
    let mut changed = record.clone();
    let at = record.windows(15).position(|part| part == b"https://as.test").unwrap();
    assert_eq!(std::mem::replace(&mut changed[at - 4], 5), 4);
    assert_eq!(load(&changed), Err(RecordError::Damaged));
    for at in 0..record.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = record.clone();
            changed[at] ^= flip;
            // Some changes are other texts. None is a panic, and none is half of a record.
            let mut state = AuthorizationState::new(vec![0; 4096].into_boxed_slice());
            let mut machine = state.open(&SETUP);
            let loaded = machine.load(&changed).is_ok();
            assert!(loaded || machine.generation() == 0);
            let _ = machine.step(Some(UnixTime::from_secs(2_000_000_000)), &mut |_| {});
        }
    }
    let other = Setup::new("https://other.test/mcp", "Test");
    let mut state = AuthorizationState::new(vec![0; 4096].into_boxed_slice());
    assert_eq!(state.open(&other).load(&record), Err(RecordError::OtherServer));
    let mut state = AuthorizationState::new(vec![0; 100].into_boxed_slice());
    assert_eq!(state.open(&SETUP).load(&record), Err(RecordError::TooLarge));
}

#[test]
fn auth_113_the_twelfth_request_is_the_last() {
    let mut state = AuthorizationState::new(vec![0; 4096].into_boxed_slice());
    let mut machine = state.open(&SETUP);
    machine.begin();
    let mut sent = 0;
    for _ in 0..40 {
        match machine.step(None, &mut |_| {}) {
            Step::Send(_) => sent += 1,
            Step::Failed(failure) => {
                let failure = failure.to_string();
                assert!(failure.starts_with("the authorization takes too many"), "{failure}");
                break;
            }
            step => panic!("{step:?}"),
        }
    }
    assert_eq!(sent, 12);
}

#[test]
fn auth_93_setups_show_no_secret() {
    let policy = Policy::new();
    let setup = Setup { clients: &[SECRET], grant: Grant::Enterprise(PROVIDER), policy, ..SETUP };
    assert!(!format!("{setup:?}").contains("secret"));
}
