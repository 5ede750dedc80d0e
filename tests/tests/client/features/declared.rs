//! Capabilities of a client, and server information that is not trusted.

use mcp_sansio::types::{Icon, Implementation};
use mcp_sansio::{ClientConfig, ClientFeatures, Instant, Revision, Revisions, TxBuffer};
use mcp_sansio_tests::memory::new_client;
use serde_json::{Value, json};

use super::support::{REVISIONS, raw};

#[test]
fn icon_01_only_icons_that_are_safe_to_load_are_allowed() {
    for good in [
        "https://example.org/i.png",
        "HTTPS://example.org/",
        "data:image/png;base64,AA==",
        "data:,",
    ] {
        assert!(Icon::new(good).has_allowed_scheme(), "{good}");
    }
    for bad in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.org/i.png",
        "ws://example.org",
        "http://example.org/i.png",
        "app://icon",
        "https:example.org",
        " https://example.org/",
        "//example.org/i.png",
        "i.png",
        "",
        "httpsx://example.org",
        "\u{0}data:,",
    ] {
        assert!(!Icon::new(bad).has_allowed_scheme(), "{bad}");
    }
    let escaped: Icon<'_> = raw(r#"{"src":"j\u0061vascript:alert(1)"}"#).to().expect("an icon");
    assert!(!escaped.has_allowed_scheme(), "escapes are resolved");
}

#[test]
fn cap_16_cap_19_a_clients_extensions_have_proper_ids_and_are_off_by_default() {
    const CONFIG: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    assert!(CONFIG.extensions.is_none() && CONFIG.experimental.is_none());
    assert!(CONFIG.result_types.is_empty());
    assert_eq!(CONFIG.check(), Ok(()));
    let with = |json| CONFIG.extensions(raw(json)).check().is_ok();
    assert!(with(r#"{"org.example/x":{},"io.modelcontextprotocol/tasks":{}}"#) && with("{}"));
    for bad in [
        "[]",
        r#"{"x":{}}"#,
        r#"{"org.example/":{}}"#,
        r#"{"org..example/x":{}}"#,
        r#"{"org.example/x":true}"#,
    ] {
        assert!(!with(bad), "{bad}");
    }
    let experimental = |json| CONFIG.experimental(raw(json)).check().is_ok();
    assert!(experimental(r#"{"anything":{}}"#) && !experimental(r#"{"anything":1}"#));
}

#[test]
fn root_07_samp_18_cap_06_cap_07_cap_08_cap_09_cap_10_a_client_declares_only_what_is_configured() {
    let declared = |revision: Revision, capabilities: ClientFeatures| {
        let config = ClientConfig::new(Implementation::new("c", "1"), capabilities)
            .revisions(Revisions::only(revision));
        let (mut client, mut tx) = (new_client::<8>(&config), TxBuffer::new([0; 1024]));
        client.connect(Instant::from_millis(0), &mut tx).expect("connecting starts");
        let sent: Value = serde_json::from_slice(tx.pending()).expect("JSON");
        let key = if revision.is_modern() {
            "io.modelcontextprotocol/clientCapabilities"
        } else {
            "capabilities"
        };
        sent["params"].get(key).or(sent["params"]["_meta"].get(key)).expect("capabilities").clone()
    };
    for revision in REVISIONS {
        let form = match revision {
            Revision::V2024_11_05 | Revision::V2025_03_26 => json!({}),
            Revision::V2025_06_18 => json!({"elicitation": {}}),
            _ => json!({"elicitation": {"form": {}}}),
        };
        for (configured, expected) in [
            (ClientFeatures::NONE, json!({})),
            (ClientFeatures::ROOTS, json!({"roots": {}})),
            (ClientFeatures::SAMPLING, json!({"sampling": {}})),
            (ClientFeatures::ELICITATION_FORM, form),
        ] {
            assert_eq!(declared(revision, configured), expected, "{revision}");
        }
    }
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let tools = declared(revision, ClientFeatures::SAMPLING_TOOLS);
        assert_eq!(tools, json!({"sampling": {"tools": {}}}), "{revision}");
        let url = declared(revision, ClientFeatures::ELICITATION_URL);
        assert_eq!(url, json!({"elicitation": {"url": {}}}), "{revision}");
    }
}
