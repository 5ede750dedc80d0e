//! `serial-bridge` between a client and a board: on a pseudo-terminal, on TCP, on a Unix socket.
#![cfg(unix)]

mod bridge;
mod device;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::LineChecksum;
use serde_json::{Value, json};

use bridge::{Bridge, Socket, error, meta, scratch, text};
use device::Board;

#[test]
fn a_client_on_stdio_talks_with_a_board_in_both_eras() {
    let socket = Socket::new("eras");
    let board = Board::on(socket.plug());
    let log = scratch("eras.log");
    let mut client = Bridge::start(&["--log", log.to_str().unwrap(), socket.path()]);
    assert_eq!(
        client.modern("server/discover", json!({}))["result"]["supportedVersions"][0],
        "2026-07-28"
    );
    assert_eq!(
        text(
            &client
                .modern("tools/call", json!({"name": "echo", "arguments": {"text": "é\n\"x\""}}))
        ),
        "é\n\"x\""
    );
    assert_eq!(client.initialize()["result"]["serverInfo"]["name"], "board");
    board.hears("initialized");
    // A request of the board takes the reverse way.
    client.begin("tools/call", json!({"name": "ask"}));
    let question = client.receive();
    assert_eq!(question["method"], "roots/list");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    assert_eq!(text(&client.receive()), r#"{"roots":[]}"#);
    // So does a cancellation.
    let slow = client.begin("tools/call", json!({"name": "slow"}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}}));
    board.hears("cancelled");
    assert!(client.close().success());
    board.hears("shutdown");

    let log_text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let signs: Vec<_> =
        log_text.lines().skip(1).map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert!(
        log_text
            .lines()
            .skip(1)
            .all(|line| line.as_bytes()[10] == b'T' && line.as_bytes()[23] == b'Z'),
        "{log_text}"
    );
    for (sign, what) in [
        ("#", "is ready"),
        (">", "server/discover"),
        ("<", "supportedVersions"),
        (">", r#"{"roots":[]}"#),
    ] {
        let found = log_text
            .lines()
            .any(|line| line.contains(&format!("Z {sign} ")) && line.contains(what));
        assert!(found, "{sign} {what} in {log_text}");
    }
    assert!(signs.len() > 12 && client.errors().contains("is ready"), "{log_text}");
}

