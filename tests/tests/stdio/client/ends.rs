//! Ends of server processes.

use super::*;
use mcp_sansio::types::{LoggingLevel, SubscriptionFilter, Text};
use mcp_sansio_adapters::blocking::client::Shutdown;

/// Configuration with short timeouts.
fn stubborn(command: Command) -> Process {
    process(command, [Duration::from_millis(200); 2])
}

#[test]
fn stdio_05_stdio_06_a_server_that_exits_at_the_end_of_its_input_is_not_killed() {
    let ended = connect("").close().unwrap();
    assert_eq!(ended.how, Shutdown::Graceful);
    assert!(ended.status.unwrap().success());
}

#[cfg(unix)]
#[test]
fn stdio_05_a_server_that_ignores_the_end_of_its_input_is_terminated() {
    use std::os::unix::process::ExitStatusExt as _;
    let client = Connector::new(&CONFIG)
        .connect(process(server("deaf"), [Duration::from_millis(200), LONG]))
        .unwrap();
    let ended = client.close().unwrap();
    assert_eq!((ended.how, ended.status.unwrap().signal()), (Shutdown::Terminated, Some(15)));
}

#[cfg(unix)]
#[test]
fn stdio_05_stdio_06_a_server_that_ignores_sigterm_too_is_killed() {
    use std::os::unix::process::ExitStatusExt as _;
    // Ignored signals stay ignored after `exec`.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' TERM; exec \"$0\" deaf", SERVER]);
    let client = Connector::new(&CONFIG).connect(stubborn(command)).unwrap();
    let ended = client.close().unwrap();
    assert_eq!((ended.how, ended.status.unwrap().signal()), (Shutdown::Killed, Some(9)));
}

/// Windows has no SIGTERM.
#[cfg(windows)]
#[test]
fn stdio_05_stdio_06_a_server_that_ignores_the_end_of_its_input_is_killed() {
    let client = Connector::new(&CONFIG).connect(stubborn(server("deaf"))).unwrap();
    let ended = client.close().unwrap();
    assert_eq!((ended.how, ended.status.unwrap().code()), (Shutdown::Killed, Some(1)));
}

