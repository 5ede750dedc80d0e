//! A store in a directory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcp_sansio::internal::sha256;

use super::{ENTRY_COST, Store, StoreError};

/// A store in a directory that only its owner can read, with a file for each record, and a limit in
/// bytes. Several processes can have it open, and see each other's changes.
///
/// A change is written to a file of its own, which is on the disk before it gets the name of the
/// record; so a record is the old one or the new one, also after a crash. Changes wait for each
/// other, under a lock of the operating system on the file `lock`, which ends with its process.
/// Each looks at all files, so it is a store for some dozens of records, such as tokens.
///
/// A record costs its key, its bytes and [`ENTRY_COST`]. A change first removes the records whose
/// time is over; at the limit, `put` is [`StoreError::Full`]. A file that is damaged so that it is
/// no record costs its length: only calls with its own key fail, except `remove`.
///
/// Records are not encrypted. On Unix the directory has the mode 0700 and its files have 0600; on
/// Windows they inherit the permissions of the directory above.
#[must_use]
pub struct DirectoryStore {
    path: PathBuf,
    limit: u64,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
}

impl DirectoryStore {
    /// Opens the directory, or creates it with those above it, for at most `limit` bytes of
    /// records.
    ///
    /// # Errors
    ///
    /// [`StoreError::Failed`] if it cannot be created, is no directory, or (on Unix) belongs to
    /// another user or can be read by others.
    pub fn open(path: impl Into<PathBuf>, limit: u64) -> Result<Self, StoreError> {
        let path = path.into();
        private_directory(&path).map_err(|error| failed(&path, &error))?;
        let clock = || SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Ok(Self { path, limit, clock: Box::new(clock) })
    }

    /// Returns the directory in which a program of this name keeps such records on this operating
    /// system: `$XDG_STATE_HOME/NAME` or `~/.local/state/NAME`; on macOS
    /// `~/Library/Application Support/NAME`; on Windows `%LOCALAPPDATA%\NAME`. `None` without a
    /// home directory.
    pub fn default_path(name: &str) -> Option<PathBuf> {
        default_path(|variable| std::env::var_os(variable).map(PathBuf::from))
            .map(|it| it.join(name))
    }

    /// Takes the time from `clock`, counted from 1970. The default is the clock of the operating
    /// system: when it is set back, records live longer.
    pub fn clock(self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    fn now(&self) -> u64 {
        millis((self.clock)())
    }

    /// The name of a file is a hash, since a key may be longer than names, and have any characters.
    fn file(&self, key: &str) -> PathBuf {
        let mut name = String::with_capacity(64);
        for byte in sha256(key.as_bytes()) {
            name += &format!("{byte:02x}");
        }
        self.path.join(name).with_extension(EXTENSION)
    }

    fn put_if(
        &self,
        key: &str,
        bytes: &[u8],
        ttl: Option<Duration>,
        condition: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<bool, StoreError> {
        self.locked(|| {
            let now = self.now();
            let path = self.file(key);
            let cost = self.remove_ended(now, &path)?;
            let found = read(&path)?;
            if !condition(found.as_ref().map(Record::bytes)) {
                return Ok(Ok(false));
            }
            if cost + (key.len() + bytes.len() + ENTRY_COST) as u64 > self.limit {
                return Ok(Err(StoreError::Full));
            }
            let ends = ttl.map_or(NEVER, |ttl| now.saturating_add(millis(ttl)));
            let new = self.path.join("new");
            let mut file = private(OpenOptions::new().create(true)).truncate(true).open(&new)?;
            file.write_all(&Record::write(ends, key, bytes))?;
            file.sync_all()?;
            drop(file);
            fs::rename(&new, &path)?;
            self.sync().map(|()| Ok(true))
        })?
    }

    /// Removes the records whose time is over. Returns the cost of the others, without that of the
    /// record in the file `except`.
    fn remove_ended(&self, now: u64, except: &Path) -> io::Result<u64> {
        let mut cost = 0;
        for path in self.files()? {
            let Some((ends, len)) = head(&path)? else { continue };
            if ends <= now {
                fs::remove_file(&path)?;
            } else if path != except {
                cost += len + ENTRY_COST as u64;
            }
        }
        Ok(cost)
    }

    /// Returns the files of all records, whether their time is over or not.
    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push(path);
            }
        }
        Ok(files)
    }

    /// Makes a change while no other process makes one.
    fn locked<T>(&self, change: impl FnOnce() -> io::Result<T>) -> Result<T, StoreError> {
        let lock = lock(&self.path.join("lock"));
        let changed = lock.and_then(|lock| {
            let changed = change();
            drop(lock);
            changed
        });
        changed.map_err(|error| failed(&self.path, &error))
    }

    /// Puts the names of the files on the disk, too.
    fn sync(&self) -> io::Result<()> {
        if cfg!(unix) { File::open(&self.path)?.sync_all() } else { Ok(()) }
    }
}