#[test]
fn a_board_that_is_replugged_gets_its_session_back() {
    let socket = Socket::new("pull");
    let board = Board::on(socket.plug());
    let mut client = Bridge::start(&["--patience", "10", socket.path()]);
    client.initialize();
    assert_eq!(client.ask("logging/setLevel", json!({"level": "error"}))["result"], json!({}));
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "board://a"}))["result"], json!({}));
    let slow = client.begin("tools/call", json!({"name": "slow"}));
    board.hears("slow");
    // Within a message, and not before the bridge has read it.
    board.say(b"in the middle\n{\"jsonrpc\":\"2.0\",\"id\":4,\"res");
    client.says("device: in the middle");
    drop(board);
    socket.unplug();
    let lost = client.receive();
    assert_eq!(lost["id"], slow);
    assert!(error(&lost).contains("was disconnected while it processed this request"), "{lost}");
    assert!(error(&lost).contains("may have been carried out"), "{lost}");
    // The session continues, and a request waits.
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let waiting =
        client.begin("tools/call", json!({"name": "echo", "arguments": {"text": "back"}}));
    client.says("Is the device plugged in?");

    let board = Board::on(socket.plug());
    let changed = client.receive();
    assert_eq!(
        (&changed["method"], &changed["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("board://a"))
    );
    let answer = client.receive();
    assert_eq!((text(&answer), &answer["id"]), ("back", &json!(waiting)));
    assert_eq!(
        board.told(),
        ["initialize 2025-06-18", "initialized", "level Error", "subscribed board://a"]
    );
    client.says("the server had lost its session: session restored");
}

#[test]
fn requests_fail_when_the_board_is_away_too_long() {
    let socket = Socket::new("away");
    let board = Board::on(socket.plug());
    let mut client = Bridge::start(&["--patience", "0.2", socket.path()]);
    client.initialize();
    board.hears("initialized");
    drop(board);
    socket.unplug();
    client.says("Is the device plugged in?");
    // The first may wait for the rest of the time.
    for _ in 0..2 {
        let refused = client.call("echo", json!({}));
        assert!(
            error(&refused)
                .contains(&format!("{} does not exist. Is the device plugged in?", socket.path())),
            "{refused}"
        );
    }
}

#[test]
fn a_board_that_is_plugged_in_later_or_boots_is_waited_for() {
    let socket = Socket::new("later");
    let mut client = Bridge::start(&["--wait", "10", socket.path()]);
    let discover = client.begin("server/discover", json!({"_meta": meta()}));
    client.says("Is the device plugged in?");
    // The port exists, but only a boot loader runs.
    let line = socket.plug();
    let boots = Board::dead(line.try_clone().unwrap());
    client.says("is open");
    boots.say(b"\x1b[0mrst:0x1 (POWERON)\r\nload \xff\xfe\n");
    client.says("device: \\u001b[0mrst:0x1 (POWERON)");
    // Discards what was sent meanwhile.
    rustix::termios::tcflush(&line, rustix::termios::QueueSelector::IOFlush).unwrap();
    let board = Board::on(line);
    let answer = client.receive();
    assert_eq!(
        (&answer["id"], &answer["result"]["supportedVersions"][0]),
        (&json!(discover), &json!("2026-07-28"))
    );
    drop(board);
}

#[test]
fn requests_without_a_response_end_with_the_reason() {
    let socket = Socket::new("vain");
    let mut client = Bridge::start(&["--wait", "0.3", socket.path()]);
    let refused = client.modern("server/discover", json!({}));
    assert!(error(&refused).contains("Is the device plugged in?"), "{refused}");
    // A line without a device.
    let _dead = Board::dead(socket.plug());
    client.says("is open");
    let refused = client.modern("server/discover", json!({}));
    assert!(
        error(&refused).contains("there is no response. Is an MCP server running on the device"),
        "{refused}"
    );

    for (place, why) in [
        ("/dev/null", "/dev/null is not a serial port"),
        ("tcp:127.0.0.1:1", "cannot connect to 127.0.0.1:1"),
    ] {
        let refused = Bridge::start(&["--wait", "0.3", place]).modern("server/discover", json!({}));
        assert!(error(&refused).contains(why), "{refused}");
    }
}

#[test]
fn two_bridges_do_not_share_a_port() {
    let socket = Socket::new("two");
    let _board = Board::on(socket.plug());
    let mut first = Bridge::start(&[socket.path()]);
    first.initialize();
    let mut second = Bridge::start(&["--wait", "0.3", socket.path()]);
    let refused = second.modern("server/discover", json!({}));
    assert!(
        error(&refused).contains("another program uses") && error(&refused).contains("close it"),
        "{refused}"
    );
    assert_eq!(text(&first.call("echo", json!({"text": "mine"}))), "mine");
    // The second bridge gets the port when the first has ended.
    assert!(first.close().success());
    second.says("is ready");
    assert!(second.initialize()["result"].is_object());
}

#[test]
fn noise_never_reaches_the_client() {
    let socket = Socket::new("noise");
    let board = Board::on(socket.plug());
    let mut client = Bridge::start(&["--log", "-", socket.path()]);
    client.initialize();
    for noise in [
        &b"I (312) wifi: up\r\n"[..],
        b"{\"level\":\"info\"}\n",
        b"\n\n",
        b"\x00\xff\x80\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\n",
    ] {
        board.say(noise);
    }
    board.say(b"panicked at main.rs ");
    board.say(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    for said in [
        "~ I (312) wifi: up",
        "~ {\"level\":\"info\"}",
        "~ panicked at main.rs ",
        "~ \\u0000\u{fffd}",
    ] {
        client.says(said);
    }
    assert_eq!(text(&client.call("echo", json!({"text": "x"}))), "x");
}

#[test]
fn the_session_of_a_killed_client_is_ended() {
    let socket = Socket::new("behind");
    let board = Board::on(socket.plug());
    let mut killed = Bridge::start(&[socket.path()]);
    killed.initialize();
    board.hears("initialized");
    drop(killed);
    let mut client = Bridge::start(&[socket.path()]);
    assert!(client.initialize()["result"].is_object());
    assert_eq!(text(&client.call("echo", json!({"text": "x"}))), "x");
    board.hears("shutdown");
}

#[test]
fn the_end_of_a_client_cancels_its_requests() {
    let socket = Socket::new("ends");
    let board = Board::on(socket.plug());
    let mut client = Bridge::start(&["--linger", "0.1", socket.path()]);
    client.initialize();
    client.begin("tools/call", json!({"name": "slow"}));
    assert!(client.close().success());
    board.hears("cancelled");
}

#[test]
fn lines_with_checksums_come_whole_or_not_at_all() {
    let checked = |line: &str| {
        let mut checksum = LineChecksum::new();
        line.bytes().for_each(|byte| checksum.add(byte));
        [line.as_bytes(), &checksum.end()].concat()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp:{}", listener.local_addr().unwrap());
    let mut client = Bridge::start(&["--checksum", &place]);
    let mut device = listener.accept().unwrap().0;
    let lines = BufReader::new(device.try_clone().unwrap()).lines().map_while(Result::ok);
    let board = thread::spawn(move || {
        // An empty line ends what came before.
        for line in lines.filter(|line| line != "\t00000000") {
            let (message, _) = line.rsplit_once('\t').unwrap();
            assert_eq!(format!("{line}\n").as_bytes(), checked(message));
            let asked: Value = serde_json::from_str(message).unwrap();
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).to_string();
            // It would be another valid message.
            let spoiled = String::from_utf8(checked(&answer)).unwrap().replace("{}", "{\"a\":1}");
            device.write_all(&[spoiled.into_bytes(), checked(&answer)].concat()).unwrap();
        }
    });
    for _ in 0..3 {
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    }
    client.says("{\"a\":1}");
    assert!(client.close().success());
    board.join().unwrap();
}

#[test]
fn a_socket_is_a_line_like_any_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp:{}", listener.local_addr().unwrap());
    let mut client = Bridge::start(&["--patience", "10", &place]);
    let board = Board::on(listener.accept().unwrap().0.into());
    // The modern era has no session to restore; subscriptions end.
    let listen =
        client.begin("subscriptions/listen", json!({"notifications": {}, "_meta": meta()}));
    assert_eq!(client.receive()["method"], "notifications/subscriptions/acknowledged");
    board.hang_up();
    drop(board);
    let ended = client.receive();
    assert_eq!(ended["id"], listen);
    assert!(error(&ended).contains("the line was closed"), "{ended}");
    let board = Board::on(listener.accept().unwrap().0.into());
    assert_eq!(
        text(&client.modern("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}))),
        "x"
    );
    assert_eq!(board.told(), [""; 0]);

    let path = scratch("socket");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let mut client = Bridge::start(&[&format!("unix:{}", path.display())]);
    let _board = Board::on(listener.accept().unwrap().0.into());
    assert!(client.initialize()["result"].is_object());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_line_that_is_too_long_ends_its_request_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = Bridge::start(&[&format!("tcp:{}", listener.local_addr().unwrap())]);
    let board = Board::on(listener.accept().unwrap().0.into());
    client.initialize();
    let slow = client.begin("tools/call", json!({"name": "slow"}));
    board.hears("slow");
    board.say(format!("{{\"jsonrpc\":\"2.0\",\"id\":{slow},\"result\":{{\"text\":\"").as_bytes());
    for _ in 0..17 {
        board.say(&vec![b'x'; 1 << 20]);
    }
    board.say(b"\"}}\n");
    let refused = client.receive();
    assert_eq!(refused["id"], slow);
    assert!(error(&refused).contains("Invalid response of the server"), "{refused}");
    // From the client to the board.
    let long = "x".repeat(17 << 20);
    let refused = client.call("echo", json!({"text": long}));
    assert!(error(&refused).contains("longer than"), "{refused}");
    assert_eq!(text(&client.call("echo", json!({"text": "x"}))), "x");
}

#[test]
fn a_shell_can_send_a_single_request() {
    let socket = Socket::new("shell");
    let _board = Board::on(socket.plug());
    let mut client = Bridge::start(&["--linger", "10", socket.path()]);
    client.begin("ping", json!({}));
    assert!(client.close().success());
    assert_eq!(client.receive()["result"], json!({}));
}

#[test]
fn help_and_errors_explain_the_command_line() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_serial-bridge"));
        let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, help, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    for part in ["usage: serial-bridge", "mcpServers", "examples\n", "--baud", "/dev/serial/by-id"]
    {
        assert!(help.contains(part), "{part}");
    }
    let (code, out, errors) = run(&[]);
    assert!(
        code == Some(2)
            && out.is_empty()
            && errors.contains("missing device. ")
            && errors.contains("--help"),
        "{errors}"
    );
    let (code, _, errors) = run(&["--log", "/no/such/place", "/dev/ttyACM0"]);
    assert!(code == Some(2) && errors.contains("--log /no/such/place: "), "{errors}");
}

/// Waits until a condition holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
