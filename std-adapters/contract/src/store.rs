//! The tests that every [`Store`] passes.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio::tasks::TaskId;
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::store::{ENTRY_COST, Lease, Store, StoreError, TaskRecord, TaskStore};

/// A clock that stands still until it is told otherwise. It begins at a time of today. Clones are
/// the same clock.
#[derive(Clone)]
pub struct Clock {
    /// Milliseconds since 1970.
    now: Arc<AtomicU64>,
    told: Arc<Mutex<Vec<Told>>>,
}

/// Hears how much time passes.
type Told = Box<dyn Fn(Duration) + Send>;

impl Clock {
    /// Creates a clock.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it begins at a time, not at zero")]
    pub fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1_795_000_000_000));
        Self { now, told: Arc::default() }
    }

    /// Returns the time since 1970.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::Relaxed))
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.now.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
        self.told.lock().unwrap().iter().for_each(|told| told(by));
    }

    /// Tells a store whose clock is another one how much time passes: it lets its records be gone
    /// so much earlier. What passes by itself, up to a minute for a test, does no harm.
    pub fn on_advance(&self, told: impl Fn(Duration) + Send + 'static) {
        self.told.lock().unwrap().push(Box::new(told));
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

type Test = fn(Arc<dyn Store>, Clock);

/// Runs all tests but those of a limit, each in an empty store of its own that `make` makes, whose
/// time is that of the clock.
///
/// # Panics
/// If the store is none.
pub fn run<S: Store + 'static>(make: impl Fn(Clock) -> S) {
    let tests: [Test; 11] = [
        a_record_is_what_was_put_last,
        a_change_is_seen_by_all_who_read_after_it,
        keys_and_bytes_may_be_anything,
        a_record_is_gone_when_its_time_is_over,
        a_later_put_decides_the_time,
        a_record_is_put_if_it_is_as_expected,
        of_many_threads_one_puts_first,
        a_change_that_another_came_before_is_made_again,
        keys_are_listed_by_prefix,
        a_lease_has_one_holder,
        tasks_are_kept_until_their_time_is_over,
    ];
    for test in tests {
        let clock = Clock::new();
        test(Arc::new(make(clock.clone())), clock);
    }
}

/// Runs all tests, for a store whose limit is the number of bytes of keys and records, and
/// [`ENTRY_COST`] for each.
///
/// # Panics
/// If the store is none.
pub fn run_limited<S: Store + 'static>(make: impl Fn(Clock, usize) -> S) {
    run(|clock| make(clock, LIMIT));
    let clock = Clock::new();
    at_its_limit_it_refuses_and_evicts_only_what_has_ended(
        Arc::new(make(clock.clone(), LIMIT)),
        clock,
    );
}

const LIMIT: usize = 4 << 20;
/// Longer than a test takes, for stores with a clock of their own.
const HOUR: Duration = Duration::from_secs(3600);
const HOUR_MS: u64 = 3_600_000;
const MINUTE: Duration = Duration::from_secs(60);

fn a_record_is_what_was_put_last(store: Arc<dyn Store>, _: Clock) {
    assert_eq!(store.get("a").unwrap(), None);
    store.put("a", b"1", None).unwrap();
    store.put("b", b"2", None).unwrap();
    store.put("a", b"333", None).unwrap();
    assert_eq!(store.get("a").unwrap().unwrap(), b"333");
    store.remove("a").unwrap();
    store.remove("a").unwrap();
    assert_eq!(store.get("a").unwrap(), None);
    assert_eq!(store.get("b").unwrap().unwrap(), b"2");
}

fn a_change_is_seen_by_all_who_read_after_it(store: Arc<dyn Store>, _: Clock) {
    for number in 0_u8..8 {
        let key = format!("task/{number}");
        store.put(&key, &[number], None).unwrap();
        let elsewhere = Arc::clone(&store);
        let read = move || (elsewhere.get(&key).unwrap(), elsewhere.keys("task/").unwrap().len());
        let (found, listed) = thread::spawn(read).join().unwrap();
        assert_eq!((found.unwrap(), listed), (vec![number], usize::from(number) + 1));
    }
}

fn keys_and_bytes_may_be_anything(store: Arc<dyn Store>, _: Clock) {
    let (long, large) = ("k".repeat(500), vec![0xA5; 1 << 20]);
    for (key, bytes) in [("", &b""[..]), ("\0/'\u{10FFFF}", &[0, 255, 10]), (&long, &large)] {
        store.put(key, bytes, None).unwrap();
        assert_eq!(store.get(key).unwrap().unwrap(), bytes, "{key:?}");
    }
    assert_eq!(store.keys("").unwrap(), ["", "\0/'\u{10FFFF}", &long]);
}

