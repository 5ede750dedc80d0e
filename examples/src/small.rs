//! A small application, for programs that show how a connection is served and not what is served on
//! it.

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, Frame, Messages, Position, RawJson, Request, RxBuffer, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, Target, Tx, TxBuffer,
};

/// One peer: the machine, what was read, what is to be written.
pub struct Session {
    server: Server<'static>,
    /// What the transport reads to.
    pub rx: RxBuffer<Vec<u8>>,
    /// What the transport writes from.
    pub tx: TxBuffer<Vec<u8>>,
    /// Where to go on in a batch for which there was no room.
    position: Option<Position>,
}

impl Session {
    /// Takes in what was read, as far as there is room for the answers. Never waits: reading and
    /// writing may both go on meanwhile.
    ///
    /// # Errors
    /// None that can happen: whatever is answered here fits.
    pub fn run(&mut self, now: mcp_sansio::Instant) -> Result<(), SendError> {
        while self.tx.room() >= ROOM
            && let Some(frame) = self.rx.next_frame()
        {
            // One that was too long cannot be given back, and is a single event.
            let is_complete = matches!(frame, Frame::Complete(_));
            let mut messages = match self.position.take() {
                Some(position) => Messages::resume(frame, position),
                None => Messages::new(frame),
            };
            while let Some(event) = self.server.next_event(now, &mut messages, &mut self.tx)? {
                if let ServerEvent::Request(request) = event {
                    answer(&mut self.server, &request, &mut self.tx)?;
                }
                if is_complete && self.tx.room() < ROOM {
                    self.position = Some(messages.position());
                    self.rx.unread();
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Default for Session {
    fn default() -> Self {
        Self {
            server: Server::new(&CONFIG),
            rx: RxBuffer::with_limit(Vec::new(), MAX_LINE),
            tx: TxBuffer::with_limit(Vec::new(), 2 * ROOM),
            position: None,
        }
    }
}

fn answer(
    server: &mut Server<'_>,
    request: &Request<'_>,
    tx: &mut Tx<'_>,
) -> Result<(), SendError> {
    let Target::Tool(tool) = CATALOG.respond(server, request, tx)? else { return Ok(()) };
    if tool.name == "add" {
        match request.arguments().to::<Terms>() {
            Ok(terms) => server.respond(
                request.handle,
                &TextResult::new(&(terms.a + terms.b).to_string()),
                tx,
            ),
            Err(error) => server.respond_invalid_arguments(request.handle, &error, tx),
        }
    } else {
        match request.arguments().get("text").and_then(RawJson::as_string) {
            Some(text) => server.respond(request.handle, &TextResult::from(Text::from(text)), tx),
            None => server.respond_invalid_arguments(request.handle, &"text must be a string", tx),
        }
    }
}

#[derive(serde::Deserialize)]
struct Terms {
    a: f64,
    b: f64,
}

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("small-server", "0.1.0"), ServerFeatures::TOOLS);

static CATALOG: Catalog<'_> = Catalog::new().tools(&[
    Tool::new("echo", RawJson::from_static(r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#))
        .description("Says what you say"),
    Tool::new(
        "add",
        RawJson::from_static(
            r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#,
        ),
    )
    .description("Adds two numbers"),
]);

const MAX_LINE: usize = 64 << 10;
/// More than any answer here takes: one that echoes a line, or the list.
const ROOM: usize = MAX_LINE + 4096;
