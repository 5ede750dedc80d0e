//! The server's end of the line, with an application that offers every feature.

use mcp_sansio::types::{
    CompleteResult, Completion, CreateMessageParams, ElicitParams, Field, GetPromptResult,
    InputRequest, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, Prompt, PromptMessage, ReadResourceResult, RequestedSchema,
    Resource, ResourceContents, ResourceTemplate, SamplingMessage, StringSchema, Text, TextResult,
    Tool,
};
use mcp_sansio::{
    Call, CallOutcome, Change, ClientRequest, Encode, Instant, LogMessage, Method, NotAllowed,
    Progress, RawJson, Request, RequestHandle, RpcError, SendError, Server, ServerConfig,
    ServerEvent,
};

use super::{Application, End, Port};
use crate::memory::new_server;

type Machine<'c> = Server<'c>;

pub type ServerEnd<'c> = End<Machine<'c>, ServerApp>;

#[derive(Default)]
pub struct ServerApp {
    /// The events, as text.
    pub log: Vec<String>,
    /// Open requests, latest last.
    pub slow: Vec<RequestHandle>,
    /// Open subscriptions, latest last.
    pub listens: Vec<RequestHandle>,
    /// Its calls, with the request that each belongs to.
    pub asked: Vec<(Call, Option<RequestHandle>)>,
}

impl<'c> ServerEnd<'c> {
    pub fn with_config(config: &'c ServerConfig<'c>, room: usize) -> Self {
        Self::new(new_server::<4, 4>(config), room, ServerApp::default())
    }

    pub fn publish(&mut self, mut change: Change<'_>) {
        let mut publish = || self.send(|server, tx| server.publish(&mut change, tx));
        while publish().expect("only Full").is_more() {}
    }

    pub fn ask(&mut self, now: Instant, what: &str) -> Result<(), SendError> {
        let (app, mut port) = self.parts(now);
        app.ask(&mut port, what, None)
    }
}

impl<'c> Application<Machine<'c>> for ServerApp {
    fn event(&mut self, port: &mut Port<'_, Machine<'c>>, event: &ServerEvent<'_>) {
        let words = match event {
            ServerEvent::Request(request) => {
                let name = request
                    .name()
                    .or(request.uri())
                    .or(request.cursor())
                    .map_or(String::new(), |name| format!(" {name:?}"));
                self.log.push(format!("{:?}{name}", request.method));
                return self.request(port, request);
            }
            ServerEvent::RequestCancelled { request, reason } => {
                self.slow.retain(|slow| slow != request);
                self.listens.retain(|listen| listen != request);
                format!("cancelled: {reason:?}")
            }
            ServerEvent::RequestTimedOut { request } => {
                self.slow.retain(|slow| slow != request);
                "expired".into()
            }
            ServerEvent::Initialize { revision, .. } => format!("initialize {revision}"),
            ServerEvent::Listening { request } => {
                self.listens.push(*request);
                "listening".into()
            }
            ServerEvent::CallFinished {
                call,
                outcome: outcome @ (CallOutcome::TimedOut | CallOutcome::Cancelled),
            } => {
                self.asked.retain(|(asked, _)| asked != call);
                format!("call: {outcome:?}")
            }
            ServerEvent::CallFinished { call, outcome } => {
                let asked = self.asked.extract_if(.., |(asked, _)| asked == call).next();
                let (_, parent) = asked.expect("an unexpected response");
                let words = match outcome {
                    CallOutcome::Result(result) => result.as_str().to_owned(),
                    CallOutcome::Error(error) => format!("error {}", error.code()),
                    other => panic!("{other:?}"),
                };
                if let Some(parent) = parent {
                    respond(port, parent, &TextResult::new(&words)).expect("room");
                }
                format!("answer {words}")
            }
            ServerEvent::Notification { method, .. } => format!("notification {method:?}"),
            ServerEvent::Subscribed { uri } => format!("subscribed {uri:?}"),
            ServerEvent::Unsubscribed { uri } => format!("unsubscribed {uri:?}"),
            other => format!("{other:?}"),
        };
        self.log.push(words);
    }
}

