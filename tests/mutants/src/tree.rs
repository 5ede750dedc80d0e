//! Copy of the repository with every mutant woven into the core and the adapters, and their tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cfg::Build;
use crate::find::{self, Mutant, Site};
use crate::weave::{self, Piece};

struct File {
    path: String,
    source: String,
    sites: Vec<Site>,
    mutants: Vec<Mutant>,
    /// Number of its first mutant.
    first: u32,
}

pub struct Tree {
    root: PathBuf,
    build: PathBuf,
    target: Option<String>,
    files: Vec<File>,
    pub mutants: Vec<Mutant>,
    /// Number of mutants in constants, which cannot be switched.
    pub constants: usize,
    /// Mutants that do not compile.
    pub out: BTreeSet<u32>,
}

/// A test program.
pub struct Program {
    pub path: PathBuf,
    /// The directory of its package, in which tests run.
    pub directory: PathBuf,
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Writes a file only if its contents differ, so that Cargo rebuilds only changed files.
fn write(path: &Path, content: &[u8]) {
    if std::fs::read(path).is_ok_and(|old| old == content) {
        return;
    }
    std::fs::create_dir_all(path.parent().expect("a file has a parent directory"))
        .expect("the directory can be created");
    std::fs::write(path, content).expect("the file can be written");
}

impl Tree {
    /// Copies the files of the repository at `from` that Git tracks or would add.
    pub fn copy(from: &Path, target: Option<String>, of: Build) -> Self {
        let root = from.join("target/mutants/tree");
        let listed = output(Command::new("git").current_dir(from).args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ]));
        let (mut files, mut absent, mut constants, mut copied) =
            (Vec::new(), Vec::new(), 0, BTreeSet::new());
        for path in listed.lines() {
            let Ok(content) = std::fs::read(from.join(path)) else { continue };
            copied.insert(root.join(path));
            if is_mutated(path) {
                let source = String::from_utf8(content).expect("UTF-8");
                let found = find::find(path, &source, of).unwrap_or_else(|e| panic!("{path}: {e}"));
                constants += found.constants;
                absent.extend(found.absent.iter().map(|module| module_at(path, module)));
                let (sites, mutants) = (found.sites, found.mutants);
                files.push(File { path: path.to_owned(), source, sites, mutants, first: 0 });
            } else if path == "Cargo.toml" {
                let text = String::from_utf8(content).expect("UTF-8");
                // Without the members among the examples.
                let is_kept = |member: &&str| !member.contains("examples/");
                let lines = text.lines().filter(|line| !line.starts_with("default-members"));
                let text: String = lines
                    .map(|line| match line.strip_prefix("members = [") {
                        Some(members) => {
                            let kept: Vec<&str> = members.split(", ").filter(is_kept).collect();
                            format!("members = [{}\n", kept.join(", "))
                        }
                        None => format!("{line}\n"),
                    })
                    .collect();
                write(
                    &root.join(path),
                    text.replace("exclude = [", "exclude = [\"examples\", \"tests/mutants\", ")
                        .as_bytes(),
                );
            } else if SOURCES.iter().any(|source| path == source.replace("src/", "Cargo.toml")) {
                let text = String::from_utf8(content).expect("UTF-8");
                write(&root.join(path), text.replace("[lints]\nworkspace = true\n", "").as_bytes());
            } else {
                write(&root.join(path), &content);
            }
        }
        let mut mutants = Vec::new();
        for file in &mut files {
            let is_in = |module: &String| {
                let rest = file.path.strip_prefix(module.as_str());
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            file.first = u32::try_from(mutants.len()).expect("few mutants");
            if absent.iter().any(is_in) {
                file.sites.clear();
            } else {
                mutants.append(&mut file.mutants);
            }
        }
        let switch = include_str!("switch.txt").replace("COUNT", &mutants.len().max(1).to_string());
        let mut kept = copied;
        kept.insert(root.join("core/src/mutants.rs"));
        write(&root.join("core/src/mutants.rs"), switch.as_bytes());
        for directory in ["core", "std-adapters", "tests"] {
            remove_others(&root.join(directory), &kept);
        }
        let build = from.join("target/mutants/build");
        Self { root, build, target, files, mutants, constants, out: BTreeSet::new() }
    }

