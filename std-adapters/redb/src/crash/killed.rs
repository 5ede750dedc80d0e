//! A process is killed, at each write and at any moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, abort};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{env, fs, io, process, thread};

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::disk::Random;
use super::*;
use crate::open_file;

/// The child's file, and the number of writes after which it aborts.
const FILE: &str = "CRASH_FILE";
const WRITES: &str = "CRASH_WRITES";

#[test]
#[ignore = "is a process that other tests start and that is killed"]
fn child() {
    let path = PathBuf::from(env::var_os(FILE).expect("another test sets it"));
    if let Ok(writes) = env::var(WRITES) {
        let left = Arc::new(AtomicUsize::new(writes.parse().unwrap()));
        let backend = |file| Ok(Aborting { file: FileBackend::new(file)?, left: left.clone() });
        let database = open_file(&path, backend, |new, path| fs::hard_link(new, path));
        let store = RedbStore::new(database.unwrap(), LIMIT).unwrap();
        for change in CHANGES {
            change.make(&store).unwrap();
            acknowledge();
        }
        process::exit(0);
    }
    let store = RedbStore::open(&path, LIMIT).unwrap();
    // Until it is killed. The number that was interrupted the last time comes first.
    for number in number(&store).unwrap_or(0).. {
        store.put("number", &number.to_be_bytes(), None).unwrap();
        store.put(&format!("record/{}", number % 8), &sized(number), None).unwrap();
        acknowledge();
    }
}

fn number(store: &RedbStore) -> Option<u64> {
    Some(u64::from_be_bytes(store.get("number").unwrap()?.try_into().unwrap()))
}

fn acknowledge() {
    let mut output = io::stdout();
    output.write_all(b"\nacknowledged\n").and_then(|()| output.flush()).unwrap();
}

fn sized(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(1 + number as usize % 1_000)
}

/// A file whose process aborts instead of a write.
#[derive(Debug)]
struct Aborting {
    file: FileBackend,
    left: Arc<AtomicUsize>,
}

impl Aborting {
    fn write(&self) -> &FileBackend {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            abort();
        }
        &self.file
    }
}

impl StorageBackend for Aborting {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.write().set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.write().sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        StorageBackend::write(self.write(), offset, bytes)
    }
}

fn command(path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "crash::killed::child", "--ignored", "--nocapture"]);
    command.env(FILE, path).env_remove(WRITES).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn acknowledged(output: impl io::Read) -> usize {
    BufReader::new(output).lines().filter(|line| line.as_ref().unwrap() == "acknowledged").count()
}

#[test]
fn a_process_that_aborts_at_any_write_leaves_the_store_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut aborted = 0;
    for writes in 0.. {
        let path = folder.path().join(writes.to_string());
        let output = command(&path).env(WRITES, writes.to_string()).output().unwrap();
        let done = acknowledged(&*output.stdout);
        check(&RedbStore::open(&path, LIMIT).unwrap(), done);
        fs::remove_file(&path).unwrap();
        if output.status.success() {
            assert_eq!(done, CHANGES.len());
            break;
        }
        aborted += 1;
    }
    assert!(aborted > 5 * CHANGES.len(), "only {aborted} writes were interrupted");
}

#[test]
fn a_process_that_is_killed_at_any_moment_leaves_what_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let mut random = Random(Instant::now().elapsed().as_nanos() as u64 | 1);
    let mut done = 0;
    for _ in 0..20 {
        let mut child = command(&path).spawn().unwrap();
        thread::sleep(Duration::from_millis(10 + random.below(150) as u64));
        child.kill().unwrap();
        // All that the child wrote before is in the pipe.
        let acknowledged = acknowledged(child.stdout.take().unwrap()) as u64;
        child.wait().unwrap();

        let store = RedbStore::open(&path, LIMIT).unwrap();
        check_tables(&store);
        done += acknowledged;
        let begun = number(&store).map_or(0, |number| number + 1);
        assert!(begun == done || begun == done + 1, "{done} acknowledged, {begun} begun");
        for number in done.saturating_sub(8)..done {
            let record = store.get(&format!("record/{}", number % 8)).unwrap().unwrap();
            let replaced = number + 8 == done && begun > done && record == sized(done);
            assert!(record == sized(number) || replaced, "record {number} of {done}");
        }
        // The child begins with the last number, and acknowledges it again.
        done = begun.saturating_sub(1);
    }
    assert!(done > 20, "only {done} changes were acknowledged");
}
