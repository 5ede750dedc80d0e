//! The client over HTTP with only the core: buffers of a fixed size, bytes in pieces of any size,
//! no allocation.

use mcp_sansio::http::client::{Exchange, HttpSession, NextStep, ResponseKind};
use mcp_sansio::http::sse::{EventKind, EventReader};
use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Frame,
    Instant, Messages, Revision, TxBuffer,
};
use mcp_sansio_http1::{BodyLength, HeadWriter, Part, ResponseReader};
use mcp_sansio_tests::codec::{fill, read_events};
use mcp_sansio_tests::memory::new_client;

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
const NOW: Instant = Instant::from_millis(0);

/// A small device: one client, one session, one connection.
struct Device {
    client: Client<'static>,
    session: HttpSession,
    /// Output buffer for request bodies.
    tx: TxBuffer<[u8; 512]>,
    /// Output buffer for messages written while reading, each sent in a request of its own.
    answers: TxBuffer<[u8; 256]>,
    said: Vec<String>,
}

impl Device {
    fn new() -> Self {
        let client = new_client::<2>(&CONFIG);
        let (tx, answers) =
            (TxBuffer::for_http_requests([0; 512], 0), TxBuffer::for_http_requests([0; 256], 0));
        Self { client, session: HttpSession::new(), tx, answers, said: Vec::new() }
    }

    /// A device that knows the era of its server, and has begun to connect.
    fn connected(era: Era) -> Self {
        let mut device = Self::new();
        device.client.set_era(Some(era));
        device.client.connect(NOW, &mut device.tx).unwrap();
        device
    }

    fn call(&mut self, tool: &str) {
        let (params, options) = (CallToolParams::new(tool), CallOptions::new());
        self.client.request(NOW, "tools/call", &params, options, &mut self.tx).unwrap();
    }

    /// Posts the written message; returns the exchange and the head.
    fn post(&mut self) -> (Exchange, String) {
        let body = self.tx.pending();
        let post = self.tx.post().expect("a message");
        let exchange = self.session.begin_post(&post);
        let mut out = [0; 512];
        let mut head = HeadWriter::request(&mut out, "POST", "/mcp").field("host", "server");
        self.session
            .post_fields(&post, None, &mut |name, value| head.push_field(name, value))
            .expect("nothing is repeated");
        let len = head.finish(BodyLength::Known(body.len() as u64)).expect("the head fits");
        self.tx.advance(usize::MAX);
        (exchange, String::from_utf8(out[..len].to_vec()).expect("ASCII"))
    }

    /// Reads a response in pieces of this size, which ends with or without the connection; returns
    /// the next step.
    fn read(&mut self, exchange: &mut Exchange, response: &str, chunk: usize) -> Option<NextStep> {
        let mut reader = ResponseReader::new([0; 256]);
        let mut events = EventReader::new([0; 512]);
        let mut body = ([0; 512], 0);
        let mut reply = None;
        let mut rest = response.as_bytes();
        assert!(reader.expect_response("POST"));
        loop {
            match reader.next_part() {
                Ok(Some(Part::Head(head))) => {
                    reply = Some(self.session.classify_response(exchange, &head.as_head()))
                }
                Ok(Some(Part::Body(piece))) => match reply {
                    Some(ResponseKind::EventStream) => {
                        read_events(&mut events, piece, &[usize::MAX], |event| {
                            if event.kind == EventKind::Message {
                                self.take(exchange, event.data);
                            }
                        });
                    }
                    _ => {
                        body.0[body.1..body.1 + piece.len()].copy_from_slice(piece);
                        body.1 += piece.len();
                    }
                },
                Ok(Some(Part::End)) => break,
                Ok(None) if rest.is_empty() => {
                    let _ = reader.end_of_input();
                    break;
                }
                Ok(None) => {
                    let n = fill(reader.spare(), &mut rest, &mut std::iter::once(&chunk));
                    reader.commit(n);
                }
                Err(_) => break,
            }
        }
        let body = &body.0[..body.1];
        if reply? == ResponseKind::Message {
            self.take(exchange, Frame::Complete(body));
        }
        Some(exchange.end_of_body(events.last_event_id(), events.retry()))
    }

    fn take(&mut self, exchange: &mut Exchange, frame: Frame<'_>) {
        self.session.observe(exchange, frame);
        let mut messages = Messages::new(frame);
        while let Some(event) =
            self.client.next_event(NOW, &mut messages, &mut self.answers).expect("room")
        {
            self.said.push(said(event));
        }
    }
}

