//! A client and a server with buffers and applications, all in arrays.

use core::time::Duration;

use mcp_sansio::types::{
    CallToolResult, ContentBlock, CreateMessageParams, CreateMessageResult, ElicitParams,
    ElicitResult, Field, GetPromptResult, Implementation, InputRequest, InputResponse,
    InputResponses, ListRootsResult, ListToolsResult, LoggingLevel, PromptMessage,
    ReadResourceResult, RequestedSchema, ResourceContents, Role, Root, SamplingMessage,
    SamplingMessageContent, StringSchema, SubscriptionFilter, Text, TextResult, Tool,
};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Change, Client, ClientConfig, ClientEvent, ClientFeatures,
    ClientRequest, Instant, LogMessage, Method, NotAllowed, Progress, RawJson, Request,
    RequestHandle, RpcError, RxBuffer, SendError, Server, ServerConfig, ServerEvent,
    ServerFeatures as Can, Tx, TxBuffer,
};
use mcp_sansio_tests::memory::{new_client, new_server};

pub(crate) const SERVER: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("arrays", "1.0.0"), ALL);
pub(crate) const CLIENT: ClientConfig<'static> = ClientConfig::new(
    Implementation::new("arrays", "1.0.0"),
    ClientFeatures::ROOTS.with(ClientFeatures::SAMPLING).with(ClientFeatures::ELICITATION_FORM),
)
.ping_interval(Duration::from_secs(600));
const ALL: Can =
    Can::TOOLS_LIST_CHANGED.with(Can::RESOURCES_SUBSCRIBE).with(Can::PROMPTS).with(Can::LOGGING);

/// A client and a server with output buffers of `TX` bytes.
pub(crate) struct Duo<'c, const TX: usize> {
    client: Client<'c>,
    server: Server<'c>,
    up: Way<TX>,
    down: Way<TX>,
    now: u64,
    call: Option<Call>,
    slow: Option<RequestHandle>,
    listening: Option<RequestHandle>,
    pub(crate) seen: Seen,
}

/// Counts of the events that the client's application has seen.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) opened: u32,
    pub(crate) results: u32,
    pub(crate) errors: u32,
    pub(crate) rounds: u32,
    pub(crate) progress: u32,
    pub(crate) logs: u32,
    pub(crate) asked: u32,
    pub(crate) listening: u32,
    pub(crate) changed: u32,
    pub(crate) ended_by_server: u32,
    pub(crate) timed_out: u32,
    pub(crate) closed: u32,
    pub(crate) violations: u32,
}

/// One direction: an output buffer, the bytes in transit, and the receive buffer at the other end.
struct Way<const TX: usize> {
    tx: TxBuffer<[u8; TX]>,
    bytes: [u8; 8192],
    len: usize,
    rx: RxBuffer<[u8; 2048]>,
}

impl<const TX: usize> Way<TX> {
    fn new() -> Self {
        Self { tx: TxBuffer::new([0; TX]), bytes: [0; 8192], len: 0, rx: RxBuffer::new([0; 2048]) }
    }

    fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        loop {
            let result = call(&mut self.tx);
            self.push();
            match result {
                Err(SendError::Full) => {}
                other => return other,
            }
        }
    }

    fn push(&mut self) {
        let pending = self.tx.pending();
        self.bytes[self.len..][..pending.len()].copy_from_slice(pending);
        self.len += pending.len();
        self.tx.advance(pending.len());
    }

    /// Delivers 100 bytes.
    fn deliver(&mut self) {
        let spare = self.rx.spare();
        let n = spare.len().min(self.len).min(100);
        spare[..n].copy_from_slice(&self.bytes[..n]);
        self.rx.commit(n);
        self.bytes.copy_within(n..self.len, 0);
        self.len -= n;
    }
}

impl<'c, const TX: usize> Duo<'c, TX> {
    pub(crate) fn new(client: &'c ClientConfig<'c>, server: &'c ServerConfig<'c>) -> Self {
        Self {
            client: new_client::<4>(client),
            server: new_server::<4, 4>(server),
            up: Way::new(),
            down: Way::new(),
            now: 1,
            call: None,
            slow: None,
            listening: None,
            seen: Seen::default(),
        }
    }

