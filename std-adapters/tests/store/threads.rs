//! A store that waits for a disk, in an asynchronous server.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sansio::tasks::TaskId;
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::store::{MemoryStore, Store, StoreError, TaskRecord, TaskStore};
use smol::future;

/// A store whose `put` waits until it is told to go on.
struct Slow {
    memory: MemoryStore,
    go_on: Mutex<Receiver<()>>,
}

impl Store for Slow {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.memory.get(key)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        let go_on = self.go_on.lock().unwrap_or_else(PoisonError::into_inner);
        go_on.recv().map_err(|error| StoreError::Unavailable(error.into()))?;
        self.memory.put(key, bytes, ttl)
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        self.memory.compare_and_put(key, expected, bytes, ttl)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.memory.remove(key)
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.memory.keys(prefix)
    }
}

fn slow() -> (TaskStore, Sender<()>) {
    let (tell, go_on) = channel();
    let store = Slow { memory: MemoryStore::new(1 << 20), go_on: Mutex::new(go_on) };
    (TaskStore::new(Arc::new(store), KeyRing::new([7; 32])), tell)
}

fn record() -> TaskRecord {
    TaskRecord::new(TaskId::new([1; 16]), "erase", "{}", 0, 60_000)
}

#[test]
fn a_store_that_waits_leaves_the_thread_to_others() {
    let (tasks, tell) = slow();
    let saving = tasks.run(|tasks| tasks.save(&record()));
    // Only the second future lets the first one end, on the same thread.
    let other = async { tell.send(()).unwrap() };
    let (saved, ()) = smol::block_on(future::zip(saving, other));
    saved.unwrap();
    let mut loaded = 0;
    tasks.load(|_| loaded += 1).unwrap();
    assert_eq!(loaded, 1);
}

#[test]
fn an_error_of_the_store_comes_back() {
    let (tasks, tell) = slow();
    drop(tell);
    let saved = smol::block_on(tasks.run(|tasks| tasks.save(&record())));
    assert!(matches!(saved, Err(StoreError::Unavailable(_))));
}

#[test]
fn a_store_in_memory_is_called_at_once() {
    let tasks = TaskStore::new(MemoryStore::new(1 << 20), KeyRing::new([7; 32]));
    let thread = smol::block_on(tasks.run(|_| thread::current().id()));
    assert_eq!(thread, thread::current().id());
}
