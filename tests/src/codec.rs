//! Records of how HTTP/1.1 and event streams are read, to compare two readings.

use std::io::Read as _;

use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::http::sse::{Event, EventKind, EventReader};
use mcp_sansio::types::Implementation;
use mcp_sansio::{Frame, Instant, SendError, ServerConfig, ServerEvent, ServerFeatures, Storage};
use mcp_sansio_http1::{
    Access, Collected, Exchange, HeadFields, IncomingRequest, IncomingResponse, MAX_HEAD,
    MessageError, Part, RequestReader, ResponseReader,
};

use crate::frames::record;

/// A message, perhaps incomplete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// The first line without the version, and the rest of the parsed head.
    pub head: String,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub complete: bool,
}

/// The messages read from a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Read {
    pub messages: Vec<Message>,
    /// The error that stopped reading.
    pub error: Option<MessageError>,
    /// Whether the connection ended properly.
    pub good_end: bool,
}

impl Message {
    fn with_head(head: String, fields: HeadFields<'_>) -> Self {
        let fields = fields.iter().map(|(name, value)| (name.to_owned(), value.to_vec()));
        Self { head, fields: fields.collect(), ..Self::default() }
    }
}

impl From<&IncomingRequest<'_>> for Message {
    fn from(head: &IncomingRequest<'_>) -> Self {
        let facts = (head.is_http_1_0, head.expects_continue, head.content_length);
        Self::with_head(format!("{} {} {facts:?}", head.method, head.target), head.fields)
    }
}

impl From<&IncomingResponse<'_>> for Message {
    fn from(head: &IncomingResponse<'_>) -> Self {
        Self::with_head(format!("{} {:?}", head.status, head.content_length), head.fields)
    }
}

