//! Streamed responses: the same bytes as `respond` writes, through buffers of any size, with no
//! other output in between.

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::*;
use mcp_sansio_tests::memory::new_server;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("files", "1.0.0"), ServerFeatures::TOOLS);
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

#[test]
fn a_response_written_in_pieces_equals_one_of_respond() {
    for size in [1, 2, 7, 30, 64, 400, 4000] {
        let mut wire = Wire::new(size);
        let request = wire.request();
        wire.begin(request);
        let mut rest = &br#""content":[{"type":"text","text":"a long one, "#[..];
        for piece in [rest, &b"in pieces\"}\n]"[..]] {
            rest = piece;
            while !rest.is_empty() {
                let fed = wire.send(|server, tx| server.write_response(request, rest, tx));
                rest = &rest[fed..];
            }
        }
        // The response has begun, so it is neither cancelled nor interrupted.
        let mut cancel = Messages::new(Frame::Complete(CANCEL.as_bytes()));
        let Wire { server, tx, .. } = &mut wire;
        assert!(matches!(server.next_event(NOW, &mut cancel, tx), Ok(None)), "size {size}");
        let mut ping = Messages::new(Frame::Complete(PING.as_bytes()));
        assert_eq!(
            server.next_event(NOW, &mut ping, tx).err(),
            Some(SendError::Full),
            "size {size}"
        );
        assert_eq!(wire.send(|server, tx| server.finish_response(request, tx)), ());

        let mut whole = Wire::new(4000);
        let request = whole.request();
        whole.send(|server, tx| {
            server.respond(request, &TextResult::new("a long one, in pieces"), tx)
        });
        let spaced = String::from_utf8(wire.out).unwrap();
        assert_eq!(
            spaced.replace("} ]", "}]"),
            String::from_utf8(whole.out).unwrap(),
            "size {size}"
        );
        assert_eq!(wire.server.open_requests(), 0);
    }
}

#[test]
fn a_response_whose_source_fails_is_abandoned() {
    let mut wire = Wire::new(48);
    let request = wire.request();
    wire.begin(request);
    let _ = wire.send(|server, tx| server.write_response(request, br#""content":["#, tx));
    let error = RpcError::internal("The file ended too soon");
    assert_eq!(wire.send(|server, tx| server.fail(request, &error, tx)), ());
    let out = String::from_utf8(wire.out).unwrap();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], r#"{"jsonrpc":"2.0","id":1,"result":{"content":["#);
    assert_eq!(
        lines[1],
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The file ended too soon"}}"#
    );
}

#[test]
fn begin_write_and_finish_must_be_called_in_order() {
    let mut wire = Wire::new(4000);
    let request = wire.request();
    let Wire { server, tx, .. } = &mut wire;
    assert_eq!(
        server.write_response(request, b"x", tx).err(),
        Some(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(
        server.finish_response(request, tx).err(),
        Some(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(server.begin_response(request, tx), Ok(()));
    assert_eq!(
        server.begin_response(request, tx).err(),
        Some(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
    assert_eq!(
        server.respond(request, &TextResult::new("x"), tx).err(),
        Some(SendError::NotAllowed(NotAllowed::OutOfOrder))
    );
}

const NOW: Instant = Instant::from_millis(0);

struct Wire {
    server: Server<'static>,
    tx: TxBuffer<Vec<u8>>,
    out: Vec<u8>,
}

impl Wire {
    fn new(size: usize) -> Self {
        Self {
            server: new_server::<4, 4>(&CONFIG),
            tx: TxBuffer::new(vec![0; size]),
            out: Vec::new(),
        }
    }

    fn request(&mut self) -> RequestHandle {
        let mut messages = Messages::new(Frame::Complete(CALL.as_bytes()));
        match self.server.next_event(NOW, &mut messages, &mut self.tx) {
            Ok(Some(ServerEvent::Request(request))) => request.handle,
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, request: RequestHandle) {
        assert_eq!(self.send(|server, tx| server.begin_response(request, tx)), ());
    }

    fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'static>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> R {
        loop {
            let result = call(&mut self.server, &mut self.tx);
            self.out.extend_from_slice(self.tx.pending());
            self.tx.advance(self.tx.pending().len());
            match result {
                Ok(value) => return value,
                Err(error) => assert_eq!(error, SendError::Full),
            }
        }
    }
}
