//! Many calls of one session at once, and code that panics.

use std::future::ready;
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::asynchronous::http::{Credentials, HttpOptions};

use crate::bodies::is_silent;
use crate::recorder::Recorder;
use crate::site::{Client, Site, call, in_session, limits, modern, modern_with, principal};

#[test]
fn b1_two_hundred_posts_at_once_to_a_session_all_get_a_response() {
    for max_in_flight in [Limits::new().max_in_flight, 10] {
        let site = Site::start(HttpOptions::new(), Limits { max_in_flight, ..limits() }, None);
        let session = site.open("2025-11-25");
        let mut clients: Vec<Client> = (0..200).map(|_| site.connect()).collect();
        for (id, client) in (2..).zip(&mut clients) {
            client.write(&call(&session, id, "slow"));
        }
        for client in &mut clients {
            assert_eq!(client.answer().text(), "done");
        }
    }
}

#[test]
fn b1_a_post_waits_for_a_place_and_a_cancellation_makes_one() {
    let limits = Limits { max_in_flight: 2, full_timeout: Duration::MAX, ..limits() };
    let site = Site::start(HttpOptions::new(), limits, None);
    let session = site.open("2025-11-25");
    let mut waiting = [2, 3].map(|id| site.begin(&call(&session, id, "silent")));
    // Until both have arrived.
    let mut third = site.begin(&call(&session, 4, "echo"));
    for client in &mut waiting {
        assert!(is_silent(client));
    }
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(site.send(&in_session(&session, cancel)).status, 202);
    assert_eq!(third.answer().text(), "done");
    drop(waiting);
    site.delete(&session);
}

#[test]
fn f9_a_handler_that_panics_ends_its_own_request() {
    let recorder = Recorder::default();
    let site = Site::start(HttpOptions::new(), limits(), Some(recorder.clone()));
    let session = site.open("2025-11-25");
    for tool in ["early", "late"] {
        for request in [modern(tool), call(&session, 7, tool)] {
            let answer = site.send(&request);
            assert!(answer.body.contains("-32603"), "{answer:?}");
        }
        assert_eq!(site.send(&modern("echo")).text(), "done");
        assert_eq!(site.send(&call(&session, 8, "echo")).text(), "done");
    }
    drop(site);
    let told = recorder.lines_with("panicked: ");
    assert_eq!(told[0], "7 ended: panicked: before there is a future");
    assert_eq!((told.len(), told[3].as_str()), (4, "7 ended: panicked: in the future"));
}

#[test]
fn f9_a_check_that_panics_refuses_its_own_request() {
    let options = HttpOptions::new().authorize(|credentials: Credentials| {
        assert!(credentials.token() != Some("bad"), "a broken check");
        ready(Ok(principal("somebody")))
    });
    let recorder = Recorder::default();
    let site = Site::start(options, limits(), Some(recorder.clone()));
    let mut bystander = site.begin(&modern("echo"));
    assert_eq!(bystander.answer().text(), "done");
    let mut client = site.begin(&modern_with("echo", &[("Authorization", "Bearer bad")]));
    assert_eq!(client.answer().status, 500);
    // On an existing connection, and on a new one.
    bystander.write(&modern("echo"));
    assert_eq!(bystander.answer().text(), "done");
    assert_eq!(site.send(&modern("echo")).text(), "done");
    drop(site);
    assert_eq!(recorder.lines_with("panicked"), ["other code panicked: a broken check"]);
    assert_eq!(recorder.lines_with("denied"), [""; 0]);
}