impl Store for DirectoryStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.file(key);
        let record = read(&path).map_err(|error| failed(&path, &error))?;
        let current = record.filter(|record| self.now() < record.ends);
        Ok(current.map(|record| record.bytes().to_vec()))
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
        self.locked(|| match fs::remove_file(self.file(key)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| self.sync()),
        })
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let keys = || {
            let (mut keys, now) = (Vec::new(), self.now());
            for path in self.files()? {
                let record = match read(&path) {
                    Err(error) if error.kind() == ErrorKind::InvalidData => continue,
                    record => record?,
                };
                let current = record.as_ref().filter(|record| now < record.ends);
                if let Some(key) = current.and_then(Record::key).filter(|it| it.starts_with(prefix))
                {
                    keys.push(key.to_owned());
                }
            }
            keys.sort_unstable();
            Ok(keys)
        };
        keys().map_err(|error: io::Error| failed(&self.path, &error))
    }
}

mcp_sansio::opaque_debug!(DirectoryStore { path });

/// A file: its version, the end of the record in milliseconds since 1970, the length of the key,
/// the key, and the bytes.
struct Record {
    ends: u64,
    key_len: usize,
    /// Key and bytes.
    rest: Vec<u8>,
}

impl Record {
    fn write(ends: u64, key: &str, bytes: &[u8]) -> Vec<u8> {
        let key_len = u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[VERSION][..], &ends.to_be_bytes(), &key_len, key.as_bytes(), bytes].concat()
    }

    fn key(&self) -> Option<&str> {
        std::str::from_utf8(self.rest.get(..self.key_len)?).ok()
    }

    fn bytes(&self) -> &[u8] {
        self.rest.get(self.key_len..).unwrap_or_default()
    }
}

/// Reads a file; `None` if there is none.
fn read(path: &Path) -> io::Result<Option<Record>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let (ends, key_len) = read_head(&mut file, path)?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    if rest.len() < key_len {
        return Err(not_a_record(path));
    }
    Ok(Some(Record { ends, key_len, rest }))
}

/// Reads the end of a record, and the length of its key and bytes. What is no record has no end.
fn head(path: &Path) -> io::Result<Option<(u64, u64)>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let len = file.metadata()?.len();
    match read_head(&mut file, path) {
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(Some((NEVER, len))),
        head => head.map(|(ends, _)| Some((ends, len.saturating_sub(HEAD as u64)))),
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

fn read_head(file: &mut File, path: &Path) -> io::Result<(u64, usize)> {
    let mut head = [0; HEAD];
    file.read_exact(&mut head).map_err(|_| not_a_record(path))?;
    let [VERSION, rest @ ..] = head else { return Err(not_a_record(path)) };
    let (ends, key_len) = rest.split_at(8);
    let key_len = key_len.try_into().map_or(u32::MAX, u32::from_be_bytes);
    Ok((ends.try_into().map_or(NEVER, u64::from_be_bytes), key_len as usize))
}

fn not_a_record(path: &Path) -> io::Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let message = format!("the file {name} is not a record of this store: remove it");
    io::Error::new(ErrorKind::InvalidData, message)
}

#[cfg(unix)]
fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};

    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let metadata = fs::metadata(path)?;
    let problem = if metadata.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to another user: choose a directory of your own"
    } else if metadata.mode() & 0o077 != 0 {
        "it can be read or changed by other users: `chmod 700` it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, problem))
}

#[cfg(not(unix))]
fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// Opens a file for writing that only its owner can read.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true)
}

/// Waits for the lock, which is held until the file is closed.
#[cfg(unix)]
fn lock(path: &Path) -> io::Result<File> {
    use rustix::fs::{FlockOperation, flock};

    let file = private(OpenOptions::new().create(true)).truncate(false).open(path)?;
    rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
    Ok(file)
}

/// Waits until this is the only process that has the file open.
#[cfg(windows)]
fn lock(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt as _;

    const ERROR_SHARING_VIOLATION: i32 = 32;
    loop {
        match private(OpenOptions::new().create(true)).truncate(false).share_mode(0).open(path) {
            Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}

#[cfg(not(any(unix, windows)))]
fn lock(_: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

fn default_path(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // A relative path is to be ignored (XDG Base Directory Specification).
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        absolute("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        let home = || absolute("HOME").map(|home| home.join(".local/state"));
        absolute("XDG_STATE_HOME").or_else(home)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Failed(format!("{}: {error}", path.display()).into())
}

const VERSION: u8 = 1;
/// Length of version, end and length of the key.
const HEAD: usize = 13;
const EXTENSION: &str = "record";
const NEVER: u64 = u64::MAX;

#[cfg(all(test, unix, not(target_vendor = "apple")))]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_is_that_of_the_operating_system() {
        let place = |state: Option<&str>, home: Option<&str>| {
            default_path(|name| match name {
                "XDG_STATE_HOME" => state.map(PathBuf::from),
                "HOME" => home.map(PathBuf::from),
                _ => None,
            })
        };
        assert_eq!(place(Some("/state"), Some("/home/a")), Some("/state".into()));
        assert_eq!(place(None, Some("/home/a")), Some("/home/a/.local/state".into()));
        assert_eq!(place(Some("state"), Some("/home/a")), Some("/home/a/.local/state".into()));
        assert_eq!(place(None, None), None);
    }
}
