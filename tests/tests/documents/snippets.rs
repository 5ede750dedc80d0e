//! Code in the documentation equals the examples.

use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::blocking;

use super::text_of;

#[test]
fn cust_03_each_transport_documents_its_binding() {
    let adapters = [
        ("server", include_str!("../../../std-adapters/src/blocking/mod.rs")),
        ("client", include_str!("../../../std-adapters/src/blocking/client/mod.rs")),
    ];
    for (role, adapter) in adapters {
        for section in ["# Connection", "# Framing", "# Cancellation", "# End"] {
            let text = adapter.split_once(&format!("//! {section}\n//!\n"));
            let first = text.and_then(|(_, text)| text.lines().next());
            assert!(first.is_some_and(|line| line.len() > 40), "{section} of the stdio {role}");
        }
    }
}

#[test]
fn the_readme_shows_the_program_that_inspect_writes() {
    let source = include_str!("../../../examples/inspect/templates/main.rs");
    let (source, _) = source.split_once("\n#[cfg(test)]").expect("tests after the code");
    assert_shows(include_str!("../../../README.md"), source);
}

#[test]
fn the_smallest_programs_are_small() {
    for (most, source) in [
        (30, include_str!("../../../examples/first-hour/src/echo_server.rs")),
        (40, include_str!("../../../examples/first-hour/src/call_tool.rs")),
        (160, include_str!("../../../README.md")),
    ] {
        let lines = source.lines().skip_while(|line| line.starts_with("//")).count();
        assert!(lines <= most + 1, "{lines} lines instead of {most}");
    }
}

#[test]
fn the_guide_shows_the_source_of_the_protected_server() {
    let source = include_str!("../../../examples/programs/src/protected_server.rs");
    assert_shows(include_str!("../../../docs/authorization.md"), source);
}

/// Checks that a page has the code behind the documentation of a program.
fn assert_shows(page: &str, source: &str) {
    let (documentation, code) = source.split_once("\n\n").expect("lines of documentation");
    assert!(page.contains(code.trim_end()), "the page does not show this program: {documentation}");
}

#[test]
fn the_tutorial_shows_the_source_of_the_notes_server() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tutorial");
    for page in std::fs::read_dir(folder).expect("the pages of the tutorial") {
        let page = std::fs::read_to_string(page.expect("a page").path()).expect("a page");
        let source = concat!(
            include_str!("../../../examples/programs/src/notes_server/main.rs"),
            include_str!("../../../examples/programs/src/notes_server/tests.rs")
        );
        assert_quotes(&page, source);
    }
}

#[test]
fn the_recipes_are_pieces_of_programs_that_run() {
    let source = concat!(
        include_str!("../recipes/server.rs"),
        include_str!("../recipes/http.rs"),
        include_str!("../recipes/client.rs")
    );
    let count = assert_quotes(include_str!("../../../docs/recipes.md"), source);
    assert!(count >= 30, "{count} recipes");
}

#[test]
fn the_chapter_on_middleware_shows_code_that_runs() {
    let page = include_str!("../../../docs/middleware.md");
    let count = assert_quotes(page, include_str!("../recipes/middleware.rs"));
    assert!(count >= 6, "{count} pieces");
}

#[test]
fn the_guide_shows_the_source_of_the_gateway() {
    let source = include_str!("../../../examples/programs/src/gateway.rs");
    assert_quotes(include_str!("../../../docs/gateway.md"), source);
    assert!(source.lines().count() <= 200, "the gateway has more than 200 lines");
}

#[test]
fn the_page_on_logs_shows_the_source_of_the_example_with_opentelemetry() {
    let source = include_str!("../../../examples/opentelemetry/src/main.rs");
    assert_eq!(assert_quotes(include_str!("../../../docs/deployment.md"), source), 1);
}

#[test]
fn the_defaults_of_limits_are_those_of_the_guide() {
    assert_eq!((blocking::MAX_LINE, blocking::MAX_PENDING), (16 << 20, 1 << 20));
    assert_eq!((blocking::IN_FLIGHT, blocking::SUBSCRIPTIONS), (1024, 64));
    let limits = Limits::new();
    assert_eq!((limits.max_line, limits.max_pending), (4 << 20, 1 << 20));
    assert_eq!((limits.max_in_flight, limits.max_running), (1024, 64));
    assert_eq!((limits.max_connections, limits.max_params), (1024, 16 << 20));
    assert_eq!(limits.address_share, 75);
}

#[test]
fn the_page_on_firmware_has_the_figures_of_the_budget() {
    let (page, budget) = (text_of("docs/firmware.md"), text_of("tests/size/budget.txt"));
    let (_, table) = page.split_once("| program, Cortex-M0 |").unwrap();
    let programs = ["one_tool", "tools", "typed", "everything", "tasks", "client"];
    let rows: Vec<_> = table.lines().skip(2).take_while(|row| row.starts_with('|')).collect();
    assert_eq!(rows.len(), programs.len());
    for (program, row) in programs.into_iter().zip(rows) {
        let figures = row.split('|').skip(2).take(3).map(|figure| figure.trim().replace(',', ""));
        let budgeted = ["thumbv6m-none-eabi".to_owned(), program.to_owned()];
        let budgeted: Vec<_> = budgeted.into_iter().chain(figures).collect();
        let mut lines = budget.lines().filter(|line| line.starts_with("rustup"));
        assert!(lines.any(|line| line.split_whitespace().skip(1).eq(&budgeted)), "{budgeted:?}");
    }
}

/// The registry's own schema is not here. These are its rules, and those of its check of a package.
#[test]
fn the_entry_for_the_registry_is_valid() {
    let page = include_str!("../../../docs/hosts.md");
    let block = page.split("```json\n").find(|block| block.contains("registryType")).unwrap();
    let entry: serde_json::Value =
        serde_json::from_str(block.split("```").next().unwrap()).unwrap();
    let name = entry["name"].as_str().unwrap();
    let (owner, server) = name.split_once('/').unwrap();
    let of = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    assert!(of(owner, ".-") && of(server, "._-"), "{name}");
    assert!((1..=100).contains(&entry["description"].as_str().unwrap().len()));
    assert!(page.contains(&format!("\nmcp-name: {name}\n")));
    let package = &entry["packages"][0];
    assert_eq!(package["registryType"], "cargo");
    assert_eq!(package["transport"]["type"], "stdio");
    assert!(package["identifier"].is_string() && package["version"] == entry["version"]);
}

/// Checks that the blocks of a page that are not compiled are in the source, but for the
/// indentation. Returns their number.
fn assert_quotes(page: &str, source: &str) -> usize {
    let trimmed = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let source = trimmed(source);
    let blocks = page.split("```rust,ignore\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    blocks.inspect(|block| assert!(source.contains(&trimmed(block)), "{block}")).count()
}