fn a_record_is_gone_when_its_time_is_over(store: Arc<dyn Store>, clock: Clock) {
    store.put("now", b"1", Some(Duration::ZERO)).unwrap();
    store.put("soon", b"1", Some(HOUR)).unwrap();
    store.put("never", b"1", Some(Duration::MAX)).unwrap();
    assert_eq!(store.get("now").unwrap(), None);
    clock.advance(HOUR - MINUTE);
    assert_eq!(store.keys("").unwrap(), ["never", "soon"]);
    clock.advance(MINUTE);
    assert_eq!(store.get("soon").unwrap(), None);
    assert_eq!(store.keys("").unwrap(), ["never"]);
    assert!(store.compare_and_put("soon", None, b"2", None).unwrap());
    assert_eq!(store.keys("").unwrap(), ["never", "soon"]);
}

fn a_later_put_decides_the_time(store: Arc<dyn Store>, clock: Clock) {
    for key in ["longer", "shorter", "forever", "again"] {
        store.put(key, b"1", Some(2 * HOUR)).unwrap();
    }
    store.remove("again").unwrap();
    store.put("again", b"2", None).unwrap();
    store.put("longer", b"2", Some(4 * HOUR)).unwrap();
    store.put("shorter", b"2", Some(HOUR)).unwrap();
    store.put("forever", b"2", None).unwrap();
    clock.advance(HOUR);
    assert_eq!(store.keys("").unwrap(), ["again", "forever", "longer"]);
    clock.advance(HOUR);
    store.put("other", b"", None).unwrap();
    assert_eq!(store.keys("").unwrap(), ["again", "forever", "longer", "other"]);
    clock.advance(2 * HOUR);
    store.put("other", b"", None).unwrap();
    assert_eq!(store.keys("").unwrap(), ["again", "forever", "other"]);
    assert_eq!(store.get("forever").unwrap().unwrap(), b"2");
}

fn a_record_is_put_if_it_is_as_expected(store: Arc<dyn Store>, _: Clock) {
    assert!(!store.compare_and_put("a", Some(b"1"), b"2", None).unwrap());
    assert!(store.compare_and_put("a", None, b"1", None).unwrap());
    assert!(!store.compare_and_put("a", None, b"2", None).unwrap());
    assert!(!store.compare_and_put("a", Some(b"10"), b"2", None).unwrap());
    assert_eq!(store.get("a").unwrap().unwrap(), b"1");
    assert!(store.compare_and_put("a", Some(b"1"), b"2", None).unwrap());
    assert_eq!(store.get("a").unwrap().unwrap(), b"2");
}

fn of_many_threads_one_puts_first(store: Arc<dyn Store>, _: Clock) {
    for round in 0..4 {
        let key = format!("round {round}");
        let contest = |bytes: [u8; 1]| {
            let (store, key) = (Arc::clone(&store), key.clone());
            thread::spawn(move || store.compare_and_put(&key, None, &bytes, None).unwrap())
        };
        let threads: Vec<_> = (0..4).map(|number| contest([number])).collect();
        let won: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let winner = store.get(&key).unwrap().unwrap()[0];
        assert!((0..4).all(|number| won[usize::from(number)] == (number == winner)), "{won:?}");
    }
}

fn a_change_that_another_came_before_is_made_again(store: Arc<dyn Store>, clock: Clock) {
    let mut seen = Vec::new();
    let changed = store.update("a", Some(HOUR), &mut |found| {
        if seen.is_empty() {
            store.put("a", b"1", None).unwrap();
        }
        seen.push(found.map(<[u8]>::to_vec));
        Some([found.unwrap_or_default(), b"2"].concat())
    });
    assert!(changed.unwrap());
    assert_eq!(seen, [None, Some(b"1".to_vec())]);
    assert_eq!(store.get("a").unwrap().unwrap(), b"12");
    assert!(!store.update("a", None, &mut |_| None).unwrap());
    clock.advance(HOUR);
    assert_eq!(store.get("a").unwrap(), None);
    let count = |store: Arc<dyn Store>| {
        let add = |found: Option<&[u8]>| found.map_or(1, |count| count[0] + 1);
        thread::spawn(move || store.update("n", None, &mut |found| Some(vec![add(found)])).unwrap())
    };
    let threads: Vec<_> = (0..4).map(|_| count(Arc::clone(&store))).collect();
    threads.into_iter().for_each(|thread| assert!(thread.join().unwrap()));
    assert_eq!(store.get("n").unwrap().unwrap(), [4]);
}

