//! The everything client against the everything server.

use std::process::{Command, Stdio};

const CLIENT: &str = env!("CARGO_BIN_EXE_everything-client");
const SERVER: &str = env!("CARGO_BIN_EXE_everything-server");

#[test]
fn the_tour_succeeds_in_both_eras() {
    for version in [None, Some("2025-11-25"), Some("2026-07-28")] {
        let mut command = Command::new(CLIENT);
        command
            .env_remove("MCP_CONFORMANCE_SCENARIO")
            .env_remove("MCP_CONFORMANCE_PROTOCOL_VERSION");
        command.envs(version.map(|version| ("MCP_CONFORMANCE_PROTOCOL_VERSION", version)));
        let output = command.args(["--", SERVER, "--stdio"]).output().expect("the client starts");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            output.status.success(),
            "{version:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let revision = version.unwrap_or("2026-07-28");
        assert_eq!(printed.lines().next(), Some(format!("protocol {revision}").as_str()));
        let succeeded = printed.lines().filter(|line| line.ends_with(": ok")).count();
        let failed: Vec<_> =
            printed.lines().skip(1).filter(|line| !line.ends_with(": ok")).collect();
        let expected = [
            "tools/call test_error_handling: failed (isError)",
            "tools/call failing_job: failed (isError)",
            "tools/call protocol_error_job: error: The job ends with this error (code -32603)",
        ];
        assert_eq!(failed, expected);
        assert!(succeeded >= 44, "{printed}");
    }
}

#[test]
fn the_tour_ends_when_its_output_is_closed() {
    let mut client = Command::new(CLIENT)
        .args(["tour", "--", SERVER, "--stdio"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the client starts");
    drop(client.stdout.take());
    let output = client.wait_with_output().expect("the client ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("panicked"), "{errors}");
}

#[test]
fn an_unknown_scenario_is_an_error_that_names_it() {
    let output = Command::new(CLIENT)
        .args(["dance", "--", SERVER, "--stdio"])
        .output()
        .expect("the client starts");
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("unknown scenario `dance`")
    );
}
