//! A server with buffers and an application, all in arrays.

use core::time::Duration;

use mcp_sansio::types::{CallToolResult, CreateMessageResult};
use mcp_sansio::types::{
    CompleteResult, Completion, ContentBlock, CreateMessageParams, ElicitParams, Field,
    GetPromptResult, Implementation, LoggingLevel, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, RequestedSchema, Resource, ResourceContents, ResourceTemplate,
    SamplingMessage, StringSchema, Text, TextResult, Tool,
};
use mcp_sansio::{
    CallOutcome, Catalog, Change, ClientRequest, Delivery, Instant, LogMessage, Progress, RawJson,
    Request, RequestHandle, RpcError, RxBuffer, SendError, Server, ServerConfig, ServerEvent,
    ServerFeatures as Can, Target, Tx, TxBuffer, entries,
};
use mcp_sansio_tests::memory::new_server;
use serde::Deserialize;

static CONFIG: ServerConfig = ServerConfig::new(Implementation::new("arrays", "1.0.0"), ALL)
    .instructions("None.")
    .request_timeout(Duration::from_secs(5))
    .call_timeout(Duration::from_secs(9))
    .ping_interval(Duration::from_secs(60));
const ALL: Can = Can::TOOLS_LIST_CHANGED
    .with(Can::RESOURCES_LIST_CHANGED)
    .with(Can::RESOURCES_SUBSCRIBE)
    .with(Can::PROMPTS_LIST_CHANGED)
    .with(Can::COMPLETIONS)
    .with(Can::LOGGING);

static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        Tool::new(
            "echo",
            RawJson::from_static(r#"{"type":"object","properties":{"text":{"type":"string"}}}"#),
        )
        .description("Says \"it\""),
        Tool::new("image", ANYTHING),
        Tool::new("fail", ANYTHING),
        Tool::new("slow", ANYTHING),
        Tool::new("ask", ANYTHING),
    ])
    .resources(entries![Resource::new("memory://blob", "blob").size(512)])
    .templates(entries![ResourceTemplate::new("memory://log/{line}", "log")])
    .prompts(entries![
        Prompt::new("greet").arguments(&[PromptArgument::new("who").required(true)])
    ]);
const ANYTHING: RawJson = RawJson::from_static(r#"{"type":"object"}"#);

const BYTES: [u8; 512] = [0xa5; 512];

/// A server with an output buffer of `TX` bytes.
pub(crate) struct Peer<const TX: usize> {
    server: Server<'static>,
    rx: RxBuffer<[u8; 512]>,
    outside: Outside<TX>,
    now: u64,
}

/// The output, and the state of the application.
struct Outside<const TX: usize> {
    tx: TxBuffer<[u8; TX]>,
    sent: [u8; 1 << 15],
    len: usize,
    slow: Option<RequestHandle>,
    asking: Option<RequestHandle>,
    listening: Option<RequestHandle>,
}

#[derive(Deserialize)]
struct Echo<'f> {
    #[serde(borrow)]
    text: Text<'f>,
}

impl<const TX: usize> Peer<TX> {
    pub(crate) fn new() -> Self {
        let outside = Outside {
            tx: TxBuffer::new([0; TX]),
            sent: [0; 1 << 15],
            len: 0,
            slow: None,
            asking: None,
            listening: None,
        };
        Self { server: new_server::<4, 4>(&CONFIG), rx: RxBuffer::new([0; 512]), outside, now: 0 }
    }

    pub(crate) fn sent(&self) -> &str {
        std::str::from_utf8(&self.outside.sent[..self.outside.len]).unwrap()
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.hear(line.as_bytes());
        self.hear(b"\r\n");
    }

    /// Delivers bytes, in reads of at most 100.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let spare = self.rx.spare();
            let n = spare.len().min(rest.len()).min(100);
            spare[..n].copy_from_slice(&rest[..n]);
            self.rx.commit(n);
            rest = &rest[n..];
            self.take_frames();
        }
    }

    fn take_frames(&mut self) {
        let Self { server, rx, outside, now } = self;
        while let Some(mut messages) = rx.next_messages() {
            while let Some(event) = outside
                .send(|tx| server.next_event(Instant::from_millis(*now), &mut messages, tx))
                .unwrap()
            {
                match event {
                    ServerEvent::Request(request) => outside.request(server, *now, &request),
                    ServerEvent::Listening { request } => outside.listening = Some(request),
                    ServerEvent::RequestCancelled { request, .. } => {
                        assert!(!server.is_request_open(request))
                    }
                    ServerEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
                        let answer = result.to::<CreateMessageResult<'_>>().unwrap();
                        let Some(request) = outside.asking.take() else { continue };
                        let text = answer
                            .content
                            .iter()
                            .filter_map(|block| block.ok()?.as_text())
                            .next()
                            .unwrap();
                        outside.done(|tx| server.respond(request, &TextResult::from(text), tx));
                    }
                    _ => {}
                }
            }
        }
    }

    pub(crate) fn progress(&mut self) {
        let Self { server, outside, now, .. } = self;
        let Some(request) = outside.slow else { panic!("no slow request is open") };
        for done in 1..4 {
            *now += 10;
            let progress = Progress::of(f64::from(done) / 3.0).total(1).message("on \"the\" way");
            outside.may_be_too_large(|tx| {
                server.progress(Instant::from_millis(*now), request, &progress, tx)
            });
        }
    }

    pub(crate) fn log(&mut self) {
        let Self { server, outside, .. } = self;
        let Some(request) = outside.slow else { panic!("no slow request is open") };
        let data = mcp_sansio::Json(("a text", 1.5, [true, false], Some('x'), "\u{1}"));
        let message = LogMessage::new(LoggingLevel::Error, &data).logger("arrays");
        outside.may_be_too_large(|tx| server.log(request, &message, tx));
        outside.may_be_too_large(|tx| {
            server.log_unrelated(&LogMessage::new(LoggingLevel::Alert, "unrelated"), tx)
        });
    }

    pub(crate) fn publish(&mut self, mut change: Change<'_>) {
        let Self { server, outside, .. } = self;
        while outside.send(|tx| server.publish(&mut change, tx)).unwrap().is_more() {}
    }

    pub(crate) fn end_listen(&mut self) {
        let Self { server, outside, .. } = self;
        let request = outside.listening.take().expect("no listen is open");
        while outside.send(|tx| server.end_listen(request, tx)).unwrap().is_more() {}
    }

    /// Advances the clock until every timeout has passed.
    pub(crate) fn pass_time(&mut self) {
        let Self { server, outside, now, .. } = self;
        *now += 1_000_000;
        while outside
            .send(|tx| server.handle_timeout(Instant::from_millis(*now), tx))
            .unwrap()
            .is_some()
        {}
        *now += 1_000_000;
        while outside
            .send(|tx| server.handle_timeout(Instant::from_millis(*now), tx))
            .unwrap()
            .is_some()
        {}
    }
}

