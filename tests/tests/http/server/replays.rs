//! Lost connections, and replayed events.

use mcp_sansio::Change;

use super::host::{Host, ids, resume};

#[test]
fn sse_01_sse_02_sse_06_events_of_2025_11_25_begin_with_an_empty_one_and_have_ids_of_their_stream()
{
    let (mut host, new) = Host::opened("2025-11-25");
    let answer = host.tool(&new, 2, "progress");
    let lines: Vec<_> = answer.body.lines().filter(|line| !line.starts_with("data: {")).collect();
    assert_eq!(
        lines,
        ["id: 3-0", "retry: 500", "data:", "", "id: 3-1", "", "id: 3-2", "", "id: 3-3", ""]
    );
    let answer = host.tool(&new, 3, "progress");
    assert_eq!(ids(&answer.body), ["4-0", "4-1", "4-2", "4-3"]);
    // Older clients take an event without data for a message.
    for version in ["2025-03-26", "2025-06-18"] {
        let old = host.open(version);
        assert_eq!(ids(&host.tool(&old, 2, "progress").body), ["3-0", "3-1", "3-2"]);
    }
}

#[test]
fn sse_04_only_missed_events_of_the_same_stream_are_replayed() {
    let (mut host, id) = Host::opened("2025-11-25");
    let whole = host.tool(&id, 2, "progress").body;
    host.tool(&id, 3, "progress");
    host.site.publish(&Change::tools());
    let events: Vec<_> = whole.split_inclusive("\n\n").collect();
    for (number, _) in events.iter().enumerate() {
        let after = format!("3-{number}");
        let again = host.send(&resume(&id, &after));
        assert_eq!(again.body, events[number + 1..].concat(), "{after}");
    }
    for unknown in ["", "x", "3", "3-", "+3-1", "03-1", "99999999999-1"] {
        // Treated as missing: the standalone stream continues with new events.
        let fresh = host.send(&resume(&id, unknown));
        assert!(fresh.status == 200 && !fresh.body.contains("\"id\""), "{unknown}: {fresh:?}");
    }
}
