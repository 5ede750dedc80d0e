//! What `call-tool` prints of a hostile server.

#[path = "../../tests/hostile.rs"]
mod hostile;

#[test]
fn t1_call_tool_prints_no_control_characters() {
    for mode in ["offer", "errors", "refuse", "mute", "end", "tell"] {
        assert!(
            hostile::run(mode, env!("CARGO_BIN_EXE_call-tool"), &["plain", "{}"])
                .contains("\\u009b"),
            "{mode}"
        );
    }
}