impl Read {
    /// Adds a part of a message. Returns whether it was the end of it.
    fn add<H>(&mut self, part: Part<'_, H>) -> bool
    where
        for<'h> Message: From<&'h H>,
    {
        if let Part::Head(head) = part {
            self.messages.push(Message::from(&head));
            return false;
        }
        let message = self.messages.last_mut().expect("a head comes first");
        match part {
            Part::Body(piece) => message.body.extend(piece),
            _ => message.complete = true,
        }
        message.complete
    }

    pub fn complete(&self) -> Vec<&Message> {
        self.messages.iter().filter(|message| message.complete).collect()
    }

    pub fn status(&self) -> Option<u16> {
        self.error.map(MessageError::status)
    }
}

/// Copies bytes into a reader with enough room.
pub fn put<S: Storage>(reader: &mut RequestReader<S>, bytes: &[u8]) {
    reader.spare()[..bytes.len()].copy_from_slice(bytes);
    reader.commit(bytes.len());
}

/// Reads the requests of a connection, in pieces of these sizes, repeated.
pub fn requests<S: Storage>(mut reader: RequestReader<S>, bytes: &[u8], sizes: &[usize]) -> Read {
    let mut read = Read::default();
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    loop {
        match reader.next_part() {
            Ok(Some(part)) => {
                if read.add(part) && !reader.next_request() {
                    assert!(!reader.keeps_alive());
                    read.good_end = true;
                    return read;
                }
            }
            Err(error) => {
                assert_eq!(reader.next_part().err(), Some(error), "the error is permanent");
                assert!(!reader.keeps_alive() && !reader.next_request());
                read.error = Some(error);
                return read;
            }
            Ok(None) if rest.is_empty() => {
                read.good_end = reader.is_between_requests();
                return read;
            }
            Ok(None) => {
                let n = fill(reader.spare(), &mut rest, &mut sizes);
                reader.commit(n);
            }
        }
    }
}

/// Reads the responses to requests with these methods, and the rest of the connection.
pub fn responses<S: Storage>(
    mut reader: ResponseReader<S>,
    methods: &[&str],
    bytes: &[u8],
    sizes: &[usize],
) -> Read {
    let mut read = Read::default();
    let (mut rest, mut sizes, mut methods) = (bytes, sizes.iter().cycle(), methods.iter());
    let mut ended = false;
    if !methods.next().is_some_and(|method| reader.expect_response(method)) {
        return read;
    }
    loop {
        match reader.next_part() {
            Ok(Some(part)) => {
                let is_end = read.add(part);
                // Bytes that follow were sent without a request.
                if is_end && !methods.next().is_some_and(|method| reader.expect_response(method)) {
                    read.good_end = true;
                    return read;
                }
            }
            Err(error) => {
                assert_eq!(reader.next_part().err(), Some(error), "the error is permanent");
                read.error = Some(error);
                return read;
            }
            Ok(None) if rest.is_empty() && !ended => {
                ended = true;
                match reader.end_of_input() {
                    Ok(true) => {}
                    Ok(false) => return read,
                    Err(error) => {
                        read.error = Some(error);
                        return read;
                    }
                }
            }
            Ok(None) if rest.is_empty() => return read,
            Ok(None) => {
                let n = fill(reader.spare(), &mut rest, &mut sizes);
                reader.commit(n);
            }
        }
    }
}

/// Reads any bytes: nothing may panic, and chunking may change nothing. The first byte chooses the
/// sizes of the pieces.
pub fn survives(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let sizes = [usize::from(first & 7) + 1, usize::from(first >> 3) + 1];
    let all = [usize::MAX];
    let whole = requests(RequestReader::with_limit(Vec::new(), 4096).max_body(10_000), bytes, &all);
    record("requests", format_args!("{whole:?}"));
    for sizes in [&sizes[..], &[1]] {
        let pieces =
            requests(RequestReader::with_limit(Vec::new(), 4096).max_body(10_000), bytes, sizes);
        same(&whole, &pieces);
        let _ = requests(RequestReader::new([0; 64]), bytes, sizes);
        let collected =
            exchanges(RequestReader::new(vec![0; 16_384]).max_body(10_000), bytes, sizes);
        assert_eq!(whole.complete(), collected.complete());
        assert_eq!(whole.error, collected.error);
        let _ = exchanges(RequestReader::new(vec![0; 64]), bytes, sizes);
    }
    for methods in [&["POST", "GET", "GET"][..], &["HEAD", "POST"]] {
        let whole = responses(ResponseReader::with_limit(Vec::new(), 4096), methods, bytes, &all);
        record("responses", format_args!("{whole:?}"));
        for sizes in [&sizes[..], &[1]] {
            // A connection cannot be reused when bytes after the response have arrived already.
            let pieces =
                responses(ResponseReader::with_limit(Vec::new(), 4096), methods, bytes, sizes);
            let both = whole.messages.len().min(pieces.messages.len());
            assert_eq!(whole.messages[..both.min(1)], pieces.messages[..both.min(1)]);
            let _ = responses(ResponseReader::new([0; 64]), methods, bytes, sizes);
        }
    }
}

/// Collects the requests of a connection, and answers them: each response must be one.
fn exchanges(mut reader: RequestReader<Vec<u8>>, bytes: &[u8], sizes: &[usize]) -> Read {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("fuzz", "1"), ServerFeatures::TOOLS);
    static ACCESS: Access = Access::new().host_policy(HostPolicy::ANY_HOST);
    let mut read = Read::default();
    let mut exchange: Exchange<4, _> = Exchange::new([0; 256]);
    let (mut rest, mut sizes) = (bytes, sizes.iter().cycle());
    loop {
        match reader.collect() {
            Ok(Collected::Whole) => {
                let (head, body) = reader.whole().expect("it is whole");
                let (body_read, complete) = (body.to_vec(), true);
                read.messages.push(Message { body: body_read, complete, ..Message::from(&head) });
                let mut sent = Vec::new();
                if let Some(mut messages) = exchange.begin(&CONFIG, &ACCESS, &head, body) {
                    loop {
                        match exchange.next_event(&CONFIG, Instant::from_millis(0), &mut messages) {
                            Ok(None) => break,
                            Ok(Some(ServerEvent::Request(request))) => {
                                let (mut server, _) = exchange.parts(&CONFIG);
                                server.forget_request(request.handle);
                            }
                            Ok(Some(_)) => {}
                            Err(error) => {
                                assert_eq!(error, SendError::Full);
                                drain(&mut exchange, &mut sent);
                            }
                        }
                    }
                    exchange.parts(&CONFIG).0.close();
                    exchange.complete();
                }
                drain(&mut exchange, &mut sent);
                assert!(exchange.is_done() && sent.starts_with(b"HTTP/1.1 "), "{sent:?}");
                let response = responses(
                    ResponseReader::with_limit(Vec::new(), 4096),
                    &[head.method],
                    &sent,
                    &[7],
                );
                assert!(response.good_end && response.complete().len() == 1, "{response:?}");
                if !reader.next_request() {
                    read.good_end = true;
                    return read;
                }
            }
            Ok(Collected::Part | Collected::AwaitsContinue) if rest.is_empty() => return read,
            Ok(_) => {
                let n = fill(reader.spare(), &mut rest, &mut sizes);
                reader.commit(n);
            }
            Err(error) => {
                exchange.reject(&error.into(), reader.is_head());
                drain(&mut exchange, &mut Vec::new());
                assert!(exchange.is_done() && !exchange.keeps_alive());
                assert!(reader.whole().is_none());
                read.error = Some(error);
                return read;
            }
        }
    }
}

