//! Tasks in a store, which the next process takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::{App, TaskOptions};
use mcp_sansio_adapters::store::{MemoryStore, Seal, Store, StoreError, TaskStore};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{Client, WIDE, talk};
use super::http::serve;
use super::pipe::Pipe;
use super::{CATALOG, CONFIG, call, handle, request};

/// A store that waits, and fails when it is told to.
struct Slow {
    records: MemoryStore,
    is_broken: AtomicBool,
    puts: AtomicUsize,
}

impl Slow {
    fn new() -> Arc<Self> {
        let (is_broken, puts) = (AtomicBool::new(false), AtomicUsize::new(0));
        Arc::new(Self { records: MemoryStore::new(1 << 20), is_broken, puts })
    }
}

impl Store for Slow {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.records.get(key)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError::Full);
        }
        std::thread::sleep(Duration::from_millis(5));
        self.puts.fetch_add(1, Ordering::SeqCst);
        self.records.put(key, bytes, ttl)
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        self.records.compare_and_put(key, expected, bytes, ttl)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.records.remove(key)
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.records.keys(prefix)
    }
}

fn stored(store: &Arc<impl Store + 'static>) -> TaskOptions {
    TaskOptions::new().store(TaskStore::new(Arc::clone(store), Seal::new([7; 32])))
}

async fn state(client: &mut Client<Pipe>, id: &Value) -> Value {
    client.ask(&request(9, "tasks/get", json!({"taskId": id}))).await["result"].clone()
}

#[test]
fn tasks_survive_the_process() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(stored(&store));
    let (ids, _) = talk(&app, WIDE, async |mut client| {
        let mut ids = Vec::new();
        for tool in ["wait", "fail", "refuse", "hold", "hold"] {
            let created = client.ask(&call(1, tool, json!({}))).await;
            ids.push(created["result"]["taskId"].clone());
        }
        client.ask(&request(2, "tasks/cancel", json!({"taskId": ids[4]}))).await;
        for id in &ids[..3] {
            while state(&mut client, id).await["status"] == "working" {
                sleep(Duration::from_millis(1)).await;
            }
        }
        ids
    });
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(stored(&store));
    assert_eq!(app.resume_tasks(|damaged| panic!("{damaged}")).unwrap(), 5);
    talk(&app, WIDE, async |mut client| {
        let [wait, fail, refuse, hold, cancelled] = &ids[..] else { panic!("{ids:?}") };
        let ended = state(&mut client, wait).await;
        assert_eq!(ended["result"]["content"][0]["text"], "done", "{ended}");
        assert_eq!(state(&mut client, fail).await["result"]["isError"], true);
        assert_eq!(state(&mut client, refuse).await["error"]["code"], -32602);
        let lost = state(&mut client, hold).await;
        assert_eq!((&lost["status"], &lost["error"]["code"]), (&json!("failed"), &json!(-32603)));
        assert_eq!(lost["statusMessage"], "The server was restarted");
        assert_eq!(state(&mut client, cancelled).await["status"], "cancelled");
    });
}

#[test]
fn tex_68_a_task_that_cannot_be_stored_is_none() {
    let store = Slow::new();
    for after in [Duration::ZERO, Duration::from_millis(20)] {
        let options = stored(&store).after(after);
        let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(options);
        talk(&app, WIDE, async |mut client| {
            store.is_broken.store(true, Ordering::SeqCst);
            let answer = client.ask(&call(1, "wait", json!({"ms": 60}))).await;
            if after.is_zero() {
                assert_eq!(answer["error"]["code"], -32603, "{answer}");
            } else {
                // It has begun as a call, and goes on as one.
                assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
            }
            store.is_broken.store(false, Ordering::SeqCst);
            let created = client.ask(&call(2, "wait", json!({"ms": 60}))).await;
            assert_eq!(created["result"]["resultType"], "task", "{created}");
            let id = &created["result"]["taskId"];
            let before = store.puts.load(Ordering::SeqCst);
            while state(&mut client, id).await["status"] == "working" {
                sleep(Duration::from_millis(1)).await;
            }
            // The end is saved before it is told.
            assert!(store.puts.load(Ordering::SeqCst) > before);
            let ended = state(&mut client, id).await;
            assert_eq!(ended["result"]["content"][0]["text"], "done");
        });
    }
}

#[test]
fn stored_tasks_keep_their_owner() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(stored(&store));
    let id = std::sync::Mutex::new(json!(null));
    serve(&app, async |client| {
        let created = client("anna").ask(&call(1, "must", json!({}))).await;
        *id.lock().unwrap() = created["result"]["taskId"].clone();
        sleep(Duration::from_millis(50)).await;
    });
    let id = id.into_inner().unwrap();
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(stored(&store));
    assert_eq!(app.resume_tasks(|damaged| panic!("{damaged}")).unwrap(), 1);
    serve(&app, async |client| {
        let get = request(2, "tasks/get", json!({"taskId": id}));
        assert_eq!(client("ben").ask(&get).await["error"]["code"], -32602);
        assert_eq!(client("anna").ask(&get).await["result"]["status"], "completed");
    });
}
