//! A small application for the examples that show how connections are served.

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, RawJson, Request, RxBuffer, SendError, Server, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, Target, Tx, TxBuffer,
};

/// A connection: the machine, the received bytes, the bytes to send.
pub struct Session {
    state: ServerState,
    /// The buffer that the transport reads into.
    pub rx: RxBuffer<Vec<u8>>,
    /// The buffer that the transport writes from.
    pub tx: TxBuffer<Vec<u8>>,
}

impl Session {
    /// Processes the received frames as far as there is room for the responses. Does not block, so
    /// that reading and writing may continue meanwhile.
    ///
    /// # Errors
    /// None in this application: every response fits.
    pub fn run(&mut self, now: mcp_sansio::Instant) -> Result<(), SendError> {
        let mut server = self.state.server(&CONFIG);
        while self.tx.room() >= ROOM
            && let Some(mut messages) = self.rx.next_messages()
        {
            while let Some(event) = server.next_event(now, &mut messages, &mut self.tx)? {
                if let ServerEvent::Request(request) = event {
                    answer(&mut server, &request, &mut self.tx)?;
                }
                if self.tx.room() < ROOM {
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
            state: ServerState::new(),
            rx: RxBuffer::with_limit(Vec::new(), MAX_LINE),
            tx: TxBuffer::with_limit(Vec::new(), 2 * ROOM),
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
        .description("Echoes the text"),
    Tool::new(
        "add",
        RawJson::from_static(
            r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#,
        ),
    )
    .description("Adds two numbers"),
]);

const MAX_LINE: usize = 64 << 10;
/// Exceeds the largest response: an echoed line, or the list of tools.
const ROOM: usize = MAX_LINE + 4096;