/// The system keeps no status then.
#[cfg(unix)]
#[test]
fn stdio_05_where_a_program_ignores_sigchld_its_servers_end_without_a_status() {
    // Ignored signals stay ignored after `exec`. Other shells do not ignore this one.
    let ended = Command::new("bash")
        .args(["-c", "trap '' CHLD; exec \"$0\" --ignored --exact client::ends::ignores_sigchld"])
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[cfg(unix)]
#[test]
#[ignore = "is a process that another test starts"]
fn ignores_sigchld() {
    let ended = connect("").close().unwrap();
    assert_eq!((ended.how, ended.status), (Shutdown::Graceful, None));
    let mut client = connect("");
    let Error::Closed(ended) = trick(&mut client, "die", &json!({})).unwrap_err() else { panic!() };
    assert_eq!((ended.how, ended.status), (Shutdown::Graceful, None));
    assert_eq!(ended.stderr, ["out of cheese"]);
    let stubborn = Connector::new(&CONFIG).connect(stubborn(server("deaf"))).unwrap();
    assert_eq!(stubborn.close().unwrap().how, Shutdown::Terminated);
}

#[cfg(unix)]
#[test]
fn stdio_05_dropping_a_client_ends_its_server() {
    let mut client = Connector::new(&CONFIG).connect(stubborn(server("deaf"))).unwrap();
    let id = data(&trick(&mut client, "pid", &json!({})).unwrap()).to_string();
    drop(client);
    assert!(!Command::new("kill").args(["-0", &id]).output().unwrap().status.success());
}

#[test]
fn stdio_11_tol_03_a_server_that_dies_ends_all_calls_with_its_status_and_last_words() {
    let mut client = connect("");
    let waiting = start(&mut client, "mute", &json!({}), CallOptions::new());
    let error = trick(&mut client, "die", &json!({})).unwrap_err();
    let Error::Closed(ended) = &error else { panic!("{error}") };
    assert_eq!(ended.status.unwrap().code(), Some(7));
    assert_eq!(ended.stderr, ["out of cheese"]);
    let said = format!(
        "has ended ({}); the last lines of its standard error:\n  out of cheese",
        ended.status.unwrap()
    );
    assert!(error.to_string().ends_with(&said), "{error}");
    assert!(matches!(client.wait(waiting), Err(Error::Closed(_))));
    assert!(matches!(trick(&mut client, "echo", &json!({})), Err(Error::Closed(_))));
    assert_eq!(client.close().unwrap().status.unwrap().code(), Some(7));
}

#[test]
fn stdio_11_tol_03_a_server_that_is_killed_ends_all_calls() {
    let mut client = connect("");
    let id = data(&trick(&mut client, "pid", &json!({})).unwrap()).to_string();
    let calls = [0, 1].map(|_| start(&mut client, "mute", &json!({}), CallOptions::new()));
    client.run_for(Duration::ZERO).unwrap();
    let mut kill = Command::new(if cfg!(windows) { "taskkill" } else { "kill" });
    kill.args(if cfg!(windows) { &["/F", "/PID"][..] } else { &["-9"] }).arg(id);
    assert!(kill.output().unwrap().status.success());
    for call in calls {
        let error = client.wait(call).unwrap_err();
        let Error::Closed(ended) = &error else { panic!("{error}") };
        assert!(cfg!(windows) || ended.status.unwrap().code().is_none(), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn stdio_11_tol_03_a_server_that_closes_its_output_ends_the_calls_and_is_ended() {
    let mut client = connect_script("read call; exec >&-; cat >/dev/null; exit 5");
    let error = trick(&mut client, "echo", &json!({})).unwrap_err();
    let Error::Closed(ended) = &error else { panic!("{error}") };
    assert_eq!(ended.status.unwrap().code(), Some(5));
}

/// Connects to a server that responds to the probe, whose id is 1, and goes on with this script.
#[cfg(unix)]
fn connect_script(script: &str) -> Client<'static> {
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}}"#;
    let mut command = Command::new("sh");
    command.args(["-c", &format!("read probe; echo '{found}'; {script}")]);
    Client::spawn(&CONFIG, command).unwrap()
}

#[cfg(unix)]
#[test]
fn responses_arrive_from_a_server_that_stopped_reading() {
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"resultType":"complete"}}"#;
    let mut client = connect_script(&format!("read call; exec <&-; sleep 0.3; echo '{answer}'"));
    let first = start(&mut client, "echo", &json!({}), CallOptions::new());
    client.run_for(Duration::from_millis(100)).unwrap();
    let much = json!({"much": "x".repeat(1 << 20)});
    let second = start(&mut client, "echo", &much, CallOptions::new());
    client.wait(first).unwrap();
    let error = client.wait(second).unwrap_err();
    assert!(matches!(&error, Error::Closed(it) if it.status.unwrap().success()), "{error}");
}

#[test]
fn stdio_08_sub_11_a_server_that_died_is_started_again_and_listened_to_again() {
    let notes = Notes::default();
    let mut client = Connector::new(&CONFIG)
        .handler(Listener(Arc::clone(&notes)))
        .connect(Process::new(server("")))
        .unwrap();
    let listen = client.listen(&SubscriptionFilter::new().tools_list_changed(true)).unwrap();
    trick(&mut client, "echo", &json!({})).unwrap();
    assert_eq!((noted(&notes, "true Listening"), noted(&notes, "true Changed")), (1, 1));
    assert!(trick(&mut client, "die", &json!({})).is_err());
    client.reconnect().unwrap();
    let heard = data(&trick(&mut client, "heard", &json!({})).unwrap()).to_string();
    assert!(heard.contains("subscriptions/listen") && !heard.contains("die"), "{heard}");
    assert_eq!((noted(&notes, "true Listening"), noted(&notes, "true Changed")), (2, 2));
    assert!(client.cancel(listen, None).unwrap());
}

#[test]
fn stdio_08_a_restarted_legacy_server_gets_its_session_state_again() {
    let mut client = connect("legacy");
    client.set_log_level(LoggingLevel::Warning).unwrap();
    let listens = ["a:1", "a:2"].map(|uri| {
        let uris = [Text::new(uri)];
        client.listen(&SubscriptionFilter::new().resource_subscriptions(&uris)).unwrap()
    });
    assert!(client.cancel(listens[1], None).unwrap());
    assert!(trick(&mut client, "die", &json!({})).is_err());
    client.reconnect().unwrap();
    let heard = heard(&mut client);
    let heard: Vec<Value> = heard.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "tools/call",
    ];
    assert!(heard.iter().map(|message| &message["method"]).eq(&expected), "{heard:?}");
    assert_eq!(heard[2]["params"]["level"], "warning");
    assert_eq!(heard[3]["params"]["uri"], "a:1");
}
