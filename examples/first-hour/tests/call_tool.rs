//! `call-tool` with `echo-server`.

use std::process::Command;

#[test]
fn call_tool_lists_and_calls() {
    let echo = env!("CARGO_BIN_EXE_echo-server");
    let run = |words: [&str; 3]| {
        Command::new(env!("CARGO_BIN_EXE_call-tool")).args(words).output().unwrap()
    };
    let output = run(["echo", r#"{"text": "hello"}"#, echo]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "echo: Echoes the text\nhello\n");
    assert!(output.status.success());
    let output = run(["echo", "{}", "no-such-server"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success()
            && complaint.starts_with("Error: cannot start `no-such-server`: no such program"),
        "{complaint}"
    );
}