fn said(event: ClientEvent<'_>) -> String {
    match event {
        ClientEvent::Connected(opened) => format!("opened {}", opened.revision.as_str()),
        ClientEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
            format!("result {}", result.as_str())
        }
        other => format!("{other:?}"),
    }
}

/// The response with an event stream.
fn chunked(stream: &str) -> String {
    let length = stream.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{stream}\r\n0\r\n\r\n"
    )
}

#[test]
fn http_15_http_30_hdr_01_a_modern_server_is_spoken_to_with_buffers_of_a_fixed_size() {
    let discovered = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
    let result = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}"#;
    let stream = format!(": hello\n\nevent: message\ndata: {result}\n\n");
    for chunk in 1..400 {
        let mut device = Device::new();
        device.client.connect(NOW, &mut device.tx).unwrap();
        let (mut exchange, head) = device.post();
        let fields = "\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\n";
        assert!(head.contains(fields), "{head}");
        let length = discovered.len();
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{discovered}"
        );
        assert_eq!(device.read(&mut exchange, &response, chunk), Some(NextStep::Done));

        device.call("greet");
        let (mut exchange, head) = device.post();
        assert!(head.contains("\r\nmcp-method: tools/call\r\nmcp-name: greet\r\n"), "{head}");
        let response = chunked(&stream);
        assert_eq!(device.read(&mut exchange, &response, chunk), Some(NextStep::Done), "{chunk}");
        let said = ["opened 2026-07-28", r#"result {"resultType":"complete","content":[]}"#];
        assert_eq!(device.said, said, "{chunk}");
    }
}

#[test]
fn http_40_sse_09_a_response_that_is_cut_off_anywhere_is_lost_or_taken_up_again() {
    let stream = "id: 4\nretry: 170\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n";
    let response = chunked(stream);
    let primed = response.find("data:\n\n").unwrap() + "data:\n\n".len();
    let answered = response.find("]}}\n\n").unwrap() + "]}}\n\n".len();
    for era in [Era::Modern, Era::Legacy] {
        for cut in 0..response.len() {
            let mut device = Device::connected(era);
            if era == Era::Modern {
                device.call("a");
            }
            let (mut exchange, _) = device.post();
            let after = device.read(&mut exchange, &response[..cut], 64);
            let expected = match era {
                _ if cut < response.find("\r\n\r\n").unwrap() + 4 => None,
                _ if cut >= answered => Some(NextStep::Done),
                Era::Legacy if cut >= primed => {
                    Some(NextStep::Resume(core::time::Duration::from_millis(170)))
                }
                _ => Some(NextStep::Lost),
            };
            assert_eq!(after, expected, "{era:?} {cut}");
            assert_eq!(exchange.has_response(), cut >= answered);
        }
    }
}

#[test]
fn sess_03_sess_11_http_26_a_session_is_known_before_the_body_is_read() {
    for name in ["Mcp-Session-Id", "MCP-Session-Id", "mcp-session-id"] {
        is_known_before_the_body_is_read(name);
    }
}

fn is_known_before_the_body_is_read(name: &str) {
    let mut device = Device::connected(Era::Legacy);
    let (mut exchange, head) = device.post();
    assert!(!head.contains("mcp-"), "{head}");
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
    let response = format!(
        "HTTP/1.1 200 OK\r\n{name}: s-1\r\nContent-Type: text/event-stream\r\n\r\ndata: {result}\n\n"
    );
    assert_eq!(device.read(&mut exchange, &response, 10), Some(NextStep::Done));
    let session = (device.session.id(), device.session.revision());
    assert_eq!(session, (Some("s-1"), Some(Revision::V2025_11_25)));
    assert_eq!(device.said, ["opened 2025-11-25"]);
    // Output written while reading is the body of another request.
    let post = device.answers.post().unwrap();
    assert!(post.has_method("notifications/initialized") && post.is_handshake());
    assert_eq!(post.id(), None);
    let mut fields = Vec::new();
    device
        .session
        .post_fields(&post, None, &mut |name, value| fields.push(format!("{name}: {value}")))
        .unwrap();
    assert_eq!(fields[2..], ["mcp-protocol-version: 2025-11-25", "mcp-session-id: s-1"]);
    let mut exchange = device.session.begin_post(&post);
    let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(device.read(&mut exchange, accepted, 7), Some(NextStep::Done));
}
