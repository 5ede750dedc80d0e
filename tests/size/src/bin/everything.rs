//! Server with every feature, for all revisions of the protocol: tools, resources (text and bytes
//! from flash), a template, a prompt, completion, logging, progress, cancellation, subscriptions,
//! and elicitation in both eras.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::types::{
    CompleteResult, Completion, ContentBlock, ElicitAction, ElicitParams, ElicitResult, Field,
    GetPromptResult, Implementation, LoggingLevel, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, RequestedSchema, Resource, ResourceContents, ResourceData,
    ResourceTemplate, Role, StringSchema, Text, TextResult, Tool,
};
use mcp_sansio::{
    Call, Catalog, Change, ClientFeatures, ClientRequest, Entry, Instant, JsonStr, LogMessage,
    RawJson, Remaining, Request, RequestHandle, Revision, RpcError, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, ServerState, Target, Turn, Tx, entries, to_slice,
};
use serde::Deserialize;
use size::panel::{BLINK, IN_FLIGHT, Jobs, LAMP, PIN, PinState, Program, serve};
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

/// Maximum length of the board's name in bytes.
const NAME_BYTES: usize = 24;
const NAME: &str = "board://name";
const PICTURE: &str = "board://picture";

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!("size of ServerState<4, 4>", size_of::<ServerState<IN_FLIGHT, 4>>());
size::figure!(
    "size of the jobs and the question",
    size_of::<Jobs>() + size_of::<Option<(Call, RequestHandle)>>()
);

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("board", "1.0.0").title("Board"),
    ServerFeatures::TOOLS
        .with(ServerFeatures::RESOURCES)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::PROMPTS)
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING),
)
.instructions("A microcontroller with one lamp and 31 pins.")
.request_timeout(Duration::from_secs(30));

static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        LAMP,
        PIN,
        Tool::new(
            "rename",
            RawJson::from_static(r#"{"type":"object","additionalProperties":false}"#)
        )
        .title("Rename")
        .description("Asks the person for a name and calls the board by it"),
        BLINK,
    ])
    .resources(entries![
        Resource::new(NAME, "name")
            .title("Name")
            .description("What the board is called")
            .mime_type("text/plain"),
        Resource::new(PICTURE, "picture")
            .title("Picture")
            .mime_type("image/x-portable-bitmap")
            .size(PIXELS.len() as u64),
    ])
    .templates(entries![
        ResourceTemplate::new("board://pins/{number}", "pin")
            .title("A pin")
            .mime_type("application/json")
    ])
    .prompts(entries![
        Prompt::new("explain")
            .title("Explain")
            .description("Asks for an explanation of a part of the board")
            .arguments(&[PromptArgument::new("part").description("Which part").required(true),])
    ])
    .unchecked();

/// Values of the prompt's argument.
static PARTS: [&str; 4] = ["lamp", "pins", "clock", "serial port"];
const QUESTION: ElicitParams<'static> = ElicitParams::form(
    "What shall the board be called?",
    RequestedSchema::new(&[Field::required(
        "name",
        StringSchema::new().title("Name").min_length(1).max_length(NAME_BYTES as u64).schema(),
    )]),
);
/// 64 by 48 pixels of stripes. Longer than the transmit buffer once it is base64.
static PIXELS: [u8; 393] = {
    let mut file = [0x33; 393];
    let head = b"P4 64 48\n";
    let mut at = 0;
    while at < head.len() {
        file[at] = head[at];
        at += 1;
    }
    file
};

#[derive(Deserialize)]
struct Lamp {
    on: bool,
}

#[derive(Deserialize)]
struct Pin {
    number: u8,
}

#[derive(Deserialize)]
struct Blink {
    times: u8,
    period: Option<u16>,
}

struct Board {
    port: Uart,
    jobs: Jobs,
    /// An elicitation request to a legacy client, and the request that waits for its result. At
    /// most one at a time.
    question: Option<(Call, RequestHandle)>,
    name: [u8; NAME_BYTES],
    name_len: usize,
}

impl Program for Board {
    fn port(&mut self) -> &mut Uart {
        &mut self.port
    }

    // Its locals are not alive while the connection reads.
    #[inline(never)]
    fn take(&mut self, event: ServerEvent<'_>, turn: &mut Turn<'_, Server<'_>>) {
        match event {
            ServerEvent::Request(request) => self.answer(&request, turn),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                self.jobs.cancel(request);
                // The server itself notifies the client.
                self.question.take_if(|(_, asking)| *asking == request);
            }
            ServerEvent::CallFinished { call, outcome } => {
                if let Some((_, request)) = self.question.take_if(|(asked, _)| *asked == call) {
                    self.rename(turn, request, outcome.result());
                }
            }
            _ => {}
        }
    }

    fn is_busy(&self) -> bool {
        self.jobs.is_busy()
    }

    fn work(&mut self, now: Instant, turn: &mut Turn<'_, Server<'_>>) {
        while let Some((request, progress)) = self.jobs.step(now) {
            if let Some(progress) = progress {
                let _ = self.send(turn, |server, tx| server.progress(now, request, &progress, tx));
            } else {
                self.text(turn, request, &TextResult::new("Done"));
            }
        }
    }
}

