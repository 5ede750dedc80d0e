//! Any bytes in a store of tasks: they are a record or are refused, and nothing panics.

use std::sync::Arc;

use mcp_sansio::Instant;
use mcp_sansio::tasks::{TaskOwner, TaskTime, TasksConfig, TasksState};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::store::{MemoryStore, RecordError, Store as _, TaskRecord, TaskStore};

use crate::oauth::changed;

/// A record of the last release, with its seal.
const RECORD: &[u8] = include_bytes!("../../std-adapters/tests/store/task-record-1.bin");

/// Reads the bytes as a record, and as changes of a valid one.
pub fn survives(data: &[u8]) {
    read(data);
    read(&changed(&RECORD[..RECORD.len() - 32], data));
}

fn read(record: &[u8]) {
    let decoded = TaskRecord::decode(record);
    if let Ok(decoded) = &decoded {
        assert_eq!(TaskRecord::decode(&decoded.encode().unwrap()).as_ref(), Ok(decoded));
        let now = TaskTime::new(Instant::from_millis(1), 1_795_000_010_000);
        let (config, mut state) = (TasksConfig::new(), TasksState::<1>::new());
        let restored =
            state.tasks(&config).restore(now, decoded.id, TaskOwner(0), &decoded.stored());
        assert!(restored.is_ok(), "there is room");
    }

    let (store, keys) = (Arc::new(MemoryStore::new(1 << 20)), KeyRing::new([7; 32]));
    store.put("task/a", record, None).unwrap();
    store.put("task/b", &keys.seal_record("task/b", record.to_vec()), None).unwrap();
    let mut loaded = Vec::new();
    let tasks = TaskStore::new(store, keys);
    tasks.load(|task| loaded.push(task.map_err(|damaged| damaged.error))).unwrap();
    assert_eq!(loaded, [Err(RecordError::Seal), decoded]);
}
