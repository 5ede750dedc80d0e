//! Tasks in a store, which the next process takes over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::{
    App, BoxedHandler, Connection, Context, TaskOptions, boxed,
};
use mcp_sansio_adapters::store::{
    MemoryStore, Store, StoreError, TaskOutcome, TaskRecord, TaskStore,
};
use serde_json::{Value, json};
use smol::channel::{Receiver, Sender, unbounded};
use tokio::time::sleep;

use super::client::{Client, WIDE, cancel, in_session, legacy, legacy_call, talk};
use super::http::serve;
use super::modern::{polled, state};
use super::network::{self, NetworkStore};
use super::pipe::{Pipe, pipe};
use super::recorder::Recorder;
use super::session::{asked, response};
use super::virtual_time::block_on;
use super::{CONFIG, call, handle, request, serving};

/// A store that waits as long as it is told to, and fails when it is told to.
struct Slow {
    records: MemoryStore,
    is_broken: AtomicBool,
    /// Whether the next `put`, and the next removal, does not reach it.
    loses_put: AtomicBool,
    loses_removal: AtomicBool,
    /// Whether the first record cannot be read.
    is_damaged: AtomicBool,
    puts: AtomicUsize,
    removals: AtomicUsize,
    /// Whether `put` has to wait, and tells that it does.
    is_closed: Mutex<bool>,
    opened: Condvar,
    waiting: (Sender<()>, Receiver<()>),
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            records: MemoryStore::new(1 << 20),
            is_broken: AtomicBool::new(false),
            loses_put: AtomicBool::new(false),
            loses_removal: AtomicBool::new(false),
            is_damaged: AtomicBool::new(false),
            puts: AtomicUsize::new(0),
            removals: AtomicUsize::new(0),
            is_closed: Mutex::new(false),
            opened: Condvar::new(),
            waiting: unbounded(),
        })
    }

    /// From now on `put` waits.
    fn close(&self) {
        *self.is_closed.lock().unwrap() = true;
    }

    fn open(&self) {
        *self.is_closed.lock().unwrap() = false;
        self.opened.notify_all();
    }

    /// Returns when a `put` waits.
    async fn waits(&self) {
        self.waiting.1.recv().await.unwrap();
    }
}

/// Opens a store when it is dropped.
struct Opens<'s>(&'s Slow);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

impl Store for Slow {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if self.is_damaged.load(Ordering::SeqCst) && self.keys("")?[0] == key {
            return Err(StoreError::Failed("damaged".into()));
        }
        self.records.get(key)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        let is_closed = self.is_closed.lock().unwrap();
        if *is_closed {
            self.waiting.0.try_send(()).unwrap();
            drop(self.opened.wait_while(is_closed, |is_closed| *is_closed).unwrap());
        }
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError::Full);
        }
        if self.loses_put.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unavailable("no route".into()));
        }
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
        if self.loses_removal.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unavailable("no route".into()));
        }
        let removed = self.records.remove(key);
        self.removals.fetch_add(1, Ordering::SeqCst);
        removed
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.records.keys(prefix)
    }
}

fn stored(store: &Arc<impl Store + 'static>) -> TaskOptions {
    TaskOptions {
        store: Some(TaskStore::new(Arc::clone(store), KeyRing::new([7; 32]))),
        ..TaskOptions::new()
    }
}

fn serving_with(store: &Arc<impl Store + 'static>) -> App<BoxedHandler> {
    serving(boxed(handle)).tasks(stored(store))
}

/// The next process, which takes over so many tasks.
fn resumed(store: &Arc<impl Store + 'static>, count: usize) -> App<BoxedHandler> {
    let app = serving_with(store);
    assert_eq!(app.resume_tasks(|damaged| panic!("{damaged}")).unwrap(), count);
    app
}

