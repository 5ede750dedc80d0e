//! The documents: the requirement ledger, the layers, and code in the documentation.

mod api;
mod layers;
mod ledger;
mod paths;
mod snippets;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the text of a file.
fn text_of(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Returns all files below `directory` with this extension, except in build and hidden directories.
fn files(directory: &str, extension: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![root().join(directory)]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name());
            let is_skipped = name == "target" || name == "node_modules";
            if path.is_dir() && !is_skipped && !name.to_string_lossy().starts_with('.') {
                open.push(path);
            } else if path.is_file() && path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found
}
