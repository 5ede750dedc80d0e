//! Lost connections.

use crate::site::{Site, call, get, modern};

#[test]
fn canc_16_a_modern_handler_is_dropped_with_its_connection() {
    let site = Site::new();
    let client = site.stream(&modern("wait"));
    site.wait_for(1, 0);
    drop(client);
    site.wait_for(1, 1);
    // Also one that has not sent anything yet.
    let client = site.begin(&modern("silent"));
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
            let client = site.begin(&whole[..cut]);
            drop(client);
        }
    }
    assert_eq!(site.counts.get(), (0, 0));
    assert_eq!(site.send(&modern("echo")).text(), "done");
    assert_eq!(site.call(&session, 3, "echo").text(), "done");
}
