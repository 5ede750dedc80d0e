//! The server does not allocate over HTTP: bytes of requests in, bytes of responses out, on arrays,
//! under a counting allocator.

use core::time::Duration;

use allocation_counter::measure;
use mcp_sansio::http::server::{
    Endpoint, OutgoingResponse, ReplayBuffer, Route, SessionId, StreamRecorder,
};
use mcp_sansio::http::{Fields, RequestHead};
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, ExchangeId, Frame, Instant, Messages, Progress, RawJson, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Target, TxBuffer, entries,
};
use mcp_sansio_http1::{BodyLength, HeadWriter, Part, RequestReader};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![Tool::new(
    "say",
    RawJson::from_static(
        r#"{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"Text"}}}"#,
    ),
)]);
const NOW: Instant = Instant::from_millis(0);

const MODERN: [&str; 2] = [
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: say\r\nMcp-Param-Text: =?base64?w6k=?=\r\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"text":"\u00e9"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1}}}"#,
];
const INITIALIZE: [&str; 2] = [
    "",
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
];
const CALL: [&str; 2] = [
    "Mcp-Session-Id: x\r\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say","_meta":{"progressToken":"t"}}}"#,
];

fn post([fields, body]: [&str; 2]) -> Vec<u8> {
    let length = body.len();
    format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{fields}\r\n{body}").into_bytes()
}

/// Reads a request and handles it with a server of any size; returns the status and the length of
/// the response.
fn serve(
    request: &[u8],
    server: &mut Server<'_>,
    exchange: u32,
    replay: &mut ReplayBuffer<[u8; 2048]>,
) -> (u16, usize) {
    let reader = || {
        let mut reader = RequestReader::new([0; 1024]);
        reader.spare()[..request.len()].copy_from_slice(request);
        reader.commit(request.len());
        reader
    };
    let (mut bytes, mut len) = ([0; 512], 0);
    let mut all = reader();
    while let Ok(Some(part)) = all.next_part() {
        let Part::Body(piece) = part else { continue };
        bytes[len..len + piece.len()].copy_from_slice(piece);
        len += piece.len();
    }
    // A second reader, since the head is lent only until the body is read.
    let mut first = reader();
    let Ok(Some(Part::Head(parsed))) = first.next_part() else { panic!("no head") };
    let fields: &dyn Fields = &parsed.fields;
    let head = RequestHead::new(parsed.method, parsed.target, fields);
    let mut messages =
        Messages::over_http(Frame::Complete(&bytes[..len]), &head, ExchangeId::new(exchange));
    assert!(!matches!(Endpoint::new(CONFIG.revisions).route(&head, &messages), Route::Refused(_)));
    let mut tx = TxBuffer::for_http_response([0; 1024], 0)
        .with_priming_event(exchange, Duration::from_secs(1));
    while let Some(event) = server.next_event(NOW, &mut messages, &mut tx).unwrap() {
        let ServerEvent::Request(request) = event else { continue };
        if let Target::Tool(_) = CATALOG.respond(server, &request, &mut tx).unwrap() {
            let _ = server.progress(NOW, request.handle, &Progress::of(1), &mut tx).unwrap();
            server.respond(request.handle, &TextResult::new("hello"), &mut tx).unwrap();
        }
    }
    let reply = tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED);
    replay.record(&mut StreamRecorder::new(exchange), tx.pending());
    let mut out = [0; 256];
    let id = SessionId::from_random([7; 16]);
    let mut writer =
        HeadWriter::response(&mut out, reply.status).field("mcp-session-id", id.as_str());
    for (name, value) in reply.fields() {
        writer = writer.field(name, value);
    }
    let head = writer.finish(BodyLength::Known(tx.pending().len() as u64)).unwrap();
    (reply.status, head + tx.pending().len())
}

#[test]
fn a_server_over_http_needs_no_allocator() {
    let mut seen = [(0, 0); 4];
    let (modern, initialize, call) = (post(MODERN), post(INITIALIZE), post(CALL));
    let counted = measure(|| {
        let mut replay = ReplayBuffer::new([0; 2048]);
        let (mut alone, mut session) = (ServerState::<1, 1>::new(), ServerState::<4, 4>::new());
        let (mut alone, mut session) = (alone.server(&CONFIG), session.server(&CONFIG));
        seen[0] = serve(&modern, &mut alone, 1, &mut replay);
        seen[1] = serve(&initialize, &mut session, 2, &mut replay);
        seen[2] = serve(&call, &mut session, 3, &mut replay);
        let mut cursor = replay.read_after("3-0".parse().unwrap());
        while let Ok(Some([one, other])) = replay.next_part(&mut cursor) {
            seen[3].1 += one.len() + other.len();
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!(seen[..3].iter().all(|(status, len)| *status == 200 && *len > 200), "{seen:?}");
    assert!(seen[3].1 > 100, "{seen:?}");
}
