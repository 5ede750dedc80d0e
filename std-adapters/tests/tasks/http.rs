//! Over HTTP, without sockets.

use std::collections::BTreeSet;
use std::future::{Future, ready};
use std::net::IpAddr;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::{OrToolError as _, Progress};
use mcp_sansio_adapters::asynchronous::http::{
    Credentials, HttpExchange, HttpOptions, HttpServer, Principal,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits, TaskOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{cancel, legacy};
use super::exchange::{head, messages, send, session_of};
use super::{CATALOG, CONFIG, call, filled_in, handle, request, serving};

/// A client with a token, which is its name, and perhaps a session.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) server: HttpServer,
    pub(super) token: &'static str,
    pub(super) session: Option<String>,
}

impl Client {
    pub(super) async fn post(&self, message: &Value) -> HttpExchange {
        let token = format!("Bearer {}", self.token);
        let mut fields = vec![("Authorization", token.as_str())];
        let params = &message["params"];
        match &self.session {
            Some(session) => {
                fields.push(("Mcp-Session-Id", session));
                fields.push(("MCP-Protocol-Version", "2025-11-25"));
            }
            None if message["method"] != "initialize" => {
                fields.push(("MCP-Protocol-Version", "2026-07-28"));
                fields.push(("Mcp-Method", message["method"].as_str().unwrap()));
                let name = params["name"].as_str().or(params["taskId"].as_str());
                fields.extend(name.map(|name| ("Mcp-Name", name)));
            }
            None => {}
        }
        let head = head("POST", &fields).peer(IpAddr::from([192, 0, 2, 1]));
        send(&self.server, head, &message.to_string()).await
    }

    /// Returns the media type of the response, and its messages.
    async fn messages(&self, message: &Value) -> (String, Vec<Value>) {
        let mut exchange = self.post(message).await;
        let fields = exchange.response().await.fields;
        let kind = fields.into_iter().find(|(name, _)| *name == "content-type");
        let messages = messages(&mut exchange).await;
        (kind.map(|(_, value)| value).unwrap_or_default(), messages)
    }

    pub(super) async fn ask(&self, message: &Value) -> Value {
        self.messages(message).await.1.pop().unwrap_or_default()
    }

    /// Creates a task in a session. Returns its id.
    pub(super) async fn create(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "task": {},
            "_meta": {"progressToken": "p"}});
        let created = self.ask(&legacy(1, "tools/call", params)).await;
        created["result"]["task"]["taskId"].clone()
    }

    /// Opens a session.
    pub(super) async fn in_session(mut self) -> Self {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"}});
        let mut exchange = self.post(&legacy(0, "initialize", params)).await;
        self.session = Some(session_of(&mut exchange).await);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let mut exchange = self.post(&ready).await;
        assert_eq!(exchange.response().await.status, 202);
        self
    }
}

