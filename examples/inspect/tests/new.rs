//! `inspect new`: what it writes. The step `new` of `.ci/steps` builds it; `templates/main.rs` is a
//! test of this package, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const INSPECT: &str = env!("CARGO_BIN_EXE_inspect");

/// Runs `inspect new WORDS` in this directory.
fn new(directory: &Path, words: &[&str]) -> (String, bool) {
    let output = Command::new(INSPECT).arg("new").args(words).current_dir(directory).output();
    let output = output.expect("inspect starts");
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).expect("UTF-8"), output.status.success())
}

/// Returns an empty directory.
fn empty(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    directory
}

#[test]
fn a_project_has_its_name_and_the_source_of_the_readme() {
    let here = empty("new-project");
    let (said, succeeds) = new(&here, &["my-notes"]);
    assert!(succeeds && said.contains("cd my-notes && cargo test"), "{said}");
    let read = |file| fs::read_to_string(here.join("my-notes").join(file)).expect("a file");
    let manifest = read("Cargo.toml");
    assert!(manifest.starts_with("[package]\nname = \"my-notes\"\n"), "{manifest}");
    // As the README has them.
    let readme = include_str!("../../../README.md");
    for line in manifest.lines().filter(|line| line.contains("git = ")) {
        let start = line.trim_end_matches(" }");
        assert!(readme.contains(&format!("\n{start}")), "README.md has no line {start}");
    }
    assert!(read("README.md").contains("inspect config target/debug/my-notes\n"));
    assert!(read("src/main.rs").contains("fn main()"));
    assert_eq!(read(".gitignore"), "/target\n");
}

#[test]
fn a_project_may_depend_on_a_checkout() {
    let here = empty("new-with-path");
    let (said, succeeds) =
        new(&here, &["--path", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), "notes"]);
    assert!(succeeds, "{said}");
    let manifest = fs::read_to_string(here.join("notes/Cargo.toml")).expect("a manifest");
    let paths: Vec<_> =
        manifest.lines().filter_map(|line| line.split_once(" = { path = \"")).collect();
    assert!(!manifest.contains("git = ") && paths.len() == 2, "{manifest}");
    for (package, path) in paths {
        let path = Path::new(path.split('"').next().expect("a path"));
        let theirs = fs::read_to_string(path.join("Cargo.toml")).expect("its manifest");
        assert!(path.is_absolute() && theirs.contains(&format!("name = \"{package}\"")));
    }
}

#[test]
fn nothing_is_overwritten_and_names_are_those_of_packages() {
    let here = empty("new-refused");
    fs::create_dir(here.join("notes")).expect("a directory");
    for (words, why) in [
        (&["notes"][..], "notes exists: choose another name"),
        (&["2notes"], "begins with a letter"),
        (&["my notes"], "letters, digits"),
        (&[".."], "letters, digits"),
        (&["build"], "Cargo has a directory of this name"),
        (&["a", "b"], "unexpected argument"),
        (&["--path", ".", "other"], "no checkout"),
        (&[], "takes the name"),
    ] {
        let (said, succeeds) = new(&here, words);
        assert!(!succeeds && said.contains(why), "{words:?}: {said}");
    }
    let entries = fs::read_dir(&here).expect("a directory").count();
    let inside = fs::read_dir(here.join("notes")).expect("a directory").count();
    assert_eq!((entries, inside), (1, 0));
}
