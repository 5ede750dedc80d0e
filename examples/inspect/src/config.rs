//! `inspect config`: prints what hosts want to know of a server.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::hosts::{HOSTS, Server};
use super::options::{HELP, Stop, is_url, value, wrong};

/// Prints the configuration of hosts for a program, or for a server behind a URL.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Stop> {
    let Options { host, name, words } = parse(words)?;
    let Some((first, rest)) = words.split_first() else {
        return Err(Stop::Wrong(
            "config takes the program of a server and its arguments, or a URL".to_owned(),
        ));
    };
    let (known_as, server) = match first.to_str().filter(|word| is_url(word)) {
        Some(_) if !rest.is_empty() => {
            return Err(Stop::Wrong("config takes no arguments after a URL".to_owned()));
        }
        Some(url) => (host_of(url), Server::Url(url.to_owned())),
        None => {
            let args = rest.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            for arg in args.iter().filter(|arg| Path::new(arg).exists()) {
                if Path::new(arg).is_relative() {
                    eprintln!(
                        "inspect: {arg} is a relative path, and hosts start servers elsewhere"
                    );
                }
            }
            let command = text(found(first)?.as_os_str())?;
            let stem = Path::new(first).file_stem().and_then(|stem| stem.to_str());
            (stem.unwrap_or_default(), Server::Program { command, args })
        }
    };
    // With a dash in front, a host would take it for an option.
    let name = name.unwrap_or_else(|| match plain(known_as).trim_start_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    });
    let mut out = io::stdout().lock();
    let shown = HOSTS.iter().filter(|known| host.as_ref().is_none_or(|host| known.id == host));
    for (at, host) in shown.enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        let block = host.block(&name, &server);
        // A closed pipe is not an error.
        let _ = writeln!(out, "{gap}# {}: {}\n\n{block}", host.title, host.place());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the host of a URL: without user and port, and of an IPv6 address without brackets.
fn host_of(url: &str) -> &str {
    let authority = url.split(['/', '?', '#']).nth(2).unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

struct Options {
    host: Option<String>,
    name: Option<String>,
    /// The program and its arguments, or a URL.
    words: Vec<OsString>,
}

fn parse(words: &[OsString]) -> Result<Options, Stop> {
    use lexopt::prelude::*;
    let (mut host, mut name, mut rest) = (None, None, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => return Err(Stop::Help(HELP)),
            Long("host") => host = Some(value(&mut parser)?),
            Long("name") => name = Some(value(&mut parser)?),
            Value(word) => {
                rest.push(word);
                rest.extend(parser.raw_args().map_err(wrong)?);
            }
            other => return Err(wrong(other.unexpected())),
        }
    }
    if let Some(unknown) = host.as_ref().filter(|id| HOSTS.iter().all(|host| host.id != *id)) {
        let mut known: Vec<_> = HOSTS.iter().map(|host| host.id).collect();
        known.dedup();
        let known = known.join(", ");
        return Err(Stop::Wrong(format!("unknown host `{unknown}`: known are {known}")));
    }
    if let Some(name) = name.as_ref().filter(|name| plain(name) != **name || name.is_empty()) {
        return Err(Stop::Wrong(format!("`{name}`: a name has only letters, digits, - and _")));
    }
    Ok(Options { host, name, words: rest })
}

/// Returns the absolute path of a program. Hosts have another working directory, and those with a
/// window another `PATH` than a shell.
pub(crate) fn found(program: &OsStr) -> Result<PathBuf, Stop> {
    let shown = program.to_string_lossy();
    let given = with_suffix(program);
    if given.parent() == Some(Path::new("")) {
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&dirs).map(|dir| dir.join(&given));
        let found = places.find(|place| is_executable(place)).and_then(|place| absolute(&place));
        return found.ok_or_else(|| {
            let why = format!("no directory of PATH has `{shown}`: if it is here, write ./{shown}");
            Stop::Wrong(why)
        });
    }
    let why = match absolute(&given) {
        Some(found) if is_executable(&found) => return Ok(found),
        Some(found) if found.is_dir() => "is a directory: name the program in it",
        Some(found) if found.exists() => {
            "is not executable: name its interpreter first (`inspect config node server.mjs`), or \
             change its mode (chmod +x)"
        }
        _ => "does not exist: build it first (cargo build --release), or correct the path",
    };
    Err(Stop::Wrong(format!("{shown} {why}")))
}

/// Adds the `.exe` that a shell of Windows adds.
fn with_suffix(program: &OsStr) -> PathBuf {
    let mut path = PathBuf::from(program);
    if path.extension().is_none() {
        path.set_extension(std::env::consts::EXE_EXTENSION);
    }
    path
}

/// Resolves `..` in the directory, and no link at the end: programs look at their own name.
fn absolute(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    // There it is resolved already, and the canonical form is one that few programs understand.
    if cfg!(windows) {
        return Some(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(dir), Some(name)) => Some(dir.canonicalize().ok()?.join(name)),
        _ => path.canonicalize().ok(),
    }
}

fn is_executable(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = path.extension().is_some_and(|ending| {
        ["exe", "com", "bat", "cmd"].iter().any(|known| ending.eq_ignore_ascii_case(known))
    });
    metadata.is_file() && may_run
}

/// Returns a word of the command line, which JSON and YAML can only hold as Unicode.
fn text(word: impl AsRef<OsStr>) -> Result<String, Stop> {
    let word = word.as_ref();
    let why = || Stop::Wrong(format!("{} is not Unicode", word.to_string_lossy()));
    word.to_str().map(str::to_owned).ok_or_else(why)
}

/// Returns a name that needs no quotes in any host, nor in a shell.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect()
}
