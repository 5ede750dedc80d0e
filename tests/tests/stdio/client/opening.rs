//! Connecting.

use super::*;
use mcp_sansio::{Era, Revision, Revisions};
#[cfg(unix)]
use mcp_sansio_adapters::blocking::client::PolledStreams;
use mcp_sansio_adapters::blocking::client::Transport as _;

#[test]
fn a_server_is_started_called_and_stopped() {
    let mut client = connect("");
    let connected = client.connected().unwrap();
    assert_eq!((client.era(), connected.revision), (Some(Era::Modern), Revision::LATEST));
    let result = connected.result.as_ref().unwrap().as_json();
    assert!(result.get("supportedVersions").is_some());
    let answer = trick(&mut client, "echo", &json!({"city": "Łódź"})).unwrap();
    assert_eq!(data(&answer), json!({"city": "Łódź"}));
    assert!(client.close().unwrap().status.unwrap().success());
}

#[test]
fn ver_13_a_server_that_does_not_know_the_probe_is_greeted_on_the_same_process() {
    let (client, notes) = connect_noting(&CONFIG, "legacy");
    let mut client = client.unwrap();
    let revision = client.connected().unwrap().revision;
    assert_eq!((client.era(), revision), (Some(Era::Legacy), Revision::V2025_11_25));
    let heard = heard(&mut client);
    assert!(heard[0].contains("server/discover") && heard[1].contains("initialize"), "{heard:?}");
    assert_eq!(noted(&notes, "> "), heard.len());
}

#[test]
fn ver_13_a_server_that_ends_over_the_probe_is_started_once_more_and_greeted() {
    let (client, notes) = connect_noting(&CONFIG, "exits-on-probe");
    let mut client = client.unwrap();
    assert_eq!(client.era(), Some(Era::Legacy));
    // The second process received none of the messages of the first attempt.
    assert!(heard(&mut client)[0].contains("initialize"));
    assert_eq!((noted(&notes, "server/discover"), noted(&notes, "\"initialize\"")), (1, 1));
    // The era is kept: the client does not probe again.
    client.reconnect().unwrap();
    assert_eq!((noted(&notes, "server/discover"), noted(&notes, "\"initialize\"")), (1, 2));
}

#[test]
fn the_error_for_a_server_that_always_exits_has_its_standard_error() {
    let error = Client::spawn(&CONFIG, server("always-exits")).unwrap_err();
    let Error::Closed(ended) = &error else { panic!("{error}") };
    assert_eq!(ended.status.unwrap().code(), Some(1));
    let said = format!("{SERVER} always-exits` has ended ({})", ended.status.unwrap());
    assert!(error.to_string().contains(&said), "{error}");
}

#[test]
fn what_cannot_be_started_is_named() {
    let error = Client::spawn(&CONFIG, Command::new("./no-such-server")).unwrap_err();
    let Error::Start { server, .. } = &error else { panic!("{error}") };
    assert_eq!(server, "./no-such-server");
    assert!(error.to_string().contains("no such program: give its path"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    let error = Client::spawn(&CONFIG, Command::new("/")).unwrap_err();
    assert!(error.to_string().starts_with("cannot start `/`: "), "{error}");
    assert!(!error.to_string().contains("no such program"), "{error}");
}

#[test]
fn a_process_is_known_while_it_runs() {
    let mut process = Process::new(server(""));
    assert_eq!((process.id(), process.stderr_lines().is_some()), (None, false));
    process.open().unwrap();
    let id = process.id().expect("it runs");
    process.open().unwrap();
    assert_eq!((process.id(), process.stderr_lines().is_some()), (Some(id), true));
    assert_ne!(id, std::process::id());
    process.close().unwrap();
    assert_eq!((process.id(), process.stderr_lines().is_some()), (None, false));
    let done = process.transfer(b"12", &mut [0; 9], None).unwrap();
    assert_eq!((done.written, done.read, done.ended), (2, 0, true));
}

#[cfg(unix)]
#[test]
fn streams_are_opened_once() {
    let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut streams = PolledStreams::new("lab", ours.try_clone().unwrap(), ours).unwrap();
    assert_eq!(streams.name(), "lab");
    streams.open().unwrap();
    std::io::Write::write_all(&mut theirs, b"hello").unwrap();
    let mut into = [0; 9];
    let done = streams.transfer(b"12", &mut into, None).unwrap();
    assert_eq!((done.written, done.read, done.ended), (2, 0, false));
    let done = streams.transfer(b"", &mut into, None).unwrap();
    assert_eq!((done.written, &into[..done.read], done.ended), (0, &b"hello"[..], false));
    assert_eq!(streams.close().unwrap().server, "lab");
    assert!(streams.transfer(b"", &mut into, Some(Duration::ZERO)).unwrap().ended);
    assert_eq!(streams.open().unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    std::io::Read::read_to_end(&mut theirs, &mut Vec::new()).unwrap();
}

#[test]
fn time_05_life_17_initialize_is_never_cancelled() {
    static SHORT: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::NONE)
            .probe_timeout(Duration::from_millis(50))
            .call_timeout(Duration::from_millis(200));
    let (client, notes) = connect_noting(&SHORT, "silent");
    let error = client.unwrap_err();
    // Its input was closed, and it exited with status 0.
    let Error::ConnectFailed { ended, .. } = &error else { panic!("{error}") };
    assert!(ended.status.unwrap().success());
    assert!(error.to_string().contains("did not respond in time"), "{error}");
    assert_eq!((noted(&notes, "initialize"), noted(&notes, "cancelled")), (1, 0));
}

#[test]
fn life_12_a_server_without_a_common_revision_is_disconnected() {
    static OLD: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::NONE)
            .revisions(Revisions::only(Revision::V2024_11_05));
    let error = Client::spawn(&OLD, server("legacy")).unwrap_err();
    let Error::ConnectFailed { ended, .. } = &error else { panic!("{error}") };
    assert!(ended.status.unwrap().success());
    assert!(error.to_string().contains("2025-11-25"), "{error}");
}

#[test]
fn a_client_can_be_sent_to_another_thread() {
    let mut client = connect("");
    let thread = std::thread::spawn(move || trick(&mut client, "echo", &json!({"n": 1})).unwrap());
    assert_eq!(data(&thread.join().unwrap()), json!({"n": 1}));
}

#[test]
fn root_01_a_legacy_server_is_told_that_the_roots_have_changed() {
    static ROOTS: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::ROOTS_LIST_CHANGED)
            .call_timeout(Duration::from_secs(30));
    let (client, notes) = connect_noting(&ROOTS, "legacy");
    client.unwrap().roots_changed().unwrap();
    let changed = r#"> {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    assert_eq!(noted(&notes, changed), 1);
}
