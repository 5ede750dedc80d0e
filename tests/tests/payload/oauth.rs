//! Texts of a peer in an authorization. The fuzz target `oauth` has the same body.

use mcp_sansio_tests::oauth::survives;

#[test]
fn auth_20_auth_28_auth_78_any_bytes_of_an_authorization_are_read_or_refused() {
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
