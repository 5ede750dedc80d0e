//! Input requests: one handler for both eras.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use futures_lite::future;
use mcp_sansio::types::{
    ElicitParams, ElicitResult, Field, InputRequest, ListRootsResult, RequestedSchema, Root,
    StringSchema,
};
use mcp_sansio::{
    Call, CallOutcome, ClientRequest, RawJson, RequestHandle, ServerConfig, ServerEvent,
};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Client, ConnectionEnd, Connector, InputRefusal, InputResponse, OwnedInputRequest,
};

use crate::pipe::pipe;
use crate::script::{NOW, Session, call, play, run, serve, text, tool};
use crate::{CLIENT, LEGACY, MODERN};

const WHO: RequestedSchema<'_> =
    RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]);
pub(crate) const ELICIT: ElicitParams<'_> = ElicitParams::form("Who is there?", WHO);

pub(crate) async fn answer(question: OwnedInputRequest) -> InputResponse {
    // A user takes some time.
    future::yield_now().await;
    match question.as_input_request() {
        InputRequest::Elicit(_) => {
            question.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
        }
        InputRequest::ListRoots => {
            question.respond(&ListRootsResult::new(&[Root::new("file:///home")]))
        }
        _ => Err(InputRefusal::unsupported()),
    }
}

/// A server with a tool that requests a name and perhaps the roots, and `echo`, which asks nothing.
struct Greeter {
    is_modern: bool,
    asked: Vec<(Call, RequestHandle)>,
    rounds: usize,
}

impl Greeter {
    fn new(config: &ServerConfig<'_>) -> Self {
        Self { is_modern: std::ptr::eq(config, &raw const MODERN), asked: Vec::new(), rounds: 0 }
    }

