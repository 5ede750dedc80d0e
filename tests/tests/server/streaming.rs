//! Streamed responses: the same bytes as `respond` writes, through buffers of any size, with no
//! other output in between.

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::*;
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::new_server;

use crate::peer::Peer;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("files", "1.0.0"), ServerFeatures::TOOLS);
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

#[test]
fn a_response_written_in_pieces_equals_one_of_respond() {
    for size in [1, 2, 7, 30, 64, 400, 4000] {
        let mut wire = peer(size);
        let request = wire.request(CALL);
        begin(&mut wire, request);
        let mut rest = &br#""content":[{"type":"text","text":"a long one, "#[..];
        for piece in [rest, &b"in pieces\"}\n]"[..]] {
            rest = piece;
            while !rest.is_empty() {
                let fed = wire.finish(|server, _, tx| server.write_response(request, rest, tx));
                rest = &rest[fed.unwrap()..];
            }
        }
        wire.drain();
        // The response has begun, so it is neither cancelled nor interrupted.
        let mut cancel = Messages::new(Frame::Complete(CANCEL.as_bytes()));
        let Peer { server, line: Line { tx, .. }, .. } = &mut wire;
        assert!(matches!(server.next_event(NOW, &mut cancel, tx), Ok(None)), "size {size}");
        let mut ping = Messages::new(Frame::Complete(PING.as_bytes()));
        assert_eq!(server.next_event(NOW, &mut ping, tx).err(), Some(SendError::Full));
        assert_eq!(wire.finish(|server, _, tx| server.finish_response(request, tx)), Ok(()));

        let mut whole = peer(4000);
        let request = whole.request(CALL);
        let result = TextResult::new("a long one, in pieces");
        assert_eq!(whole.finish(|server, _, tx| server.respond(request, &result, tx)), Ok(()));
        assert_eq!(wire.sent().replace("} ]", "}]"), whole.sent(), "size {size}");
        assert_eq!(wire.server.open_requests(), 0);
    }
}

#[test]
fn a_response_whose_source_fails_is_abandoned() {
    let mut wire = peer(48);
    let request = wire.request(CALL);
    begin(&mut wire, request);
    let _ = wire.finish(|server, _, tx| server.write_response(request, br#""content":["#, tx));
    let error = RpcError::internal("The file ended too soon");
    assert_eq!(wire.finish(|server, _, tx| server.fail(request, &error, tx)), Ok(()));
    let out = wire.sent();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], r#"{"jsonrpc":"2.0","id":1,"result":{"content":["#);
    assert_eq!(
        lines[1],
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The file ended too soon"}}"#
    );
}

#[test]
fn begin_write_and_finish_must_be_called_in_order() {
    let mut wire = peer(4000);
    let request = wire.request(CALL);
    let Peer { server, line: Line { tx, .. }, .. } = &mut wire;
    let out_of_order = Some(SendError::NotAllowed(NotAllowed::OutOfOrder));
    assert_eq!(server.write_response(request, b"x", tx).err(), out_of_order);
    assert_eq!(server.finish_response(request, tx).err(), out_of_order);
    assert_eq!(server.begin_response(request, tx), Ok(()));
    assert_eq!(server.begin_response(request, tx).err(), out_of_order);
    assert_eq!(server.respond(request, &TextResult::new("x"), tx).err(), out_of_order);
}

const NOW: Instant = Instant::from_millis(0);

fn peer(room: usize) -> Peer {
    Peer::new(new_server::<4, 4>(&CONFIG), room)
}

fn begin(peer: &mut Peer, request: RequestHandle) {
    assert_eq!(peer.finish(|server, _, tx| server.begin_response(request, tx)), Ok(()));
}
