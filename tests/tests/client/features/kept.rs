//! Caching of results, and pagination.

use mcp_sansio::types::*;
use mcp_sansio::{CallOptions, ClientEvent, Instant, RawJson, Revision};
use serde_json::{Value, json};

use super::support::{NOW, Peer, REVISIONS, raw, result_of};

/// Returns the pages that a client gets by following the cursors of `pages`, and the cursors that
/// it sends.
fn follow(
    revision: Revision,
    method: &str,
    key: &str,
    pages: &[Value],
) -> (Vec<Value>, Vec<Value>) {
    let mut peer = Peer::new(revision);
    let (mut items, mut cursors) = (Vec::new(), Vec::new());
    let mut request = vec![peer.sends(method, &PaginatedParams::new())];
    for page in pages {
        let Some(sent) = request.pop() else {
            panic!("more requests than {} pages", cursors.len())
        };
        cursors.push(sent["params"]["cursor"].clone());
        request = peer.is_answered(&sent, "result", page, |client, event, tx| {
            let page = result_of(event);
            let list = page.get(key).into_iter().flat_map(RawJson::elements);
            items.extend(list.map(|item| item.as_str().to_owned()));
            if let Some(next) = PaginatedParams::next_page(page) {
                client
                    .request(NOW, method, &next, CallOptions::new(), tx)
                    .expect("the request is sent");
            }
        });
    }
    assert!(request.is_empty(), "no request follows the last page");
    (items.iter().map(|item| serde_json::from_str(item).expect("JSON")).collect(), cursors)
}

#[test]
fn page_01_page_05_page_06_page_07_prm_07_pages_are_followed_to_the_last() {
    for revision in REVISIONS {
        for (method, key) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            // Pages of any size, empty ones too, with opaque cursors.
            let odd = "e30= \"\\ \u{1} é /🦀";
            let pages = [
                json!({key: [1, 2, 3], "nextCursor": odd}),
                json!({key: [], "nextCursor": "0"}),
                json!({key: [4], "nextCursor": "-1"}),
                json!({key: [5, 6]}),
            ];
            let (items, cursors) = follow(revision, method, key, &pages);
            assert_eq!(items, [1, 2, 3, 4, 5, 6].map(Value::from), "{method} in {revision}");
            let sent = [Value::Null, json!(odd), json!("0"), json!("-1")];
            assert_eq!(cursors, sent, "{method} in {revision}");
            // Without pagination.
            let (items, cursors) = follow(revision, method, key, &[json!({key: [7]})]);
            assert_eq!((items, cursors), (vec![json!(7)], vec![Value::Null]));
        }
    }
}

#[test]
fn page_08_an_empty_cursor_is_one_and_only_its_absence_is_the_end() {
    let pages = [json!({"tools": [1], "nextCursor": ""}), json!({"tools": [2]})];
    let (items, cursors) = follow(Revision::LATEST, "tools/list", "tools", &pages);
    assert_eq!((items, cursors), (vec![json!(1), json!(2)], vec![Value::Null, json!("")]));
    for last in ["{}", r#"{"nextCursor":null}"#, r#"{"nextCursor":7}"#, "[]"] {
        assert!(PaginatedParams::next_page(raw(last)).is_none(), "{last}");
    }
}

