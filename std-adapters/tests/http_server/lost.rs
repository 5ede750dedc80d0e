//! Lost connections.

use std::sync::atomic::Ordering;

use crate::site::{Site, call, get, modern, request};

#[test]
fn canc_16_a_modern_handler_is_dropped_with_its_connection() {
    let site = Site::new();
    let mut client = site.connect();
    client.write(&modern("wait"));
    assert_eq!(client.head().status, 200);
    site.wait_for(1, 0);
    drop(client);
    site.wait_for(1, 1);
    // Also one that has not sent anything yet.
    let mut client = site.connect();
    client.write(&modern("silent"));
    site.wait_for(2, 1);
    drop(client);
    site.wait_for(2, 2);
}

#[test]
fn an_incomplete_request_is_ignored_and_affects_no_other() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let requests = [modern("echo"), call(&session, 2, "echo"), get(&session, &[])];
    for whole in &requests {
        for cut in 0..whole.len() {
            let mut client = site.connect();
            client.write(&whole[..cut]);
            drop(client);
        }
    }
    assert_eq!(site.counts.begun.load(Ordering::SeqCst), 0);
    assert_eq!(site.send(&modern("echo")).text(), "done");
    assert_eq!(site.call(&session, 3, "echo").text(), "done");
}

#[test]
fn a_response_cut_anywhere_can_be_resumed() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let whole = site.call(&session, 2, "steps").body;
    for (number, cut) in (0..whole.len() + 40).step_by(3).enumerate() {
        let stream = u32::try_from(number).unwrap() + 4;
        let mut client = site.connect();
        client.write(&call(&session, stream, "steps"));
        client.head();
        let mut seen = String::new();
        while seen.len() < cut
            && let Some(chunk) = client.chunk()
        {
            seen += &chunk;
        }
        drop(client);
        let complete = &seen[..seen[..cut.min(seen.len())].rfind("\n\n").map_or(0, |at| at + 2)];
        let Some(last) = complete.lines().filter_map(|line| line.strip_prefix("id: ")).next_back()
        else {
            continue;
        };
        let rest = site.send(&get(&session, &[("Last-Event-ID", last)]));
        let expected = whole
            .replace("id: 3-", &format!("id: {stream}-"))
            .replace("\"p2\"", &format!("\"p{stream}\""));
        let expected = expected.replace("\"id\":2,", &format!("\"id\":{stream},"));
        assert_eq!(format!("{complete}{}", rest.body), expected, "{cut}");
    }
}

#[test]
fn a_session_ends_with_delete_and_so_does_all_that_is_under_way() {
    let site = Site::new();
    let session = site.open("2025-06-18");
    let mut client = site.connect();
    client.write(&call(&session, 2, "wait"));
    assert_eq!(client.head().status, 200);
    client.chunk().unwrap();
    let mut asking = site.connect();
    asking.write(&call(&session, 3, "ask"));
    asking.head();
    asking.chunk().unwrap();
    assert_eq!(
        site.send(&request("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "")).status,
        204
    );
    assert!(client.chunk().is_none());
    assert!(asking.chunk().is_none());
    site.wait_for(2, 2);
    assert_eq!(site.call(&session, 4, "echo").status, 404);
}
