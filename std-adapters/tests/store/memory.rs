//! The store in memory.

use std::time::Duration;

use mcp_sansio_adapters::store::{ENTRY_COST, MemoryStore, Store, StoreError};

use super::suite;

#[test]
fn a_store_in_memory_is_a_store() {
    suite::run(|clock| MemoryStore::new(usize::MAX).clock(move || clock.now()));
}

#[test]
fn at_its_limit_it_refuses_and_evicts_only_what_has_ended() {
    let clock = suite::Clock::new();
    let now = clock.clone();
    let store = MemoryStore::new(2 * (ENTRY_COST + 11)).clock(move || now.now());
    store.put("a", &[0; 10], Some(Duration::from_secs(1))).unwrap();
    store.put("b", &[0; 10], None).unwrap();
    assert!(matches!(store.put("c", b"", None), Err(StoreError::Full)));
    assert!(matches!(store.put("b", &[0; 11], None), Err(StoreError::Full)));
    assert!(matches!(store.compare_and_put("c", None, b"", None), Err(StoreError::Full)));
    assert_eq!(store.get("b").unwrap().unwrap(), [0; 10], "a refused put changes nothing");
    assert!(!store.compare_and_put("b", None, &[0; 11], None).unwrap());
    store.put("b", &[1; 10], None).unwrap();
    assert_eq!(store.cost(), 2 * (ENTRY_COST + 11));

    clock.advance(Duration::from_secs(1));
    store.put("c", &[0; 10], None).unwrap();
    assert_eq!(store.keys("").unwrap(), ["b", "c"]);
    store.remove("b").unwrap();
    store.remove("c").unwrap();
    assert_eq!(store.cost(), 0);
}

#[test]
fn its_own_clock_goes_on() {
    let store = MemoryStore::new(1 << 10);
    store.put("a", b"", Some(Duration::from_millis(1))).unwrap();
    while store.get("a").unwrap().is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
}
