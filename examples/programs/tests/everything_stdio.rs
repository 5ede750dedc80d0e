//! The everything server as a process with real pipes.

mod common;

use std::io::{Read as _, Write as _};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use common::{PATIENCE, SERVER, Server, call, ids, modern};

#[test]
fn stdio_07_exits_promptly_at_the_end_of_input() {
    let mut server = Server::start();
    let mut output = server.output();
    server.send(&call(1, "test_simple_text", json!({})));
    // Longer than the test waits.
    server.send(&call(2, "slow", json!({"seconds": 600})));
    assert_eq!(output.next()["id"], 1);
    let status = server.close();
    assert!(status.success(), "{status}");
    assert_eq!(output.rest(), Vec::<Value>::new(), "an unfinished request gets no response");
}

#[test]
fn stdio_07_exits_successfully_without_any_input() {
    let mut server = Server::start();
    let mut output = server.output();
    assert!(server.close().success());
    assert_eq!(output.rest(), Vec::<Value>::new());
}

#[test]
fn requests_before_the_end_of_input_get_responses() {
    let mut server = Server::start();
    let mut output = server.output();
    // More than a pipe holds, so the output must be read meanwhile.
    let mut input = server.input.take().unwrap();
    let writer = thread::spawn(move || {
        for id in 0..MANY {
            input
                .write_all(
                    format!("{}\n", call(id, "test_multiple_content_types", json!({}))).as_bytes(),
                )
                .unwrap();
        }
    });
    let answers = output.rest();
    writer.join().unwrap();
    assert!(server.wait().success());
    assert!(
        answers
            .iter()
            .map(|answer| &answer["id"])
            .eq((0..MANY).map(Value::from).collect::<Vec<_>>().iter())
    );
}

#[test]
fn stdio_10_a_last_line_without_a_newline_gets_a_response() {
    let mut server = Server::start();
    let mut output = server.output();
    server.write(call(1, "test_simple_text", json!({})).to_string().as_bytes());
    assert!(server.close().success());
    assert_eq!(ids(&output.rest()), [json!(1)]);
}

#[test]
fn stdio_10_noise_blank_lines_and_other_line_ends_are_tolerated() {
    let mut server = Server::start();
    let mut output = server.output();
    server.write(b"\n\r\n   \n");
    server.write(format!("{}\r\n", call(1, "test_simple_text", json!({}))).as_bytes());
    for noise in [
        &b"Listening on port 8080"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":7",
        b"\xff\xfe\x00",
        b"[[[[",
        b"42",
    ] {
        server.write(noise);
        server.write(b"\n");
    }
    server.send(&call(2, "test_simple_text", json!({})));
    assert!(server.close().success());
    let answers = output.rest();
    let results: Vec<&Value> = answers
        .iter()
        .filter(|answer| answer["result"].is_object())
        .map(|answer| &answer["id"])
        .collect();
    assert_eq!(results, [1, 2]);
    let codes: Vec<&Value> =
        answers.iter().filter_map(|answer| answer["error"].get("code")).collect();
    assert_eq!(codes, [-32700, -32700, -32700, -32700, -32600]);
}

#[test]
fn stdio_10_a_line_that_is_too_long_is_rejected_and_the_next_is_served() {
    let mut server = Server::start();
    let mut output = server.output();
    let mut input = server.input.take().unwrap();
    let writer = thread::spawn(move || {
        let long = json!({"value": "x".repeat(mcp_sansio_adapters::blocking::MAX_LINE)});
        for message in [call(1, "test_custom_header", long), call(2, "test_simple_text", json!({}))]
        {
            input.write_all(format!("{message}\n").as_bytes()).unwrap();
        }
    });
    let answers = output.rest();
    writer.join().unwrap();
    assert!(server.wait().success());
    assert_eq!(ids(&answers), [json!(1), json!(2)]);
    assert!(answers[0]["error"]["code"].is_i64(), "{}", answers[0]);
    assert!(answers[1]["result"].is_object(), "{}", answers[1]);
}