    fn at(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    pub(crate) fn open(&mut self) {
        let at = self.at();
        self.up.send(|tx| self.client.connect(at, tx)).unwrap();
        self.run();
        assert!(self.client.is_open());
        // A known modern server is not probed again, so no event follows.
        if self.client.server_capabilities().is_none() {
            self.seen.opened += 1;
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: &str, options: CallOptions) {
        let (at, params) = (self.at(), RawJson::parse(params).unwrap());
        self.call =
            Some(self.up.send(|tx| self.client.request(at, method, &params, options, tx)).unwrap());
        self.run();
    }

    /// Calls a tool that needs input, by a call of its own or by its result.
    pub(crate) fn ask(&mut self, what: &str, modern: bool) {
        if modern {
            // Two of the three cover the rounds.
            if what == "sampling" {
                return;
            }
            return self.request("tools/call", r#"{"name":"ask"}"#, CallOptions::new());
        }
        let messages = [SamplingMessage::user("What is it?")];
        let at = self.at();
        let Self { server, down, .. } = self;
        let asked = match what {
            "roots" => down.send(|tx| server.request(at, ClientRequest::roots(), tx)),
            "sampling" => {
                let params = CreateMessageParams::new(&messages, 9);
                down.send(|tx| server.request(at, ClientRequest::from(&params), tx))
            }
            _ => down.send(|tx| server.request(at, ClientRequest::from(&FORM), tx)),
        };
        assert!(
            asked.is_ok()
                || asked == Err(SendError::NotAllowed(NotAllowed::Capability))
                    && what == "elicitation"
        );
        self.run();
    }

    pub(crate) fn listen(&mut self) {
        let at = self.at();
        let uris = [Text::new("m://1")];
        let filter =
            SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(&uris);
        self.up.send(|tx| self.client.listen(at, &filter, CallOptions::new(), tx)).unwrap();
        self.run();
    }

    pub(crate) fn publish(&mut self) {
        for mut change in [Change::resource("m://1"), Change::resource("m://2"), Change::tools()] {
            while self.down.send(|tx| self.server.publish(&mut change, tx)).unwrap().is_more() {}
        }
        self.run();
        if let Some(listen) = self.listening.take() {
            while self.down.send(|tx| self.server.end_listen(listen, tx)).unwrap().is_more() {}
            self.run();
        }
    }

    pub(crate) fn cancel(&mut self) {
        let call = self.call.take().unwrap();
        self.up.send(|tx| self.client.cancel_call(call, Some("no \"need\""), tx)).unwrap();
        assert!(!self.client.is_call_open(call));
        self.run();
        assert!(self.slow.is_none());
    }

    pub(crate) fn pass_time(&mut self) {
        self.now += 100_000;
        self.run();
    }

    /// Sends invalid messages to the client.
    pub(crate) fn noise(&mut self) {
        for line in [
            &b"Listening on stdio\n"[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":4000000,\"result\":{}}\n",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"own/question\"}\n",
        ] {
            self.down.bytes[..line.len()].copy_from_slice(line);
            self.down.len = line.len();
            self.run();
        }
    }

    pub(crate) fn close(&mut self) {
        while let Some(event) = self.client.close() {
            assert!(matches!(
                event,
                ClientEvent::CallFinished { outcome: CallOutcome::Closed, .. }
            ));
            self.seen.closed += 1;
        }
        self.server.close();
        self.up = Way::new();
        self.down = Way::new();
    }

    /// Runs until nothing is in transit and nothing is due.
    fn run(&mut self) {
        let at = self.at();
        loop {
            let Self { client, server, up, down, slow, listening, seen, .. } = self;
            while let Some(event) = up.send(|tx| client.handle_timeout(at, tx)).unwrap() {
                seen.event(client, up, at, &event);
            }
            up.deliver();
            while let Some(mut messages) = up.rx.next_messages() {
                while let Some(event) =
                    down.send(|tx| server.next_event(at, &mut messages, tx)).unwrap()
                {
                    match event {
                        ServerEvent::Request(request) => answer(server, down, at, slow, &request),
                        ServerEvent::Listening { request } => *listening = Some(request),
                        ServerEvent::RequestCancelled { request, .. } => {
                            _ = slow.take_if(|slow| *slow == request)
                        }
                        _ => {}
                    }
                }
            }
            down.deliver();
            let Way { rx, .. } = down;
            while let Some(mut messages) = rx.next_messages() {
                while let Some(event) =
                    up.send(|tx| client.next_event(at, &mut messages, tx)).unwrap()
                {
                    seen.event(client, up, at, &event);
                }
            }
            if up.len == 0 && down.len == 0 {
                return;
            }
        }
    }
}

impl Seen {
    fn event<const TX: usize>(
        &mut self,
        client: &mut Client<'_>,
        up: &mut Way<TX>,
        at: Instant,
        event: &ClientEvent<'_>,
    ) {
        match event {
            ClientEvent::Connected(_) => self.opened += 1,
            ClientEvent::CallFinished { call: _, outcome } => match outcome {
                CallOutcome::Result(_) => self.results += 1,
                CallOutcome::Error(_) => self.errors += 1,
                CallOutcome::InputRequired(input) => {
                    self.rounds += 1;
                    let answers = [("q", respond_to(&input.requests().get("q").unwrap().unwrap()))];
                    let responses = InputResponses::new(&answers);
                    let inputs = input.retry_params(&responses);
                    let params = RawJson::from_static(r#"{"name":"ask"}"#);
                    let options = CallOptions::new();
                    up.send(|tx| client.retry(at, "tools/call", &params, &inputs, options, tx))
                        .unwrap();
                }
                CallOutcome::EndedByServer => self.ended_by_server += 1,
                CallOutcome::TimedOut => self.timed_out += 1,
                _ => panic!("unexpected outcome"),
            },
            ClientEvent::Progress { .. } => self.progress += 1,
            ClientEvent::Listening { .. } => self.listening += 1,
            ClientEvent::Changed { .. } => self.changed += 1,
            ClientEvent::Log { .. } => self.logs += 1,
            ClientEvent::Request(request) => {
                self.asked += 1;
                let answer = respond_to(&request.input_request().unwrap());
                up.send(|tx| client.respond(request.handle, &answer, tx)).unwrap();
            }
            ClientEvent::Violation(_) => self.violations += 1,
            _ => panic!("unexpected event"),
        }
    }
}

fn respond_to(question: &InputRequest<'_>) -> InputResponse<'static> {
    const ROOTS: [Root<'static>; 1] = [Root::new("file:///home")];
    match question {
        InputRequest::ListRoots => InputResponse::ListRoots(ListRootsResult::new(&ROOTS)),
        InputRequest::CreateMessage(_) => InputResponse::CreateMessage(CreateMessageResult::new(
            Role::Assistant,
            SamplingMessageContent::text("42"),
            "m",
        )),
        _ => InputResponse::Elicit(ElicitResult::accept(RawJson::from_static(r#"{"name":"me"}"#))),
    }
}

fn answer<const TX: usize>(
    server: &mut Server<'_>,
    down: &mut Way<TX>,
    at: Instant,
    slow: &mut Option<RequestHandle>,
    request: &Request<'_>,
) {
    let handle = request.handle;
    let name = request.name().and_then(|name| name.as_plain()).unwrap_or_default();
    let answered = match (request.method, name) {
        (Method::ToolsList, _) => {
            down.send(|tx| server.respond(handle, &ListToolsResult::new(&TOOLS), tx))
        }
        (Method::ResourcesRead, _) => {
            let contents = [ResourceContents::blob("m://1", &BYTES)];
            down.send(|tx| server.respond(handle, &ReadResourceResult::new(&contents), tx))
        }
        (Method::PromptsGet, _) => {
            let messages = [PromptMessage::user("Greet \"them\"")];
            down.send(|tx| server.respond(handle, &GetPromptResult::new(&messages), tx))
        }
        (_, "echo") => {
            let text = request
                .arguments()
                .get("text")
                .and_then(RawJson::as_string)
                .map(Text::from_json)
                .unwrap_or_default();
            down.send(|tx| server.respond(handle, &TextResult::from(text), tx))
        }
        (_, "image") => {
            let content = [ContentBlock::image(&BYTES, "image/png")];
            down.send(|tx| server.respond(handle, &CallToolResult::new(&content), tx))
        }
        (_, "count") => {
            for done in 1..4 {
                let progress = Progress::of(done).total(3).message("on \"the\" way");
                _ = down.send(|tx| server.progress(at, handle, &progress, tx));
            }
            _ = down.send(|tx| server.log(handle, &LogMessage::new(LoggingLevel::Error, "so"), tx));
            down.send(|tx| server.respond(handle, &TextResult::new("counted"), tx))
        }
        (_, "ask") if request.input_response("q").is_none() => {
            let questions = [("q", ClientRequest::from(&FORM))];
            down.send(|tx| server.input_required(handle, &questions, Some("a \"state\""), tx))
        }
        (_, "ask") => down.send(|tx| server.respond(handle, &TextResult::new("thank you"), tx)),
        (_, "slow") => {
            *slow = Some(handle);
            return;
        }
        _ => down.send(|tx| server.respond_error(handle, &RpcError::internal("it failed"), tx)),
    };
    assert!(answered.is_ok());
}

const BYTES: [u8; 512] = [0xa5; 512];
const TOOLS: [Tool<'static>; 2] = [Tool::new("echo", ANYTHING), Tool::new("image", ANYTHING)];
const ANYTHING: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);
const FORM: ElicitParams<'static> = ElicitParams::form(
    "Who?",
    RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]),
);
