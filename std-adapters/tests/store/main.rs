//! Stores, and the records that are kept in them.

mod directory;
mod memory;
mod network;
#[path = "../random/mod.rs"]
mod random;
mod records;
mod seals;

#[test]
fn a_store_over_the_network_is_a_store() {
    mcp_sansio_contract::store::run_limited(|clock, limit| {
        let behind = mcp_sansio_adapters::store::MemoryStore::new(limit).clock(move || clock.now());
        network::NetworkStore::new(network::serve(std::sync::Arc::new(behind)))
    });
}
