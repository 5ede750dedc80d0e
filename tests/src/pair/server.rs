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

use super::{Application, End, Line};
use crate::memory::new_server;

type Machine<'c> = Server<'c>;

/// A server and its application.
pub type ServerEnd<'c> = End<Machine<'c>, ServerApp>;

/// The application.
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
    /// A server with an output buffer of `room` bytes.
    #[must_use]
    pub fn with_config(config: &'c ServerConfig<'c>, room: usize) -> Self {
        Self::new(new_server::<4, 4>(config), room, ServerApp::default())
    }

    /// Publishes a change to all subscribers.
    pub fn publish(&mut self, mut change: Change<'_>) {
        let mut publish = || self.send(|server, tx| server.publish(&mut change, tx));
        while publish().expect("only Full").is_more() {}
    }
}

impl<'c> Application<Machine<'c>> for ServerApp {
    fn event(
        &mut self,
        server: &mut Machine<'c>,
        line: &mut Line,
        now: Instant,
        event: &ServerEvent<'_>,
    ) {
        let words = match event {
            ServerEvent::Request(request) => {
                let name = request
                    .name()
                    .or(request.uri())
                    .or(request.cursor())
                    .map_or(String::new(), |name| format!(" {name:?}"));
                self.log.push(format!("{:?}{name}", request.method));
                return self.request(server, line, now, request);
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
                    respond(server, line, parent, &TextResult::new(&words)).expect("room");
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
    fn request(
        &mut self,
        server: &mut Machine<'_>,
        line: &mut Line,
        now: Instant,
        request: &Request<'_>,
    ) {
        let handle = request.handle;
        let needs_input = request.name().is_some_and(|name| name == "more")
            || request.uri().is_some_and(|uri| uri == "m://more");
        if needs_input && request.revision.is_modern() && request.input_response("k").is_none() {
            let questions = [("k", ClientRequest::roots())];
            line.send(|tx| server.input_required(handle, &questions, None, tx))
                .expect("a response");
            return;
        }
        let second_page = request.cursor().is_some_and(|cursor| cursor == "2");
        let answered = match request.method {
            Method::ToolsList if !second_page => {
                let tools = [Tool::new("echo", SCHEMA), Tool::new("count", SCHEMA)];
                respond(server, line, handle, &ListToolsResult::new(&tools).next_cursor("2"))
            }
            Method::ToolsList => {
                let tools = [Tool::new("fail", SCHEMA)];
                respond(server, line, handle, &ListToolsResult::new(&tools))
            }
            Method::ResourcesList => {
                let resources = [Resource::new("m://a", "a")];
                respond(server, line, handle, &ListResourcesResult::new(&resources))
            }
            Method::ResourcesTemplatesList => {
                let templates = [ResourceTemplate::new("m://{x}", "any")];
                respond(server, line, handle, &ListResourceTemplatesResult::new(&templates))
            }
            Method::ResourcesRead if request.uri().is_some_and(|uri| uri == "m://none") => {
                let error = RpcError::resource_not_found(request.uri().expect("checked"));
                line.send(|tx| server.respond_error(handle, &error, tx))
            }
            Method::ResourcesRead => {
                let contents = [
                    ResourceContents::text("m://a", "l\u{ed}ne\n"),
                    ResourceContents::blob("m://b", &[0, 255, 7]),
                ];
                respond(server, line, handle, &ReadResourceResult::new(&contents))
            }
            Method::PromptsList => {
                let prompts = [Prompt::new("greet")];
                respond(server, line, handle, &ListPromptsResult::new(&prompts))
            }
            Method::PromptsGet => {
                let messages = [PromptMessage::user("Hello")];
                respond(server, line, handle, &GetPromptResult::new(&messages))
            }
            Method::CompletionComplete => {
                let values = [Text::new("yes"), Text::new("yeah")];
                let completion = Completion::new(&values).total(2);
                respond(server, line, handle, &CompleteResult::new(completion))
            }
            Method::ToolsCall => return self.tool(server, line, now, request),
            _ => line.send(|tx| server.respond_raw(handle, RawJson::EMPTY, tx)),
        };
        answered.expect("a response");
    }

    fn tool(
        &mut self,
        server: &mut Machine<'_>,
        line: &mut Line,
        now: Instant,
        request: &Request<'_>,
    ) {
        let handle = request.handle;
        let name = request.name().and_then(|name| name.as_plain()).unwrap_or_default();
        let answered = match name {
            "echo" => {
                let text = request
                    .arguments()
                    .get("text")
                    .and_then(RawJson::as_string)
                    .map(Text::from_json)
                    .unwrap_or_default();
                respond(server, line, handle, &TextResult::from(text))
            }
            "count" => {
                for done in [1, 2, 2, 3] {
                    let progress = Progress::of(done).total(3).message("on");
                    _ = line.send(|tx| server.progress(now, handle, &progress, tx));
                }
                respond(server, line, handle, &TextResult::new("counted"))
            }
            "chatter" => {
                for level in [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Error] {
                    _ = line.send(|tx| server.log(handle, &LogMessage::new(level, "so"), tx));
                }
                respond(server, line, handle, &TextResult::new("said"))
            }
            "structured" => line.send(|tx| {
                server.respond_structured(handle, RawJson::from_static(r#"{"n":[1,2.50]}"#), tx)
            }),
            "wrong" => line.send(|tx| server.respond_invalid_arguments(handle, &"not so", tx)),
            "fail" => {
                let error =
                    RpcError::internal("it failed").data(RawJson::from_static(r#"{"why":null}"#));
                line.send(|tx| server.respond_error(handle, &error, tx))
            }
            "slow" => return self.slow.push(handle),
            "ask" if request.revision.is_modern() => self.ask_modern(server, line, request),
            "ask" => return self.ask_legacy(server, line, now, request),
            "loop" => line.send(|tx| server.input_required(handle, &[], Some("again"), tx)),
            _ => line.send(|tx| {
                server.respond_error(handle, &RpcError::invalid_params("Unknown tool"), tx)
            }),
        };
        answered.expect("a response");
    }

    /// Asks for one input a round; the request state counts the rounds.
    fn ask_modern(
        &self,
        server: &mut Machine<'_>,
        line: &mut Line,
        request: &Request<'_>,
    ) -> Result<(), SendError> {
        let handle = request.handle;
        let arguments = request.arguments().get("what");
        let what: Vec<_> = arguments
            .iter()
            .flat_map(|what| what.elements())
            .filter_map(RawJson::as_string)
            .collect();
        let round = request.request_state().map_or(0, |state| {
            state.as_plain().and_then(|n| n.parse().ok()).expect("the request state is ours")
        });
        let heard = request.input_response("k").map_or("nothing", |answer| answer.as_str());
        let Some(next) = what.get(round) else {
            return respond(server, line, handle, &TextResult::new(heard));
        };
        let messages = [SamplingMessage::user("What?")];
        let question = match next.as_plain() {
            Some("roots") => InputRequest::ListRoots,
            Some("sampling") => InputRequest::CreateMessage(CreateMessageParams::new(&messages, 9)),
            _ => InputRequest::Elicit(FORM),
        };
        let state = (round + 1).to_string();
        let questions = [("k", ClientRequest::from(&question))];
        match line.send(|tx| server.input_required(handle, &questions, Some(&state), tx)) {
            Err(SendError::NotAllowed(_)) => {
                let error = RpcError::missing_capability(question.required_capabilities());
                line.send(|tx| server.respond_error(handle, &error, tx))
            }
            other => other,
        }
    }

    /// Makes one call on behalf of the request.
    fn ask_legacy(
        &mut self,
        server: &mut Machine<'_>,
        line: &mut Line,
        now: Instant,
        request: &Request<'_>,
    ) {
        let handle = request.handle;
        let what = request.arguments().get("what");
        let what = what.and_then(|what| what.elements().next()?.as_string()?.as_plain());
        if let Err(error) = self.ask(server, line, now, what.unwrap_or_default(), Some(handle)) {
            assert_eq!(error, SendError::NotAllowed(NotAllowed::Capability));
            let error = RpcError::internal("The client cannot be asked that");
            line.send(|tx| server.respond_error(handle, &error, tx)).expect("a response");
        }
    }

    /// Makes a call to the client.
    ///
    /// # Errors
    /// Those of [`Server::request`](mcp_sansio::Server::request).
    pub fn ask(
        &mut self,
        server: &mut Machine<'_>,
        line: &mut Line,
        now: Instant,
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
        let call = line.send(|tx| server.request(now, request, tx))?;
        self.asked.push((call, parent));
        Ok(())
    }
}

fn respond(
    server: &mut Machine<'_>,
    line: &mut Line,
    request: RequestHandle,
    result: &dyn Encode,
) -> Result<(), SendError> {
    line.send(|tx| server.respond(request, result, tx))
}

const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
const FORM: ElicitParams = ElicitParams::form(
    "Who?",
    RequestedSchema::new(&[Field::required("who", StringSchema::new().schema())]),
);
