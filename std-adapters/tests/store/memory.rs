//! The store in memory.

use std::thread;
use std::time::Duration;

use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::store::{ENTRY_COST, MemoryStore, Store as _, TaskStore};
use mcp_sansio_contract::store as contract;

#[test]
fn tex_09_a_store_in_memory_is_a_store() {
    contract::run_limited(|clock, limit| MemoryStore::new(limit).clock(move || clock.now()));
}

#[test]
fn its_cost_is_that_of_its_records() {
    let store = MemoryStore::new(1 << 10);
    store.put("a", &[0; 10], Some(Duration::from_secs(100))).unwrap();
    store.put("a", &[0; 20], None).unwrap();
    let cost = |cost: usize| format!("MemoryStore {{ cost: {cost}, .. }}");
    assert_eq!(format!("{store:?}"), cost(ENTRY_COST + 21));
    store.remove("a").unwrap();
    assert_eq!(format!("{store:?}"), cost(0));
}

#[test]
fn its_own_clock_goes_on() {
    let store = MemoryStore::new(1 << 10);
    store.put("a", b"", Some(Duration::from_millis(1))).unwrap();
    while store.get("a").unwrap().is_some() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn it_is_called_on_the_thread_that_needs_it() {
    let tasks = TaskStore::new(MemoryStore::new(1 << 20), KeyRing::new([7; 32]));
    let thread = smol::block_on(tasks.run(|_| thread::current().id()));
    assert_eq!(thread, thread::current().id());
}
