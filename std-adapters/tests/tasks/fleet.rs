//! Tasks of a fleet: servers with one store, of which any has a client's next request.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::{TaskSupport, TextResult, Tool, ToolAnnotations};
use mcp_sansio::{Catalog, Progress, RawJson, RpcError, entries};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::http::{HttpExchange, HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Broadcaster, Context, HandlerResult, TaskOptions};
use mcp_sansio_adapters::store::{MemoryStore, Store, StoreError, TaskStore};
use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::{Instant, advance, sleep, timeout};

use super::bus::TestBus;
use super::client::legacy;
use super::exchange::read_until;
use super::http::{Client, with_principals};
use super::random::Random;
use super::virtual_time::block_on;
use super::{CONFIG, call, filled_in, form, name, request, tool};

const RING: KeyRing = KeyRing::new([5; 32]);

static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    task("ask"),
    task("hold"),
    task("count"),
    task("twice"),
    task("copy"),
    task("refuse"),
    task("large"),
    task("again").annotations(ToolAnnotations::new().idempotent_hint(true)),
    task("ask-again").annotations(ToolAnnotations::new().read_only_hint(true)),
]);

const fn task(name: &'static str) -> Tool<'static> {
    tool(name, TaskSupport::Optional)
}

/// What the handlers of all servers have in common.
#[derive(Clone, Default)]
struct World {
    begun: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
    may_end: Arc<AtomicBool>,
}

struct Ends(Arc<AtomicUsize>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn handle(world: World, ctx: Context) -> HandlerResult {
    let begun = world.begun.fetch_add(1, Ordering::SeqCst) + 1;
    let _ends = Ends(world.ended);
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let wait = async || {
        while !world.may_end.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(100)).await;
        }
    };
    match ctx.name() {
        "ask" | "ask-again" => {
            let first = name(&tool.request_input("first", form("First name?")).await?)?;
            let last = name(&tool.request_input("last", form(&format!("{first} who?"))).await?)?;
            return ctx.reply(&TextResult::new(&format!("{first} {last}")));
        }
        "count" => {
            let done = ctx.saved().and_then(RawJson::as_u64).unwrap_or(0);
            for done in done + 1..=3 {
                ctx.save(done).await?;
                tool.set_status(format_args!("{done} of 3"));
                if done == 2 {
                    wait().await;
                }
            }
            return ctx.reply(&TextResult::new(&format!("{begun} runs, from {done} on")));
        }
        "twice" => {
            if let Some(saved) = ctx.saved() {
                return ctx.reply(&TextResult::new(saved.as_str()));
            }
            let until = async |may_end| {
                while world.may_end.load(Ordering::SeqCst) != may_end {
                    yield_now().await;
                }
            };
            until(true).await;
            // The store has the first state when its future is dropped.
            future::or(async { drop(ctx.save(1).await) }, until(false)).await;
            ctx.save(2).await?;
            world.may_end.store(true, Ordering::SeqCst);
            return pending().await;
        }
        "copy" => {
            for done in 1..=3 {
                tool.progress(&Progress::of(done).total(3).message("copies")).await?;
                sleep(Duration::from_secs(10)).await;
            }
        }
        "refuse" => {
            tool.set_status("2 of 3");
            // Records have the time of the system.
            std::thread::sleep(Duration::from_millis(2));
            return Err(RpcError::invalid_params("Not this one").into());
        }
        "large" => return ctx.reply(&TextResult::new(&"x".repeat(20 << 10))),
        _ => wait().await,
    }
    ctx.reply(&TextResult::new(&format!("run {begun}")))
}

/// The faults of the store of all servers.
#[derive(Default)]
struct Faults {
    /// The next so many changes of records are made, and reported as failed.
    lost: AtomicUsize,
    /// The next so many removals are not made.
    unremoved: AtomicUsize,
    /// Each change of a record is tried twice, as if another server had been faster, or with this
    /// another thread that did the same.
    has_made: AtomicBool,
    /// The record of the next change is removed instead.
    vanishes: AtomicBool,
    /// The next answer to a change of a record is late, on a thread that waits for it.
    is_late: AtomicBool,
    is_held: AtomicBool,
    may_answer: (Mutex<bool>, Condvar),
}

