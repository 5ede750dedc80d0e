//! `inspect new`: writes a project with a server.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::options::{HELP, Stop, wrong};

/// Writes the project into a new directory, of which the last part is its name.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Stop> {
    let (directory, checkout) = parse(words)?;
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let shown = directory.display();
    if DIRECTORIES.contains(&name) {
        return Err(Stop::Wrong(format!(
            "{shown}: Cargo has a directory of this name beside programs: choose another name"
        )));
    }
    if !is_package_name(name) {
        return Err(Stop::Wrong(format!(
            "{shown}: a package has a name of letters, digits, - and _, and begins with a letter"
        )));
    }
    let mut manifest = MANIFEST.replace(PLACEHOLDER, name);
    if let Some(checkout) = checkout {
        for (package, folder) in [("mcp-sansio", "core"), ("mcp-sansio-adapters", "std-adapters")] {
            let path = toml(&checkout.join(folder))?;
            let (git, path) =
                (format!("{package} = {{ {GIT}"), format!("{package} = {{ path = {path}"));
            manifest = manifest.replace(&git, &path);
        }
    }
    let readme = README.replace(PLACEHOLDER, name);
    let files = [
        ("Cargo.toml", &*manifest),
        ("src/main.rs", MAIN),
        ("README.md", &readme),
        (".gitignore", "/target\n"),
    ];
    write(&directory, &files).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Stop::Wrong(format!("{shown} exists: choose another name")),
        _ => Stop::Wrong(format!("{shown}: {error}")),
    })?;
    let _ =
        writeln!(io::stdout(), "{shown} has a server with one tool. Now: cd {shown} && cargo test");
    Ok(ExitCode::SUCCESS)
}

/// Returns the new directory, and a checkout of the library.
fn parse(words: &[OsString]) -> Result<(PathBuf, Option<PathBuf>), Stop> {
    use lexopt::prelude::*;
    let (mut directory, mut checkout) = (None, None);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => return Err(Stop::Help(HELP)),
            Long("path") => checkout = Some(PathBuf::from(parser.value().map_err(wrong)?)),
            Value(word) if directory.is_none() => directory = Some(PathBuf::from(word)),
            other => return Err(wrong(other.unexpected())),
        }
    }
    if let Some(checkout) = checkout.as_ref().filter(|path| !path.join("core/Cargo.toml").is_file())
    {
        let shown = checkout.display();
        return Err(Stop::Wrong(format!(
            "{shown} is no checkout of mcp-sansio: it has no core/Cargo.toml"
        )));
    }
    let missing = || Stop::Wrong("new takes the name of a project".to_owned());
    Ok((directory.ok_or_else(missing)?, checkout))
}

/// Writes files into a directory that does not exist yet, so that nothing is overwritten.
fn write(directory: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    std::fs::create_dir(directory)?;
    std::fs::create_dir(directory.join("src"))?;
    for (file, text) in files {
        std::fs::write(directory.join(file), text)?;
    }
    Ok(())
}

/// Returns an absolute path as a string of TOML, which escapes as JSON does.
fn toml(path: &Path) -> Result<String, Stop> {
    let why = |why: &str| Stop::Wrong(format!("{}: {why}", path.display()));
    let path = std::path::absolute(path).map_err(|error| why(&error.to_string()))?;
    path.to_str()
        .map(|path| serde_json::Value::from(path).to_string())
        .ok_or_else(|| why("is not Unicode"))
}

fn is_package_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_part)
}

const MANIFEST: &str = include_str!("../templates/manifest.toml");
const MAIN: &str = include_str!("../templates/main.rs");
const README: &str = include_str!("../templates/README.md");
/// Names that Cargo refuses for a program.
const DIRECTORIES: [&str; 4] = ["build", "deps", "examples", "incremental"];
/// The name of the project in the templates.
const PLACEHOLDER: &str = "new-server";
/// The source of the library in the template.
const GIT: &str = "git = \"https://github.com/mcp-sansio/mcp-sansio\"";
