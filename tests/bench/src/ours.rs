//! Cases of this library. The buffers have the size that the case needs and are allocated once.

use std::hint::black_box;

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, Frame, Instant, Messages, RawJson, RxBuffer, SendError, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Target, Tx, TxBuffer, entries,
};

use crate::{Case, messages};

/// Buffer size in bytes that fits any of the messages.
pub(crate) const LARGE: usize = 160 << 10;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("bench", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        Tool::new("echo", SCHEMA).description("Says what you say"),
        tool("t01"),
        tool("t02"),
        tool("t03"),
        tool("t04"),
        tool("t05"),
        tool("t06"),
        tool("t07"),
        tool("t08"),
        tool("t09"),
        tool("t10"),
        tool("t11"),
        tool("t12"),
        tool("t13"),
        tool("t14"),
        tool("t15"),
        tool("t16"),
        tool("t17"),
        tool("t18"),
        tool("t19"),
        tool("t20"),
        tool("t21"),
        tool("t22"),
        tool("t23"),
        tool("t24"),
        tool("t25"),
        tool("t26"),
        tool("t27"),
        tool("t28"),
        tool("t29"),
        tool("t30"),
        tool("t31"),
        tool("t32"),
        tool("t33"),
        tool("t34"),
        tool("t35"),
        tool("t36"),
        tool("t37"),
        tool("t38"),
        tool("t39"),
    ])
    .unchecked();
const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, SCHEMA).description("One of many tools that a server of some size has")
}
const SCHEMA: RawJson = RawJson::from_static(
    r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say"}},"required":["text"]}"#,
);
/// Measures from received bytes to bytes to send: both buffers, the machine, the catalog, the
/// handler.
pub(crate) fn through_buffers(name: String, line: &str, tx_size: usize) -> Case {
    let line = line.to_owned();
    let mut server = open();
    let mut rx = RxBuffer::new(&mut *Box::leak(vec![0; LARGE].into()));
    let mut tx = TxBuffer::new(&mut *Box::leak(vec![0; tx_size].into()));
    Case {
        name,
        bytes: line.len(),
        run: Box::new(move || {
            let line = black_box(line.as_bytes());
            rx.spare()[..line.len()].copy_from_slice(line);
            rx.commit(line.len());
            let mut sent = 0;
            while let Some(frame) = rx.next_frame() {
                sent += serve(&mut server, frame, &mut tx);
            }
            sent + drain(&mut tx)
        }),
    }
}

/// Measures the machine alone, as behind HTTP, where the frame is complete.
pub(crate) fn frame_to_answer(name: String, line: &str) -> Case {
    let line = line.trim_end().to_owned();
    let mut server = open();
    let mut tx = TxBuffer::new(&mut *Box::leak(vec![0; LARGE].into()));
    Case {
        name,
        bytes: line.len(),
        run: Box::new(move || {
            serve(&mut server, Frame::Complete(black_box(line.as_bytes())), &mut tx)
                + drain(&mut tx)
        }),
    }
}

/// Runs the loop of the documentation; returns the number of bytes drained on the way.
fn serve(server: &mut Server<'_>, frame: Frame<'_>, tx: &mut TxBuffer<&'static mut [u8]>) -> usize {
    let mut sent = 0;
    let mut messages = Messages::new(frame);
    loop {
        let event = repeat(tx, &mut sent, |tx| {
            server.next_event(Instant::from_millis(1), &mut messages, tx)
        });
        let Some(event) = event else { return sent };
        let ServerEvent::Request(request) = event else { continue };
        let target = repeat(tx, &mut sent, |tx| CATALOG.respond(server, &request, tx));
        let Target::Tool(_) = target else { continue };
        let text = request.arguments().get("text").and_then(RawJson::as_string).unwrap();
        let result = TextResult::from(Text::from(text));
        let _ = repeat(tx, &mut sent, |tx| server.respond(request.handle, &result, tx));
    }
}

fn repeat<R>(
    tx: &mut TxBuffer<&'static mut [u8]>,
    sent: &mut usize,
    mut call: impl FnMut(&mut Tx<'_>) -> Result<R, mcp_sansio::SendError>,
) -> R {
    loop {
        match call(tx) {
            Err(SendError::Full) => *sent += drain(tx),
            other => return other.unwrap(),
        }
    }
}

fn drain(tx: &mut TxBuffer<&'static mut [u8]>) -> usize {
    let pending = black_box(tx.pending()).len();
    tx.advance(pending);
    pending
}

/// Returns a server with an open legacy session. Modern requests need none.
fn open() -> Server<'static> {
    let mut server = Box::leak(Box::new(ServerState::<8, 8>::new())).server(&CONFIG);
    let mut tx = TxBuffer::new(&mut *Box::leak(vec![0; 4096].into()));
    for line in [messages::INITIALIZE, messages::INITIALIZED] {
        serve(&mut server, Frame::Complete(line.trim_end().as_bytes()), &mut tx);
    }
    assert!(server.legacy_revision().is_some());
    server
}