    fn weave(&self) -> BTreeMap<String, Vec<Piece>> {
        let mut pieces = BTreeMap::new();
        for file in &self.files {
            let mutants = &self.mutants[file.first as usize..];
            let (mut woven, mut found) =
                weave::weave(&file.source, &file.sites, mutants, file.first, &self.out);
            if file.path.ends_with("/src/lib.rs") {
                let forbids = "#![forbid(unsafe_code)]\n#![deny(missing_docs)]\n";
                let (mut first, last) = match &*file.path {
                    "core/src/lib.rs" => (
                        format!("{ALLOWED}#![feature(core_intrinsics, const_eval_select)]\n"),
                        "extern crate std;\npub mod mutants;\n",
                    ),
                    _ => (ALLOWED.to_owned(), "use mcp_sansio::mutants;\n"),
                };
                let removed = if woven.contains(forbids) { forbids.len() } else { 0 };
                woven = woven.replacen(forbids, "", 1);
                found.iter_mut().for_each(|piece| {
                    let moved = |at: usize| at + first.len() - removed;
                    piece.range = moved(piece.range.start)..moved(piece.range.end);
                });
                first.push_str(&woven);
                woven = format!("{first}\n{last}");
            }
            write(&self.root.join(&file.path), woven.as_bytes());
            pieces.insert(file.path.clone(), found);
        }
        pieces
    }

    fn cargo(&self, arguments: &[&str]) -> (bool, Vec<Value>) {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.root).args(arguments).args([
            "--offline",
            "--quiet",
            "--message-format=json",
        ]);
        cargo.env("CARGO_TARGET_DIR", &self.build).env("RUSTC_BOOTSTRAP", "mcp_sansio");
        if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        if let Some(target) = &self.target {
            cargo.args(["--target", target]);
        }
        let output = cargo.stderr(std::process::Stdio::inherit()).output().expect("cargo");
        let lines = String::from_utf8(output.stdout).expect("UTF-8");
        (
            output.status.success(),
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        )
    }

    /// Weaves the mutants, and removes those that do not compile until the rest does.
    pub fn settle(&mut self) {
        let kept = self.build.join(format!("{}.out", self.target.as_deref().unwrap_or("here")));
        let known: BTreeSet<String> =
            std::fs::read_to_string(&kept).unwrap_or_default().lines().map(str::to_owned).collect();
        let key = |mutant: &Mutant| {
            format!("{}: {} in {}: {}", mutant.path, mutant.what, mutant.function, mutant.line)
        };
        self.out = (0..)
            .zip(&self.mutants)
            .filter(|(_, mutant)| known.contains(&key(mutant)))
            .map(|(id, _)| id)
            .collect();
        for round in 1.. {
            let pieces = self.weave();
            let (done, messages) =
                self.cargo(&[&["check"], &PACKAGES[..], &["--all-features"]].concat());
            if done {
                break;
            }
            let before = self.out.len();
            let mut unknown = String::new();
            for message in &messages {
                if message["reason"] != "compiler-message" || message["message"]["level"] != "error"
                {
                    continue;
                }
                if !self.leave_out(&message["message"], &pieces) {
                    unknown += message["message"]["rendered"].as_str().unwrap_or_default();
                }
            }
            eprintln!("round {round}: {} mutants do not compile", self.out.len());
            assert!(self.out.len() > before, "the woven source does not compile:\n{unknown}");
        }
        let lines: BTreeSet<String> =
            self.out.iter().map(|id| key(&self.mutants[*id as usize])).collect();
        write(&kept, lines.into_iter().collect::<Vec<_>>().join("\n").as_bytes());
    }

    /// Removes the mutants of the innermost piece around an error.
    fn leave_out(&mut self, message: &Value, pieces: &BTreeMap<String, Vec<Piece>>) -> bool {
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (primary, others): (Vec<_>, Vec<_>) =
            spans.iter().partition(|span| span["is_primary"] == true);
        for span in primary.into_iter().chain(others) {
            let (path, start) = (
                span["file_name"].as_str().unwrap_or_default(),
                span["byte_start"].as_u64().unwrap_or(0),
            );
            let end = span["byte_end"].as_u64().unwrap_or(0);
            let (start, end) = (start as usize, end as usize);
            let Some(pieces) = pieces.get(path) else { continue };
            let around =
                pieces.iter().filter(|piece| piece.range.start <= start && end <= piece.range.end);
            let innermost = around
                .filter(|piece| piece.mutants.iter().any(|id| !self.out.contains(id)))
                .min_by_key(|piece| piece.range.len());
            // No piece contains the error: take the nearest one.
            let alive = || {
                pieces.iter().filter(|piece| piece.mutants.iter().any(|id| !self.out.contains(id)))
            };
            let nearest = || {
                alive().min_by_key(|piece| {
                    piece.range.start.abs_diff(start).min(piece.range.end.abs_diff(end))
                })
            };
            if let Some(piece) = innermost.or_else(nearest) {
                self.out.extend(&piece.mutants);
                return true;
            }
        }
        false
    }

    /// Builds the tests of the packages with mutants, and of the tests crate.
    pub fn tests(&self) -> Vec<Program> {
        let tests = ["--package", "mcp-sansio-tests", "--all-features", "--lib", "--tests"];
        let (done, messages) = self.cargo(&[&["test", "--no-run"], &PACKAGES[..], &tests].concat());
        if !done {
            for message in &messages {
                eprint!("{}", message["message"]["rendered"].as_str().unwrap_or_default());
            }
            panic!("the build of the tests failed");
        }
        messages
            .iter()
            .filter(|message| {
                message["reason"] == "compiler-artifact" && message["profile"]["test"] == true
            })
            .filter_map(|message| {
                let manifest = Path::new(message["manifest_path"].as_str()?);
                Some(Program {
                    path: message["executable"].as_str()?.into(),
                    directory: manifest.parent()?.to_owned(),
                })
            })
            .collect()
    }
}