impl Faults {
    /// Waits if the answer is late.
    fn hold(&self) {
        if self.is_late.swap(false, Ordering::SeqCst) {
            self.is_held.store(true, Ordering::SeqCst);
            let may_answer = self.may_answer.0.lock().unwrap();
            drop(self.may_answer.1.wait_while(may_answer, |may_answer| !*may_answer).unwrap());
        }
    }

    fn answer(&self) {
        *self.may_answer.0.lock().unwrap() = true;
        self.may_answer.1.notify_all();
    }

    /// Counts down. Returns whether there was one.
    fn is_next(count: &AtomicUsize) -> bool {
        let less = |count: usize| count.checked_sub(1);
        count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }
}

/// The store, as one server reaches it.
struct Reached {
    records: Arc<MemoryStore>,
    is_reached: Arc<AtomicBool>,
    faults: Arc<Faults>,
    is_second: AtomicBool,
}

impl Reached {
    fn of(&self) -> Result<&MemoryStore, StoreError> {
        match self.is_reached.load(Ordering::SeqCst) {
            true => Ok(&self.records),
            false => Err(StoreError::Unavailable("no route".into())),
        }
    }
}

impl Store for Reached {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.of()?.get(key)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        self.of()?.put(key, bytes, ttl)?;
        if key.starts_with("task/") {
            self.faults.hold();
        }
        Ok(())
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let (is_record, faults) = (key.starts_with("task/"), &self.faults);
        if is_record && !self.is_second.fetch_not(Ordering::SeqCst) {
            faults.hold();
            if faults.has_made.load(Ordering::SeqCst) {
                self.of()?.compare_and_put(key, expected, bytes, ttl)?;
            }
            if faults.vanishes.swap(false, Ordering::SeqCst) {
                self.of()?.remove(key)?;
            }
            return Ok(false);
        }
        let put = self.of()?.compare_and_put(key, expected, bytes, ttl)?;
        match is_record && Faults::is_next(&faults.lost) {
            true => Err(StoreError::Unavailable("no answer".into())),
            false => Ok(put),
        }
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        if Faults::is_next(&self.faults.unremoved) {
            return Err(StoreError::Unavailable("no route".into()));
        }
        self.of()?.remove(key)
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.of()?.keys(prefix)
    }

    fn blocks(&self) -> bool {
        self.faults.is_late.load(Ordering::SeqCst)
    }
}

/// Three servers, as a client and the one who runs them see them.
struct Fleet {
    servers: [HttpServer; 3],
    /// Whether a server runs, and reaches the store.
    runs: [AtomicBool; 3],
    reaches: [Arc<AtomicBool>; 3],
    faults: Arc<Faults>,
    broadcasters: [Broadcaster; 3],
    bus: Arc<TestBus>,
    world: World,
}

impl Fleet {
    fn client(&self, server: usize, token: &'static str) -> Client {
        Client { server: self.servers[server].clone(), token, session: None }
    }

    async fn get(&self, server: usize, id: &Value) -> Value {
        let asked = self.client(server, "anna");
        asked.ask(&request(9, "tasks/get", json!({"taskId": id}))).await
    }