    fn event(&mut self, event: &ServerEvent<'_>, session: &mut Session) {
        match event {
            ServerEvent::Request(request) if tool(request) == "echo" => {
                session.text(request.handle, "echo")
            }
            ServerEvent::Request(request) if self.is_modern => {
                self.rounds += 1;
                let (who, roots) = (request.input_response("who"), request.input_response("roots"));
                let state = request.request_state().map(|state| state.to_string());
                match (who, roots) {
                    (Some(who), Some(roots)) => {
                        assert_eq!(state.as_deref(), Some("a \"state\""));
                        session.text(request.handle, &greeting(who, Some(roots)));
                    }
                    _ => {
                        let questions = [
                            ("who", ClientRequest::from(&ELICIT)),
                            ("roots", ClientRequest::roots()),
                        ];
                        let state = Some("a \"state\"");
                        session
                            .server
                            .input_required(request.handle, &questions, state, &mut session.tx)
                            .unwrap();
                    }
                }
            }
            ServerEvent::Request(request) => {
                let question = ClientRequest::from(&ELICIT).parent(request.handle);
                let call = session.server.request(NOW, question, &mut session.tx).unwrap();
                self.asked.push((call, request.handle));
            }
            ServerEvent::CallFinished { call, outcome } => {
                let parent = self.asked.iter().find(|(asked, _)| asked == call).unwrap().1;
                match outcome {
                    CallOutcome::Result(who) => session.text(parent, &greeting(*who, None)),
                    CallOutcome::Error(error) => session
                        .text(parent, &format!("{} {}", error.code(), error.message().unwrap())),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// The script of a [`Greeter`].
fn greets(config: &ServerConfig<'_>) -> impl FnMut(&ServerEvent<'_>, &mut Session) {
    let mut greeter = Greeter::new(config);
    move |event, session| greeter.event(event, session)
}

fn greeting(who: RawJson<'_>, roots: Option<RawJson<'_>>) -> String {
    let content = who.to::<ElicitResult<'_>>().unwrap().content.unwrap();
    let name = content.get("name").and_then(RawJson::as_string).unwrap();
    let roots = roots.map(|roots| {
        roots.to::<ListRootsResult<'_>>().unwrap().roots.get(0).unwrap().unwrap().uri.to_string()
    });
    format!("Hello, {name}{}", roots.map_or_else(String::new, |root| format!(" at {root}")))
}

fn greet(config: &'static ServerConfig<'static>, connector: Connector) -> (String, usize) {
    let mut greeter = Greeter::new(config);
    let script = |event: &ServerEvent<'_>, session: &mut Session| greeter.event(event, session);
    let (result, _) =
        play(connector, config, script, async |client| call(&client, "greet").await.unwrap());
    (text(&result), greeter.rounds)
}

#[test]
fn one_handler_serves_both_eras_and_the_request_is_sent_again() {
    for (config, expected, rounds) in
        [(&MODERN, "Hello, Ada at file:///home", 2), (&LEGACY, "Hello, Ada", 0)]
    {
        let connector = Connector::new(&CLIENT).on_input_request(answer);
        assert_eq!(greet(config, connector), (expected.to_owned(), rounds));
    }
}

#[test]
fn without_a_handler_input_requests_are_refused() {
    let (result, _) = greet(&LEGACY, Connector::new(&CLIENT));
    assert_eq!(result, "-32601 Request is not supported");
}

#[test]
fn a_slow_input_response_delays_nothing_else() {
    for config in [&MODERN, &LEGACY] {
        let (open, gate) = smol::channel::bounded::<()>(1);
        let slow = move |question| {
            let gate = gate.clone();
            async move {
                let _ = gate.recv().await;
                answer(question).await
            }
        };
        let connector = Connector::new(&CLIENT).on_input_request(slow);
        let ((greeting, ()), _) = play(connector, config, greets(config), async |client| {
            let others = async {
                for _ in 0..10 {
                    assert_eq!(text(&call(&client, "echo").await.unwrap()), "echo");
                }
                // Only now the user responds.
                drop(open);
            };
            future::zip(call(&client, "greet"), others).await
        });
        assert!(text(&greeting.unwrap()).starts_with("Hello, Ada"));
    }
}

/// A handler that never completes, and what each open input request of it holds.
fn never() -> (Arc<()>, Connector) {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let connector = Connector::new(&CLIENT).on_input_request(move |_| {
        let held = Arc::clone(&held);
        async move {
            let _held = held;
            pending().await
        }
    });
    (alive, connector)
}

/// Returns whether an input request is open. The test and the connector hold it, too.
fn is_asked(alive: &Arc<()>) -> bool {
    Arc::strong_count(alive) > 2
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        future::yield_now().await;
    }
}

#[test]
fn dropping_a_call_drops_its_input_requests() {
    for config in [&MODERN, &LEGACY] {
        let (alive, connector) = never();
        let mut greets = greets(config);
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::CallFinished { outcome, .. }
                if !matches!(outcome, CallOutcome::Cancelled) =>
            {
                panic!("{outcome:?}")
            }
            event => greets(event, session),
        };
        let ((), _) = play(connector, config, script, async |client| {
            let asked = until(|| is_asked(&alive));
            future::or(async { drop(call(&client, "greet").await) }, asked).await;
            until(|| !is_asked(&alive)).await;
            call(&client, "echo").await.unwrap();
        });
    }
}

#[test]
fn questions_end_with_the_connection() {
    for config in [&MODERN, &LEGACY] {
        let (alive, connector) = never();
        play(connector, config, greets(config), async |client| {
            let asked = until(|| is_asked(&alive));
            future::or(async { drop(call(&client, "greet").await) }, asked).await;
            client.close();
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// A handler that calls this tool of the same client before it answers, and the client.
fn caller(tool: &'static str) -> (Arc<OnceLock<Client>>, Connector) {
    let cell = Arc::new(OnceLock::<Client>::new());
    let own = Arc::clone(&cell);
    let connector = Connector::new(&CLIENT).on_input_request(move |question| {
        let client = own.get().unwrap().clone();
        async move {
            call(&client, tool).await.unwrap();
            answer(question).await
        }
    });
    (cell, connector)
}

#[test]
fn an_answer_may_need_a_call_of_the_same_client() {
    for (config, expected) in [(&MODERN, "Hello, Ada at file:///home"), (&LEGACY, "Hello, Ada")] {
        let (cell, connector) = caller("echo");
        let (result, _) = play(connector, config, greets(config), async |client| {
            cell.set(client.clone()).unwrap();
            let result = call(&client, "greet").await;
            client.close();
            result
        });
        assert_eq!(text(&result.unwrap()), expected);
    }
}

#[test]
fn a_connection_ends_while_an_answer_waits_for_a_call_of_the_same_client() {
    for (config, is_dropped) in
        [(&MODERN, false), (&LEGACY, false), (&MODERN, true), (&LEGACY, true)]
    {
        let mut greets = greets(config);
        let called = AtomicUsize::new(0);
        let (cell, connector) = caller("never");
        let (ours, theirs) = pipe(1 << 20, 1 << 20);
        let (client, connection) = connector.connect(ours);
        cell.set(client.clone()).unwrap();
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Request(request) if tool(request) == "never" => {
                called.fetch_add(1, Ordering::Relaxed);
            }
            event => greets(event, session),
        };
        let is_called = || until(|| called.load(Ordering::Relaxed) > 0);
        let server = serve(theirs, config, script);
        let (result, ()) = run(future::zip(call(&client, "greet"), async {
            if is_dropped {
                future::or(async { drop(connection.await) }, future::or(server, is_called())).await;
            } else {
                let server = future::or(server, is_called());
                let (end, ()) = future::zip(connection, server).await;
                assert!(matches!(end.unwrap(), ConnectionEnd::ServerClosed));
            }
        }));
        assert!(matches!(result, Err(CallError::Closed)), "{result:?}");
    }
}