/// Returns how the paths of a module's files begin, that the file at `path` declares.
fn module_at(path: &str, module: &str) -> String {
    let directory = ["mod.rs", "lib.rs"].iter().find_map(|name| path.strip_suffix(name));
    match directory {
        Some(directory) => format!("{directory}{module}"),
        None => format!("{}/{module}", path.trim_end_matches(".rs")),
    }
}

/// Whether this file is mutated: one of the sources that is not compiled for tests only.
fn is_mutated(path: &str) -> bool {
    SOURCES.iter().any(|source| path.starts_with(source))
        && path.ends_with(".rs")
        && !path.ends_with("tests.rs")
        && !path.contains("/tests/")
}

pub const SOURCES: [&str; 5] =
    ["core/src/", "core/engine/src/", "core/http1/src/", "core/oauth/src/", "std-adapters/src/"];

/// The packages with mutants.
const PACKAGES: [&str; 5] = [
    "--package=mcp-sansio",
    "--package=mcp-sansio-engine",
    "--package=mcp-sansio-oauth",
    "--package=mcp-sansio-http1",
    "--package=mcp-sansio-adapters",
];

/// A mutant may overflow or panic always, which the compiler sees.
const ALLOWED: &str = "#![allow(warnings, internal_features, arithmetic_overflow)]
#![allow(unconditional_panic, overflowing_literals, clippy::all)]
";

/// Removes the files of an earlier copy that are no longer in the repository.
fn remove_others(directory: &Path, kept: &BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            remove_others(&path, kept);
        } else if !kept.contains(&path) {
            std::fs::remove_file(&path).expect("the outdated file can be removed");
        }
    }
}
