//! The client does not allocate: whole conversations of both eras with the server, on arrays, under
//! a counting allocator.

mod duo;

use allocation_counter::measure;
use duo::{Duo, Seen};
use mcp_sansio::types::LoggingLevel;
use mcp_sansio::{CallOptions, ClientConfig, Revision, Revisions, ServerConfig};

#[test]
fn a_clients_conversation_allocates_nothing() {
    for revision in Revisions::ALL.iter() {
        check::<8192>(revision);
    }
}

#[test]
fn neither_does_one_through_64_bytes() {
    for revision in Revisions::ALL.iter() {
        check::<64>(revision);
    }
}

fn check<const TX: usize>(revision: Revision) {
    let client: ClientConfig =
        duo::CLIENT.revisions(Revisions::only(revision).with(Revisions::MODERN));
    let server: ServerConfig = duo::SERVER.revisions(Revisions::only(revision));
    let mut duo = Duo::<TX>::new(&client, &server);
    let allocations = measure(|| talk(&mut duo, revision.is_modern()));
    assert_eq!(allocations.count_total, 0, "{revision}: {allocations:?}");
    // The conversation took place.
    let whole = u32::from(TX > 64);
    let mut expected = Seen {
        opened: 2,
        results: 9,
        errors: 2,
        progress: 3 * whole,
        logs: whole,
        timed_out: 1,
        closed: 1,
        changed: 2,
        violations: 3,
        ..Seen::default()
    };
    if revision.is_modern() {
        expected = Seen { rounds: 2, listening: 1, ended_by_server: 1, ..expected };
    } else {
        expected.asked = if revision >= Revision::V2025_06_18 { 3 } else { 2 };
    }
    assert_eq!(duo.seen, expected, "{revision}");
}

fn talk<const TX: usize>(duo: &mut Duo<'_, TX>, modern: bool) {
    duo.open();
    let plain = CallOptions::new();
    for (method, params) in [
        ("tools/list", "{}"),
        ("tools/call", r#"{"name":"echo","arguments":{"text":"wi\u0074h \"escapes\" é"}}"#),
        ("tools/call", r#"{"name":"image"}"#),
        ("resources/read", r#"{"uri":"m://1"}"#),
        ("prompts/get", r#"{"name":"greet","arguments":{"who":"you"}}"#),
        ("tools/call", r#"{"name":"fail"}"#),
        ("own/method", "{}"),
    ] {
        duo.request(method, params, plain);
    }
    duo.request(
        "tools/call",
        r#"{"name":"count"}"#,
        plain.progress(true).log_level(LoggingLevel::Debug),
    );
    for what in ["roots", "sampling", "elicitation"] {
        duo.ask(what, modern);
    }
    if modern {
        duo.listen();
    } else {
        duo.request("resources/subscribe", r#"{"uri":"m://1"}"#, plain);
        duo.request("ping", "{}", plain);
    }
    duo.publish();
    // Cancelled, timed out, or closed.
    duo.request("tools/call", r#"{"name":"slow"}"#, plain);
    duo.cancel();
    duo.request("tools/call", r#"{"name":"slow"}"#, plain);
    duo.pass_time();
    duo.noise();
    duo.request("tools/call", r#"{"name":"slow"}"#, plain);
    duo.close();
    duo.open();
    duo.request("tools/list", "{}", plain);
}
