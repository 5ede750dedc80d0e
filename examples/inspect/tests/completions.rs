//! `inspect completions bash` in the shell itself.
#![cfg(unix)]

use std::process::Command;

/// Returns what bash offers in place of the last of these words.
fn offered(words: &[&str]) -> String {
    const SCRIPT: &str = r#"
        source /dev/stdin <<<"$("$0" completions bash)"
        COMP_WORDS=("$0" "$@") COMP_CWORD=$#
        _inspect "$0"
        complete -p inspect
        echo "${COMPREPLY[*]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", SCRIPT, env!("CARGO_BIN_EXE_inspect")]);
    let output = bash.args(words).output().expect("bash starts");
    let said = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
    let said = said.strip_prefix("complete -o default -F _inspect inspect\n");
    said.expect("the function is registered").trim_end().to_owned()
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    assert_eq!(offered(&["comp"]), "completions");
    assert_eq!(offered(&["completions", ""]), "bash fish zsh");
    assert_eq!(offered(&["call", "echo", "--de"]), "--detach");
    let hosts = "claude-code claude-desktop cursor goose vscode zed";
    assert_eq!(offered(&["config", "--host", ""]), hosts);
    // Names of files.
    assert_eq!(offered(&["config", ""]), "");
    assert_eq!(offered(&["tools", "--", "--he"]), "");
}