impl Board {
    /// Calls the server, and writes bytes when the transmit buffer is full.
    fn send<R>(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        send(&mut self.port, turn, call)
    }

    fn text(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        request: RequestHandle,
        result: &TextResult<'_>,
    ) {
        let _ = self.send(turn, |server, tx| server.respond(request, result, tx));
    }

    fn answer(&mut self, request: &Request<'_>, turn: &mut Turn<'_, Server<'_>>) {
        let target = self.send(turn, |server, tx| CATALOG.respond(server, request, tx));
        let Ok(target) = target else { return };
        match target {
            Target::Tool(tool) => self.call(turn, tool, request),
            Target::Prompt(_) => self.prompt(turn, request),
            Target::Resource(resource) if resource.key() == PICTURE => {
                let contents =
                    [ResourceContents::blob(PICTURE, &PIXELS).mime_type("image/x-portable-bitmap")];
                let _ = self.send(turn, |server, tx| {
                    server.respond(request.handle, &ReadResourceResult::new(&contents), tx)
                });
            }
            Target::Resource(_) => {
                let name = self.name;
                let name = name
                    .get(..self.name_len)
                    .and_then(|name| core::str::from_utf8(name).ok())
                    .unwrap_or_default();
                let contents = [ResourceContents::text(NAME, name).mime_type("text/plain")];
                let _ = self.send(turn, |server, tx| {
                    server.respond(request.handle, &ReadResourceResult::new(&contents), tx)
                });
            }
            Target::Template(_) => self.read_pin(turn, &target, request),
            Target::CompletePrompt(_) => self.complete(turn, request),
            Target::Responded => {}
            _ => {
                let _ = self.send(turn, |server, tx| {
                    server.respond(request.handle, &CompleteResult::new(Completion::new(&[])), tx)
                });
            }
        }
    }

    fn call(&mut self, turn: &mut Turn<'_, Server<'_>>, tool: &Entry<'_>, request: &Request<'_>) {
        match tool.key().as_plain() {
            Some("lamp") => match request.arguments().to::<Lamp>() {
                Ok(Lamp { on }) => {
                    board::set_lamp(on);
                    let text = if on { "The lamp is on" } else { "The lamp is off" };
                    let message = LogMessage::new(LoggingLevel::Info, text).logger("lamp");
                    let _ = self.send(turn, |server, tx| server.log(request.handle, &message, tx));
                    self.text(turn, request.handle, &TextResult::new(text));
                }
                Err(_) => {
                    self.text(turn, request.handle, &TextResult::error("on must be true or false"))
                }
            },
            Some("pin") => {
                match request.arguments().to().ok().and_then(|Pin { number }| PinState::of(number))
                {
                    Some(state) => {
                        let mut data = [0; 32];
                        if let Ok(data) = to_slice(&state, Revision::LATEST, &mut data) {
                            let _ = self.send(turn, |server, tx| {
                                server.respond_structured(request.handle, data, tx)
                            });
                        }
                    }
                    None => self.text(
                        turn,
                        request.handle,
                        &TextResult::error("number must be 0 to 30"),
                    ),
                }
            }
            Some("rename") => self.ask(turn, request),
            _ => match request.arguments().to::<Blink>() {
                Ok(Blink { times: times @ 1.., period }) => {
                    self.jobs.begin(request.handle, times, period.unwrap_or(500));
                }
                _ => self.text(
                    turn,
                    request.handle,
                    &TextResult::error(
                        "times must be 1 to 255, and period a number of milliseconds",
                    ),
                ),
            },
        }
    }

