//! Paths and links in the documents.

use std::fs;
use std::path::Path;

/// Beside those of the guide.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "examples/firmware/README.md",
    "tests/auth-server/README.md",
    "tests/bench/README.md",
    "tests/conformance/README.md",
    "tests/interop/README.md",
    "tests/mutants/README.md",
    "tests/peers/README.md",
    "tests/size/README.md",
];

/// Returns the paths of all documents, from the root.
fn documents() -> Vec<String> {
    DOCUMENTS.iter().map(|path| (*path).to_owned()).chain(guide()).collect()
}

/// Returns the paths of the pages of the guide, from the root.
fn guide() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut pages = Vec::new();
    for folder in ["docs", "docs/tutorial"] {
        for file in fs::read_dir(root.join(folder)).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    pages
}

#[test]
fn relative_links_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut missing = Vec::new();
    for document in &documents() {
        let folder = root.join(document).parent().unwrap().to_owned();
        for link in read(root, document).split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            if !target.contains("://") && !folder.join(target).exists() {
                missing.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(missing.is_empty(), "these links lead nowhere: {missing:#?}");
}

#[test]
fn paths_in_code_spans_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut missing = Vec::new();
    for document in &documents() {
        let text = read(root, document);
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
fn r3_b5_commands_build_the_documentation_with_all_features() {
    // Without them it lacks what the guide teaches.
    each_line(|line| {
        line.match_indices("cargo doc").all(|(at, _)| {
            let command = &line[at..];
            let command = command.split('`').next().unwrap_or_default();
            command.trim() == "cargo doc" || command.contains("--all-features")
        })
    });
}

#[test]
fn r3_b6_no_document_depends_on_a_version_that_is_not_published() {
    let changelog = include_str!("../../../CHANGELOG.md");
    if changelog.contains("Nothing has been published yet") {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for document in &documents() {
            for table in read(root, document).split("\n\n").filter(|table| names_us(table)) {
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

/// Checks each line of each document.
fn each_line(is_right: impl Fn(&str) -> bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for document in &documents() {
        for line in read(root, document).lines() {
            assert!(is_right(line), "{document}: {line}");
        }
    }
}

/// Whether this names a file of the project, from the root or from the document's folder, without
/// placeholders in capitals.
fn is_path(span: &str) -> bool {
    let folders = ["core/", "std-adapters/", "examples/", "tests/", ".ci/"];
    folders.iter().any(|folder| span.starts_with(folder))
        && !span.split(' ').next().unwrap_or_default().contains(|c: char| c.is_ascii_uppercase())
}

fn read(root: &Path, document: &str) -> String {
    fs::read_to_string(root.join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}