fn drain(exchange: &mut Exchange<4, [u8; 256]>, sent: &mut Vec<u8>) {
    let mut out = [0; MAX_HEAD];
    loop {
        match exchange.write(&mut out) {
            0 => return,
            len => sent.extend(&out[..len]),
        }
    }
}

/// Does the same for an event stream: a small buffer may find events too long, but loses none.
pub fn events_survive(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let sizes = [usize::from(first & 7) + 1, usize::from(first >> 3) + 1];
    let whole = events(EventReader::with_limit(Vec::new(), bytes.len() + 64), bytes, &[usize::MAX]);
    record("events", format_args!("{whole:?}"));
    for sizes in [&sizes[..], &[1]] {
        assert_eq!(
            events(EventReader::with_limit(Vec::new(), bytes.len() + 64), bytes, sizes),
            whole
        );
        let (small, ids) = events(EventReader::new([0; 40]), bytes, sizes);
        assert_eq!(small.len(), whole.0.len());
        assert!(small.iter().zip(&whole.0).all(|(small, whole)| small.is_none() || small == whole));
        assert!(ids.is_none() || ids == whole.1);
    }
}

/// Returns the events (`None`: too long) and the last id.
pub(crate) type Events = (Vec<Option<(EventKind, Vec<u8>)>>, Option<String>);

pub(crate) fn events<S: Storage>(
    mut reader: EventReader<S>,
    bytes: &[u8],
    sizes: &[usize],
) -> Events {
    let events = read_events(&mut reader, bytes, sizes, |event| match event.data {
        Frame::Complete(data) => Some((event.kind, data.to_vec())),
        Frame::Oversized { .. } => None,
    });
    (events, reader.last_event_id().map(str::to_owned))
}

/// Reads a stream in pieces of these sizes, repeated; returns what `look` makes of its events.
pub fn read_events<T>(
    reader: &mut EventReader<impl Storage>,
    mut bytes: &[u8],
    sizes: &[usize],
    mut look: impl FnMut(Event<'_>) -> T,
) -> Vec<T> {
    let (mut events, mut sizes) = (Vec::new(), sizes.iter().cycle());
    while !bytes.is_empty() {
        let n = fill(reader.spare(), &mut bytes, &mut sizes);
        reader.commit(n);
        while let Some(event) = reader.next_event() {
            events.push(look(event));
        }
    }
    events
}

/// Two readings may differ only in how much of an invalid message was lent.
fn same(whole: &Read, pieces: &Read) {
    assert_eq!(
        (whole.error.map(MessageError::status), whole.good_end),
        (pieces.error.map(MessageError::status), pieces.good_end)
    );
    assert_eq!(whole.complete(), pieces.complete());
    if whole.error.is_none() {
        assert_eq!(whole, pieces);
    }
}

/// Fills a part of a buffer with the next piece; returns its length.
pub fn fill<'s>(
    spare: &mut [u8],
    rest: &mut &[u8],
    sizes: &mut impl Iterator<Item = &'s usize>,
) -> usize {
    assert!(!spare.is_empty(), "the reader needs input, but has no room");
    let size = sizes.next().copied().unwrap_or(1);
    rest.take(size as u64).read(spare).expect("a slice is read")
}
