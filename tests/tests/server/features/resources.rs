//! Contents of resources, `file:` URIs, and subscriptions.

use mcp_sansio::types::*;
use mcp_sansio::{Catalog, Change, Frame, Messages, Revision, ServerEvent, Target};
use serde_json::json;

use super::support::{NOW, Peer, REVISIONS, entries, lines, through};

#[test]
fn res_06_an_unknown_resource_is_never_empty() {
    let resources = [Resource::new("u:a", "a")];
    let templates = [ResourceTemplate::new("u:t/{id}", "t")];
    let catalog = Catalog::new().resources(entries(&resources)).templates(entries(&templates));
    for revision in REVISIONS {
        for uri in ["u:b", "u:", "u:t/", "U:a", "u:a/", "u:a?"] {
            let answer = Peer::new(revision).ask(
                "resources/read",
                json!({"uri": uri}),
                |server, request, tx| {
                    assert!(matches!(catalog.respond(server, request, tx), Ok(Target::Responded)));
                },
            );
            let code = if revision.is_modern() { -32602 } else { -32002 };
            assert_eq!(
                answer["error"],
                json!({"code": code, "message": "Resource not found", "data": {"uri": uri}})
            );
            assert!(answer.get("result").is_none());
        }
    }
}

#[test]
fn res_09_prm_08_prm_09_prm_10_bytes_of_any_length_come_through_any_buffer_as_base64() {
    let bytes: Vec<u8> = (0..1000u32).map(|n| (n.wrapping_mul(167) >> 2) as u8).collect();
    for length in (0..100).chain([255, 256, 257, 511, 998, 999, 1000]) {
        let data = &bytes[..length];
        let contents = [ResourceContents::blob("u:b", data)];
        let blocks = [
            ContentBlock::image(data, "image/png"),
            ContentBlock::audio(data, "audio/wav"),
            ContentBlock::resource(contents[0]),
        ];
        for size in [1, 5, 64, 200] {
            let mut peer = Peer::<8, 8>::new(Revision::V2025_03_26);
            let read = peer.request("resources/read", json!({"uri": "u:b"}));
            let call = peer.request("tools/call", json!({"name": "t"}));
            let mut blobs = Vec::new();
            for line in [read.to_string(), call.to_string()] {
                let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
                let (event, _) = through(64, |tx| peer.server.next_event(NOW, &mut messages, tx));
                let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
                let (read, call) =
                    (ReadResourceResult::new(&contents), CallToolResult::new(&blocks));
                let (_, sent) = match request.uri() {
                    Some(_) => through(size, |tx| peer.server.respond(request.handle, &read, tx)),
                    None => through(size, |tx| peer.server.respond(request.handle, &call, tx)),
                };
                let answer = lines(&sent).remove(0);
                blobs.push(answer["result"]["contents"][0]["blob"].clone());
                blobs.extend(
                    ["data", "data"]
                        .iter()
                        .enumerate()
                        .map(|(n, key)| answer["result"]["content"][n][key].clone()),
                );
                blobs.push(answer["result"]["content"][2]["resource"]["blob"].clone());
            }
            blobs.retain(|blob| !blob.is_null());
            assert_eq!(blobs.len(), 4);
            for blob in blobs {
                let text = blob.as_str().expect("a string");
                assert_eq!(decode(text), data, "{length} through {size}");
            }
        }
    }
}

/// RFC 4648, section 4, with padding: written for this test.
fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0);
    let mut bytes = Vec::new();
    for quad in text.as_bytes().chunks(4) {
        let padding = quad.iter().rev().take_while(|byte| **byte == b'=').count();
        assert!(padding < 3);
        let bits = quad[..4 - padding].iter().fold(0u32, |bits, byte| {
            bits << 6
                | ALPHABET.iter().position(|known| known == byte).expect("the alphabet") as u32
        }) << (6 * padding);
        assert_eq!(bits & ((1 << (8 * padding)) - 1), 0, "unused bits are zero");
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    bytes
}

#[test]
fn res_10_file_uris_lead_nowhere_else() {
    let path = |uri: &str| {
        let (mut peer, mut found) = (Peer::new(Revision::LATEST), None);
        let message = peer.request("resources/read", json!({"uri": uri}));
        peer.say(&message, |_, event, _| {
            let ServerEvent::Request(request) = event else { panic!("{event:?}") };
            let mut out = [0; 64];
            found = request.file_path(&mut out).map(ToOwned::to_owned);
            assert_eq!(request.file_path(&mut [0; 1]), None);
        });
        found
    };
    for (uri, expected) in [
        ("file:///srv/a.txt", "/srv/a.txt"),
        ("file:/srv/a.txt", "/srv/a.txt"),
        ("FILE://localhost/srv/a", "/srv/a"),
        ("file:///", "/"),
        ("file:///srv/a%20b%C3%A9/...", "/srv/a bé/..."),
        ("file:///srv/é", "/srv/é"),
        ("file:///C:/Users/x", "/C:/Users/x"),
        ("file:///srv/.hidden/a..b", "/srv/.hidden/a..b"),
        ("file:///srv/%252e%252e/x", "/srv/%2e%2e/x"),
    ] {
        assert_eq!(path(uri).as_deref(), Some(expected), "{uri}");
    }
    let long = format!("file:///{}", "x".repeat(64));
    for uri in [
        "file:///srv/../etc/passwd",
        "file:///..",
        "file:///srv/./a",
        "file:///srv/.",
        "file:///srv/%2e%2e/etc/passwd",
        "file:///srv/%2E%2e/etc/passwd",
        "file:///srv/.%2e",
        "file:///srv/..%2fetc",
        "file:///srv/a%2Fb",
        "file:///srv/a%5cb",
        "file:///srv\\..\\etc",
        "file:///srv/a%00.txt",
        "file:///srv/%ff",
        "file:///srv/%g0",
        "file:///srv/%0g",
        "file:///srv/%2",
        "file://example.com/srv/a",
        "file://localhost.example.com/a",
        "file://localhost",
        "file:////example.com/a",
        "file:srv/a",
        "http:/srv/a",
        "file:../a",
        "file:///srv/a?b",
        "file:///srv/a#b",
        "files:///srv/a",
        "https://example.com/a",
        &long,
    ] {
        assert_eq!(path(uri), None, "{uri}");
    }
}

#[test]
fn subscriptions_end_with_their_session() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    let told = |peer: &mut Peer| {
        let mut change = Change::resource("file:///a");
        let (_, sent) = through(256, |tx| peer.server.publish(&mut change, tx));
        lines(&sent).len()
    };
    assert_eq!(told(&mut peer), 0);
    let answer = peer.request("resources/subscribe", json!({"uri": "file:///a"}));
    let sent = peer.say(&answer, |server, event, tx| {
        if let ServerEvent::Request(request) = event {
            assert_eq!(server.respond(request.handle, &EmptyResult::new(), tx), Ok(()));
        }
    });
    assert_eq!((sent.len(), told(&mut peer)), (1, 1));
    peer.server.close();
    assert_eq!(told(&mut peer), 0);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let open = json!({"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": params});
    assert_eq!(peer.say(&open, |_, _, _| {}).len(), 1);
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), |_, _, _| {});
    assert_eq!(told(&mut peer), 0, "the next session has no subscriptions");
}
