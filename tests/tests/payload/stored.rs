//! Records of tasks that somebody has changed. The fuzz target `stored` has the same body.

use mcp_sansio_tests::stored::survives;

#[test]
fn any_bytes_in_a_store_are_a_record_or_are_refused() {
    survives(b"");
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as u8
    };
    for round in 0..3_000 {
        let length = 3 * (1 + round % 5);
        survives(&(0..length).map(|_| next()).collect::<Vec<_>>());
    }
}
