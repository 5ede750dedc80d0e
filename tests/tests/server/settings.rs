//! Each setting sets the field of its name and no other; the defaults are as documented.

use std::time::Duration;

use mcp_sansio::types::{CacheScope, Implementation, LoggingLevel};
use mcp_sansio::{
    ClientConfig, ClientFeatures, RawJson, Revision, Revisions, ServerConfig, ServerFeatures,
};

const SHORT: Duration = Duration::from_millis(7);

/// Returns the fields of a value's `Debug` output, one a line.
fn fields(value: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{value:#?}");
    // Fields of the struct are indented once; the lines of a field's value follow it.
    text.lines().fold(Vec::new(), |mut fields: Vec<String>, line| {
        if line.starts_with("    ")
            && !line.starts_with("     ")
            && !line.trim_start().starts_with(['}', ']', ')'])
        {
            fields.push(String::new());
        }
        if let Some(field) = fields.last_mut().filter(|_| line.starts_with(' ')) {
            field.push_str(line.trim());
        }
        fields
    })
}

fn changed(before: &impl std::fmt::Debug, after: &impl std::fmt::Debug) -> Vec<String> {
    let (before, after) = (fields(before), fields(after));
    assert_eq!(before.len(), after.len());
    after
        .into_iter()
        .zip(before)
        .filter(|(after, before)| after != before)
        .map(|(after, _)| after)
        .collect()
}

#[test]
fn each_setting_of_a_client_sets_its_field() {
    let base = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    let only = Revisions::only(Revision::V2025_06_18);
    for (config, expected) in [
        (base.experimental(RawJson::EMPTY), "experimental: Some({},),"),
        (base.extensions(RawJson::EMPTY), "extensions: Some({},),"),
        (base.result_types(&["task"]), "result_types: [\"task\",],"),
        (base.send_client_info(false), "send_client_info: false,"),
        (base.log_level(LoggingLevel::Alert), "log_level: Some(Alert,),"),
        (base.probe_timeout(SHORT), "probe_timeout: 7ms,"),
        (base.call_timeout(SHORT), "call_timeout: 7ms,"),
        (base.call_limit(SHORT), "call_limit: 7ms,"),
        (base.progress_extends_timeout(false), "progress_extends_timeout: false,"),
        (base.max_rounds(3), "max_rounds: 3,"),
        (base.request_timeout(SHORT), "request_timeout: Some(7ms,),"),
        (base.ping_interval(SHORT), "ping_interval: Some(7ms,),"),
        (base.ping_timeout(SHORT), "ping_timeout: 7ms,"),
        (base.progress_interval(SHORT), "progress_interval: 7ms,"),
    ] {
        assert_eq!(changed(&base, &config), [expected]);
    }
    assert!(base.revisions(only).revisions.contains(Revision::V2025_06_18));
    assert!(!base.revisions(only).revisions.contains(Revision::LATEST));
    // The defaults.
    let seconds = Duration::from_secs;
    assert_eq!(
        (base.probe_timeout, base.call_timeout, base.call_limit),
        (seconds(10), seconds(60), seconds(600))
    );
    assert_eq!(
        (base.max_rounds, base.ping_timeout, base.progress_interval),
        (16, seconds(20), Duration::ZERO)
    );
    assert_eq!((base.ping_interval, base.request_timeout, base.log_level), (None, None, None));
    assert!(base.send_client_info && base.progress_extends_timeout && base.result_types.is_empty());
}

#[test]
fn each_setting_of_a_server_sets_its_field() {
    let base = ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
    let only = Revisions::only(Revision::V2025_06_18);
    for (config, expected) in [
        (base.instructions("Read."), "instructions: Some(\"Read.\",),"),
        (base.experimental(RawJson::EMPTY), "experimental: Some({},),"),
        (base.extensions(RawJson::EMPTY), "extensions: Some({},),"),
        (base.methods(&["x/y"]), "methods: [\"x/y\",],"),
        (base.send_server_info(false), "send_server_info: false,"),
        (base.request_timeout(SHORT), "request_timeout: Some(7ms,),"),
        (base.call_timeout(SHORT), "call_timeout: 7ms,"),
        (base.ping_interval(SHORT), "ping_interval: Some(7ms,),"),
        (base.ping_timeout(SHORT), "ping_timeout: 7ms,"),
        (base.progress_interval(SHORT), "progress_interval: 7ms,"),
        (base.log_level(LoggingLevel::Alert), "log_level: Alert,"),
        (base.peer_can_reconnect(true), "peer_can_reconnect: true,"),
    ] {
        assert_eq!(changed(&base, &config), [expected]);
    }
    let cached = base.discover_cache(5, CacheScope::Private);
    assert_eq!(changed(&base, &cached), ["discover_ttl_ms: 5,", "discover_scope: Private,"]);
    assert!(base.revisions(only).revisions.contains(Revision::V2025_06_18));
    assert!(!base.revisions(only).revisions.contains(Revision::LATEST));
    assert_eq!(
        base.with_capabilities(ServerFeatures::PROMPTS).capabilities(),
        ServerFeatures::PROMPTS
    );
    // The defaults.
    let seconds = Duration::from_secs;
    assert_eq!(
        (base.call_timeout, base.ping_timeout, base.progress_interval),
        (seconds(60), seconds(20), Duration::ZERO)
    );
    let text = format!("{base:?}");
    for default in ["ping_interval: None", "request_timeout: None", "peer_can_reconnect: false"] {
        assert!(text.contains(default), "{default}");
    }
    assert_eq!(base.discover_ttl_ms, 0);
    assert_eq!((base.discover_scope, base.log_level), (CacheScope::Public, LoggingLevel::Debug));
    assert!(base.send_server_info && base.methods.is_empty());
}