/// Runs clients against a server with principals.
pub(super) fn serve<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    clients: impl AsyncFnOnce(&dyn Fn(&'static str) -> Client),
) {
    serve_with(app, with_principals(HttpOptions::new()), clients);
}

/// The principal of a token has its name.
pub(super) fn with_principals(options: HttpOptions) -> HttpOptions {
    options.authorize(|credentials: Credentials| {
        let subject = credentials.token().unwrap_or_default();
        ready(Ok(Principal::new("https://auth.example.com", subject)))
    })
}

fn serve_with<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    options: HttpOptions,
    clients: impl AsyncFnOnce(&dyn Fn(&'static str) -> Client),
) {
    super::exchange::serve(app, options, async |server| {
        clients(&|token| Client { server: server.clone(), token, session: None }).await;
    });
}

#[test]
fn requests_that_wait_for_tasks_have_the_share_of_their_address() {
    for (address_share, waiting) in [(75, 3), (100, 4)] {
        let app = serving(handle)
            .limits(Limits { address_share, ..Limits::new() })
            .tasks(TaskOptions { max_waiting: 4, ..TaskOptions::new() });
        serve_with(&app, HttpOptions::new(), async |client| {
            let anna = client("").in_session().await;
            let id = &anna.create("hold", json!({})).await;
            let mut exchanges = Vec::new();
            for number in 2..6 {
                let result = legacy(number, "tasks/result", json!({"taskId": id}));
                exchanges.push(anna.post(&result).await);
                sleep(Duration::from_millis(1)).await;
            }
            let mut answered = 0;
            for exchange in &mut exchanges {
                answered += usize::from(future::poll_once(exchange.response()).await.is_some());
            }
            assert_eq!(answered, 4 - waiting);
        });
    }
}

#[test]
fn tsk_52_a_task_outlives_its_exchange_and_its_id_cannot_be_guessed() {
    let app = serving(handle);
    serve(&app, async |client| {
        let anna = client("anna");
        let mut ids = BTreeSet::new();
        for _ in 0..60 {
            let created = anna.ask(&call(1, "wait", json!({"ms": 20}))).await;
            let id = created["result"]["taskId"].as_str().unwrap().to_owned();
            assert!(id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
            ids.insert(id);
        }
        assert_eq!(ids.len(), 60);
        sleep(Duration::from_millis(60)).await;
        for id in ids {
            let ended = anna.ask(&request(2, "tasks/get", json!({"taskId": id}))).await;
            assert_eq!(ended["result"]["result"]["content"][0]["text"], "done", "{ended}");
        }
    });
}

#[test]
fn auth_151_auth_152_tasks_of_another_principal_are_unknown() {
    let app = serving(handle);
    serve(&app, async |client| {
        let (anna, ben) = (client("anna"), client("ben"));
        let created = anna.ask(&call(1, "pair", json!({}))).await;
        let id = &created["result"]["taskId"];
        let unknown = "00000000000000000000000000000000";
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let of = |id: &Value| {
                request(2, method, json!({"taskId": id, "inputResponses": {"1": filled_in("X")}}))
            };
            let refused = ben.ask(&of(id)).await;
            assert_eq!(refused, ben.ask(&of(&json!(unknown))).await);
            assert_eq!(refused["error"]["code"], -32602);
        }
        let listen = json!({"notifications": {"taskIds": [id]}});
        let mut stream = ben.post(&request(3, "subscriptions/listen", listen)).await;
        let piece = String::from_utf8(stream.next_piece().await.unwrap().unwrap()).unwrap();
        assert!(!piece.contains(id.as_str().unwrap()), "{piece}");
        drop(stream);
        let state = anna.ask(&request(4, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(state["result"]["inputRequests"].as_object().unwrap().len(), 2);

        // In a session it is the same, and lists show no other's tasks.
        let ben = client("ben").in_session().await;
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let refused = ben.ask(&legacy(2, method, json!({"taskId": id}))).await;
            assert_eq!(refused["error"]["code"], -32602, "{method}");
        }
        let list = ben.ask(&legacy(3, "tasks/list", json!({}))).await;
        assert_eq!(list["result"]["tasks"], json!([]));
        let anna = client("anna").in_session().await;
        let list = anna.ask(&legacy(3, "tasks/list", json!({}))).await;
        assert_eq!(list["result"]["tasks"][0]["taskId"], *id);
    });
}

#[test]
fn r3_t2_without_tokens_a_session_lists_what_it_created() {
    for is_bound in [false, true] {
        let options = TaskOptions { bind_to_connection: is_bound, ..TaskOptions::new() };
        let app = serving(handle).tasks(options);
        serve_with(&app, HttpOptions::new(), async |client| {
            let alone = client("").ask(&call(1, "ask", json!({}))).await;
            let victim = client("").in_session().await;
            let other = client("").in_session().await;
            let mut ids = Vec::new();
            for _ in 1..=20 {
                ids.push(victim.create("ask", json!({})).await);
            }
            let list = other.ask(&legacy(30, "tasks/list", json!({}))).await;
            assert_eq!(list["result"], json!({"tasks": []}));
            let own = other.create("ask", json!({})).await;
            let list = other.ask(&legacy(32, "tasks/list", json!({}))).await;
            assert_eq!(list["result"]["tasks"].as_array().unwrap().len(), 1);
            assert_eq!(list["result"]["tasks"][0]["taskId"], own);
            // Pages have the tasks of the session, too.
            let (mut listed, mut cursor) = (Vec::new(), json!({}));
            loop {
                let page = victim.ask(&legacy(33, "tasks/list", cursor)).await["result"].clone();
                let tasks = page["tasks"].as_array().unwrap();
                listed.extend(tasks.iter().map(|task| task["taskId"].clone()));
                if page["nextCursor"].is_null() {
                    break;
                }
                cursor = json!({"cursor": page["nextCursor"]});
            }
            assert_eq!(listed, ids);
            // Whoever has the id has the task, unless it is bound.
            for id in [&ids[0], &alone["result"]["taskId"]] {
                let got = other.ask(&legacy(34, "tasks/get", json!({"taskId": id}))).await;
                assert_eq!(got["error"]["code"] == -32602, is_bound, "{got}");
            }
        });
    }
}

#[test]
fn tsk_49_tsk_58_a_lost_request_for_a_result_leaves_the_task_as_it_is() {
    let app = serving(handle);
    serve(&app, async |client| {
        let anna = client("anna").in_session().await;
        let id = &anna.create("wait", json!({"ms": 60})).await;
        drop(anna.post(&legacy(2, "tasks/result", json!({"taskId": id}))).await);
        let (kind, messages) = anna.messages(&legacy(3, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(
            (kind.as_str(), &messages[0]["result"]["status"]),
            ("application/json", &json!("working"))
        );
        let result = anna.ask(&legacy(4, "tasks/result", json!({"taskId": id}))).await;
        assert_eq!(result["result"]["content"][0]["text"], "done");
        // Messages of a task come with the request for its result.
        anna.ask(&legacy(5, "logging/setLevel", json!({"level": "debug"}))).await;
        let id = &anna.create("steps", json!({"ms": 20})).await;
        let (kind, messages) =
            anna.messages(&legacy(7, "tasks/result", json!({"taskId": id}))).await;
        assert_eq!(kind, "text/event-stream");
        let methods: Vec<&str> = messages.iter().filter_map(|it| it["method"].as_str()).collect();
        assert!(methods.contains(&"notifications/progress"), "{messages:?}");
        assert_eq!(methods.last(), Some(&"notifications/message"));
        assert_eq!(messages.last().unwrap()["result"]["content"][0]["text"], "done");
    });
}

#[test]
fn a_task_that_waits_for_room_goes_on_when_nobody_waits_for_its_result_any_more() {
    let (tell, told) = smol::channel::unbounded();
    let app = App::new(&CONFIG, async |ctx: Context| {
        sleep(Duration::from_millis(10)).await;
        for step in 1..=1000 {
            ctx.tool(&ctx.request()?).progress(&Progress::of(step)).await?;
        }
        tell.send(()).await.or_internal()?;
        ctx.text("done")
    });
    let app = app.catalog(&CATALOG).limits(Limits { max_pending: 1024, ..Limits::new() });
    serve(&app, async |client| {
        for deletes in [false, true] {
            let anna = client("anna").in_session().await;
            let id = &anna.create("wait", json!({})).await;
            let _unread = anna.post(&legacy(2, "tasks/result", json!({"taskId": id}))).await;
            sleep(Duration::from_millis(20)).await;
            assert!(told.is_empty(), "it waits for room");
            if deletes {
                let session = anna.session.as_deref().unwrap();
                let fields = [("Authorization", "Bearer anna"), ("Mcp-Session-Id", session)];
                let mut exchange = send(&anna.server, head("DELETE", &fields), "").await;
                assert_eq!(exchange.response().await.status, 204);
            } else {
                anna.ask(&cancel(2)).await;
            }
            let goes_on = tokio::time::timeout(Duration::from_secs(60), told.recv());
            goes_on.await.expect("it goes on").unwrap();
        }
    });
}