#[test]
fn tasks_survive_the_process() {
    let without = App::new(&CONFIG, handle);
    assert_eq!(without.resume_tasks(|damaged| panic!("{damaged}")).unwrap(), 0);
    let store = Arc::new(MemoryStore::new(1 << 20));
    // Records have the time of the system.
    let pass = || std::thread::sleep(Duration::from_millis(2));
    let early = |ctx: Context| {
        assert!(ctx.name() != "must", "before it returns a future");
        pass();
        handle(ctx)
    };
    let app = serving(early).tasks(stored(&store));
    let (ids, _) = talk(&app, WIDE, async |mut client| {
        let mut ids = Vec::new();
        for tool in ["wait", "fail", "refuse", "must", "hold", "hold"] {
            let created = client.ask(&call(1, tool, json!({}))).await;
            ids.push(created["result"]["taskId"].clone());
        }
        client.ask(&request(2, "tasks/cancel", json!({"taskId": ids[5]}))).await;
        for id in &ids[..4] {
            polled(&mut client, id).await;
        }
        ids
    });
    pass();
    let app = resumed(&store, 6);
    talk(&app, WIDE, async |mut client| {
        let [wait, fail, refuse, must, hold, cancelled] = &ids[..] else { panic!("{ids:?}") };
        let ended = state(&mut client, wait).await;
        assert_eq!(ended["result"]["content"][0]["text"], "done", "{ended}");
        assert_eq!(state(&mut client, fail).await["result"]["isError"], true);
        let refused = state(&mut client, refuse).await;
        assert_eq!(
            (&refused["error"]["code"], &refused["statusMessage"]),
            (&json!(-32602), &json!("Not this one"))
        );
        assert_eq!(state(&mut client, must).await["error"]["message"], "The handler panicked");
        let lost = state(&mut client, hold).await;
        assert_eq!((&lost["status"], &lost["error"]["code"]), (&json!("failed"), &json!(-32603)));
        assert_eq!(lost["statusMessage"], "The server was restarted");
        for ended in [ended, refused, lost] {
            let time = |name| ended[name].as_str().unwrap();
            assert!(time("lastUpdatedAt") > time("createdAt"), "{ended}");
        }
        assert_eq!(state(&mut client, cancelled).await["status"], "cancelled");
    });
}

/// Two codes that are other ones since 2026-07-28, and one that is only there.
#[test]
fn the_code_of_an_error_survives_the_process() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let codes = [(-32002, -32002), (-32050, -32050), (-32021, -32602), (7, 7)];
    let app = serving_with(&store);
    let result = async |client: &mut Client<Pipe>, id: &Value| {
        let result = legacy(2, "tasks/result", json!({"taskId": id}));
        asked(client, &result).await["error"]["code"].clone()
    };
    let (ids, _) = in_session(&app, WIDE, async |mut client| {
        let mut ids = Vec::new();
        for (code, told) in codes {
            let params = json!({"name": "refuse", "arguments": {"code": code}, "task": {}});
            let created = asked(&mut client, &legacy(1, "tools/call", params)).await;
            let id = created["result"]["task"]["taskId"].clone();
            assert_eq!(result(&mut client, &id).await, told, "{created}");
            ids.push(id);
        }
        ids
    });
    let app = resumed(&store, codes.len());
    in_session(&app, WIDE, async |mut client| {
        for (id, (_, told)) in ids.iter().zip(codes) {
            assert_eq!(result(&mut client, id).await, told);
        }
    });
    talk(&app, WIDE, async |mut client| {
        for (id, code) in ids.iter().zip([-32602, -32603, -32021, 7]) {
            assert_eq!(state(&mut client, id).await["error"]["code"], code);
        }
    });
}

#[test]
fn a_store_over_the_network_holds_up_only_the_task_that_is_saved() {
    let behind = Slow::new();
    let address = network::serve(Arc::clone(&behind) as Arc<dyn Store>);
    let store = Arc::new(NetworkStore::new(address));
    let app = serving_with(&store);
    talk(&app, WIDE, async |mut client| {
        save_task(&mut client, &behind, json!(60_000)).await;
        // The server has one thread, and does not wait on it.
        settle(&mut client).await;
        behind.open();
        let (created, _) = response(&mut client, 1).await;
        assert!(created["result"]["task"]["taskId"].is_string(), "{created}");
        finish(&app, &mut client).await;
    });
    let store = Arc::new(NetworkStore::new(address));
    drop(resumed(&store, 1));
}

#[test]
fn tex_68_a_task_that_cannot_be_stored_is_none() {
    let store = Slow::new();
    for after in [Duration::ZERO, Duration::from_millis(20)] {
        let options = TaskOptions { after, ..stored(&store) };
        let recorder = Recorder::default();
        let app = serving(handle).tasks(options);
        let app = app.observer(recorder.clone());
        talk(&app, WIDE, async |mut client| {
            store.is_broken.store(true, Ordering::SeqCst);
            let answer = client.ask(&call(1, "wait", json!({"ms": 60}))).await;
            let told = recorder.lines()[2..].join("; ");
            if after.is_zero() {
                assert_eq!(answer["error"]["code"], -32603, "{answer}");
                assert_eq!(told, format!("1 ended: error -32603: {}", StoreError::Full));
            } else {
                // It has begun as a call, and goes on as one.
                assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
                assert_eq!(told, format!("1 not stored: {}; 1 ended: responded", StoreError::Full));
            }
            store.is_broken.store(false, Ordering::SeqCst);
            let created = client.ask(&call(2, "wait", json!({"ms": 60}))).await;
            assert_eq!(created["result"]["resultType"], "task", "{created}");
            let id = &created["result"]["taskId"];
            let before = store.puts.load(Ordering::SeqCst);
            let ended = polled(&mut client, id).await;
            // The end is saved before it is told.
            assert!(store.puts.load(Ordering::SeqCst) > before);
            assert_eq!(ended["result"]["content"][0]["text"], "done");
        });
    }
}

