//! Crashes at every write point: all changes that had returned are there afterwards, and of the one
//! that had not, everything or nothing.

mod disk;
mod killed;
mod power;

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sansio_adapters::store::Store;
use redb::{ReadableDatabase as _, ReadableTable as _};

use super::{COST, ENDS, NEVER, RECORDS, RedbStore, StoreError, cost};

const LIMIT: u64 = 1 << 30;

/// The changes that a crash interrupts.
const CHANGES: [Change; 12] = [
    Change::Put("a", 10, None),
    Change::Put("b", 5_000, Some(Duration::from_secs(60))),
    Change::Put("a", 20_000, None),
    Change::CompareAndPut("c", None, 3),
    Change::CompareAndPut("c", Some(3), 300),
    Change::Remove("a"),
    Change::Put("b", 4, None),
    Change::Put("d", 9_000, Some(Duration::from_secs(60))),
    Change::Put("a", 0, None),
    Change::Put("d", 100_000, Some(Duration::from_secs(90))),
    Change::Remove("b"),
    Change::CompareAndPut("d", Some(100_000), 1),
];

/// A change, with the length of the bytes that it puts.
#[derive(Clone, Copy)]
enum Change {
    Put(&'static str, usize, Option<Duration>),
    CompareAndPut(&'static str, Option<usize>, usize),
    Remove(&'static str),
}

type Contents = BTreeMap<String, Vec<u8>>;

impl Change {
    fn make(self, store: &RedbStore) -> Result<(), StoreError> {
        match self {
            Self::Put(key, length, ttl) => store.put(key, &bytes(length), ttl),
            Self::CompareAndPut(key, expected, length) => {
                let expected = expected.map(bytes);
                let put = store.compare_and_put(key, expected.as_deref(), &bytes(length), None)?;
                assert!(put, "the changes before it are there");
                Ok(())
            }
            Self::Remove(key) => store.remove(key),
        }
    }

    fn model(self, contents: &mut Contents) {
        match self {
            Self::Put(key, length, _) | Self::CompareAndPut(key, _, length) => {
                contents.insert(key.to_owned(), bytes(length));
            }
            Self::Remove(key) => drop(contents.remove(key)),
        }
    }
}

/// Bytes that differ everywhere from those of another length.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at ^ (at >> 8) ^ length) as u8).collect()
}

/// Checks what is there after a crash, of which only the first changes had returned. Returns how
/// many are there.
fn check(store: &RedbStore, returned: usize) -> usize {
    check_tables(store);
    let keys = store.keys("").unwrap();
    let found: Contents =
        keys.into_iter().map(|key| (key.clone(), store.get(&key).unwrap().unwrap())).collect();
    let mut expected = Contents::new();
    for change in &CHANGES[..returned] {
        change.model(&mut expected);
    }
    if found == expected {
        return returned;
    }
    let next = CHANGES.get(returned).expect("all changes had returned, but are not all there");
    next.model(&mut expected);
    assert!(found == expected, "after {returned} changes there is neither this nor the next");
    returned + 1
}

/// Checks that the tables agree.
fn check_tables(store: &RedbStore) {
    let transaction = store.database.begin_read().unwrap();
    let (mut total, mut ends) = (0, Vec::new());
    for record in transaction.open_table(RECORDS).unwrap().iter().unwrap() {
        let (key, record) = record.unwrap();
        let (end, bytes) = record.value();
        total += cost(key.value(), bytes);
        if end != NEVER {
            ends.push((end, key.value().to_owned()));
        }
    }
    ends.sort();
    let listed = transaction.open_table(ENDS).unwrap();
    let listed: Vec<_> = listed
        .iter()
        .unwrap()
        .map(|end| end.map(|(end, _)| (end.value().0, end.value().1.to_owned())).unwrap())
        .collect();
    assert_eq!(listed, ends);
    let stored = transaction.open_table(COST).unwrap().get(()).unwrap().map(|cost| cost.value());
    assert_eq!(stored.unwrap_or_default(), total);
}
