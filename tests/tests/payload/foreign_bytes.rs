//! Bytes that somebody has changed. The fuzz targets `stored` and `oauth` have the same bodies.

use mcp_sansio_tests::random::Random;
use mcp_sansio_tests::{oauth, stored};

#[test]
fn any_bytes_in_a_store_are_a_record_or_are_refused() {
    survives_any_bytes(stored::survives);
}

#[test]
fn auth_20_auth_28_auth_78_any_bytes_of_an_authorization_are_read_or_refused() {
    survives_any_bytes(oauth::survives);
}

fn survives_any_bytes(survives: fn(&[u8])) {
    survives(b"");
    let mut random = Random::new(1);
    for round in 0..3_000 {
        let length = 3 * (1 + round % 5);
        survives(&(0..length).map(|_| random.next() as u8).collect::<Vec<_>>());
    }
}
