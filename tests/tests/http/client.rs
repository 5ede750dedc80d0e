//! The client over HTTP with only the core: buffers of a fixed size, bytes in pieces of any size,
//! no allocation.

use mcp_sansio::http::client::{Exchange, HttpFailure, HttpSession, NextStep, ResponseKind};
use mcp_sansio::http::sse::{EventKind, EventReader};
use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Frame,
    Instant, InvalidPayload, Messages, Revision, SendError, TxBuffer,
};
use mcp_sansio_http1::{BodyLength, HeadWriter, Part, ResponseReader};
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

    fn call(&mut self, tool: &str) -> Call {
        let (params, options) = (CallToolParams::new(tool), CallOptions::new());
        self.client.request(NOW, "tools/call", &params, options, &mut self.tx).unwrap()
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
                Ok(Some(Part::Body(mut piece))) => match reply {
                    Some(ResponseKind::EventStream) => {
                        while !piece.is_empty() {
                            let spare = events.spare();
                            let n = piece.len().min(spare.len());
                            spare[..n].copy_from_slice(&piece[..n]);
                            events.commit(n);
                            piece = &piece[n..];
                            while let Some(event) = events.next_event() {
                                if event.kind == EventKind::Message {
                                    self.take(exchange, event.data);
                                }
                            }
                        }
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
                    let spare = reader.spare();
                    let n = chunk.min(spare.len()).min(rest.len());
                    spare[..n].copy_from_slice(&rest[..n]);
                    reader.commit(n);
                    rest = &rest[n..];
                }
                Err(_) => break,
            }
        }
        let body = &body.0[..body.1];
        match reply? {
            ResponseKind::Message => self.take(exchange, Frame::Complete(body)),
            ResponseKind::ErrorStatus(status) | ResponseKind::Unauthorized(status) => {
                let failure = self
                    .session
                    .json_rpc_error(body)
                    .map_or(HttpFailure::Status(status), HttpFailure::JsonRpc);
                let id = exchange.request_id().expect("a request");
                let failed = self.client.fail(NOW, id, failure, &mut self.answers);
                self.said.extend(failed.expect("the buffer has room").map(said));
                return None;
            }
            _ => {}
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
        ClientEvent::ConnectFailed(error) => format!("not opened: {error}"),
        ClientEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
            format!("result {}", result.as_str())
        }
        ClientEvent::CallFinished { outcome: CallOutcome::Error(error), .. } => {
            format!("error {}", error.code())
        }
        ClientEvent::CallFinished { outcome: CallOutcome::Http(failure), .. } => {
            failure.to_string()
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
fn sess_03_http_26_a_session_is_known_before_the_body_is_read() {
    let mut device = Device::connected(Era::Legacy);
    let (mut exchange, head) = device.post();
    assert!(!head.contains("mcp-"), "{head}");
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
    let response = format!(
        "HTTP/1.1 200 OK\r\nMcp-Session-Id: s-1\r\nContent-Type: text/event-stream\r\n\r\ndata: {result}\n\n"
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

#[test]
fn an_http_error_ends_the_call() {
    for (response, said) in [
        (
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            "HTTP status 503: the server is busy or cannot be reached, try again later",
        ),
        (
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 72\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32020,\"message\":\"headers\"}} ",
            "error -32020",
        ),
    ] {
        for chunk in 1..100 {
            let mut device = Device::connected(Era::Modern);
            device.call("a");
            let (mut exchange, _) = device.post();
            assert_eq!(device.read(&mut exchange, response, chunk), None);
            assert_eq!(device.said, [said]);
        }
    }
}

#[test]
fn canc_13_time_02_a_cancellation_names_the_exchange_that_it_ends() {
    let mut device = Device::connected(Era::Modern);
    let call = device.call("a");
    let (exchange, _) = device.post();
    device.client.cancel_call(call, None, &mut device.tx).unwrap();
    let post = device.tx.post().unwrap();
    assert_eq!(post.cancelled_request(), exchange.request_id());
    assert!(exchange.is_modern(), "a modern exchange sends no cancellation");
    let mut other = TxBuffer::new([0; 64]);
    let sent = device.client.request(NOW, "x", &1, CallOptions::new(), &mut other);
    assert_eq!(sent, Err(SendError::Invalid(InvalidPayload::NotAnObject)));
}

/// A stream that ended this often at the same event without a message.
fn ended_in_vain(
    exchange: &mut Exchange,
    session: &mut HttpSession,
    retry: u64,
    times: usize,
) -> Vec<NextStep> {
    let retry = core::time::Duration::from_millis(retry);
    let ended = (0..times).map(|_| {
        let mut reader = ResponseReader::new([0; 256]);
        assert!(reader.expect_response("GET"));
        let response = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        reader.spare()[..response.len()].copy_from_slice(response);
        reader.commit(response.len());
        let Ok(Some(Part::Head(head))) = reader.next_part() else { panic!("a head") };
        assert_eq!(session.classify_response(exchange, &head.as_head()), ResponseKind::EventStream);
        exchange.end_of_body(Some("7"), Some(retry))
    });
    ended.collect()
}

#[test]
fn c6_a_stream_is_not_resumed_sooner_than_after_the_least_time_and_not_for_ever_in_vain() {
    let mut device = Device::connected(Era::Legacy);
    let (mut exchange, _) = device.post();
    let least = NextStep::Resume(mcp_sansio::http::client::MIN_RETRY);
    // The first end is at a new event, so it does not count.
    let ended = ended_in_vain(&mut exchange, &mut device.session, 0, 10);
    assert_eq!(ended[..8], [least; 8]);
    assert_eq!(ended[8..], [NextStep::Lost; 2]);
    // A message resets the count.
    let message = br#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    device.session.observe(&mut exchange, Frame::Complete(message));
    assert_eq!(ended_in_vain(&mut exchange, &mut device.session, 0, 1), [least]);
}
