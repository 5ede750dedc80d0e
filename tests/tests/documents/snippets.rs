//! Code in the documentation equals the examples.

#[test]
fn cust_03_each_transport_documents_its_binding() {
    let adapters = [
        ("server", include_str!("../../../std-adapters/src/blocking/mod.rs")),
        ("client", include_str!("../../../std-adapters/src/blocking/client/mod.rs")),
    ];
    for (role, adapter) in adapters {
        for section in ["# Connection", "# Framing", "# Cancellation", "# End"] {
            let text = adapter
                .split_once(&format!("//! {section}\n//!\n"))
                .map(|(_, text)| text.lines().next().unwrap_or_default());
            assert!(
                text.is_some_and(|text| text.len() > 40),
                "the documentation of the stdio {role} has no section {section}"
            );
        }
    }
}

#[test]
fn the_readme_shows_the_source_of_the_echo_server() {
    let source = include_str!("../../../examples/first-hour/src/echo_server.rs");
    let (_, code) = source.split_once("\n\n").expect("a line of documentation, and the code");
    assert!(
        include_str!("../../../README.md").contains(code.trim_end()),
        "the README differs from examples/first-hour/src/echo_server.rs"
    );
    assert!(code.lines().count() <= 30, "the smallest server has more than 30 lines");
}

#[test]
fn the_guide_shows_the_source_of_the_protected_server() {
    let source = include_str!("../../../examples/programs/src/protected_server.rs");
    let (_, code) = source.split_once("\n\n").expect("two lines of documentation, and the code");
    assert!(
        include_str!("../../../docs/authorization.md").contains(code.trim_end()),
        "docs/authorization.md differs from examples/programs/src/protected_server.rs"
    );
}

#[test]
fn the_readme_shows_the_source_of_the_smallest_client() {
    let source = include_str!("../../../examples/first-hour/src/call_tool.rs");
    let (_, code) = source.split_once("\n\n").expect("a line of documentation, and the code");
    assert!(
        include_str!("../../../README.md").contains(code.trim_end()),
        "the README differs from examples/first-hour/src/call_tool.rs"
    );
    assert!(code.lines().count() <= 40, "the smallest client has more than 40 lines");
}
