//! Paths and links in the documents.

use std::fs;
use std::path::{MAIN_SEPARATOR, PathBuf};

use super::{files, root, text_of};

/// Returns the paths of all documents, from the root.
fn documents() -> Vec<String> {
    let mut paths = files("", "md");
    paths.extend(["llms.txt", ".github/PULL_REQUEST_TEMPLATE.md"].map(|path| root().join(path)));
    let from_root =
        |path: &PathBuf| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    // Names have the same separator on all systems.
    paths.iter().map(from_root).map(|path| path.replace(MAIN_SEPARATOR, "/")).collect()
}

/// Returns the paths of the pages of the guide, from the root.
fn guide() -> Vec<String> {
    documents().into_iter().filter(|path| path.starts_with("docs/")).collect()
}

#[test]
fn relative_links_lead_to_files() {
    let root = root();
    let mut missing = Vec::new();
    for document in &documents() {
        let folder = root.join(document).parent().unwrap().to_owned();
        for link in text_of(document).split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            if !target.contains("://") && !folder.join(target).exists() {
                missing.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(missing.is_empty(), "these links lead nowhere: {missing:#?}");
}

#[test]
fn links_to_headings_lead_to_headings() {
    let root = root();
    let mut missing = Vec::new();
    for document in &documents() {
        let (text, path) = (text_of(document), root.join(document));
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            let Some((target, heading)) = link.split_once('#') else { continue };
            let target = match target {
                "" => path.clone(),
                target => path.parent().unwrap().join(target),
            };
            // Links to lines of code, and to other sites.
            if target.extension().is_none_or(|end| end != "md") || link.contains("://") {
                continue;
            }
            let text = fs::read_to_string(target).unwrap_or_default();
            if !text.lines().filter_map(slug).any(|slug| slug == heading) {
                missing.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(missing.is_empty(), "these headings do not exist: {missing:#?}");
}

/// Returns the name by which links find a heading.
fn slug(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

#[test]
fn the_page_on_security_names_tests_that_exist() {
    let page = text_of("docs/security.md");
    let mut count = 0;
    for link in page.split("[`").skip(1) {
        let Some((name, rest)) = link.split_once("`](../") else { continue };
        let file = rest.split(')').next().unwrap_or_default();
        if file.ends_with(".rs") {
            count += 1;
            let test = format!("fn {name}() {{");
            assert!(text_of(file).contains(&test), "{file} has no test {name}");
        } else {
            assert!(file.ends_with(&format!("/{name}.txt")), "{file} is no transcript {name}");
        }
    }
    assert!(count >= 30, "{count} tests");
}

#[test]
fn each_page_of_the_guide_is_in_all_tables_of_contents() {
    for table in ["docs/README.md", "docs/SUMMARY.md", "llms.txt", "tests/src/guide.rs"] {
        let text = text_of(table);
        for page in guide() {
            let page = page.strip_prefix("docs/").unwrap();
            let is_named =
                text.contains(&format!("{page})")) || text.contains(&format!("{page}\""));
            let is_contents = matches!(page, "README.md" | "SUMMARY.md");
            assert!(is_named || is_contents, "{table} does not name {page}");
        }
    }
}

#[test]
fn paths_in_code_spans_exist() {
    let root = root();
    let mut missing = Vec::new();
    for document in &documents() {
        let text = text_of(document);
        let folder = root.join(document).parent().unwrap().to_owned();
        let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for path in spans.filter(|span| is_path(span)) {
            let path = path.split(['*', ' ']).next().unwrap_or_default();
            if !root.join(path).exists() && !folder.join(path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "these paths do not exist: {missing:#?}");
}

#[test]
fn files_of_the_architecture_exist() {
    let (text, sources) = (text_of("ARCHITECTURE.md"), files("", "rs"));
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_missing = |span: &&str| !sources.iter().any(|source| source.ends_with(span));
    let missing: Vec<_> = spans.filter(|span| span.ends_with(".rs")).filter(is_missing).collect();
    assert!(missing.is_empty(), "these files do not exist: {missing:#?}");
}

#[test]
fn r3_b5_commands_build_the_documentation_with_all_features() {
    // Without them it lacks what the guide teaches.
    for document in &documents() {
        let text = text_of(document);
        for line in text.lines() {
            for (at, _) in line.match_indices("cargo doc") {
                let command = line[at..].split('`').next().unwrap_or_default().trim();
                let is_right = command == "cargo doc" || command.contains("--all-features");
                assert!(is_right, "{document}: {line}");
            }
        }
    }
}

#[test]
fn r3_b6_no_document_depends_on_a_version_that_is_not_published() {
    let changelog = include_str!("../../../CHANGELOG.md");
    if changelog.contains("Nothing has been published yet") {
        for document in &documents() {
            for table in text_of(document).split("\n\n").filter(|table| names_us(table)) {
                let lines = table.lines().filter(|line| names_us(line) || !line.contains('{'));
                let version = lines.clone().find(|line| line.contains("version = \"0."));
                assert!(version.is_none(), "{document}: {version:?}");
            }
        }
    }
}

/// Whether a part of a manifest depends on a package of ours.
fn names_us(manifest: &str) -> bool {
    ["mcp-sansio = ", "mcp-sansio-adapters = ", "[dependencies.mcp-sansio"]
        .iter()
        .any(|entry| manifest.contains(entry))
}

/// Whether this names a file of the project, from the root or from the document's folder, without
/// placeholders in capitals.
fn is_path(span: &str) -> bool {
    let folders = ["core/", "std-adapters/", "examples/", "tests/", ".ci/", ".github/"];
    folders.iter().any(|folder| span.starts_with(folder))
        && !span.split(' ').next().unwrap_or_default().contains(|c: char| c.is_ascii_uppercase())
}

/// A test that has another name is not left out any more, and takes minutes.
#[test]
fn tests_that_miri_leaves_out_exist() {
    let steps = text_of(".ci/steps");
    let (_, list) = steps.split_once("local long=(").unwrap();
    let sources: String = files("core/src", "rs").iter().map(text_of).collect();
    for word in list.split(')').next().unwrap().split(' ') {
        let name = word.trim_end_matches("::").rsplit("::").next().unwrap();
        let is_named = |line: &str| {
            let item = line.split_once("fn ").or_else(|| line.split_once("mod "));
            let is_end = |c: char| !c.is_alphanumeric() && c != '_';
            item.is_some_and(|(_, item)| item.split(is_end).next().unwrap().contains(name))
        };
        assert!(sources.lines().any(is_named), "no test of the core has {word} in its name");
    }
}

/// Cargo leaves out a test without a word if a feature that it requires is off.
#[test]
fn tests_of_the_adapters_require_only_features_that_the_workspace_has() {
    let own = text_of("tests/Cargo.toml");
    let own = own.lines().find(|line| line.starts_with("mcp-sansio-adapters = ")).unwrap();
    let on = format!(r#"{own} "asynchronous" "auth" "blocking" "embedded-io-async" "tls""#);
    let mut required = 0;
    for line in text_of("std-adapters/Cargo.toml").lines() {
        let Some(features) = line.strip_prefix("required-features = [") else { continue };
        for feature in features.trim_end_matches(']').split(", ") {
            assert!(on.contains(feature), "{feature} is off in tests/Cargo.toml");
            required += 1;
        }
    }
    assert!(required > 20, "{required} features were found");
}