#[test]
fn stored_tasks_keep_their_owner() {
    let store = Arc::new(MemoryStore::new(1 << 20));
    let app = serving_with(&store);
    let id = Mutex::new(json!(null));
    serve(&app, async |client| {
        let created = client("anna").ask(&call(1, "must", json!({}))).await;
        *id.lock().unwrap() = created["result"]["taskId"].clone();
        sleep(Duration::from_millis(50)).await;
    });
    let id = id.into_inner().unwrap();
    let app = resumed(&store, 1);
    serve(&app, async |client| {
        let get = request(2, "tasks/get", json!({"taskId": id}));
        assert_eq!(client("ben").ask(&get).await["error"]["code"], -32602);
        assert_eq!(client("anna").ask(&get).await["result"]["status"], "completed");
    });
}

/// Returns the records of all tasks.
fn records(store: &Arc<Slow>) -> Vec<TaskRecord> {
    let mut records = Vec::new();
    let store = TaskStore::new(Arc::clone(store), KeyRing::new([7; 32]));
    store.load(|record| records.push(record.unwrap())).unwrap();
    records
}

/// Begins a task of 2025-11-25, and returns when it is being saved.
async fn save_task(client: &mut Client<Pipe>, store: &Slow, ttl: Value) {
    client.initialize().await;
    store.close();
    let params = json!({"name": "wait", "arguments": {}, "task": {"ttl": ttl}});
    client.send(&legacy(1, "tools/call", params)).await;
    store.waits().await;
}

/// Returns when everything has been handled that was sent before.
async fn settle(client: &mut Client<Pipe>) {
    client.send(&legacy_call(9, "plain")).await;
    assert!(response(client, 9).await.0["result"].is_object());
}

/// Shuts the server down, whose connection then ends when everything is saved.
async fn finish<H>(app: &App<H>, client: &mut Client<Pipe>) {
    app.broadcaster().shut_down();
    while client.line().await.is_some() {}
}

#[test]
fn r3_t1_a_task_whose_time_is_over_is_not_begun() {
    let (store, begun) = (Slow::new(), AtomicUsize::new(0));
    let count = |ctx: Context| {
        begun.fetch_add(usize::from(ctx.name() == "wait"), Ordering::SeqCst);
        handle(ctx)
    };
    let config = TasksConfig::new().poll_interval(Duration::ZERO);
    let app = serving(count).tasks(TaskOptions { config, ..stored(&store) });
    talk(&app, WIDE, async |mut client| {
        save_task(&mut client, &store, json!(0)).await;
        // The time is over before the record is saved.
        settle(&mut client).await;
        store.open();
        let (created, _) = response(&mut client, 1).await;
        assert!(created["result"]["task"]["taskId"].is_string(), "{created}");
        settle(&mut client).await;
    });
    assert_eq!(begun.load(Ordering::SeqCst), 0);
}

