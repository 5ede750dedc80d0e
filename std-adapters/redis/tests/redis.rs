//! The store and the bus against a server that the tests start: `redis-server` has to be installed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use std::{fs, thread};

use mcp_sansio_adapters::bus::{Bus as _, BusReceiver, Topic};
use mcp_sansio_adapters::store::{Store as _, StoreError};
use mcp_sansio_contract as contract;
use mcp_sansio_redis::{RedisBus, RedisStore};
use tempfile::TempDir;

/// A server on a socket in a folder of its own.
struct Server {
    child: Child,
    folder: TempDir,
}

impl Server {
    fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = run(folder.path(), settings);
        let server = Self { child, folder };
        server.wait();
        server
    }

    fn address(&self) -> String {
        format!("redis+unix://{}/socket", self.folder.path().display())
    }

    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while RedisStore::open(&self.address())
            .is_err_and(|error| matches!(error, StoreError::Unavailable(_)))
        {
            assert!(Instant::now() < until, "redis-server does not answer");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = run(self.folder.path(), "");
        self.wait();
    }

    fn store(&self) -> RedisStore {
        RedisStore::open(&self.address()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(folder: &Path, settings: &str) -> Child {
    let shown = folder.display();
    let own = format!("port 0\nunixsocket {shown}/socket\ndir {shown}\nsave \"\"\n");
    fs::write(folder.join("settings"), own + settings).unwrap();
    Command::new("redis-server")
        .arg(folder.join("settings"))
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is installed (Debian: apt install redis-server)")
}

#[test]
fn it_is_a_store() {
    let server = Server::start("");
    let number = std::cell::Cell::new(0);
    contract::store::run(|clock| {
        number.set(number.get() + 1);
        let prefix = format!("{}[*]:", number.get());
        // Time passes for the records of this store.
        let client = redis::Client::open(server.address()).unwrap();
        let beginning = prefix.clone();
        clock.on_advance(move |by| age(&client, &beginning, by));
        server.store().prefix(prefix)
    });
}

fn age(client: &redis::Client, prefix: &str, by: Duration) {
    let mut connection = client.get_connection().unwrap();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    for key in keys.iter().filter(|key| key.starts_with(prefix.as_bytes())) {
        let left: i64 = redis::cmd("PTTL").arg(key).query(&mut connection).unwrap();
        if left >= 0 {
            let left = left - i64::try_from(by.as_millis()).unwrap();
            redis::cmd("PEXPIRE").arg(key).arg(left).exec(&mut connection).unwrap();
        }
    }
}

#[test]
fn its_errors_say_what_helps() {
    let server = Server::start("maxmemory 3mb\nmaxmemory-policy noeviction\nrequirepass secret\n");
    assert!(matches!(RedisStore::open("nowhere"), Err(StoreError::Failed(_))));
    let gone = format!("redis+unix://{}/other", server.folder.path().display());
    assert!(matches!(RedisStore::open(&gone), Err(StoreError::Unavailable(_))));
    assert!(matches!(RedisBus::connect(&gone), Err(StoreError::Unavailable(_))));
    for refused in [server.address(), server.address() + "?pass=wrong"] {
        let error = RedisStore::open(&refused).unwrap_err();
        assert!(matches!(error, StoreError::Failed(_)), "{refused}: {error:?}");
        let error = RedisBus::connect(&refused).unwrap_err();
        assert!(matches!(error, StoreError::Failed(_)), "{refused}: {error:?}");
    }
    let store = RedisStore::open(&(server.address() + "?pass=secret")).unwrap();
    let refused = (0..8).find_map(|n| store.put(&n.to_string(), &[0; 1 << 20], None).err());
    assert!(matches!(refused, Some(StoreError::Full)), "{refused:?}");
    store.put("0", b"", Some(Duration::ZERO)).unwrap();
}

#[test]
fn a_store_goes_on_when_its_server_does() {
    let mut server = Server::start("");
    let store = server.store();
    store.put("a", b"1", None).unwrap();
    server.stop();
    assert!(matches!(store.get("a"), Err(StoreError::Unavailable(_))));
    server.start_again();
    assert_eq!(store.get("a").unwrap(), None, "this server keeps nothing");
    assert!(store.compare_and_put("a", None, b"2", None).unwrap());
    // Its connection is lost while nobody uses it.
    server.stop();
    server.start_again();
    assert!(store.compare_and_put("a", None, b"3", None).unwrap());
    server.stop();
    server.start_again();
    assert_eq!(store.get("a").unwrap(), None);
}

#[test]
fn it_is_a_bus() {
    let server = Server::start("");
    let number = std::cell::Cell::new(0);
    contract::bus::run(|| {
        number.set(number.get() + 1);
        [(); 2].map(|()| {
            RedisBus::connect_to(&server.address(), &format!("{}:", number.get())).unwrap()
        })
    });
}

#[derive(Default)]
struct Inbox(Mutex<(Vec<Vec<u8>>, usize)>);

impl BusReceiver for Inbox {
    fn deliver(&self, envelope: &[u8]) {
        self.0.lock().unwrap().0.push(envelope.to_vec());
    }

    fn missed(&self) {
        self.0.lock().unwrap().1 += 1;
    }
}

struct Panics;

impl BusReceiver for Panics {
    fn deliver(&self, _: &[u8]) {
        panic!("as the test wants");
    }

    fn missed(&self) {
        panic!("as the test wants");
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_bus_says_what_may_be_missed_and_goes_on() {
    let mut server = Server::start("");
    let [one, other] = [(); 2].map(|()| RedisBus::connect(&server.address()).unwrap());
    let inbox = Arc::new(Inbox::default());
    let receiver: Weak<dyn BusReceiver> = Arc::<Inbox>::downgrade(&inbox);
    other.join(receiver);
    assert!(one.is_connected());
    server.stop();
    wait_until("both notice", || !other.is_connected());
    one.publish(Topic::All, b"waits".to_vec());
    wait_until("both notice", || !one.is_connected());
    server.start_again();
    wait_until("it says so", || inbox.0.lock().unwrap().1 == 1);
    wait_until("both are there", || one.is_connected() && other.is_connected());
    one.publish(Topic::All, b"later".to_vec());
    wait_until("it arrives", || inbox.0.lock().unwrap().0.last().is_some_and(|it| it == b"later"));
}

#[test]
fn a_bus_goes_on_when_a_receiver_panics() {
    let mut server = Server::start("");
    let [one, other] = [(); 2].map(|()| RedisBus::connect(&server.address()).unwrap());
    let (panics, inbox) = (Arc::new(Panics), Arc::new(Inbox::default()));
    let first: Weak<dyn BusReceiver> = Arc::<Panics>::downgrade(&panics);
    let second: Weak<dyn BusReceiver> = Arc::<Inbox>::downgrade(&inbox);
    other.join(first);
    other.join(second);
    let arrives = |envelope: &[u8]| {
        one.publish(Topic::All, envelope.to_vec());
        wait_until("it arrives", || {
            inbox.0.lock().unwrap().0.last().is_some_and(|it| it == envelope)
        });
    };
    arrives(b"one");
    arrives(b"two");
    server.stop();
    server.start_again();
    wait_until("it says so", || inbox.0.lock().unwrap().1 == 1);
    wait_until("both are there", || one.is_connected() && other.is_connected());
    arrives(b"three");
}