#[test]
fn page_07_a_cursor_is_returned_byte_for_byte() {
    let page = r#"{"tools":[],"nextCursor":"a\u00e9\/\ud83e\udd80\""}"#;
    let mut out = [0; 64];
    let next = PaginatedParams::next_page(raw(page)).expect("another page");
    let sent =
        mcp_sansio::to_slice(&next, Revision::LATEST, &mut out).expect("the value can be written");
    assert_eq!(sent.as_str(), r#"{"cursor":"a\u00e9\/\ud83e\udd80\""}"#);
}

#[test]
fn cache_07_cache_08_cache_09_cache_10_cache_11_a_result_is_fresh_for_its_ttl() {
    let received = Instant::from_millis(1_000);
    let fresh = |result: &str, at: u64| {
        CacheHint::from_result(raw(result)).is_fresh(received, Instant::from_millis(at))
    };
    assert!(fresh(r#"{"ttlMs":500}"#, 1_000) && fresh(r#"{"ttlMs":500}"#, 1_499));
    assert!(!fresh(r#"{"ttlMs":500}"#, 1_500), "the result is stale");
    for stale in [
        r#"{"ttlMs":0}"#,
        "{}",
        r#"{"ttlMs":-5}"#,
        r#"{"ttlMs":null}"#,
        r#"{"ttlMs":"500"}"#,
        r#"{"ttlMs":-1e9}"#,
    ] {
        assert!(!fresh(stale, 1_000), "{stale}");
        assert_eq!(CacheHint::from_result(raw(stale)).ttl_ms, 0, "{stale}");
    }
    let for_ever = CacheHint::from_result(raw(r#"{"ttlMs":18446744073709551615}"#));
    assert!(for_ever.is_fresh(received, Instant::from_millis(u64::MAX - 1)), "no overflow");
}

#[test]
fn cache_14_a_scope_other_than_public_is_private() {
    let scope = |result: &str| CacheHint::from_result(raw(result)).cache_scope;
    assert_eq!(scope(r#"{"cacheScope":"public"}"#), CacheScope::Public);
    for private in [
        r#"{"cacheScope":"private"}"#,
        "{}",
        r#"{"cacheScope":"Public"}"#,
        r#"{"cacheScope":7}"#,
        "[]",
    ] {
        assert_eq!(scope(private), CacheScope::Private, "{private}");
    }
}

#[test]
fn cache_15_a_change_notification_names_the_stale_results() {
    let kept = [
        ("tools/list", "{}"),
        ("tools/list", r#"{"cursor":"2"}"#),
        ("prompts/list", "{}"),
        ("resources/list", "{}"),
        ("resources/templates/list", "{}"),
        ("resources/read", r#"{"uri":"file:///a"}"#),
        ("resources/read", r#"{"uri":"file:///b"}"#),
        ("server/discover", "{}"),
    ];
    for revision in REVISIONS {
        for (change, params, stale) in [
            ("tools/list_changed", json!({}), &[0, 1][..]),
            ("prompts/list_changed", json!({}), &[2]),
            ("resources/list_changed", json!({}), &[3, 4]),
            ("resources/updated", json!({"uri": "file:///a"}), &[5]),
            // A sub-resource; but not what it is a part of.
            ("resources/updated", json!({"uri": "file:///a/x"}), &[5]),
            ("resources/updated", json!({"uri": "file:///"}), &[]),
            ("resources/updated", json!({"uri": "file:///c"}), &[]),
        ] {
            let mut found = Vec::new();
            let message = json!({"jsonrpc": "2.0", "method": format!("notifications/{change}"), "params": params});
            Peer::new(revision).hears(&message, |_, event, _| {
                let ClientEvent::Changed { what, .. } = event else { panic!("{event:?}") };
                let concerns = |at: &usize| what.concerns(kept[*at].0, raw(kept[*at].1));
                found = (0..kept.len()).filter(concerns).collect();
            });
            assert_eq!(found, stale, "{change} in {revision}");
        }
    }
}

#[test]
fn sub_06_the_acknowledged_filter_is_compared_with_the_requested_one() {
    let uris = [Text::new("file:///a"), Text::new("file:///b")];
    let wanted = SubscriptionFilter::new()
        .tools_list_changed(true)
        .prompts_list_changed(false)
        .resource_subscriptions(&uris);
    for (granted, all) in [
        (
            json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///b", "file:///a"]}),
            true,
        ),
        (
            json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["file:///a", "file:///b", "x"]}),
            true,
        ),
        (json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}), false),
        (
            json!({"toolsListChanged": false, "resourceSubscriptions": ["file:///a", "file:///b"]}),
            false,
        ),
        (json!({"resourceSubscriptions": ["file:///a", "file:///b"]}), false),
        (json!({"toolsListChanged": true}), false),
        (json!({}), false),
    ] {
        let mut peer = Peer::new(Revision::LATEST);
        let sent = peer.does(|client, tx| {
            client.listen(NOW, &wanted, CallOptions::new(), tx).expect("the request is sent");
        });
        let meta = json!({"io.modelcontextprotocol/subscriptionId": sent[0]["id"]});
        let params = json!({"notifications": granted, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        let mut verdict = None;
        peer.hears(&message, |_, event, _| {
            let ClientEvent::Listening { filter, .. } = event else { panic!("{event:?}") };
            verdict = Some(wanted.is_subset(&filter.to().expect("a filter")));
        });
        assert_eq!(verdict, Some(all), "{granted}");
    }
    assert!(
        SubscriptionFilter::new().is_subset(&SubscriptionFilter::new()),
        "an empty filter is a subset"
    );
}