impl ServerApp {
    fn request(&mut self, port: &mut Port<'_, Machine<'_>>, request: &Request<'_>) {
        let handle = request.handle;
        let needs_input = request.name().is_some_and(|name| name == "more")
            || request.uri().is_some_and(|uri| uri == "m://more");
        if needs_input && request.revision.is_modern() && request.input_response("k").is_none() {
            let questions = [("k", ClientRequest::roots())];
            let asked = port.send(|server, tx| server.input_required(handle, &questions, None, tx));
            return asked.expect("a response");
        }
        let second_page = request.cursor().is_some_and(|cursor| cursor == "2");
        let answered = match request.method {
            Method::ToolsList if !second_page => {
                let tools = [Tool::new("echo", SCHEMA), Tool::new("count", SCHEMA)];
                respond(port, handle, &ListToolsResult::new(&tools).next_cursor("2"))
            }
            Method::ToolsList => {
                let tools = [Tool::new("fail", SCHEMA)];
                respond(port, handle, &ListToolsResult::new(&tools))
            }
            Method::ResourcesList => {
                let resources = [Resource::new("m://a", "a")];
                respond(port, handle, &ListResourcesResult::new(&resources))
            }
            Method::ResourcesTemplatesList => {
                let templates = [ResourceTemplate::new("m://{x}", "any")];
                respond(port, handle, &ListResourceTemplatesResult::new(&templates))
            }
            Method::ResourcesRead if request.uri().is_some_and(|uri| uri == "m://none") => {
                let error = RpcError::resource_not_found(request.uri().expect("checked"));
                port.send(|server, tx| server.respond_error(handle, &error, tx))
            }
            Method::ResourcesRead => {
                let contents = [
                    ResourceContents::text("m://a", "l\u{ed}ne\n"),
                    ResourceContents::blob("m://b", &[0, 255, 7]),
                ];
                respond(port, handle, &ReadResourceResult::new(&contents))
            }
            Method::PromptsList => {
                let prompts = [Prompt::new("greet")];
                respond(port, handle, &ListPromptsResult::new(&prompts))
            }
            Method::PromptsGet => {
                let messages = [PromptMessage::user("Hello")];
                respond(port, handle, &GetPromptResult::new(&messages))
            }
            Method::CompletionComplete => {
                let values = [Text::new("yes"), Text::new("yeah")];
                let completion = Completion::new(&values).total(2);
                respond(port, handle, &CompleteResult::new(completion))
            }
            Method::ToolsCall => return self.tool(port, request),
            _ => port.send(|server, tx| server.respond_raw(handle, RawJson::EMPTY, tx)),
        };
        answered.expect("a response");
    }