    /// Elicits a name. In 2026-07-28 the elicitation is an input request in the result, and the
    /// client repeats its request with the input; in older revisions it is a request of the server.
    // Its locals are not alive while other requests are answered.
    #[inline(never)]
    fn ask(&mut self, turn: &mut Turn<'_, Server<'_>>, request: &Request<'_>) {
        if let Some(answer) = request.input_response("name") {
            return self.rename(turn, request.handle, Some(answer));
        }
        if !request.capabilities.contains(ClientFeatures::ELICITATION_FORM) {
            let error = RpcError::missing_capability(ClientFeatures::ELICITATION_FORM);
            let _ = self.send(turn, |server, tx| server.respond_error(request.handle, &error, tx));
        } else if request.revision.is_modern() {
            let questions = [("name", ClientRequest::from(&QUESTION))];
            let _ = self.send(turn, |server, tx| {
                server.input_required(request.handle, &questions, None, tx)
            });
        } else if self.question.is_some() {
            self.text(
                turn,
                request.handle,
                &TextResult::error("The person is being asked already"),
            );
        } else {
            let question = ClientRequest::from(&QUESTION).parent(request.handle);
            match self.send(turn, |server, tx| server.request(board::now(), question, tx)) {
                Ok(call) => self.question = Some((call, request.handle)),
                Err(_) => self.text(
                    turn,
                    request.handle,
                    &TextResult::error("The person cannot be asked now"),
                ),
            }
        }
    }

    /// Handles the result of the elicitation.
    fn rename(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        request: RequestHandle,
        answer: Option<RawJson<'_>>,
    ) {
        let answer = answer
            .and_then(|answer| answer.to::<ElicitResult<'_>>().ok())
            .filter(|answer| answer.action == ElicitAction::Accept);
        let name = answer.and_then(|answer| answer.content?.get("name")?.as_string());
        let Some(len) = name.and_then(|name| name.copy_to(&mut self.name).map(str::len)) else {
            return self.text(turn, request, &TextResult::error("The board keeps its name"));
        };
        self.name_len = len;
        let mut change = Change::resource(NAME);
        while let Ok(Remaining::More) =
            self.send(turn, |server, tx| server.publish(&mut change, tx))
        {}
        self.text(turn, request, &TextResult::new("The board has a new name"));
    }

    // As `ask`.
    #[inline(never)]
    fn prompt(&mut self, turn: &mut Turn<'_, Server<'_>>, request: &Request<'_>) {
        let part = request
            .arguments()
            .get("part")
            .and_then(RawJson::as_string)
            .map(Text::from)
            .unwrap_or_default();
        let messages = [
            PromptMessage::user(
                "Explain this part of the board to somebody who has never seen one:",
            ),
            PromptMessage::new(Role::User, ContentBlock::from(part)),
        ];
        let _ = self.send(turn, |server, tx| {
            server.respond(request.handle, &GetPromptResult::new(&messages), tx)
        });
    }

    fn read_pin(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        target: &Target<'_>,
        request: &Request<'_>,
    ) {
        let Some(uri) = request.uri() else { return };
        let number = target.variable("number", uri).and_then(decimal);
        let Some(state) = number.and_then(PinState::of) else {
            let _ = self.send(turn, |server, tx| {
                server.respond_error(request.handle, &RpcError::resource_not_found(uri), tx)
            });
            return;
        };
        let mut data = [0; 32];
        if let Ok(data) = to_slice(&state, Revision::LATEST, &mut data) {
            // The result has the URI as the client wrote it.
            let data = ResourceData::Text(Text::new(data.as_str()));
            let contents =
                [ResourceContents::new(Text::from_json(uri), data).mime_type("application/json")];
            let _ = self.send(turn, |server, tx| {
                server.respond(request.handle, &ReadResourceResult::new(&contents), tx)
            });
        }
    }

    fn complete(&mut self, turn: &mut Turn<'_, Server<'_>>, request: &Request<'_>) {
        let typed = request
            .params
            .get("argument")
            .and_then(|argument| argument.get("value"))
            .and_then(RawJson::as_string);
        let mut values = [Text::default(); PARTS.len()];
        let mut found = 0;
        for (value, part) in values
            .iter_mut()
            .zip(PARTS.iter().filter(|part| typed.is_some_and(|typed| begins_with(part, typed))))
        {
            *value = Text::new(part);
            found += 1;
        }
        let completion = Completion::new(values.get(..found).unwrap_or_default());
        let _ = self.send(turn, |server, tx| {
            server.respond(request.handle, &CompleteResult::new(completion), tx)
        });
    }
}

/// Formats a small number.
fn decimal(digits: impl Iterator<Item = char>) -> Option<u8> {
    digits
        .into_iter()
        .try_fold(0u8, |number, c| number.checked_mul(10)?.checked_add(c.to_digit(10)? as u8))
}

fn begins_with(text: &str, typed: JsonStr<'_>) -> bool {
    let mut text = text.chars();
    typed.chars().all(|c| text.next() == Some(c))
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; RX_BYTES] = [0; RX_BYTES];
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];
    static mut STATE: ServerState<IN_FLIGHT, 4> = ServerState::new();

    board::open();
    let board = Board {
        port: Uart::open(),
        jobs: Jobs::default(),
        question: None,
        name: *b"board                   ",
        name_len: 5,
    };
    serve(&CONFIG, STATE, RX, TX, board)
}
