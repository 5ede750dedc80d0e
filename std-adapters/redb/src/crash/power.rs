//! Power is lost at each write and each sync, and again while the file is opened.

use super::disk::{Disk, Random};
use super::*;
use crate::{not_opened, open_database};

/// Opens the store and makes the changes from `done` on, until power is lost. Returns how many have
/// returned then.
fn run(disk: &Disk, mut done: usize) -> usize {
    let opened = open_database(disk.clone()).map_err(not_opened);
    let Ok(store) = opened.and_then(|database| RedbStore::new(database, LIMIT)) else {
        return done;
    };
    while let Some(change) = CHANGES.get(done) {
        if change.make(&store).is_err() {
            break;
        }
        done += 1;
    }
    done
}

/// Opens what a loss of power has left, and checks it.
fn reopened(content: &[u8], done: usize) -> usize {
    let disk = Disk::new(content.to_vec(), usize::MAX);
    let database = open_database(disk).expect("the file opens after a loss");
    check(&RedbStore::new(database, LIMIT).unwrap(), done)
}

#[test]
fn after_a_loss_of_power_at_any_write_the_store_is_whole() {
    let mut random = Random(1);
    // A complete file gets its name at once; it has no tables yet.
    let created = Disk::new(Vec::new(), usize::MAX);
    drop(open_database(created.clone()).unwrap());
    let created = created.after_loss(&mut random);
    let mut losses = 0;
    for left in 0.. {
        let disk = Disk::new(created.clone(), left);
        let done = run(&disk, 0);
        if disk.left() > 0 {
            assert_eq!(done, CHANGES.len());
            break;
        }
        losses += 1;
        for _ in 0..4 {
            let content = disk.after_loss(&mut random);
            let done = reopened(&content, done);
            // The second loss may be while the file is opened, or at a later change.
            let again = Disk::new(content, random.below(12));
            let done = run(&again, done);
            reopened(&again.after_loss(&mut random), done);
        }
    }
    assert!(losses > 5 * CHANGES.len(), "only {losses} writes were interrupted");
}

#[test]
fn what_changes_nothing_writes_nothing() {
    let disk = Disk::new(Vec::new(), usize::MAX);
    let store = RedbStore::new(open_database(disk.clone()).unwrap(), LIMIT).unwrap();
    store.put("a", b"1", None).unwrap();
    let left = disk.left();
    assert!(!store.compare_and_put("a", None, b"2", None).unwrap());
    store.remove("b").unwrap();
    store.get("a").unwrap();
    store.keys("").unwrap();
    assert_eq!(disk.left(), left);

    let syncs = disk.syncs();
    store.remove("a").unwrap();
    assert!((1..=3).contains(&(disk.syncs() - syncs)), "as documented");
}
