//! Contents of resources, and `file:` URIs.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use mcp_sansio::types::*;
use mcp_sansio::{Revision, ServerEvent};
use serde_json::json;

use super::support::Peer;

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
            let mut peer = Peer::new(Revision::V2025_03_26);
            let (uri, name) = (json!({"uri": "u:b"}), json!({"name": "t"}));
            let read = peer.ask_through(size, "resources/read", uri, |server, request, tx| {
                server.respond(request.handle, &ReadResourceResult::new(&contents), tx)
            });
            let call = peer.ask_through(size, "tools/call", name, |server, request, tx| {
                server.respond(request.handle, &CallToolResult::new(&blocks), tx)
            });
            let content = &call["result"]["content"];
            for blob in [
                &read["result"]["contents"][0]["blob"],
                &content[0]["data"],
                &content[1]["data"],
                &content[2]["resource"]["blob"],
            ] {
                let decoded = BASE64_STANDARD.decode(blob.as_str().expect("a string"));
                assert_eq!(decoded.as_deref(), Ok(data), "{length} through {size}");
            }
        }
    }
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
