#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(test)]
mod crash;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mcp_sansio_adapters::store::{ENTRY_COST, Store, StoreError};
use redb::backends::FileBackend;
use redb::{
    AccessGuard, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _,
    StorageBackend, Table, TableDefinition, TableError, WriteTransaction,
};

/// Memory for pages of the file, in bytes.
pub const CACHE: usize = 16 << 20;

/// When a record ends, in milliseconds since 1970, and its bytes.
const RECORDS: TableDefinition<'_, &str, (u64, &[u8])> = TableDefinition::new("records");
/// The records that have an end, in the order of it.
const ENDS: TableDefinition<'_, (u64, &str), ()> = TableDefinition::new("ends");
/// The sum of what all records cost.
const COST: TableDefinition<'_, (), u64> = TableDefinition::new("cost");

const NEVER: u64 = u64::MAX;

/// A [`Store`] in a file, with a limit in bytes.
///
/// A call that changes something returns when the change is on the disk, after at most three
/// `fsync`. One that changes nothing (a comparison that fails, a removal of nothing) writes
/// nothing. Calls that change something wait for each other.
///
/// A record costs its key, its bytes and [`ENTRY_COST`]. A change first removes the records whose
/// time is over; at the limit, `put` is [`StoreError::Full`].
///
/// All other errors are [`StoreError::Failed`], among them a disk that is full. The store then has
/// to be opened again, since it can no longer know what is on the disk.
pub struct RedbStore {
    database: Database,
    limit: u64,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
}

impl RedbStore {
    /// Opens the file, or creates it, readable and writable for its owner alone, for at most
    /// `limit` bytes of records. The file can be somewhat larger than its records, and does not
    /// shrink.
    ///
    /// After a crash the file needs no repair; it takes no longer to open. A crash while it is
    /// created may leave a file beside it whose name ends in `.new`, which can be deleted. On a
    /// file system without hard links (FAT, some of networks) it may instead leave the file itself
    /// unfinished: then this fails until that is deleted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if a process has it open, which may be one that is about to end;
    /// [`StoreError::Failed`] if the file cannot be opened, or is not a database.
    pub fn open(path: impl AsRef<Path>, limit: u64) -> Result<Self, StoreError> {
        let database =
            open_file(path.as_ref(), FileBackend::new, |new, path| fs::hard_link(new, path));
        Self::new(database.map_err(not_opened)?, limit)
    }

    fn new(database: Database, limit: u64) -> Result<Self, StoreError> {
        let clock = || SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let store = Self { database, limit, clock: Box::new(clock) };
        let records = store.database.begin_read().map_err(failed)?.open_table(RECORDS);
        match records {
            Ok(_) => {}
            // The file is new. A change that is written makes the tables.
            Err(TableError::TableDoesNotExist(_)) => drop(store.change(|_| Ok(Decision::Write))?),
            Err(error) => return Err(failed(error)),
        }
        Ok(store)
    }

    /// Takes the time from `clock`, counted from 1970. The default is the clock of the operating
    /// system: when it is set back, records live longer.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    fn now(&self) -> u64 {
        millis((self.clock)())
    }

    fn put_if(
        &self,
        key: &str,
        bytes: &[u8],
        ttl: Option<Duration>,
        condition: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<bool, StoreError> {
        self.change(|tables| {
            let now = self.now();
            tables.remove_ended(now)?;
            if !condition(tables.records.get(key)?.as_ref().map(|found| found.value().1)) {
                return Ok(Decision::Leave);
            }
            tables.remove(key)?;
            let ends = ttl.map_or(NEVER, |ttl| now.saturating_add(millis(ttl)));
            tables.insert(key, bytes, ends)?;
            Ok(if tables.cost()? > self.limit { Decision::Refuse } else { Decision::Write })
        })
    }

    /// Makes a change as a whole. Returns whether it was written.
    fn change(
        &self,
        decide: impl FnOnce(&mut Tables<'_>) -> Result<Decision, redb::Error>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        // The file is as good after a crash as before, without a look at each page, and whatever
        // clients send cannot make half a transaction look like a whole one.
        transaction.set_quick_repair(true);
        let decision = Tables::open(&transaction).and_then(|mut tables| decide(&mut tables));
        match decision.map_err(failed)? {
            Decision::Write => transaction.commit().map_err(failed).map(|()| true),
            Decision::Leave => transaction.abort().map_err(failed).map(|()| false),
            Decision::Refuse => Err(StoreError::Full),
        }
    }
}

impl Store for RedbStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let get = || -> Result<_, redb::Error> {
            let records = self.database.begin_read()?.open_table(RECORDS)?;
            let found = records.get(key)?;
            let record = found.as_ref().map(AccessGuard::value);
            let current = record.filter(|(ends, _)| self.now() < *ends);
            Ok(current.map(|(_, bytes)| bytes.to_vec()))
        };
        get().map_err(failed)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        self.put_if(key, bytes, ttl, |_| true).map(drop)
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        self.put_if(key, bytes, ttl, |found| found == expected)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        let remove = |tables: &mut Tables<'_>| {
            Ok(if tables.remove(key)? { Decision::Write } else { Decision::Leave })
        };
        self.change(remove).map(drop)
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let keys = || -> Result<_, redb::Error> {
            let (mut keys, now) = (Vec::new(), self.now());
            for record in self.database.begin_read()?.open_table(RECORDS)?.range(prefix..)? {
                let (key, record) = record?;
                if !key.value().starts_with(prefix) {
                    break;
                }
                if now < record.value().0 {
                    keys.push(key.value().to_owned());
                }
            }
            Ok(keys)
        };
        keys().map_err(failed)
    }
}

