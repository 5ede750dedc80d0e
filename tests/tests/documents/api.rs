//! Rules of the public API, which its listings show.

use std::collections::BTreeSet;
use std::fs;

const PACKAGES: &[&str] = &[
    "core",
    "core/engine",
    "core/http1",
    "core/oauth",
    "std-adapters",
    "std-adapters/redb",
    "std-adapters/redis",
];

/// Type parameters, types of others, and a response that the caller makes.
const OTHERS: &[&str] = &["E", "O", "Error", "Infallible", "Denied"];

fn listings() -> String {
    PACKAGES
        .iter()
        .map(|package| fs::read_to_string(format!("../{package}/api.txt")).unwrap())
        .collect()
}

/// Returns the last of the arguments with which a type begins, without its own.
fn last_argument(arguments: &str) -> &str {
    let (mut depth, mut start) = (0, 0);
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if arguments[..at].ends_with('-') => {}
            '>' | ')' | ']' if depth == 0 => return name(&arguments[start..at]),
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    panic!("no end: {arguments}");
}

fn name(path: &str) -> &str {
    let path = path.trim();
    let end = path.find('<').filter(|end| *end > 0).unwrap_or(path.len());
    path[..end].rsplit("::").next().unwrap_or(path)
}

#[test]
fn what_a_function_returns_in_err_is_an_error() {
    let listings = listings();
    let is_of = |line: &'_ str| {
        line.split_once("core::error::Error for ").map(|(_, path)| name(path).to_owned())
    };
    let errors: BTreeSet<String> = listings.lines().filter_map(is_of).collect();
    assert!(errors.len() > 50, "{}", errors.len());
    let functions =
        listings.lines().filter(|line| line.starts_with("pub ") && line.contains("fn "));
    let mut checked = 0;
    for function in functions {
        for (at, result) in function.match_indices("core::result::Result<") {
            let error = last_argument(&function[at + result.len()..]);
            checked += 1;
            assert!(
                OTHERS.contains(&error) || errors.contains(error),
                "{error} is no Error: {function}"
            );
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn errors_may_get_variants() {
    for line in listings().lines().filter(|line| line.contains("pub enum ")) {
        let is_error = line.rsplit(' ').next().is_some_and(|path| name(path).ends_with("Error"));
        assert!(!is_error || line.starts_with("#[non_exhaustive]"), "{line}");
    }
}
