//! Sizes, requests, and configurations.

use std::time::Duration;

use mcp_sansio::types::{
    CreateMessageResult, Implementation, LoggingLevel, Role, SamplingMessageContent,
};
use mcp_sansio::{
    ClientConfig, ClientFeatures, RawJson, Revision, Revisions, RxBuffer, ServerConfig,
    ServerFeatures as Can,
};

use crate::chaos::script::Script;
use crate::pair::{CLIENT_FEATURES, SERVER_FEATURES};

/// A receive buffer, and whether every frame fits it.
pub(super) fn rx(script: &Script<'_>) -> (RxBuffer<Vec<u8>>, bool) {
    let size = *script.pick(&[8192, 8192, 8192, 600, 250]);
    (RxBuffer::new(vec![0; size]), size == 8192)
}

pub(super) const ROOMS: [usize; 10] = [4096, 1000, 600, 300, 200, 128, 64, 32, 16, 5];

pub(super) const REQUESTS: [(&str, RawJson<'static>); 12] = [
    ("tools/call", RawJson::from_static(r#"{"name":"t"}"#)),
    (
        "tools/call",
        RawJson::from_static(
            r#"{"name":"u","arguments":{"text":"a \"longer\" text \u00e9","n":[1.50,-0,1e40,null]},"_meta":{"own":1}}"#,
        ),
    ),
    ("tools/list", RawJson::EMPTY),
    ("resources/read", RawJson::from_static(r#"{"uri":"m://1"}"#)),
    ("prompts/get", RawJson::from_static(r#"{"name":"p","arguments":{"a":"b"}}"#)),
    ("resources/subscribe", RawJson::from_static(r#"{"uri":"m://1"}"#)),
    ("resources/unsubscribe", RawJson::from_static(r#"{"uri":"m://1"}"#)),
    ("logging/setLevel", RawJson::from_static(r#"{"level":"debug"}"#)),
    ("ping", RawJson::EMPTY),
    ("own/method", RawJson::EMPTY),
    ("prompts/get", RawJson::EMPTY),
    ("tools/call", RawJson::from_static(r#"{"name":"v"}"#)),
];

pub(super) const ANSWERS: RawJson<'static> =
    RawJson::from_static(r#"{"k":{"action":"accept","content":{"who":"me"}}}"#);
pub(super) const ROOTS: RawJson<'static> = RawJson::from_static(r#"{"roots":[]}"#);
pub(super) const SAMPLED: CreateMessageResult<'static> =
    CreateMessageResult::new(Role::Assistant, SamplingMessageContent::text("42"), "m");

const CLIENT: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("chaos", "0.0.0"), CLIENT_FEATURES);

pub(super) static CLIENTS: [ClientConfig<'static>; 8] = [
    CLIENT.max_rounds(1),
    CLIENT.max_rounds(2).log_level(LoggingLevel::Debug),
    CLIENT
        .revisions(Revisions::LEGACY)
        .request_timeout(Duration::from_secs(3))
        .ping_interval(Duration::from_secs(2)),
    CLIENT.revisions(Revisions::MODERN).progress_extends_timeout(false).send_client_info(false),
    CLIENT
        .revisions(Revisions::only(Revision::V2025_03_26))
        .ping_interval(Duration::from_millis(300))
        .ping_timeout(Duration::from_secs(1)),
    CLIENT
        .revisions(Revisions::only(Revision::V2024_11_05).with(Revisions::MODERN))
        .probe_timeout(Duration::from_millis(50)),
    CLIENT
        .call_timeout(Duration::from_millis(500))
        .call_limit(Duration::from_secs(2))
        .progress_interval(Duration::from_millis(5)),
    ClientConfig::new(Implementation::new("nothing", "0.0.0"), ClientFeatures::NONE)
        .call_timeout(Duration::ZERO),
];

const SERVER: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("chaos", "0.0.0"), SERVER_FEATURES)
        .methods(&["own/method"]);

pub(super) static SERVERS: [ServerConfig<'static>; 8] = [
    SERVER,
    SERVER,
    SERVER.revisions(Revisions::MODERN).request_timeout(Duration::from_secs(2)),
    SERVER
        .revisions(Revisions::LEGACY)
        .ping_interval(Duration::from_secs(1))
        .call_timeout(Duration::from_millis(1500)),
    SERVER
        .revisions(Revisions::only(Revision::V2025_03_26))
        .request_timeout(Duration::from_secs(1)),
    SERVER
        .revisions(Revisions::only(Revision::V2025_06_18))
        .ping_interval(Duration::from_millis(200))
        .ping_timeout(Duration::from_millis(500)),
    SERVER.request_timeout(Duration::ZERO).progress_interval(Duration::from_millis(5)),
    ServerConfig::new(Implementation::new("tools", "0.0.0"), Can::TOOLS)
        .call_timeout(Duration::from_millis(700)),
];
