//! Cases of a server over HTTP without I/O: from the bytes of a request to the bytes of its
//! response, and what an open session or stream keeps.

use std::hint::black_box;

use mcp_sansio::http::codec::{BodyLength, HeadWriter, OwnedFields, Part, RequestReader};
use mcp_sansio::http::site::{ExchangeKey, OwnedHead, Site, SiteBody, SiteOptions, SiteStep};
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Instant, Outcome, RequestHandle, SendError, Server, ServerConfig, ServerEvent, ServerFeatures,
    Tx,
};

use crate::{Case, messages};

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("bench", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TOOLS_LIST_CHANGED),
);
const NOW: Instant = Instant::from_millis(1);

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (era, legacy) in [("legacy", true), ("modern", false)] {
        for (size, text) in messages::TEXTS {
            let mut connection = Connection::new(text);
            let session = if legacy { connection.open_session() } else { String::new() };
            let body = messages::call(legacy, text);
            let request = request(legacy, "tools/call", "echo", &session, &body);
            cases.push(Case {
                name: format!("http-{era}-{size}"),
                bytes: request.len(),
                run: Box::new(move || connection.answered(black_box(request.as_bytes()))),
            });
        }
    }
    cases
}

pub(crate) fn open_cases() -> [Case; 3] {
    let mut sessions = Connection::new(0);
    let mut streams = Connection::new(0);
    let mut listens = Connection::new(0);
    let listen = request(false, "subscriptions/listen", "", "", messages::LISTEN);
    [
        Case {
            name: "http-session-open".into(),
            bytes: messages::INITIALIZE.len(),
            run: Box::new(move || sessions.open_session().len()),
        },
        Case {
            name: "http-session-stream-open".into(),
            bytes: messages::INITIALIZE.len(),
            run: Box::new(move || {
                let session = streams.open_session();
                let head = head(true, "GET", &format!("mcp-session-id: {session}\r\n"));
                streams.began((head + "\r\n").as_bytes())
            }),
        },
        Case {
            name: "http-listen-open".into(),
            bytes: listen.len(),
            run: Box::new(move || listens.began(listen.as_bytes())),
        },
    ]
}

fn head(legacy: bool, method: &str, fields: &str) -> String {
    let revision = if legacy { "2025-11-25" } else { "2026-07-28" };
    format!(
        "{method} /mcp HTTP/1.1\r\nhost: 127.0.0.1:8080\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: {revision}\r\n{fields}"
    )
}

fn request(legacy: bool, method: &str, name: &str, session: &str, body: &str) -> String {
    let body = body.trim_end();
    let fields = if !legacy {
        let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
        format!("mcp-method: {method}\r\n{name}")
    } else if session.is_empty() {
        String::new()
    } else {
        format!("mcp-session-id: {session}\r\n")
    };
    head(legacy, "POST", &fields) + &format!("content-length: {}\r\n\r\n{body}", body.len())
}

/// A result with a text of the length of the request's.
struct Said(&'static str);

impl Outcome<Server<'_>> for Said {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        server.respond(request, &TextResult::new(self.0), tx)
    }
}

/// A site with one connection, whose requests come one after the other.
struct Connection {
    site: Site<'static, Said>,
    reader: RequestReader<Vec<u8>>,
    text: &'static str,
    out: Vec<u8>,
    /// The id of the session that the last response has opened.
    session: String,
}

impl Connection {
    fn new(text: usize) -> Self {
        let mut seed = 0u128;
        let random = move || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            seed.to_be_bytes()
        };
        let mut options = SiteOptions::new();
        (options.max_sessions, options.max_exchanges) = (usize::MAX, usize::MAX);
        Self {
            site: Site::new(&CONFIG, options, random),
            reader: RequestReader::with_limit(Vec::new(), 16 << 10),
            text: String::leak("x".repeat(text)),
            out: vec![0; 128 << 10],
            session: String::new(),
        }
    }

    fn open_session(&mut self) -> String {
        let open = request(true, "initialize", "", "", messages::INITIALIZE);
        self.answered(open.as_bytes());
        let session = std::mem::take(&mut self.session);
        assert!(!session.is_empty());
        let opened = request(true, "", "", &session, messages::INITIALIZED);
        self.answered(opened.as_bytes());
        session
    }

    /// Returns the length of the whole response.
    fn answered(&mut self, request: &[u8]) -> usize {
        let exchange = self.receive(request);
        let (sent, is_over) = self.send(exchange);
        assert!(is_over);
        self.site.close(NOW, exchange);
        self.run();
        sent
    }

    /// Returns the length of the response until now, whose exchange stays open.
    fn began(&mut self, request: &[u8]) -> usize {
        let exchange = self.receive(request);
        let (sent, is_over) = self.send(exchange);
        assert!(!is_over);
        sent
    }

    /// Reads a request, and runs its handler.
    fn receive(&mut self, mut request: &[u8]) -> ExchangeKey {
        let mut exchange = None;
        loop {
            let spare = self.reader.spare();
            let n = spare.len().min(request.len());
            let (piece, rest) = request.split_at(n);
            spare[..n].copy_from_slice(piece);
            request = rest;
            self.reader.commit(n);
            while let Some(part) = self.reader.next_part().expect("the request is valid") {
                match (part, exchange) {
                    (Part::Head(head), _) => {
                        let fields = OwnedFields::from(head.fields);
                        let head = OwnedHead::new(head.method, head.target, fields);
                        exchange = Some(self.site.open(NOW, head));
                    }
                    (Part::Body(piece), Some(exchange)) => {
                        assert_eq!(self.site.feed_body(exchange, piece), piece.len());
                    }
                    (Part::End, Some(exchange)) => {
                        self.site.end_of_body(NOW, exchange);
                        assert!(self.reader.next_request());
                        self.run();
                        return exchange;
                    }
                    _ => unreachable!("the head comes first"),
                }
            }
        }
    }

    fn run(&mut self) {
        loop {
            match self.site.next(NOW) {
                SiteStep::Event(ServerEvent::Request(request), mut turn) => {
                    turn.answer(request.handle, Said(self.text));
                }
                SiteStep::Wait(_) => return,
                _ => {}
            }
        }
    }

    /// Writes what there is of a response. Returns its length, and whether it is complete.
    fn send(&mut self, exchange: ExchangeKey) -> (usize, bool) {
        let response = self.site.response(exchange).expect("it is decided");
        let mut writer = HeadWriter::response(&mut self.out, response.status());
        for (name, value) in response.fields() {
            if name == "mcp-session-id" {
                self.session = value.to_owned();
            }
            writer = writer.field(name, value);
        }
        let length = response.length().map_or(BodyLength::Chunked, |n| BodyLength::Known(n as u64));
        let mut sent = writer.finish(length).expect("it fits");
        loop {
            match self.site.body(exchange) {
                SiteBody::Piece(piece) => {
                    self.out[sent..][..piece.len()].copy_from_slice(piece);
                    let n = piece.len();
                    sent += n;
                    self.site.wrote(NOW, exchange, n);
                    self.run();
                }
                SiteBody::Pending => return (sent, false),
                SiteBody::End => return (black_box(&self.out[..sent]).len(), true),
                SiteBody::Cut => unreachable!("the result is valid"),
            }
        }
    }
}