fn keys_are_listed_by_prefix(store: Arc<dyn Store>, _: Clock) {
    for key in ["task/2", "task/1", "task", "tasks", "task0", "session/1", "é/1"] {
        store.put(key, b"", None).unwrap();
    }
    assert_eq!(store.keys("task/").unwrap(), ["task/1", "task/2"]);
    assert_eq!(store.keys("é").unwrap(), ["é/1"]);
    assert_eq!(store.keys("task/3").unwrap(), [""; 0]);
    assert_eq!(store.keys("").unwrap().len(), 7);
}

fn at_its_limit_it_refuses_and_evicts_only_what_has_ended(store: Arc<dyn Store>, clock: Clock) {
    let half = vec![0; LIMIT / 2 - ENTRY_COST - 1];
    let (more, least) = (vec![0; half.len() + 1], vec![0; 1]);
    store.put("a", &half, Some(HOUR)).unwrap();
    store.put("b", &half, None).unwrap();
    assert!(matches!(store.put("c", &least, None), Err(StoreError::Full)));
    assert!(matches!(store.put("b", &more, None), Err(StoreError::Full)));
    assert!(matches!(store.compare_and_put("c", None, &least, None), Err(StoreError::Full)));
    assert_eq!(store.get("b").unwrap().unwrap(), half, "a put that is refused changes nothing");
    assert!(!store.compare_and_put("b", None, &more, None).unwrap());
    store.put("b", &half, None).unwrap();
    clock.advance(HOUR);
    store.put("c", &half, None).unwrap();
    assert_eq!(store.keys("").unwrap(), ["b", "c"]);
    assert!(matches!(store.put("d", &least, None), Err(StoreError::Full)));
    store.remove("b").unwrap();
    store.put("d", &least, None).unwrap();
}

fn a_lease_has_one_holder(store: Arc<dyn Store>, clock: Clock) {
    let first = Lease::acquire(&*store, "lock", 2 * HOUR).unwrap().expect("it is free");
    assert!(Lease::acquire(&*store, "lock", HOUR).unwrap().is_none());
    clock.advance(HOUR);
    assert!(first.renew(2 * HOUR).unwrap());
    clock.advance(HOUR);
    assert!(Lease::acquire(&*store, "lock", HOUR).unwrap().is_none());
    clock.advance(HOUR);
    let second = Lease::acquire(&*store, "lock", HOUR).unwrap().expect("its time is over");
    assert!(!first.renew(HOUR).unwrap());
    first.release().unwrap();
    assert!(Lease::acquire(&*store, "lock", HOUR).unwrap().is_none());
    second.release().unwrap();
    assert!(Lease::acquire(&*store, "lock", HOUR).unwrap().is_some());
}

fn tasks_are_kept_until_their_time_is_over(store: Arc<dyn Store>, clock: Clock) {
    let tasks = TaskStore::new(Arc::clone(&store), KeyRing::new([7; 32]));
    let created = u64::try_from(clock.now().as_millis()).unwrap();
    let record =
        |number, ttl_ms| TaskRecord::new(TaskId::new([number; 16]), "erase", "{}", created, ttl_ms);
    let (mut short, long, longer) =
        (record(1, 5 * HOUR_MS), record(2, 10 * HOUR_MS), record(3, u64::MAX));
    for task in [&long, &short, &longer] {
        tasks.save(task).unwrap();
    }
    clock.advance(4 * HOUR);
    // A change does not extend the time of a task.
    short.updated_unix_ms += 4 * HOUR_MS;
    short.message = "half".to_owned();
    tasks.save(&short).unwrap();
    assert_eq!(load(&tasks), [short, long.clone(), longer.clone()]);
    clock.advance(HOUR);
    assert_eq!(load(&tasks), [long.clone(), longer.clone()]);
    tasks.remove(long.id).unwrap();
    assert_eq!(load(&tasks), [longer]);
}

fn load(tasks: &TaskStore) -> Vec<TaskRecord> {
    let mut loaded = Vec::new();
    tasks.load(|task| loaded.push(task.unwrap())).unwrap();
    loaded
}
