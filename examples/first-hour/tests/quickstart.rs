//! The `quickstart` program.

use std::process::Command;

#[test]
fn quickstart_plays_its_conversation_to_the_end() {
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart")).output().unwrap();
    let (said, complained) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{said}{complained}");
    assert_eq!(complained, "");
    assert!(said.contains("Every response was as expected."), "{said}");
    let shown = |way| said.lines().filter(|line| line.starts_with(way)).count();
    assert!(
        said.contains(&format!("{} lines sent, {} received", shown("  → "), shown("  ← "))),
        "{said}"
    );
    assert!(!said.contains('\x1b'), "colours without a terminal");
}