    /// Polls a server until the task is in this state.
    async fn until(&self, server: usize, id: &Value, status: &str) -> Value {
        for _ in 0..60 {
            let state = self.get(server, id).await["result"].clone();
            if state["status"] == status {
                return state;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("{:?}", self.get(server, id).await);
    }

    async fn create(&self, server: usize, tool: &str) -> Value {
        let created = self.client(server, "anna").ask(&call(1, tool, json!({}))).await;
        assert_eq!(created["result"]["resultType"], "task", "{created}");
        created["result"]["taskId"].clone()
    }

    async fn answer(&self, server: usize, id: &Value, key: &str, with: &str) {
        let responses = json!({"taskId": id, "inputResponses": {key: filled_in(with)}});
        let answered =
            self.client(server, "anna").ask(&request(3, "tasks/update", responses)).await;
        assert_eq!(answered["result"]["resultType"], "complete", "{answered}");
    }

    /// Ends a server.
    fn kill(&self, server: usize) {
        self.runs[server].store(false, Ordering::SeqCst);
    }

    fn reach(&self, server: usize, does: bool) {
        self.reaches[server].store(does, Ordering::SeqCst);
    }

    /// Says whether handlers that wait may end.
    fn may_end(&self, may: bool) {
        self.world.may_end.store(may, Ordering::SeqCst);
    }

    /// Listens to these tasks as Anna.
    async fn listen(&self, server: usize, ids: Value) -> HttpExchange {
        let listen = request(2, "subscriptions/listen", json!({"notifications": {"taskIds": ids}}));
        self.client(server, "anna").post(&listen).await
    }

    /// Returns the text of the result when a task is completed.
    async fn completed(&self, server: usize, id: &Value) -> String {
        let ended = self.until(server, id, "completed").await;
        ended["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Waits for so many runs of handlers.
    async fn until_begun(&self, number: usize) {
        for _ in 0..60 {
            if self.begun() >= number {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("no server has begun it again");
    }

    /// Waits for a thread, which takes time of the computer.
    async fn until_held(&self) {
        while !self.faults.is_held.load(Ordering::SeqCst) {
            yield_now().await;
        }
    }

    fn begun(&self) -> usize {
        self.world.begun.load(Ordering::SeqCst)
    }
}

/// Runs clients against a fleet whose clients have principals.
fn fleet(clients: impl AsyncFnOnce(&Fleet)) {
    fleet_with(TaskOptions::new(), true, clients);
}

fn fleet_with(options: TaskOptions, has_principals: bool, clients: impl AsyncFnOnce(&Fleet)) {
    block_on(async {
        let start = Instant::now();
        let records = MemoryStore::new(1 << 20).clock(move || start.elapsed());
        let (records, bus, world) =
            (Arc::new(records), Arc::new(TestBus::default()), World::default());
        let reaches = [(); 3].map(|()| Arc::new(AtomicBool::new(true)));
        let faults = Arc::new(Faults::default());
        let apps = reaches.each_ref().map(|reached| {
            let store = Reached {
                records: Arc::clone(&records),
                is_reached: Arc::clone(reached),
                faults: Arc::clone(&faults),
                is_second: AtomicBool::new(false),
            };
            let world = world.clone();
            App::new(&CONFIG, move |ctx| handle(world.clone(), ctx))
                .catalog(&CATALOG)
                .key_ring(RING)
                .tasks(TaskOptions { store: Some(TaskStore::new(store, RING)), ..options.clone() })
        });
        let mut names = ["a", "b", "c"].into_iter();
        let servers = apps.each_ref().map(|app| {
            let options = HttpOptions {
                node: names.next().map(Into::into),
                bus: Some(bus.clone()),
                ..HttpOptions::new()
            };
            let options = if has_principals { with_principals(options) } else { options };
            HttpServer::new(app, options).unwrap()
        });
        let runs = [(); 3].map(|()| AtomicBool::new(true));
        let broadcasters = apps.each_ref().map(|app| app.broadcaster().clone());
        let fleet = Fleet { servers, runs, reaches, faults, broadcasters, bus, world };
        let run = async |number: usize| {
            let killed = async {
                while fleet.runs[number].load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(50)).await;
                }
            };
            future::or(fleet.servers[number].run(&apps[number]), killed).await;
            pending().await
        };
        let servers = future::or(future::or(run(0), run(1)), run(2));
        future::or(future::or(servers, fleet.bus.run(Duration::from_millis(20))), clients(&fleet))
            .await;
    });
}

#[test]
fn a_task_is_created_asked_answered_and_finished_at_three_servers() {
    for has_bus in [true, false] {
        fleet(async |fleet| {
            fleet.bus.set_lost(!has_bus);
            let id = fleet.create(0, "ask").await;
            let asked = fleet.until(1, &id, "input_required").await;
            assert_eq!(asked["inputRequests"]["1"]["params"]["message"], "First name?");
            fleet.answer(2, &id, "1", "Anna").await;
            // What comes late is taken for nothing.
            fleet.answer(1, &id, "1", "Ben").await;
            let asked = loop {
                let asked = fleet.until(1, &id, "input_required").await;
                if asked["inputRequests"].get("2").is_some() {
                    break asked;
                }
                sleep(Duration::from_secs(1)).await;
            };
            assert_eq!(asked["inputRequests"]["2"]["params"]["message"], "Anna who?");
            assert_eq!(asked["inputRequests"].get("1"), None);
            fleet.answer(0, &id, "2", "Smith").await;
            for server in 0..3 {
                assert_eq!(fleet.completed(server, &id).await, "Anna Smith");
            }
            assert_eq!(fleet.begun(), 1);
        });
    }
}

#[test]
fn a_task_is_cancelled_at_another_server() {
    fleet(async |fleet| {
        let id = fleet.create(0, "hold").await;
        let cancelled = request(2, "tasks/cancel", json!({"taskId": id}));
        let other = fleet.client(1, "ben").ask(&cancelled).await;
        assert_eq!(other["error"]["code"], -32602, "it is not his");
        assert_eq!(
            fleet.client(1, "anna").ask(&cancelled).await["result"]["resultType"],
            "complete"
        );
        for server in 0..3 {
            fleet.until(server, &id, "cancelled").await;
        }
        assert_eq!(fleet.world.ended.load(Ordering::SeqCst), 1, "its handler has ended");
    });
}

/// Its record changes meanwhile, so that the cancellation is tried again.
#[test]
fn a_task_of_a_session_is_cancelled_at_another_server() {
    for has_made in [false, true] {
        fleet(async |fleet| {
            let anna = fleet.client(0, "anna").in_session().await;
            let id = &anna.create("hold", json!({})).await;
            fleet.faults.has_made.store(has_made, Ordering::SeqCst);
            let other = Client { session: anna.session.clone(), ..fleet.client(1, "anna") };
            let cancelled = other.ask(&legacy(2, "tasks/cancel", json!({"taskId": id}))).await;
            assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
        });
    }
}

#[test]
fn a_task_goes_on_elsewhere_when_its_server_is_gone_if_its_tool_may_be_repeated() {
    fleet(async |fleet| {
        let (once, again) = (fleet.create(0, "hold").await, fleet.create(0, "again").await);
        fleet.kill(0);
        let failed = fleet.until(1, &once, "failed").await;
        assert_eq!(failed["error"]["message"], "The server that ran the task is gone");
        fleet.may_end(true);
        assert_eq!(fleet.completed(2, &again).await, "run 3");
        sleep(Duration::from_secs(60)).await;
        assert_eq!(fleet.begun(), 3, "nothing is run twice");
    });
}

#[test]
fn a_task_goes_on_from_what_it_has_saved() {
    fleet(async |fleet| {
        let id = fleet.create(0, "count").await;
        sleep(Duration::from_secs(2)).await;
        assert_eq!(fleet.get(1, &id).await["result"]["statusMessage"], "2 of 3");
        fleet.kill(0);
        fleet.until_begun(2).await;
        fleet.may_end(true);
        assert_eq!(fleet.completed(1, &id).await, "2 runs, from 2 on");
    });
}

#[test]
fn a_state_that_was_saved_stays_when_an_earlier_one_comes_late() {
    fleet(async |fleet| {
        let id = fleet.create(0, "twice").await;
        fleet.faults.is_late.store(true, Ordering::SeqCst);
        fleet.may_end(true);
        fleet.until_held().await;
        fleet.may_end(false);
        while !fleet.world.may_end.load(Ordering::SeqCst) {
            yield_now().await;
        }
        fleet.faults.answer();
        sleep(Duration::from_secs(1)).await;
        fleet.kill(0);
        assert_eq!(fleet.completed(1, &id).await, "2");
    });
}

#[test]
fn a_task_that_is_begun_again_has_the_answers_that_it_had() {
    fleet(async |fleet| {
        let id = fleet.create(0, "ask-again").await;
        fleet.until(1, &id, "input_required").await;
        fleet.answer(0, &id, "1", "Anna").await;
        sleep(Duration::from_secs(2)).await;
        fleet.kill(0);
        fleet.until_begun(2).await;
        let asked = fleet.until(2, &id, "input_required").await;
        let open: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(open, ["2"]);
        fleet.answer(1, &id, "2", "Smith").await;
        assert_eq!(fleet.completed(2, &id).await, "Anna Smith");
    });
}

#[test]
fn a_server_that_was_cut_off_does_not_end_what_another_has_taken_over() {
    fleet(async |fleet| {
        let id = fleet.create(0, "again").await;
        fleet.reach(0, false);
        fleet.until_begun(2).await;
        fleet.reach(0, true);
        sleep(Duration::from_secs(6)).await;
        assert_eq!(fleet.world.ended.load(Ordering::SeqCst), 1, "the first run has ended");
        fleet.may_end(true);
        for server in 0..3 {
            assert_eq!(fleet.completed(server, &id).await, "run 2");
        }
    });
}

#[test]
fn who_follows_a_task_where_it_ran_is_told_how_it_goes_on_elsewhere() {
    fleet(async |fleet| {
        let anna = fleet.client(0, "anna").in_session().await;
        let id = anna.create("again", json!({})).await;
        let mut told = fleet.listen(0, json!([id])).await;
        let mut result = anna.post(&legacy(3, "tasks/result", json!({"taskId": id}))).await;
        fleet.reach(0, false);
        fleet.until_begun(2).await;
        fleet.reach(0, true);
        sleep(Duration::from_secs(10)).await;
        fleet.may_end(true);
        for (stream, part) in [(&mut told, r#""status":"completed""#), (&mut result, "run 2")] {
            let text = read_until(stream, part).await;
            assert!(!text.contains("failed") && !text.contains("cancelled"), "{text}");
        }
    });
}

#[test]
fn an_outage_of_the_store_ends_no_task_and_begins_none_again() {
    fleet(async |fleet| {
        let ids = [fleet.create(0, "hold").await, fleet.create(1, "again").await];
        for outage in [14, 16, 21, 33] {
            fleet.reaches.iter().for_each(|reached| reached.store(false, Ordering::SeqCst));
            sleep(Duration::from_secs(outage)).await;
            fleet.reaches.iter().for_each(|reached| reached.store(true, Ordering::SeqCst));
            sleep(Duration::from_secs(40)).await;
        }
        for id in &ids {
            assert_eq!(fleet.get(2, id).await["result"]["status"], "working");
        }
        assert_eq!(fleet.begun(), 2);
    });
}

#[test]
fn a_change_that_was_made_and_reported_as_failed_loses_nothing() {
    fleet(async |fleet| {
        let id = fleet.create(0, "again").await;
        fleet.kill(0);
        // The one who takes it over does not learn of that.
        fleet.faults.lost.store(1, Ordering::SeqCst);
        fleet.until_begun(2).await;
        assert_eq!(fleet.faults.lost.load(Ordering::SeqCst), 0);
        // Nor, at the end, of having stored the result.
        fleet.faults.lost.store(1, Ordering::SeqCst);
        fleet.may_end(true);
        for server in 1..3 {
            assert_eq!(fleet.completed(server, &id).await, "run 2");
        }
        assert_eq!(fleet.faults.lost.load(Ordering::SeqCst), 0);
    });
}

/// A takeover that the server does not learn of, or whose mark of the server before stays behind.
#[test]
fn a_task_that_was_taken_over_is_found_again_whatever_its_takeover_has_left() {
    for (lost, unremoved) in [(1, 0), (0, 1)] {
        fleet(async |fleet| {
            fleet.create(2, "again").await;
            fleet.kill(2);
            // The other one has it next.
            fleet.reach(1, false);
            fleet.faults.lost.store(lost, Ordering::SeqCst);
            fleet.faults.unremoved.store(unremoved, Ordering::SeqCst);
            fleet.until_begun(2).await;
            sleep(Duration::from_secs(10)).await;
            let left = (&fleet.faults.lost, &fleet.faults.unremoved);
            assert_eq!((left.0.load(Ordering::SeqCst), left.1.load(Ordering::SeqCst)), (0, 0));
            fleet.reach(1, true);
            fleet.kill(0);
            fleet.until_begun(3).await;
        });
    }
}

#[test]
fn a_task_whose_record_vanishes_while_it_is_taken_over_is_not_begun() {
    fleet(async |fleet| {
        fleet.create(0, "again").await;
        fleet.kill(0);
        fleet.faults.vanishes.store(true, Ordering::SeqCst);
        sleep(Duration::from_secs(60)).await;
        assert!(!fleet.faults.vanishes.load(Ordering::SeqCst));
        assert_eq!(fleet.begun(), 1);
    });
}

#[test]
fn tasks_of_other_servers_take_no_places_of_own_ones() {
    fleet_with(TaskOptions { max_tasks: 2, ..TaskOptions::new() }, true, async |fleet| {
        for server in [2, 1] {
            let ids = [fleet.create(server, "again").await, fleet.create(server, "again").await];
            let mut stream = fleet.listen(0, json!(ids)).await;
            stream.next_piece().await.unwrap().unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        timeout(Duration::from_secs(1), fleet.create(0, "hold")).await.expect("it is a task");
        // And none of those that are taken over.
        fleet.kill(1);
        fleet.until_begun(6).await;
    });
}

#[test]
fn tasks_without_sessions_are_those_of_all_servers_also_if_tasks_are_bound_to_connections() {
    let options = TaskOptions { bind_to_connection: true, ..TaskOptions::new() };
    fleet_with(options, false, async |fleet| {
        let id = fleet.create(0, "again").await;
        assert_eq!(fleet.get(1, &id).await["result"]["status"], "working");
        fleet.kill(0);
        fleet.until_begun(2).await;
        fleet.may_end(true);
        for server in 1..3 {
            fleet.until(server, &id, "completed").await;
        }
    });
}

#[test]
fn a_call_that_ends_while_its_task_is_saved_is_not_begun_again() {
    fleet(async |fleet| {
        sleep(Duration::from_secs(6)).await;
        fleet.faults.is_late.store(true, Ordering::SeqCst);
        let exchange = fleet.client(0, "anna").post(&call(1, "again", json!({}))).await;
        fleet.until_held().await;
        drop(exchange);
        for _ in 0..15 {
            advance(Duration::from_secs(1)).await;
            for _ in 0..100 {
                yield_now().await;
            }
        }
        fleet.faults.answer();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(fleet.begun(), 0);
    });
}

#[test]
fn a_server_whose_tasks_are_over_takes_over_what_others_have_left() {
    let config = TasksConfig::new().ttl(Duration::from_secs(60));
    let options = TaskOptions { config, max_tasks: 1, ..TaskOptions::new() };
    fleet_with(options, true, async |fleet| {
        fleet.kill(2);
        fleet.may_end(true);
        fleet.create(1, "hold").await;
        sleep(Duration::from_secs(30)).await;
        fleet.may_end(false);
        fleet.create(0, "again").await;
        fleet.kill(0);
        fleet.until_begun(3).await;
    });
}

#[test]
fn a_server_that_is_shut_down_leaves_its_tasks_to_others() {
    fleet(async |fleet| {
        let id = fleet.create(0, "again").await;
        let mut here = fleet.listen(0, json!([id])).await;
        let mut told = fleet.listen(1, json!([id])).await;
        sleep(Duration::from_secs(1)).await;
        fleet.broadcasters[0].shut_down();
        while let Some(Ok(piece)) = here.next_piece().await {
            let text = String::from_utf8(piece).unwrap();
            assert!(!text.contains("failed"), "{text}");
        }
        fleet.until_begun(2).await;
        fleet.may_end(true);
        let text = read_until(&mut told, "completed").await;
        assert!(!text.contains("failed"), "{text}");
    });
}

#[test]
fn a_task_is_begun_three_times_at_most() {
    fleet(async |fleet| {
        let id = fleet.create(0, "again").await;
        // Each server in turn is cut off, until it has lost the task.
        let mut runs = 1;
        for _ in 0..20 {
            for server in 0..3 {
                fleet.reach(server, false);
                sleep(Duration::from_secs(40)).await;
                fleet.reach(server, true);
                sleep(Duration::from_secs(10)).await;
                runs = fleet.begun();
            }
            if fleet.get(0, &id).await["result"]["status"] == "failed" {
                break;
            }
        }
        let failed = fleet.until(1, &id, "failed").await;
        let why = failed["error"]["message"].as_str().unwrap();
        assert!(why.contains("three in a row"), "{why}");
        assert_eq!(runs, 3);
    });
}

#[test]
fn tasks_are_listed_and_waited_for_at_any_server() {
    fleet(async |fleet| {
        let anna = fleet.client(0, "anna").in_session().await;
        let at = |server: usize| Client { server: fleet.servers[server].clone(), ..anna.clone() };
        let id = at(0).create("ask", json!({})).await;
        for server in 0..3 {
            let list = at(server).ask(&legacy(2, "tasks/list", json!({}))).await;
            let tasks = list["result"]["tasks"].as_array().unwrap();
            assert_eq!(tasks.len(), 1, "{server}: {list}");
            assert_eq!(tasks[0]["taskId"], id);
            let other = fleet.client(server, "ben");
            let session = Client { session: anna.session.clone(), ..other };
            assert_ne!(session.ask(&legacy(2, "tasks/list", json!({}))).await["result"], list);
        }
        // Its questions travel with the request that waits for it.
        let waits = at(1);
        let mut stream = waits.post(&legacy(3, "tasks/result", json!({"taskId": id}))).await;
        for answer in ["Anna", "Smith"] {
            let mut text = read_until(&mut stream, "elicitation/create").await;
            while !text.ends_with("\n\n") {
                text += &read_until(&mut stream, "\n\n").await;
            }
            let asked = text.lines().rfind(|line| line.contains("elicitation/create")).unwrap();
            let question: Value = serde_json::from_str(&asked["data: ".len()..]).unwrap();
            let reply =
                json!({"jsonrpc": "2.0", "id": question["id"], "result": filled_in(answer)});
            assert_eq!(at(2).post(&reply).await.response().await.status, 202);
        }
        read_until(&mut stream, "Anna Smith").await;
    });
}

#[test]
fn a_subscription_is_told_of_a_task_of_another_server() {
    let config = TasksConfig::new().ttl(Duration::from_secs(60));
    fleet_with(TaskOptions { config, ..TaskOptions::new() }, true, async |fleet| {
        for (tool, end) in [("hold", "failed"), ("hold", "cancelled"), ("copy", "completed")] {
            let id = fleet.create(0, tool).await;
            let mut stream = fleet.listen(1, json!([id])).await;
            let mut told = async |part: &str| {
                let told = read_until(&mut stream, part);
                timeout(Duration::from_secs(70), told).await.expect(part);
            };
            told(r#""status":"working""#).await;
            if end == "cancelled" {
                let cancel = request(4, "tasks/cancel", json!({"taskId": id}));
                fleet.client(1, "anna").ask(&cancel).await;
            }
            if tool == "copy" {
                told(r#""progress":2"#).await;
            }
            told(&format!(r#""status":"{end}""#)).await;
        }
    });
}

#[test]
fn tsk_47_all_servers_say_why_and_when_a_task_has_failed() {
    fleet(async |fleet| {
        let id = fleet.create(0, "refuse").await;
        let failed = fleet.until(0, &id, "failed").await;
        assert_eq!(failed["statusMessage"], "Not this one", "{failed}");
        assert!(failed["lastUpdatedAt"].as_str() > failed["createdAt"].as_str(), "{failed}");
        sleep(Duration::from_secs(1)).await;
        for server in 0..3 {
            assert_eq!(fleet.get(server, &id).await["result"], failed);
        }
    });
}

#[test]
fn a_result_without_room_is_none_at_all_servers() {
    let options = TaskOptions { max_results: 30 << 10, ..TaskOptions::new() };
    fleet_with(options, true, async |fleet| {
        for status in ["completed", "failed"] {
            let id = fleet.create(0, "large").await;
            fleet.until(0, &id, status).await;
            sleep(Duration::from_secs(1)).await;
            for server in 0..3 {
                assert_eq!(fleet.get(server, &id).await["result"]["status"], status);
            }
        }
    });
}

#[test]
fn a_task_of_a_store_that_is_gone_is_an_error_and_not_unknown() {
    fleet(async |fleet| {
        let id = fleet.create(0, "hold").await;
        fleet.reach(1, false);
        assert_eq!(fleet.get(1, &id).await["error"]["code"], -32603);
        assert_eq!(fleet.get(0, &id).await["result"]["status"], "working");
        fleet.reach(1, true);
        assert_eq!(fleet.get(1, &id).await["result"]["status"], "working");
    });
}

#[test]
fn a_question_is_told_when_all_servers_can_take_its_answer() {
    fleet(async |fleet| {
        let id = fleet.create(0, "ask").await;
        fleet.until(1, &id, "input_required").await;
        fleet.reach(0, false);
        fleet.answer(0, &id, "1", "Anna").await;
        sleep(Duration::from_millis(10)).await;
        assert_eq!(fleet.get(0, &id).await["error"]["code"], -32603, "the second is not stored");
        fleet.reach(0, true);
        let asked = fleet.until(0, &id, "input_required").await;
        let open: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(open, ["2"]);
        // Another server has it by now.
        fleet.answer(1, &id, "2", "Smith").await;
        fleet.until(2, &id, "completed").await;
    });
}

/// Whatever happens to servers and bus, each task ends once, and all servers say the same of it.
#[test]
fn tasks_end_once_whatever_happens_to_servers_and_bus() {
    for seed in 1..=30 {
        fleet(async |fleet| {
            let mut random = Random(seed);
            let mut below = |n: usize| random.below(n);
            let (mut ids, mut cancelled) = (Vec::new(), Vec::new());
            let answers = json!({"1": filled_in("Anna"), "2": filled_in("Smith")});
            let update = |id: &Value| {
                request(3, "tasks/update", json!({"taskId": id, "inputResponses": answers}))
            };
            for tool in ["again", "count", "ask-again", "hold", "ask", "again"] {
                ids.push(fleet.create(below(3), tool).await);
            }
            for _ in 0..40 {
                let (server, other, id) = (below(3), below(3), &ids[below(6)]);
                match below(6) {
                    0 => fleet.reaches[server].store(below(2) == 0, Ordering::SeqCst),
                    1 => fleet.bus.set_lost(below(2) == 0),
                    2 => sleep(Duration::from_millis(below(9_000) as u64)).await,
                    3 if below(4) == 0 => {
                        cancelled.push(id.clone());
                        let cancel = request(4, "tasks/cancel", json!({"taskId": id}));
                        fleet.client(server, "anna").ask(&cancel).await;
                    }
                    _ => {
                        fleet.client(other, "anna").ask(&update(id)).await;
                    }
                }
            }
            fleet.reaches.iter().for_each(|reached| reached.store(true, Ordering::SeqCst));
            fleet.bus.set_lost(false);
            fleet.may_end(true);
            for _ in 0..20 {
                sleep(Duration::from_secs(3)).await;
                for id in &ids {
                    fleet.client(below(3), "anna").ask(&update(id)).await;
                }
            }
            for id in &ids {
                let says = async |server| fleet.get(server, id).await["result"].clone();
                let first = says(0).await;
                let status = first["status"].as_str().unwrap();
                assert!(["completed", "failed", "cancelled"].contains(&status), "{seed}: {first}");
                assert!(status != "cancelled" || cancelled.contains(id), "{seed}: {first}");
                for server in 1..3 {
                    assert_eq!(says(server).await, first, "{seed}");
                }
            }
            let (begun, ended) = (fleet.begun(), fleet.world.ended.load(Ordering::SeqCst));
            assert_eq!(begun, ended, "no handler runs on");
        });
    }
}
