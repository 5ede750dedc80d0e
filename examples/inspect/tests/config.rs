//! `inspect config`: what a person sees who pastes it.

use std::env::consts::EXE_SUFFIX;
use std::path::Path;
use std::process::Command;

const INSPECT: &str = env!("CARGO_BIN_EXE_inspect");

/// Runs `inspect config WORDS` in the directory of `inspect`.
fn config(words: &[&str]) -> (String, String, i32) {
    let directory = Path::new(INSPECT).parent().expect("a directory");
    let mut command = Command::new(INSPECT);
    let output = command.arg("config").args(words).current_dir(directory).output();
    let output = output.expect("inspect starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.code().expect("no signal"))
}

#[test]
fn all_hosts_are_printed_with_the_absolute_path() {
    let directory = Path::new(INSPECT).parent().expect("a directory");
    // The canonical form of Windows is one that few programs understand.
    let directory =
        if cfg!(windows) { std::path::absolute(directory) } else { directory.canonicalize() };
    let path = directory.expect("it exists").join(format!("inspect{EXE_SUFFIX}"));
    let path = path.to_str().expect("UTF-8");
    let json = path.replace('\\', r"\\");
    let (out, err, code) = config(&["deps/../inspect", "--stdio"]);
    assert_eq!(code, 0, "{err}");
    let count = out.lines().filter(|line| line.contains(path) || line.contains(&json)).count();
    assert_eq!(count, 7, "{out}");
    for title in
        ["# Claude Desktop: ", "# VS Code: .vscode/mcp.json\n\n{\n  \"servers\"", "\n  inspect:\n"]
    {
        assert!(out.contains(title), "{title}: {out}");
    }
}

#[test]
fn one_host_is_printed_with_another_name() {
    let (out, _, code) = config(&["--host", "cursor", "--name", "notes", "./inspect", "--", "-x"]);
    let (heading, block) = out.split_once("\n\n").expect("a heading");
    let block: serde_json::Value = serde_json::from_str(block).expect("JSON");
    assert!(code == 0 && heading.starts_with("# Cursor: "), "{out}");
    assert_eq!(block["mcpServers"]["notes"]["args"], serde_json::json!(["--", "-x"]));
    let (out, _, _) = config(&["--host", "claude-code", "http://127.0.0.1:8000/mcp"]);
    assert!(out.contains("claude mcp add --transport http 127-0-0-1 http://127.0.0.1:8000/mcp\n"));
    for (url, name) in [
        ("http://[fd00::1]:8000/mcp", "fd00--1"),
        ("http://[::1]:8000/mcp", "1"),
        ("https://ada:pw@notes.example/mcp", "notes-example"),
        ("https://notes.example?x=@other/mcp", "notes-example"),
    ] {
        let (out, _, _) = config(&["--host", "claude-code", url]);
        assert!(out.contains(&format!("--transport http {name} ")), "{out}");
    }
}

#[test]
fn a_program_is_found_as_a_shell_finds_it() {
    let (shell, end) = if cfg!(windows) { ("cmd", r"\\cmd.exe") } else { ("sh", "/sh") };
    let file = format!("inspect{EXE_SUFFIX}");
    let (out, err, code) = config(&["--host", "zed", shell, &file]);
    assert!(code == 0 && out.contains(&format!("{end}\"")), "{out}{err}");
    assert!(err.contains(&format!("{file} is a relative path")), "{err}");
}

#[test]
fn errors_say_what_to_do() {
    for (words, why) in [
        (&["./no-such-program"][..], "does not exist: build it first"),
        (&["no-such-program"], "write ./no-such-program"),
        (
            &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
            "is not executable: name its interpreter first",
        ),
        // Windows has no `deps.exe`.
        (&["./deps"], if cfg!(windows) { "does not exist" } else { "is a directory" }),
        (&[], "takes the program of a server"),
        (&["http://a/mcp", "x"], "no arguments after a URL"),
        (
            &["--host", "emacs", "./inspect"],
            "known are claude-desktop, claude-code, vscode, cursor",
        ),
        (&["--name", "my notes", "./inspect"], "only letters, digits"),
    ] {
        let (out, err, code) = config(words);
        assert!(code == 2 && out.is_empty() && err.contains(why), "{words:?}: {err}");
    }
}
