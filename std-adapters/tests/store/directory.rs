//! The store in a directory.

use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_sansio_adapters::store::{DirectoryStore, Lease, Store, StoreError};
use mcp_sansio_contract::store as contract;

const LIMIT: u64 = 1 << 20;

/// A directory that does not exist yet. It is removed at the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("store-{}-{number}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// Returns the file of the only record, and its bytes.
    fn record(&self) -> (PathBuf, Vec<u8>) {
        let mut files = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path());
        let record = files.find(|path| path.extension().is_some()).unwrap();
        let whole = fs::read(&record).unwrap();
        (record, whole)
    }

    fn open(&self) -> DirectoryStore {
        DirectoryStore::open(&self.0, LIMIT).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_store_in_a_directory_whose_name_is_not_utf_8_passes_the_tests_of_all_stores() {
    let (places, number) = (Place::new(), AtomicU32::new(0));
    contract::run_limited(|clock, limit| {
        let path = places.0.join(number.fetch_add(1, Ordering::Relaxed).to_string());
        // Only Linux has directories whose names are any bytes.
        #[cfg(target_os = "linux")]
        let path = path.join(std::ffi::OsString::from_vec(b"x\xe9".into()));
        DirectoryStore::open(path, limit as u64).unwrap().clock(move || clock.now())
    });
}

#[test]
fn records_outlive_their_store_and_are_seen_by_others() {
    let place = Place::new();
    let (first, second) = (place.open(), place.open());
    first.put("a", b"1", None).unwrap();
    assert_eq!(second.get("a").unwrap().unwrap(), b"1");
    second.put("a", b"2", None).unwrap();
    assert_eq!(first.get("a").unwrap().unwrap(), b"2");
    drop((first, second));
    assert_eq!(place.open().get("a").unwrap().unwrap(), b"2");
}

#[cfg(unix)]
#[test]
fn auth_85_only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    place.open().put("a", b"secret", None).unwrap();
    assert_eq!(mode(&place.0), 0o700);
    for file in fs::read_dir(&place.0).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    for open in [0o750, 0o707, 0o777] {
        fs::set_permissions(&place.0, fs::Permissions::from_mode(open)).unwrap();
        let refused = DirectoryStore::open(&place.0, LIMIT).unwrap_err();
        assert!(matches!(refused, StoreError::Failed(_)), "{open:o}");
        assert!(refused.to_string().contains("`chmod 700` it"), "{refused}");
    }
    let debug = format!("{:?}", DirectoryStore::open(place.0.join("other"), LIMIT));
    assert!(!debug.contains("secret"));
}

#[test]
fn what_is_not_a_record_is_reported_and_never_half_read() {
    let place = Place::new();
    let store = place.open();
    store.put("a", b"0123456789", None).unwrap();
    let (record, whole) = place.record();
    for damaged in [&whole[..0], &whole[..12], &whole[..13], &[2][..], &[b'x'; 40]] {
        fs::write(&record, damaged).unwrap();
        let error = store.get("a").unwrap_err();
        assert!(error.to_string().contains("is not a record of this store: remove it"), "{error}");
        assert!(store.compare_and_put("a", None, b"1", None).is_err());
    }
    // What a process that was killed has left is not a record, and does not hinder.
    fs::write(&record, whole).unwrap();
    fs::write(place.0.join("new"), b"half of a rec").unwrap();
    assert_eq!(store.keys("").unwrap(), ["a"]);
    store.put("a", b"1", None).unwrap();
    assert_eq!(store.get("a").unwrap().unwrap(), b"1");
}

#[test]
fn r3_d1_a_file_that_is_no_record_hinders_no_other() {
    let place = Place::new();
    let store = place.open();
    store.put("a", b"1", None).unwrap();
    let (record, whole) = place.record();
    let wrong_key = [&whole[..13], b"\xff1"].concat();
    for damaged in [&whole[..0], &whole[..12], &whole[..13], &wrong_key[..], &[b'x'; 40]] {
        fs::write(&record, damaged).unwrap();
        store.put("b", b"2", None).unwrap();
        assert!(store.compare_and_put("b", Some(b"2"), b"3", None).unwrap());
        assert_eq!(
            (store.get("b").unwrap().unwrap(), store.keys("").unwrap()),
            (b"3".to_vec(), vec!["b".to_owned()])
        );
        let lease = Lease::acquire(&store, "lock", Duration::from_secs(30)).unwrap().unwrap();
        lease.release().unwrap();
    }
    // It costs its length.
    fs::write(&record, vec![b'x'; 1 << 20]).unwrap();
    assert!(matches!(store.put("b", b"2", None), Err(StoreError::Full)));
    store.remove("a").unwrap();
    store.put("b", b"2", None).unwrap();
}

/// The directory of the processes, and how often each of them counts.
const DIRECTORY: &str = "STORE_DIRECTORY";
const COUNTS: u32 = 20;

#[test]
#[ignore = "is a process that another test starts"]
fn child() {
    let store = DirectoryStore::open(std::env::var_os(DIRECTORY).unwrap(), LIMIT).unwrap();
    for _ in 0..COUNTS {
        let lease = loop {
            match Lease::acquire(&store, "lock", Duration::from_secs(30)).unwrap() {
                Some(lease) => break lease,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        let count = store.get("count").unwrap().unwrap();
        let count = u32::from_be_bytes(count.try_into().unwrap()) + 1;
        store.put("count", &count.to_be_bytes(), None).unwrap();
        lease.release().unwrap();
    }
}

#[test]
fn auth_89_processes_change_a_record_one_after_the_other() {
    let place = Place::new();
    let store = place.open();
    store.put("count", &0_u32.to_be_bytes(), None).unwrap();
    let start = |_| {
        let arguments = ["--exact", "directory::child", "--ignored"];
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(arguments).env(DIRECTORY, &place.0).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(store.get("count").unwrap().unwrap(), (4 * COUNTS).to_be_bytes());
}
