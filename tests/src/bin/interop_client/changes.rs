//! Changes, and the end of a connection.

use std::time::Duration;

use mcp_sansio::types::{SubscriptionFilter, Text};
use mcp_sansio_adapters::blocking::client::{CallId, Shutdown};
use serde_json::json;

use super::Feature;
use super::features::read;
use super::session::{Session, Wrong, value, value_of, want};

pub(crate) const ALL: [Feature; 7] = [
    ("no_unasked_log", |s| {
        s.forget();
        s.call("log", json!({"level": "emergency", "text": "unasked"}))?;
        want(s.all("log").len(), usize::from(!s.is_modern()))
    }),
    ("unknown_method", |s| s.refused(-32601, "no/such/method", json!({}))),
    ("change_tools", |s| {
        changed(s, "tools")?;
        let tools = s.client.list_tools()?;
        want(tools.raw().last().map(|tool| value(tool)["name"].clone()), Some(json!("extra")))
    }),
    ("change_resources", |s| {
        changed(s, "resources")?;
        want(read(s, "test://extra")?["text"].as_str(), Some("extra"))
    }),
    ("change_prompts", |s| {
        changed(s, "prompts")?;
        let prompts = s.client.list_prompts()?;
        want(prompts.raw().last().map(|prompt| value(prompt)["name"].clone()), Some(json!("extra")))
    }),
    ("change_counter", |s| {
        changed(s, "counter")?;
        want(read(s, COUNTER)?["text"].as_str(), Some("1"))
    }),
    ("unsubscribe", |s| {
        if let Some(listen) = changed(s, "counter")? {
            want(s.client.cancel(listen, None)?, true)?;
        }
        s.client.run_for(Duration::from_millis(200))?;
        s.forget();
        s.call("change", json!({"what": "counter"}))?;
        s.client.run_for(Duration::from_millis(300))?;
        want((s.all("counter"), s.all("violation")), (Vec::new(), Vec::new()))
    }),
];

/// The server exits at the end of its input, by itself and with status 0.
pub(crate) fn ends_at_eof(mut session: Session) -> Result<(), Wrong> {
    session.client.list_tools()?;
    let ended = session.client.close()?;
    want(
        (ended.how, ended.status.is_some_and(|status| status.success())),
        (Shutdown::Graceful, true),
    )
}

/// Lets the server change something, and waits for the notification, by a subscription if it needs
/// one.
fn changed(s: &mut Session, what: &'static str) -> Result<Option<CallId>, Wrong> {
    s.forget();
    let uris = [Text::new(COUNTER)];
    let filter = SubscriptionFilter::new();
    let filter = match what {
        "tools" => filter.tools_list_changed(true),
        "resources" => filter.resources_list_changed(true),
        "prompts" => filter.prompts_list_changed(true),
        _ => filter.resource_subscriptions(&uris),
    };
    let (tagged, mut listen) = (s.is_modern(), None);
    if tagged || what == "counter" {
        listen = Some(s.client.listen(&filter)?);
    }
    if tagged {
        let granted = s.take("listening")?;
        want(granted, value_of(&filter))?;
    }
    want(s.said("change", json!({"what": what}))?.as_str(), "changed")?;
    let seen = s.take(what)?;
    want(seen, if what == "counter" { json!([tagged, COUNTER]) } else { json!(tagged) })?;
    Ok(listen)
}

const COUNTER: &str = "test://counter";
