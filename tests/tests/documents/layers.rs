//! The layers of the core: a module uses only those that ARCHITECTURE.md lists below it.

use std::path::Path;

use super::{files, root, text_of};

#[test]
fn a_layer_of_the_core_imports_only_from_below() {
    let layers = Layers::read(&text_of("ARCHITECTURE.md"));
    let mut wrong = Vec::new();
    for file in files("core/src", "rs") {
        let module = module_of(file.strip_prefix(root().join("core/src")).unwrap());
        if module.is_empty() || module.last().is_some_and(|name| name == "tests") {
            continue;
        }
        wrong.extend(layers.wrong_imports(&module, &text_of(&file)));
    }
    assert!(wrong.is_empty(), "these imports do not lead downwards: {wrong:#?}");
}

#[test]
fn an_import_of_a_layer_above_or_beside_is_wrong() {
    let layers = Layers::read(
        "\n| layers, from the top | what |\n| --- | --- |\n| `http/server` | |\n| `http`, `rpc` | |\n\
         | `json` | |\n\n| `text` | |\n",
    );
    let wrong = |module: &[&str], text: &str| {
        let module: Vec<_> = module.iter().map(|name| (*name).to_owned()).collect();
        layers.wrong_imports(&module, text).len()
    };
    assert_eq!(wrong(&["http", "server", "step"], "use crate::http::Head;\nuse super::Site;"), 0);
    assert_eq!(wrong(&["http", "client"], "use super::server::Site;\nuse crate::json;"), 1);
    assert_eq!(wrong(&["http", "client"], "use crate::rpc::Id;\n/// [`crate::rpc::Id`]"), 1);
    assert_eq!(wrong(&["json", "de"], "fn a() { crate::rpc::b(); $crate::rpc::c!() }"), 1);
    assert_eq!(wrong(&["json"], "pub use crate::rpc::{A,\n B};\n#[cfg(test)]\nmod tests {"), 0);
    assert_eq!(wrong(&["text"], ""), 1, "a module without a layer");
}

/// The modules of each row of the list, from the top, as paths.
struct Layers(Vec<Vec<Vec<String>>>);

impl Layers {
    fn read(document: &str) -> Self {
        let table = document.lines().skip_while(|line| !line.starts_with("| layers, from the top"));
        let rows = table.skip(2).take_while(|line| line.starts_with('|'));
        let modules = |row: &str| {
            let cell = row.split('|').nth(1).unwrap_or_default();
            let names = cell.split('`').skip(1).step_by(2);
            names.map(|name| name.split('/').map(str::to_owned).collect()).collect()
        };
        let layers: Vec<_> = rows.map(modules).collect();
        assert!(!layers.is_empty(), "ARCHITECTURE.md has no table of layers");
        Self(layers)
    }

    /// Returns the row and the place in it of the entry that names this module most exactly.
    fn find(&self, module: &[String]) -> Option<(usize, usize)> {
        let mut best = None;
        for (row, entries) in self.0.iter().enumerate() {
            for (place, entry) in entries.iter().enumerate() {
                if module.starts_with(entry) && best.is_none_or(|(len, _)| entry.len() > len) {
                    best = Some((entry.len(), (row, place)));
                }
            }
        }
        best.map(|(_, found)| found)
    }

    fn wrong_imports(&self, module: &[String], text: &str) -> Vec<String> {
        let name = module.join("/");
        let Some(own) = self.find(module) else { return vec![format!("{name} has no layer")] };
        let mut wrong = Vec::new();
        for used in paths(module, text) {
            match self.find(&used) {
                Some(other) if other == own || other.0 > own.0 => {}
                _ => wrong.push(format!("{name} uses {}", used.join("::"))),
            }
        }
        wrong
    }
}

/// Returns the modules and items that a module names, from the root of the crate. Tests may use
/// anything, and the front page of a public module may export what stands above it.
fn paths(module: &[String], text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    // The module that a line stands in: the file's, or one within the file.
    let (mut here, mut is_export, mut is_test) = (module.to_vec(), false, false);
    for line in text.lines() {
        is_test = line.starts_with("#[") && (is_test || line.contains("test"))
            || is_test && line.starts_with("mod ");
        let within = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ");
        if let Some(name) = within.and_then(|name| name.strip_suffix(" {")) {
            if is_test {
                break;
            }
            here.push(name.to_owned());
        } else if line == "}" {
            here.truncate(module.len());
        }
        is_export |= line.starts_with("pub use");
        if !is_export && !line.trim_start().starts_with("//") {
            found.extend(paths_in(&here, line));
        }
        is_export &= !line.ends_with(';');
    }
    found
}

fn paths_in(here: &[String], line: &str) -> Vec<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in line.match_indices("crate::").chain(line.match_indices("super::")) {
        let (before, path) = line.split_at(at);
        if before.ends_with(|c: char| is_name(c) || matches!(c, ':' | '$')) {
            continue;
        }
        let mut used = here.to_vec();
        for segment in path.split("::") {
            match segment {
                "crate" => used.clear(),
                "super" => drop(used.pop()),
                _ => {
                    let name = segment.split(|c| !is_name(c)).next().unwrap_or_default();
                    used.extend(Some(name.to_owned()).filter(|name| !name.is_empty()));
                    if name.len() < segment.len() {
                        break;
                    }
                }
            }
        }
        found.push(used);
    }
    found
}

/// `http/server/mod.rs` is the module `http::server`.
fn module_of(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| name == "mod" || name == "lib") {
        names.pop();
    }
    names
}