impl fmt::Debug for RedbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStore").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// What becomes of a transaction.
enum Decision {
    Write,
    /// There is nothing to write.
    Leave,
    /// There is no room.
    Refuse,
}

struct Tables<'t> {
    records: Table<'t, &'static str, (u64, &'static [u8])>,
    ends: Table<'t, (u64, &'static str), ()>,
    cost: Table<'t, (), u64>,
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            records: transaction.open_table(RECORDS)?,
            ends: transaction.open_table(ENDS)?,
            cost: transaction.open_table(COST)?,
        })
    }

    fn cost(&self) -> Result<u64, redb::Error> {
        Ok(self.cost.get(())?.map_or(0, |cost| cost.value()))
    }

    /// Inserts a record whose key is not there.
    fn insert(&mut self, key: &str, bytes: &[u8], ends: u64) -> Result<(), redb::Error> {
        self.records.insert(key, (ends, bytes))?;
        if ends != NEVER {
            self.ends.insert((ends, key), ())?;
        }
        let total = self.cost()? + cost(key, bytes);
        self.cost.insert((), total)?;
        Ok(())
    }

    /// Returns whether the record was there.
    fn remove(&mut self, key: &str) -> Result<bool, redb::Error> {
        let total = self.cost()?;
        let Some(record) = self.records.remove(key)? else { return Ok(false) };
        let (ends, bytes) = record.value();
        self.ends.remove((ends, key))?;
        let total = total.saturating_sub(cost(key, bytes));
        self.cost.insert((), total)?;
        Ok(true)
    }

    fn remove_ended(&mut self, now: u64) -> Result<(), redb::Error> {
        while let Some(key) = self.first_ended(now)? {
            self.remove(&key)?;
        }
        Ok(())
    }

    fn first_ended(&self, now: u64) -> Result<Option<String>, redb::Error> {
        let first = self.ends.first()?;
        let ended = first.as_ref().map(|(end, _)| end.value()).filter(|(ends, _)| *ends <= now);
        Ok(ended.map(|(_, key)| key.to_owned()))
    }
}

fn cost(key: &str, bytes: &[u8]) -> u64 {
    (key.len() + bytes.len() + ENTRY_COST) as u64
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Failed(Box::new(error.into()))
}

fn not_opened(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::Unavailable(error.into()),
        error => failed(error),
    }
}

/// Opens the database in the file, or creates it.
fn open_file<B: StorageBackend>(
    path: &Path,
    backend: impl Fn(File) -> Result<B, DatabaseError>,
    link: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<Database, DatabaseError> {
    let open = |options: &mut OpenOptions, path: &Path| {
        open_database(backend(options.read(true).write(true).open(path)?)?)
    };
    // A new file is not a database at once: only a complete one gets the name.
    if !path.try_exists()? {
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{:016x}.new", random()));
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let linked = open(options.create_new(true), new.as_ref()).map(|database| {
            drop(database);
            link(new.as_ref(), path)
        });
        let removed = fs::remove_file(&new);
        let linked = linked?;
        removed?;
        match linked {
            Ok(()) => sync_folder(path)?,
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // There are no hard links. The lock of the file keeps other processes from it until it
            // is a database; only a crash could leave less.
            Err(_) => {
                let database = open(options.create_new(false).create(true), path)?;
                sync_folder(path)?;
                return Ok(database);
            }
        }
    }
    open(&mut OpenOptions::new(), path)
}

fn open_database(backend: impl StorageBackend) -> Result<Database, DatabaseError> {
    Database::builder().set_cache_size(CACHE).create_with_backend(backend)
}

/// A number that other processes do not have.
fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// Puts the name of a new file on the disk, too.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_file_that_cannot_be_created() {
        let folder = tempfile::tempdir().unwrap();
        let full = |_| Err::<FileBackend, _>(io::Error::from(io::ErrorKind::StorageFull).into());
        let made = open_file(&folder.path().join("store.redb"), full, |new, path| {
            fs::hard_link(new, path)
        });
        assert!(made.unwrap_err().to_string().contains("storage"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_created_where_there_are_no_hard_links() {
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.redb");
            let open = || open_file(&path, FileBackend::new, |_, _| Err(kind.into()));
            let store = RedbStore::new(open().unwrap(), 1000).unwrap();
            store.put("key", b"bytes", None).unwrap();
            let busy = open().map_err(not_opened).unwrap_err();
            assert!(matches!(busy, StoreError::Unavailable(_)), "{busy}");
            drop(store);
            let store = RedbStore::new(open().unwrap(), 1000).unwrap();
            assert_eq!(store.get("key").unwrap().unwrap(), b"bytes");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            #[cfg(unix)]
            {
                let mode = std::os::unix::fs::PermissionsExt::mode;
                assert_eq!(mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
            }
        }
    }
}
