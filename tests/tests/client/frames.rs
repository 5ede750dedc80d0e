//! Rules for every line that a client sends in the transcripts.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use mcp_sansio::Revision;
use mcp_sansio_tests::transcript::{self, Transcript};
use serde_json::Value;

#[test]
fn rpc_01_rpc_02_stdio_01_stdio_03_every_line_of_a_client_is_one_message() {
    for (revision, line, message) in lines() {
        assert!(message.is_object() && message["jsonrpc"] == "2.0", "{revision}: {line}");
        assert!(!line.contains(['\n', '\r']), "{revision}: {line}");
        let kinds = ["method", "result", "error"]
            .iter()
            .filter(|kind| message.get(**kind).is_some())
            .count();
        assert_eq!(kinds, 1, "{revision}: {line}");
    }
    assert!(lines().count() > 500, "{}", lines().count());
}

#[test]
fn bat_02_bat_01_a_client_sends_no_batches() {
    assert!(lines().all(|(_, line, message)| line.starts_with('{') && message.is_object()));
}

#[test]
fn rpc_03_rpc_04_rpc_14_a_clients_requests_have_integer_ids_and_notifications_none() {
    for (revision, line, message) in lines() {
        let Some(method) = message["method"].as_str() else { continue };
        let is_notification = method.starts_with("notifications/") || method == "example/news";
        match message.get("id") {
            None => assert!(is_notification, "{revision}: {line}"),
            Some(id) => assert!(id.is_u64() && !is_notification, "{revision}: {line}"),
        }
    }
}

#[test]
fn rpc_05_rpc_06_prog_01_prog_02_a_client_uses_each_id_once() {
    for (name, lines) in played() {
        let (mut last, mut tokens) = (0, BTreeSet::new());
        for (_, line) in lines {
            let message = value(line);
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
    let mut seen = 0;
    for (revision, line, message) in answers() {
        assert_ne!(
            message.get("result").is_some(),
            message.get("error").is_some(),
            "{revision}: {line}"
        );
        assert!(message.get("result").is_none_or(Value::is_object), "{revision}: {line}");
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn rpc_11_rpc_12_rpc_16_every_error_of_a_client_has_a_code_and_one_short_sentence() {
    for (revision, line, message) in
        answers().filter(|(_, _, message)| message.get("error").is_some())
    {
        let error = &message["error"];
        assert!(error["code"].is_i64(), "{revision}: {line}");
        assert!(
            error["message"].as_str().is_some_and(|text| !text.is_empty() && text.len() <= 120),
            "{revision}: {line}"
        );
    }
}

#[test]
fn rpc_13_rpc_07_a_response_of_a_client_has_the_id_of_a_request() {
    for (name, text) in transcript::client_texts() {
        let asked: BTreeSet<String> =
            text.lines().filter(|line| line.starts_with('<')).flat_map(ids_in).collect();
        for (_, line) in &played()
            .iter()
            .find(|(played, _)| *played == name)
            .expect("the transcript was played")
            .1
        {
            let message = value(line);
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
    for (_, line, message) in lines().filter(|(revision, ..)| revision.is_modern()) {
        let method = message["method"].as_str().unwrap_or_else(|| panic!("a response: {line}"));
        assert!(
            !method.starts_with("notifications/") || method == "notifications/cancelled",
            "{line}"
        );
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn meta_08_meta_09_meta_10_cust_02_every_modern_request_has_the_required_members() {
    let mut seen = 0;
    for (name, text) in transcript::client_texts() {
        let nameless = text.contains("config: nameless");
        let lines = &played()
            .iter()
            .find(|(played, _)| *played == name)
            .expect("the transcript was played")
            .1;
        for (revision, line) in lines {
            let message = value(line);
            let meta = &message["params"]["_meta"];
            if !revision.is_modern() || message.get("id").is_none() {
                assert!(
                    !line.contains("io.modelcontextprotocol/protocolVersion"),
                    "{name}: {line}"
                );
                continue;
            }
            assert_eq!(
                meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28",
                "{name}: {line}"
            );
            assert!(
                meta["io.modelcontextprotocol/clientCapabilities"].is_object(),
                "{name}: {line}"
            );
            let info = &meta["io.modelcontextprotocol/clientInfo"];
            assert_eq!(
                (info.is_null(), info["name"] == "c"),
                (nameless, !nameless),
                "{name}: {line}"
            );
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn life_02_life_01_cust_01_a_legacy_session_begins_with_initialize() {
    let mut seen = 0;
    for (name, lines) in played() {
        let mut initialized = false;
        for (revision, line) in lines.iter().filter(|(revision, _)| !revision.is_modern()) {
            let message = value(line);
            match (message["method"].as_str(), message.get("id")) {
                (Some("initialize"), Some(_)) => {
                    let params = &message["params"];
                    assert!(
                        params["protocolVersion"] == revision.as_str()
                            && params["capabilities"].is_object(),
                        "{line}"
                    );
                    assert!(
                        params["clientInfo"]["name"] == "c"
                            && params["clientInfo"]["version"] == "1",
                        "{line}"
                    );
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
    for (name, lines) in played() {
        let mut open = BTreeSet::new();
        for (_, line) in lines {
            let message = value(line);
            match (message["method"].as_str(), message["id"].as_u64()) {
                (Some("initialize" | "server/discover"), _) => {}
                (Some(_), Some(id)) => assert!(open.insert(id)),
                (Some("notifications/cancelled"), None) => {
                    let id = message["params"]["requestId"]
                        .as_u64()
                        .unwrap_or_else(|| panic!("{name}: {line}"));
                    assert!(open.remove(&id), "{name}: cancelled, though it was not open: {line}");
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
    for (name, text) in transcript::client_texts().iter().filter(|(_, text)| text.contains(usual)) {
        for server_info in names {
            let other = Transcript::parse(name, &text.replace(usual, server_info))
                .and_then(|t| transcript::play_once(&t));
            let other = other.unwrap_or_else(|fault| panic!("{fault}"));
            let usual = &played()
                .iter()
                .find(|(played, _)| played == name)
                .expect("the transcript was played")
                .1;
            assert_eq!(&other, usual, "{name} with {server_info}");
            compared += other.len();
        }
    }
    assert!(compared > 300, "{compared}");
}

type Played = Vec<(String, Vec<(Revision, String)>)>;

/// Each transcript, with the lines that the client sent.
fn played() -> &'static Played {
    static PLAYED: OnceLock<Played> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let play = |(name, text): (String, String)| {
            let sent = Transcript::parse(&name, &text)
                .and_then(|transcript| transcript::play_once(&transcript));
            (name, sent.unwrap_or_else(|fault| panic!("{fault}")))
        };
        transcript::client_texts().into_iter().map(play).collect()
    })
}

fn lines() -> impl Iterator<Item = (Revision, &'static str, Value)> {
    played()
        .iter()
        .flat_map(|(_, lines)| lines)
        .map(|(revision, line)| (*revision, line.as_str(), value(line)))
}

fn answers() -> impl Iterator<Item = (Revision, &'static str, Value)> {
    lines().filter(|(_, _, message)| message.get("method").is_none())
}

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

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}
