//! What the documentation must say.

#[test]
fn cust_03_each_transport_documents_its_binding() {
    let adapter = include_str!("../../std-adapters/src/stdio/mod.rs");
    for section in ["# Connection", "# Framing", "# Cancellation", "# End"] {
        let text = adapter.split_once(&format!("//! {section}\n//!\n")).map(|(_, text)| text.lines().next().unwrap_or_default());
        assert!(text.is_some_and(|text| text.len() > 40), "the stdio adapter's documentation has no section {section}");
    }
}
