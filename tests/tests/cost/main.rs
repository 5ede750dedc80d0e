//! What the core costs: no allocation, and work in proportion to the input.

mod http;
mod tasks;
mod work;

use allocation_counter::measure;
use mcp_sansio_tests::transcript;

#[test]
fn a_server_and_a_client_allocate_nothing_in_any_transcript() {
    for transcript in transcript::all() {
        println!("{}", transcript.name);
        let played = transcript::play_probed(&transcript, |call| {
            let allocations = measure(call);
            assert_eq!(allocations.count_total, 0, "{allocations:?}");
        });
        played.unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[test]
fn the_allocation_counter_counts() {
    assert!(measure(|| drop(std::hint::black_box(Box::new(1)))).count_total > 0);
}
