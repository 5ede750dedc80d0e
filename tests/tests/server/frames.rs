//! Rules for every line that a server sends in the transcripts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Frame, Messages, RawJson, Revision, ServerConfig, ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::memory::new_server;
use mcp_sansio_tests::transcript::{self, Corpus, Played, Sent};
use serde_json::Value;

static SENT: LazyLock<Corpus> = LazyLock::new(|| Corpus::play(transcript::texts()));

#[test]
fn rpc_01_rpc_02_stdio_01_every_line_is_one_message() {
    SENT.sends_one_message_a_line();
}

#[test]
fn rpc_03_rpc_04_rpc_14_requests_have_integer_ids_and_notifications_none() {
    SENT.numbers_requests_only();
}

#[test]
fn rpc_08_rpc_09_rpc_10_every_response_has_either_result_or_error() {
    SENT.answers_with_result_or_error();
}

#[test]
fn rpc_11_rpc_12_every_error_has_a_code_and_a_message() {
    SENT.explains_errors();
}

#[test]
fn rpc_13_a_response_has_an_id_unless_it_could_not_be_read() {
    for Sent { revision, line, message } in SENT.answers() {
        let unreadable = message["id"].is_null();
        let code = message["error"]["code"].as_i64();
        assert!(!unreadable || matches!(code, Some(-32700 | -32600)), "{revision}: {line}");
        let has_member = message.get("id").is_some();
        assert!(
            !unreadable || has_member == (*revision < Revision::V2025_11_25),
            "{revision}: {line}"
        );
    }
}

#[test]
fn rpc_17_no_request_is_sent_under_2026_07_28() {
    for Sent { revision, line, message } in SENT.lines() {
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        assert!(!revision.is_modern() || !is_request, "{line}");
    }
}

#[test]
fn rpc_19_meta_14_every_modern_result_has_its_type_and_the_servers_name() {
    let mut seen = 0;
    for Played { text, sent, .. } in &SENT.0 {
        let nameless = text.contains("config: nameless");
        for Sent { line, message, .. } in sent.iter().filter(|sent| sent.revision.is_modern()) {
            let Some(result) = message.get("result") else { continue };
            assert!(result["resultType"].is_string(), "{line}");
            let name = result["_meta"].get("io.modelcontextprotocol/serverInfo");
            assert_eq!(name.is_none(), nameless, "{line}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn rpc_19_legacy_results_have_no_members_of_modern_ones() {
    for Sent { revision, line, message } in SENT.answers() {
        if revision.is_modern() {
            continue;
        }
        assert!(message["result"].get("resultType").is_none(), "{revision}: {line}");
        assert!(!line.contains("io.modelcontextprotocol/"), "{revision}: {line}");
    }
}

#[test]
fn ver_19_err_02_err_05_err_07_each_era_keeps_to_its_codes() {
    for Sent { revision, line, message } in SENT.answers() {
        let code = message["error"]["code"].as_i64().unwrap_or(0);
        if revision.is_modern() {
            let reserved = (-32099..=-32000).contains(&code);
            assert!(!reserved || matches!(code, -32021 | -32022), "{line}");
        } else {
            assert!(!(-32022..=-32020).contains(&code), "{revision}: {line}");
            assert!(code != -32042 || *revision == Revision::V2025_11_25, "{revision}: {line}");
        }
    }
}

#[test]
fn canc_11_canc_20_a_server_cancels_only_its_own_calls_and_subscriptions() {
    for Played { text, sent, .. } in &SENT.0 {
        let mut cancellable = BTreeSet::new();
        for Sent { line, message, .. } in sent {
            match (message["method"].as_str(), message.get("id")) {
                (Some("notifications/subscriptions/acknowledged"), _) => {
                    let key = "io.modelcontextprotocol/subscriptionId";
                    cancellable.insert(message["params"]["_meta"][key].to_string());
                }
                (Some("notifications/cancelled"), _) => {
                    let id = message["params"]["requestId"].to_string();
                    assert!(cancellable.remove(&id), "{line} in {text}");
                }
                (Some(_), Some(id)) => {
                    cancellable.insert(id.to_string());
                }
                _ => {}
            }
        }
    }
}

#[test]
fn cap_23_cap_24_no_notification_is_sent_without_its_capability() {
    for Played { text, sent, .. } in &SENT.0 {
        let mut lines = text.lines();
        let declared = lines.rfind(|line| line.starts_with("config: capabilities "));
        let declared = declared.unwrap_or("config: capabilities tools");
        for Sent { line, message, .. } in sent {
            let needs = match message["method"].as_str() {
                Some("notifications/message") => "logging",
                Some("notifications/tools/list_changed") => "tools.listChanged",
                Some("notifications/prompts/list_changed") => "prompts.listChanged",
                Some("notifications/resources/list_changed") => "resources.listChanged",
                Some("notifications/resources/updated") => "resources.subscribe",
                // The features that a client declares.
                Some("roots/list") => r#""roots":{"#,
                Some("sampling/createMessage") => r#""sampling":{"#,
                _ => continue,
            };
            let is_declared = match needs.starts_with('"') {
                true => text.contains(needs),
                false => declared.split(' ').any(|word| word == needs || word == "all"),
            };
            assert!(is_declared, "{line} in {text}");
        }
    }
}

#[test]
fn stdio_01_newlines_in_values_do_not_reach_the_wire() {
    const CONFIG: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    let mut server = new_server::<8, 8>(&CONFIG);
    let mut tx = TxBuffer::new([0; 1024]);
    let call = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    );
    for text in ["{\n\"a\" :\r\n[ 1 ,\n2 ] }", "{\"a\":\"\\n\\r\\u000a\"}"] {
        let mut messages = Messages::new(Frame::Complete(call.as_bytes()));
        let event = server.next_event(mcp_sansio::Instant::from_millis(0), &mut messages, &mut tx);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        let raw = RawJson::parse(text).expect("JSON");
        assert_eq!(server.respond_raw(request.handle, raw, &mut tx), Ok(()));
        let sent = tx.pending();
        assert_eq!(sent.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1);
        assert_eq!(sent.last(), Some(&b'\n'));
        let sent: Value = serde_json::from_slice(sent).expect("JSON");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(sent["result"]["a"], value["a"]);
        tx.advance(usize::MAX);
    }
}
