//! Rules for every line that a client sends in the transcripts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mcp_sansio_tests::transcript::{self, Corpus, Played, Sent};

static SENT: LazyLock<Corpus> = LazyLock::new(|| Corpus::play(transcript::client_texts()));

#[test]
fn rpc_01_rpc_02_stdio_01_stdio_03_every_line_of_a_client_is_one_message() {
    SENT.sends_one_message_a_line();
    assert!(SENT.lines().count() > 500, "{}", SENT.lines().count());
}

#[test]
fn bat_02_bat_01_a_client_sends_no_batches() {
    assert!(SENT.lines().all(|sent| sent.line.starts_with('{') && sent.message.is_object()));
}

#[test]
fn rpc_03_rpc_04_rpc_14_a_clients_requests_have_integer_ids_and_notifications_none() {
    SENT.numbers_requests_only();
}

#[test]
fn rpc_05_rpc_06_prog_01_prog_02_a_client_uses_each_id_once() {
    for Played { name, sent, .. } in &SENT.0 {
        let (mut last, mut tokens) = (0, BTreeSet::new());
        for Sent { line, message, .. } in sent {
            let (Some(id), true) = (message["id"].as_u64(), message.get("method").is_some()) else {
                continue;
            };
            assert!(id > last, "{name}: {line}");
            last = id;
            // The token is the id, an integer, so it is unique, too.
            match message["params"]["_meta"].get("progressToken") {
                Some(token) => {
                    assert!(token.as_u64() == Some(id) && tokens.insert(id), "{name}: {line}")
                }
                None => assert!(!line.contains("progressToken"), "{name}: {line}"),
            }
        }
    }
}

#[test]
fn rpc_08_rpc_09_rpc_10_every_response_of_a_client_has_either_result_or_error() {
    SENT.answers_with_result_or_error();
    assert!(SENT.answers().count() > 50, "{}", SENT.answers().count());
}

#[test]
fn rpc_11_rpc_12_rpc_16_every_error_of_a_client_has_a_code_and_one_short_sentence() {
    SENT.explains_errors();
}

#[test]
fn rpc_13_rpc_07_a_response_of_a_client_has_the_id_of_a_request() {
    for Played { name, text, sent } in &SENT.0 {
        let asked: BTreeSet<String> =
            text.lines().filter(|line| line.starts_with('<')).flat_map(ids_in).collect();
        for Sent { line, message, .. } in sent {
            if message.get("method").is_none() {
                let id =
                    line.split_once(r#""id":"#).and_then(|(_, rest)| id_at(rest)).expect("an id");
                assert!(asked.contains(&id), "{name}: {line}");
            }
        }
    }
}

#[test]
fn rpc_18_prog_10_a_client_sends_no_response_and_no_progress_under_2026_07_28() {
    let mut seen = 0;
    for Sent { line, message, .. } in SENT.lines().filter(|sent| sent.revision.is_modern()) {
        let method = message["method"].as_str().unwrap_or_else(|| panic!("a response: {line}"));
        let is_call = !method.starts_with("notifications/");
        assert!(is_call || method == "notifications/cancelled", "{line}");
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn meta_08_meta_09_meta_10_cust_02_every_modern_request_has_the_required_members() {
    let mut seen = 0;
    for Played { name, text, sent } in &SENT.0 {
        let nameless = text.contains("config: nameless");
        for Sent { revision, line, message } in sent {
            let meta =
                |key: &str| &message["params"]["_meta"][format!("io.modelcontextprotocol/{key}")];
            if !revision.is_modern() || message.get("id").is_none() {
                assert!(!line.contains(VERSION), "{name}: {line}");
                continue;
            }
            assert_eq!(meta("protocolVersion"), "2026-07-28", "{name}: {line}");
            assert!(meta("clientCapabilities").is_object(), "{name}: {line}");
            let info = meta("clientInfo");
            let found = (info.is_null(), info["name"] == "c");
            assert_eq!(found, (nameless, !nameless), "{name}: {line}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn life_02_life_01_cust_01_a_legacy_session_begins_with_initialize() {
    let mut seen = 0;
    for Played { name, sent, .. } in &SENT.0 {
        let mut initialized = false;
        for Sent { revision, line, message } in sent {
            if revision.is_modern() {
                continue;
            }
            match (message["method"].as_str(), message.get("id")) {
                (Some("initialize"), Some(_)) => {
                    let params = &message["params"];
                    assert_eq!(params["protocolVersion"], revision.as_str(), "{line}");
                    assert!(params["capabilities"].is_object(), "{line}");
                    let info = &params["clientInfo"];
                    assert!(info["name"] == "c" && info["version"] == "1", "{line}");
                    (initialized, seen) = (false, seen + 1);
                }
                (Some("notifications/initialized"), None) => initialized = true,
                // Before that, pings get a response, and other requests an error.
                (None, Some(_)) => {}
                _ => assert!(initialized, "{name}: {line}"),
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn canc_01_canc_02_canc_11_canc_15_canc_19_a_client_cancels_only_its_own_requests() {
    let mut seen = 0;
    for Played { name, sent, .. } in &SENT.0 {
        let mut open = BTreeSet::new();
        for Sent { line, message, .. } in sent {
            match (message["method"].as_str(), message["id"].as_u64()) {
                (Some("initialize" | "server/discover"), _) => {}
                (Some(_), Some(id)) => assert!(open.insert(id)),
                (Some("notifications/cancelled"), None) => {
                    let id = message["params"]["requestId"].as_u64();
                    let was_open = id.is_some_and(|id| open.remove(&id));
                    assert!(was_open, "{name}: cancelled, though it was not open: {line}");
                    seen += 1;
                }
                _ => {}
            }
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn meta_15_meta_16_server_info_does_not_change_behaviour() {
    let usual = r#"{"name":"s","version":"1"}"#;
    let names = [
        r#"{"name":"s","version":"2"}"#,
        r#"{"name":"admin \"root\" 🦀","version":"","icons":[{"src":"data:,"}]}"#,
        "{}",
    ];
    let mut compared = 0;
    for Played { name, text, sent } in SENT.0.iter().filter(|played| played.text.contains(usual)) {
        for server_info in names {
            let other = transcript::play_text(name, &text.replace(usual, server_info));
            assert_eq!(&other, sent, "{name} with {server_info}");
            compared += other.len();
        }
    }
    assert!(compared > 300, "{compared}");
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns all ids in a line, as spelled.
fn ids_in(line: &str) -> Vec<String> {
    line.split(r#""id":"#).skip(1).filter_map(id_at).collect()
}

/// Returns the id at the start of a text.
fn id_at(text: &str) -> Option<String> {
    let mut id =
        serde_json::Deserializer::from_str(text).into_iter::<&serde_json::value::RawValue>();
    id.next()?.ok().map(|id| id.get().to_owned())
}