impl<const TX: usize> Outside<TX> {
    fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        loop {
            let result = call(&mut self.tx);
            let pending = self.tx.pending();
            self.sent[self.len..][..pending.len()].copy_from_slice(pending);
            self.len += pending.len();
            self.tx.advance(pending.len());
            match result {
                Err(SendError::Full) => {}
                other => return other,
            }
        }
    }

    fn done(&mut self, call: impl FnMut(&mut Tx<'_>) -> Result<(), SendError>) {
        let before = self.len;
        assert_eq!(self.send(call), Ok(()));
        assert!(self.len > before, "no response was written");
    }

    fn may_be_too_large(&mut self, call: impl FnMut(&mut Tx<'_>) -> Result<Delivery, SendError>) {
        let result = self.send(call);
        assert!(result.is_ok() || TX <= 64 && result == Err(SendError::TooLarge), "{result:?}");
    }

    fn request(&mut self, server: &mut Server<'static>, now: u64, request: &Request<'_>) {
        let handle = request.handle;
        match self.send(|tx| CATALOG.respond(server, request, tx)).unwrap() {
            Target::Tool(tool) => match tool.key().as_plain() {
                // Checks for a string first: with `alloc`, the error for a wrong type is formatted
                // on the heap.
                Some("echo")
                    if request.arguments().get("text").and_then(RawJson::as_string).is_some() =>
                {
                    let arguments = request.arguments().to::<Echo<'_>>().unwrap();
                    self.done(|tx| server.respond(handle, &TextResult::from(arguments.text), tx));
                }
                Some("echo") => {
                    self.done(|tx| server.respond(handle, &TextResult::error("not a text"), tx))
                }
                Some("image") => {
                    let content =
                        [ContentBlock::text("the image"), ContentBlock::image(&BYTES, "image/png")];
                    self.done(|tx| server.respond(handle, &CallToolResult::new(&content), tx));
                }
                Some("slow") => self.slow = Some(handle),
                Some("ask") => self.ask(server, now, request),
                _ => {
                    let error = RpcError::internal("it failed")
                        .data(RawJson::from_static(r#"{"why":[1, 2.50]}"#));
                    self.done(|tx| server.respond_error(handle, &error, tx));
                }
            },
            Target::Resource(resource) => {
                let contents = [ResourceContents::blob("memory://blob", &BYTES)];
                assert!(resource.key() == "memory://blob");
                self.done(|tx| server.respond(handle, &ReadResourceResult::new(&contents), tx));
            }
            target @ Target::Template(_) => {
                let uri = request.uri().unwrap();
                assert!(target.variable("line", uri).unwrap().eq("7".chars()));
                let contents = [ResourceContents::text("memory://log/7", "seven")];
                self.done(|tx| server.respond(handle, &ReadResourceResult::new(&contents), tx));
            }
            Target::Prompt(_) => {
                let messages = [PromptMessage::user("Greet \"them\"")];
                self.done(|tx| server.respond(handle, &GetPromptResult::new(&messages), tx));
            }
            Target::CompletePrompt(_) => {
                let values = [Text::new("you"), Text::new("yourself")];
                self.done(|tx| {
                    server.respond(
                        handle,
                        &CompleteResult::new(Completion::new(&values).total(2)),
                        tx,
                    )
                });
            }
            Target::Responded => {}
            _ => self.done(|tx| server.respond_raw(handle, RawJson::EMPTY, tx)),
        }
    }

    fn ask(&mut self, server: &mut Server<'static>, now: u64, request: &Request<'_>) {
        const FORM: ElicitParams = ElicitParams::form(
            "Who?",
            RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]),
        );
        let handle = request.handle;
        if request.input_response("q").is_some() {
            assert!(request.request_state().unwrap() == "s");
            self.done(|tx| server.respond(handle, &TextResult::new("thank you"), tx));
        } else if request.revision.is_modern() {
            let questions = [("q", ClientRequest::from(&FORM))];
            self.done(|tx| server.input_required(handle, &questions, Some("s"), tx));
        } else {
            let messages = [SamplingMessage::user("What is it?")];
            let params = CreateMessageParams::new(&messages, 100);
            let question =
                ClientRequest::from(&params).parent(handle).timeout(Duration::from_secs(3));
            self.send(|tx| server.request(Instant::from_millis(now), question, tx)).unwrap();
            self.asking = Some(handle);
        }
    }
}