    fn tool(&mut self, port: &mut Port<'_, Machine<'_>>, request: &Request<'_>) {
        let (handle, now) = (request.handle, port.now);
        let name = request.name().and_then(|name| name.as_plain()).unwrap_or_default();
        let answered = match name {
            "echo" => {
                let text = request
                    .arguments()
                    .get("text")
                    .and_then(RawJson::as_string)
                    .map(Text::from_json)
                    .unwrap_or_default();
                respond(port, handle, &TextResult::from(text))
            }
            "count" => {
                for done in [1, 2, 2, 3] {
                    let progress = Progress::of(done).total(3).message("on");
                    _ = port.send(|server, tx| server.progress(now, handle, &progress, tx));
                }
                respond(port, handle, &TextResult::new("counted"))
            }
            "chatter" => {
                for level in [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Error] {
                    let message = LogMessage::new(level, "so");
                    _ = port.send(|server, tx| server.log(handle, &message, tx));
                }
                respond(port, handle, &TextResult::new("said"))
            }
            "structured" => port.send(|server, tx| {
                server.respond_structured(handle, RawJson::from_static(r#"{"n":[1,2.50]}"#), tx)
            }),
            "wrong" => {
                port.send(|server, tx| server.respond_invalid_arguments(handle, &"not so", tx))
            }
            "fail" => {
                let error =
                    RpcError::internal("it failed").data(RawJson::from_static(r#"{"why":null}"#));
                port.send(|server, tx| server.respond_error(handle, &error, tx))
            }
            "slow" => return self.slow.push(handle),
            "ask" if request.revision.is_modern() => ask_modern(port, request),
            "ask" => return self.ask_legacy(port, request),
            "loop" => port.send(|server, tx| server.input_required(handle, &[], Some("again"), tx)),
            _ => port.send(|server, tx| {
                server.respond_error(handle, &RpcError::invalid_params("Unknown tool"), tx)
            }),
        };
        answered.expect("a response");
    }

    /// Makes one call on behalf of the request.
    fn ask_legacy(&mut self, port: &mut Port<'_, Machine<'_>>, request: &Request<'_>) {
        let handle = request.handle;
        let what = request.arguments().get("what");
        let what = what.and_then(|what| what.elements().next()?.as_string()?.as_plain());
        if let Err(error) = self.ask(port, what.unwrap_or_default(), Some(handle)) {
            assert_eq!(error, SendError::NotAllowed(NotAllowed::Capability));
            let error = RpcError::internal("The client cannot be asked that");
            let refused = port.send(|server, tx| server.respond_error(handle, &error, tx));
            refused.expect("a response");
        }
    }

    fn ask(
        &mut self,
        port: &mut Port<'_, Machine<'_>>,
        what: &str,
        parent: Option<RequestHandle>,
    ) -> Result<(), SendError> {
        let messages = [SamplingMessage::user("What?")];
        let (sampling, form) = (CreateMessageParams::new(&messages, 9), FORM);
        let request = match what {
            "roots" => ClientRequest::roots(),
            "sampling" => ClientRequest::from(&sampling),
            "ping" => ClientRequest::ping(),
            _ => ClientRequest::from(&form),
        };
        let request = match parent {
            Some(parent) if what != "ping" => request.parent(parent),
            _ => request,
        };
        let now = port.now;
        let call = port.send(|server, tx| server.request(now, request, tx))?;
        self.asked.push((call, parent));
        Ok(())
    }
}

/// Asks for one input a round; the request state counts the rounds.
fn ask_modern(port: &mut Port<'_, Machine<'_>>, request: &Request<'_>) -> Result<(), SendError> {
    let handle = request.handle;
    let arguments = request.arguments().get("what");
    let what: Vec<_> =
        arguments.iter().flat_map(|what| what.elements()).filter_map(RawJson::as_string).collect();
    let round = request.request_state().map_or(0, |state| {
        state.as_plain().and_then(|n| n.parse().ok()).expect("the request state is ours")
    });
    let heard = request.input_response("k").map_or("nothing", |answer| answer.as_str());
    let Some(next) = what.get(round) else {
        return respond(port, handle, &TextResult::new(heard));
    };
    let messages = [SamplingMessage::user("What?")];
    let question = match next.as_plain() {
        Some("roots") => InputRequest::ListRoots,
        Some("sampling") => InputRequest::CreateMessage(CreateMessageParams::new(&messages, 9)),
        _ => InputRequest::Elicit(FORM),
    };
    let state = (round + 1).to_string();
    let questions = [("k", ClientRequest::from(&question))];
    match port.send(|server, tx| server.input_required(handle, &questions, Some(&state), tx)) {
        Err(SendError::NotAllowed(_)) => {
            let error = RpcError::missing_capability(question.required_capabilities());
            port.send(|server, tx| server.respond_error(handle, &error, tx))
        }
        other => other,
    }
}

fn respond(
    port: &mut Port<'_, Machine<'_>>,
    request: RequestHandle,
    result: &dyn Encode,
) -> Result<(), SendError> {
    port.send(|server, tx| server.respond(request, result, tx))
}

const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
const FORM: ElicitParams = ElicitParams::form(
    "Who?",
    RequestedSchema::new(&[Field::required("who", StringSchema::new().schema())]),
);
