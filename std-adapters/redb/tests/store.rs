//! A store in a file is a store, with what a file brings.

use std::fs;
use std::time::Duration;

use mcp_sansio_adapters::store::{Store as _, StoreError};
use mcp_sansio_contract::store as contract;
use mcp_sansio_redb::RedbStore;

#[test]
fn a_store_in_a_file_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let files = std::cell::Cell::new(0);
    contract::run_limited(|clock, limit| {
        files.set(files.get() + 1);
        let path = folder.path().join(format!("{}.redb", files.get()));
        RedbStore::open(path, limit as u64).unwrap().clock(move || clock.now())
    });
}

#[test]
fn records_and_their_ends_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let clock = contract::Clock::new();
    let open = || {
        let clock = clock.clone();
        RedbStore::open(&path, 1 << 20).unwrap().clock(move || clock.now())
    };
    let store = open();
    store.put("a", b"1", Some(Duration::from_secs(10))).unwrap();
    store.put("b", b"2", Some(Duration::from_secs(20))).unwrap();
    drop(store);

    clock.advance(Duration::from_secs(10));
    let store = open();
    assert_eq!(store.keys("").unwrap(), ["b"]);
    assert_eq!(store.get("b").unwrap().unwrap(), b"2");
}

#[test]
fn a_file_is_open_in_one_place_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = RedbStore::open(&path, 1 << 20).unwrap();
    assert!(matches!(RedbStore::open(&path, 1 << 20), Err(StoreError::Unavailable(_))));
    drop(store);
    RedbStore::open(&path, 1 << 20).unwrap();
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let notes = "Not a store. ".repeat(1_000);
    fs::write(&path, &notes).unwrap();
    assert!(matches!(RedbStore::open(&path, 1 << 20), Err(StoreError::Failed(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), notes);
    assert!(matches!(RedbStore::open(folder.path(), 1 << 20), Err(StoreError::Failed(_))));
}

#[test]
fn the_limit_holds_after_the_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    RedbStore::open(&path, 10_000).unwrap().put("a", &[0; 6_000], None).unwrap();
    let store = RedbStore::open(&path, 10_000).unwrap();
    assert!(matches!(store.put("b", &[0; 6_000], None), Err(StoreError::Full)));
    store.remove("a").unwrap();
    store.put("b", &[0; 6_000], None).unwrap();
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    RedbStore::open(&path, 1 << 20).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