#[test]
fn r3_t1_a_call_that_becomes_a_task_ends_with_the_time_of_that() {
    let (store, alive) = (Slow::new(), Arc::new(()));
    let hold = async |_: Context| {
        let _held = Arc::clone(&alive);
        std::future::pending().await
    };
    let config = TasksConfig::new().ttl(Duration::ZERO);
    let options = TaskOptions { config, after: Duration::from_millis(1), ..stored(&store) };
    let app = serving(hold).tasks(options);
    talk(&app, WIDE, async |mut client| {
        store.close();
        client.send(&call(1, "hold", json!({}))).await;
        store.waits().await;
        assert_eq!(Arc::strong_count(&alive), 2);
        let ping = request(2, "tools/list", json!({}));
        assert_eq!(client.ask(&ping).await["id"], 2);
        store.open();
        assert_eq!(client.next().await["result"]["resultType"], "task");
        assert_eq!(client.ask(&ping).await["id"], 2);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn r3_t1_a_task_that_is_cancelled_while_it_is_saved_is_not_begun() {
    let (store, begun) = (Slow::new(), AtomicUsize::new(0));
    let count = |ctx: Context| {
        begun.fetch_add(usize::from(ctx.name() == "wait"), Ordering::SeqCst);
        handle(ctx)
    };
    let app = serving(count).tasks(stored(&store));
    talk(&app, WIDE, async |mut client| {
        save_task(&mut client, &store, json!(60_000)).await;
        let list = asked(&mut client, &legacy(2, "tasks/list", json!({}))).await;
        let task = json!({"taskId": list["result"]["tasks"][0]["taskId"]});
        let cancelled = asked(&mut client, &legacy(3, "tasks/cancel", task)).await;
        assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
        settle(&mut client).await;
        store.open();
        response(&mut client, 1).await;
        settle(&mut client).await;
        finish(&app, &mut client).await;
    });
    assert_eq!(begun.load(Ordering::SeqCst), 0);
    assert_eq!(records(&store)[0].outcome, Some(TaskOutcome::Cancelled));
}

#[test]
fn a_request_that_ends_while_its_task_is_saved_leaves_no_record() {
    // It is cancelled, its connection ends, or its handler is faster.
    for how in ["cancelled", "lost", "faster"] {
        let (store, (may_end, ending)) = (Slow::new(), unbounded());
        store.loses_removal.store(true, Ordering::SeqCst);
        let wait = async |ctx: Context| {
            ending.recv().await.unwrap();
            ctx.text("done")
        };
        let after = Duration::from_millis(u64::from(how == "faster"));
        let options = TaskOptions { after, ..stored(&store) };
        let app = serving(wait).tasks(options);
        let (server, end) = pipe(WIDE.0, WIDE.1);
        let mut client = Client::new(end);
        let asked = async {
            // Also after a failure, for which the thread that saves must not be waited.
            let _opens = Opens(&store);
            match how {
                "cancelled" => {
                    save_task(&mut client, &store, json!(60_000)).await;
                    client.send(&cancel(1)).await;
                    let list = asked(&mut client, &legacy(2, "tasks/list", json!({}))).await;
                    assert_eq!(list["result"]["tasks"], json!([]), "{list}");
                }
                "lost" => save_task(&mut client, &store, json!(60_000)).await,
                _ => {
                    store.close();
                    client.send(&call(1, "wait", json!({}))).await;
                    store.waits().await;
                    may_end.try_send(()).unwrap();
                    let answer = client.next().await;
                    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
                }
            }
            assert_eq!(store.puts.load(Ordering::SeqCst), 0, "{how}: it is still being saved");
            // The connection is dropped before it sees that the store is open.
        };
        let served = async {
            let ended = Connection::new(&app, server).await;
            panic!("{ended:?}");
        };
        block_on(future::or(asked, served));
        // On threads, whose time is that of the computer.
        for _ in 0..10_000 {
            if store.removals.load(Ordering::SeqCst) > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(store.puts.load(Ordering::SeqCst), 1, "{how}");
        assert_eq!(records(&store), [], "{how}");
    }
}

#[test]
fn a_request_for_the_result_of_a_task_that_cannot_be_stored_is_refused() {
    let store = Slow::new();
    let options = TaskOptions { max_waiting: 4, ..stored(&store) };
    let app = serving(handle).tasks(options);
    // Each gives its place back, of which there are four.
    for _ in 0..5 {
        talk(&app, WIDE, async |mut client| {
            store.is_broken.store(false, Ordering::SeqCst);
            save_task(&mut client, &store, json!(60_000)).await;
            let list = asked(&mut client, &legacy(2, "tasks/list", json!({}))).await;
            let task = json!({"taskId": list["result"]["tasks"][0]["taskId"]});
            client.send(&legacy(3, "tasks/result", task)).await;
            settle(&mut client).await;
            store.is_broken.store(true, Ordering::SeqCst);
            store.open();
            let (created, _) = response(&mut client, 1).await;
            assert_eq!(created["error"]["code"], -32603, "{created}");
            let (result, _) = response(&mut client, 3).await;
            assert_eq!(result["error"]["code"], -32602, "{result}");
        });
    }
}

#[test]
fn r3_t1_a_task_that_is_cancelled_while_its_result_is_saved_stays_cancelled() {
    let (store, (may_end, ending)) = (Slow::new(), unbounded());
    let wait = async |ctx: Context| {
        ending.recv().await.unwrap();
        handle(ctx).await
    };
    let (recorder, app) = (Recorder::default(), serving(wait));
    let app = app.tasks(stored(&store)).observer(recorder.clone());
    talk(&app, WIDE, async |mut client| {
        save_task(&mut client, &store, json!(60_000)).await;
        store.open();
        let (created, _) = response(&mut client, 1).await;
        store.close();
        may_end.try_send(()).unwrap();
        store.waits().await;
        let task = json!({"taskId": created["result"]["task"]["taskId"]});
        let cancelled = asked(&mut client, &legacy(3, "tasks/cancel", task)).await;
        assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
        store.open();
        finish(&app, &mut client).await;
    });
    assert_eq!(records(&store)[0].outcome, Some(TaskOutcome::Cancelled));
    assert_eq!(recorder.lines_with("task of"), ["task of wait ended: cancelled"]);
}

#[test]
fn r3_d2_a_result_that_cannot_be_saved_is_not_told() {
    let (store, (may_end, ending)) = (Slow::new(), unbounded());
    let wait = async |ctx: Context| {
        ending.recv().await.unwrap();
        handle(ctx).await
    };
    let (recorder, app) = (Recorder::default(), serving(wait));
    let app = app.tasks(stored(&store)).observer(recorder.clone());
    let (id, _) = talk(&app, WIDE, async |mut client| {
        let created = client.ask(&call(1, "wait", json!({}))).await;
        let id = created["result"]["taskId"].clone();
        store.is_broken.store(true, Ordering::SeqCst);
        may_end.try_send(()).unwrap();
        let ended = polled(&mut client, &id).await;
        assert_eq!((&ended["status"], &ended["error"]["code"]), (&json!("failed"), &json!(-32603)));
        assert_eq!(ended["statusMessage"], "The result of the task cannot be stored");
        id
    });
    let end = format!("task of wait ended: error -32603: {}", StoreError::Full);
    assert_eq!(recorder.lines_with("task of"), [end]);
    // The next process says the same.
    store.is_broken.store(false, Ordering::SeqCst);
    let app = resumed(&store, 1);
    talk(&app, WIDE, async |mut client| {
        assert_eq!(state(&mut client, &id).await["status"], "failed");
    });
}

#[test]
fn an_end_that_does_not_reach_the_store_is_sent_again() {
    for is_cancelled in [false, true] {
        let (store, (may_end, ending)) = (Slow::new(), unbounded());
        let wait = async |ctx: Context| {
            ending.recv().await.unwrap();
            ctx.text("done")
        };
        let app = serving(wait).tasks(stored(&store));
        talk(&app, WIDE, async |mut client| {
            let created = client.ask(&call(1, "wait", json!({}))).await;
            let id = created["result"]["taskId"].clone();
            store.loses_put.store(true, Ordering::SeqCst);
            if is_cancelled {
                client.ask(&request(2, "tasks/cancel", json!({"taskId": id}))).await;
            } else {
                may_end.try_send(()).unwrap();
            }
            let ended = if is_cancelled { "cancelled" } else { "completed" };
            assert_eq!(polled(&mut client, &id).await["status"], ended);
            finish(&app, &mut client).await;
        });
        let outcome = records(&store)[0].outcome.clone();
        assert_eq!(outcome == Some(TaskOutcome::Cancelled), is_cancelled, "{outcome:?}");
        assert!(outcome.is_some());
    }
}

#[test]
fn r3_d2_a_full_store_loses_no_task_at_a_restart() {
    let store = Slow::new();
    let app = serving_with(&store);
    let (ids, _) = talk(&app, WIDE, async |mut client| {
        let mut ids = Vec::new();
        for tool in ["ask", "wait", "ask", "wait"] {
            let created = client.ask(&call(1, tool, json!({}))).await;
            ids.push(created["result"]["taskId"].clone());
        }
        for id in [&ids[1], &ids[3]] {
            polled(&mut client, id).await;
        }
        // A crash: nothing more is saved.
        store.is_broken.store(true, Ordering::SeqCst);
        ids
    });
    let app = serving_with(&store);
    let resumed = app.resume_tasks(|damaged| panic!("{damaged}"));
    assert!(matches!(resumed, Err(StoreError::Full)), "{resumed:?}");
    talk(&app, WIDE, async |mut client| {
        for (id, expected) in ids.iter().zip(["failed", "completed", "failed", "completed"]) {
            assert_eq!(state(&mut client, id).await["status"], expected);
        }
    });
}

#[test]
fn r3_d1_a_record_that_cannot_be_read_loses_no_other_task() {
    let store = Slow::new();
    let app = serving_with(&store);
    talk(&app, WIDE, async |mut client| {
        for id in 1..=3 {
            client.ask(&call(id, "wait", json!({}))).await;
        }
    });
    store.is_damaged.store(true, Ordering::SeqCst);
    let mut loaded = 0;
    let result = TaskStore::new(store, KeyRing::new([7; 32]))
        .load(|record| loaded += usize::from(record.is_ok()));
    assert!(matches!(result, Err(StoreError::Failed(_))) && loaded == 2);
}