#[test]
fn stdio_01_stdio_02_stdout_carries_one_message_a_line_and_nothing_else() {
    let mut server = Server::start();
    let mut output = server.output();
    let text = "one\ntwo\r\nthree\u{2028}four\0";
    server.send(&modern(1, "server/discover", json!({})));
    server.send(&modern(2, "tools/list", json!({})));
    server.send(&call(3, "test_custom_header", json!({"value": text})));
    server.send(&modern(
        4,
        "prompts/get",
        json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": text, "arg2": text}}),
    ));
    server.send(&call(5, "no such tool\n", json!({})));
    server.write(b"not a message\n");
    for (id, tool) in
        (6..).zip(["test_error_handling", "test_logging_tool", "test_missing_capability"])
    {
        server.send(&call(id, tool, json!({})));
    }
    assert!(server.close().success());
    // Each line is parsed, so a newline inside a message would be detected.
    let answers = output.rest();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
    assert_eq!(answers.len(), 9);
    assert_eq!(answers[2]["result"]["content"][0]["text"], text);
}

#[test]
fn stdio_11_a_client_that_stops_reading_is_a_clean_end() {
    let mut server = Server::start();
    drop(server.output());
    // The pipe accepts bytes until the server detects the closed output.
    let line = format!("{}\n", call(1, "test_image_content", json!({})));
    let mut input = server.input.take().unwrap();
    let begun = Instant::now();
    while input.write_all(line.as_bytes()).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the server does not detect the closed output");
        thread::sleep(Duration::from_millis(1));
    }
    let status = server.wait();
    assert!(status.success(), "{status}");
    let mut complaint = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(complaint, "");
}

#[test]
fn stdio_11_a_running_job_detects_a_client_that_stops_reading() {
    let mut server = Server::start();
    let mut slow = modern(1, "tools/call", json!({"name": "slow", "arguments": {"seconds": 600}}));
    slow["params"]["_meta"]["progressToken"] = json!("token");
    server.send(&slow);
    drop(server.output());
    // Without input, the next progress report fails first.
    let status = server.wait();
    assert!(status.success(), "{status}");
}

#[test]
fn jobs_continue_without_input() {
    let mut server = Server::start();
    let mut output = server.output();
    let begun = Instant::now();
    let mut slow = modern(1, "tools/call", json!({"name": "slow", "arguments": {"seconds": 0.45}}));
    slow["params"]["_meta"]["progressToken"] = json!("token");
    server.send(&slow);
    let mut reports = Vec::new();
    let answer = loop {
        let message = output.next();
        if message["method"] != "notifications/progress" {
            break message;
        }
        reports.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert!(answer["result"].is_object(), "{answer}");
    assert!(reports.len() >= 3, "{reports:?}");
    assert!(reports.is_sorted_by(|one, next| one < next), "{reports:?}");
    assert!(begun.elapsed() >= Duration::from_millis(450), "{:?}", begun.elapsed());
    assert!(server.close().success());
}

#[test]
fn requests_are_served_while_jobs_run_and_cancelled_ones_get_no_response() {
    let mut server = Server::start();
    let mut output = server.output();
    // At once, so that the server has the last one before the first job has ended.
    let messages = [
        call(1, "slow", json!({"seconds": 0.5})),
        call(2, "slow", json!({"seconds": 0.4})),
        call(3, "test_simple_text", json!({})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}),
    ];
    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    server.write(lines.as_bytes());
    assert_eq!([output.next(), output.next()].map(|answer| answer["id"].clone()), [3, 1]);
    assert!(server.close().success());
    assert_eq!(output.rest(), Vec::<Value>::new());
}

#[test]
fn unknown_options_are_reported_on_stderr() {
    for arguments in [&["--socket"][..], &[], &["--stdio", "--loud"]] {
        let output = Command::new(SERVER).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("everything-server: "));
        assert_eq!(said.contains("\nUsage: "), arguments.is_empty(), "{said}");
    }
    let output = Command::new(SERVER).arg("--help").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("--stdio"));
}

/// More responses than a pipe holds.
const MANY: u32 = 1000;
