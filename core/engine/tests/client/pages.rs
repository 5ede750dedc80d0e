//! Limits of lists.

use mcp_sansio_engine::internal::Pager;
use mcp_sansio_engine::{ListError, MAX_PAGES};
use serde_json::json;

use crate::scene::owned;

/// Reads pages whose cursors are these. Returns how many there are before the limit.
fn read(max_bytes: usize, cursor: impl Fn(usize) -> usize) -> (usize, ListError) {
    let mut pager = Pager::new(max_bytes);
    for read in 0.. {
        assert!(pager.next_page().is_some() && pager.next_page().is_none());
        let page = json!({"tools": [], "nextCursor": cursor(read).to_string()});
        if let Err(limit) = pager.check(owned(&page)) {
            assert!(pager.next_page().is_none(), "the list is over");
            return (read, limit);
        }
    }
    unreachable!()
}

#[test]
fn c7_a_list_is_read_up_to_its_limits() {
    let page = json!({"tools": [], "nextCursor": "0"}).to_string().len();
    assert_eq!(read(9 * page, |n| n), (9, ListError::TooLong(9 * page)));
    assert_eq!(read(9 * page - 1, |n| n).0, 8);
    assert_eq!(read(usize::MAX, |n| n), (MAX_PAGES - 1, ListError::TooManyPages));
    assert_eq!(read(usize::MAX, |n| n % 3), (3, ListError::RepeatedCursor));
    // Cursors are compared by what they mean.
    let mut pager = Pager::new(usize::MAX);
    for (cursor, is_new) in [(r#""a/b""#, true), (r#""a\/b""#, false)] {
        let page = format!(r#"{{"tools":[],"nextCursor":{cursor}}}"#);
        let page = mcp_sansio::RawJson::parse(&page).unwrap().into();
        assert_eq!(pager.check(page).is_ok(), is_new);
    }
}
