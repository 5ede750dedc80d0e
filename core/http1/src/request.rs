//! Incremental parser of requests.

use core::mem::MaybeUninit;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

#[cfg(feature = "alloc")]
use super::OwnedFields;
use super::head::{self, Framing, HeadFields, MAX_FIELDS, Window};
use super::{Body, Found, MessageError, Part, State};
use mcp_sansio::Storage;
use mcp_sansio::http::RequestHead;

/// Reads the requests of a connection, one at a time.
///
/// [`next_part`](Self::next_part) lends the head, pieces of the body, and [`Part::End`]; then
/// nothing until [`next_request`](Self::next_request), so that pipelined requests wait. The
/// transport may go on reading as far as there is room.
#[derive(Debug)]
#[must_use]
pub struct RequestReader<S: Storage + ?Sized> {
    state: State,
    keeps_alive: bool,
    max_body: u64,
    /// Bytes of the body so far.
    read: u64,
    /// Bytes of chunk framing so far.
    around: u64,
    /// Whether the method is HEAD.
    is_head: bool,
    /// Length of the head that is kept in front of its body.
    kept_head: usize,
    window: Window<S>,
}

/// How much of a request has been received: [`RequestReader::collect`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collected {
    /// More bytes are needed.
    Part,
    /// More bytes are needed, and the client waits for [`CONTINUE`](super::CONTINUE). Returned
    /// once.
    AwaitsContinue,
    /// All of it: see [`RequestReader::whole`].
    Whole,
}

/// The head of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IncomingRequest<'f> {
    /// `POST`, `GET`, ...
    pub method: &'f str,
    /// The request target: in most requests a path with an optional query.
    pub target: &'f str,
    /// Whether the version is HTTP/1.0: the response needs a known length or ends with the
    /// connection, since HTTP/1.0 has no chunks.
    pub is_http_1_0: bool,
    /// Whether the client waits for [`CONTINUE`](super::CONTINUE) before it sends the body.
    pub expects_continue: bool,
    /// The length of the body, if known; `None` for chunked bodies and without a body.
    pub content_length: Option<u64>,
    /// The header fields.
    pub fields: HeadFields<'f>,
}

impl<'f> IncomingRequest<'f> {
    /// Returns this head as a [`RequestHead`].
    pub fn as_head(&self) -> RequestHead<'_> {
        RequestHead::new(self.method, self.target, &self.fields)
    }
}

impl<S: Storage> RequestReader<S> {
    /// Creates a reader that uses all of `storage` and never grows.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a reader whose storage may grow up to `limit` bytes, the maximum length of a head.
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        let window = Window::new(storage, limit);
        Self {
            state: State::Head,
            keeps_alive: true,
            max_body: u64::MAX,
            read: 0,
            around: 0,
            is_head: false,
            kept_head: 0,
            window,
        }
    }

    /// Sets the maximum length of a body, in bytes; longer ones are rejected with 413. Default: no
    /// limit.
    ///
    /// The framing of a chunked body (chunk sizes, extensions, line ends and trailer fields) may
    /// take as many bytes again, plus [`MAX_CHUNK_OVERHEAD`](super::MAX_CHUNK_OVERHEAD).
    pub fn max_body(self, max_body: u64) -> Self {
        Self { max_body, ..self }
    }
}

#[cfg(feature = "alloc")]
impl RequestReader<Vec<u8>> {
    /// Exchanges the storage, and returns the one before. What was received and not consumed moves
    /// to the new one, which grows by itself if that is too short: so connections that wait keep
    /// only what is incomplete, and have the storage that they read into in common.
    pub fn replace_storage(&mut self, storage: Vec<u8>) -> Vec<u8> {
        self.window.replace_storage(storage)
    }
}

impl<S: Storage + ?Sized> RequestReader<S> {
    /// Returns the free space that the transport reads into. Empty while received bytes must be
    /// consumed first.
    pub fn spare(&mut self) -> &mut [u8] {
        self.window.spare()
    }

    /// Grows the storage, where it can, to at least this many bytes, so that a long body takes
    /// fewer reads.
    pub fn reserve(&mut self, bytes: usize) {
        self.window.reserve(bytes);
    }

    /// Appends the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.window.commit(n);
    }

    /// Returns the next part, lent until the next call; `None` if more bytes are needed, or, after
    /// [`Part::End`], if a response is to be sent.
    ///
    /// # Errors
    /// [`MessageError`] if the bytes are invalid or exceed a limit: respond with its status and
    /// close the connection. Later calls return the same error.
    pub fn next_part(&mut self) -> Result<Option<Part<'_, IncomingRequest<'_>>>, MessageError> {
        match self.advance() {
            Ok(None) => Ok(None),
            Ok(Some(Found::End)) => Ok(Some(Part::End)),
            Ok(Some(Found::Piece(piece))) => Ok(Some(Part::Body(self.window.bytes(piece)))),
            Ok(Some(Found::Head(taken))) => {
                self.is_head = is_head(self.window.bytes(taken));
                let error = match parse(self.window.bytes(taken)) {
                    Ok((head, ..))
                        if head.content_length.is_some_and(|length| length > self.max_body) =>
                    {
                        TOO_LARGE
                    }
                    Ok((head, body, keeps_alive)) => {
                        (self.state, self.keeps_alive) = (State::Body(body), keeps_alive);
                        return Ok(Some(Part::Head(head)));
                    }
                    Err(error) => error,
                };
                self.state = State::Failed(error);
                Err(error)
            }
            Err(error) => {
                if self.state == State::Head {
                    self.is_head = is_head(self.window.untaken());
                }
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    /// Receives a request as a whole, head and body in one piece at the front of the storage: in
    /// place of [`next_part`](Self::next_part), for a server without an allocator.
    ///
    /// # Errors
    /// As [`next_part`](Self::next_part), and 413 if the request does not fit into the storage.
    pub fn collect(&mut self) -> Result<Collected, MessageError> {
        let collected = self.collect_parts();
        if let Err(error) = collected {
            self.state = State::Failed(error);
        }
        collected
    }

    fn collect_parts(&mut self) -> Result<Collected, MessageError> {
        loop {
            match self.advance()? {
                None if self.state == State::Idle => return Ok(Collected::Whole),
                // The framing of chunks, or a part of a body whose length is not known.
                None if self.kept_head > 0 && self.window.is_full() => return Err(TOO_LARGE),
                None => return Ok(Collected::Part),
                Some(Found::End) => return Ok(Collected::Whole),
                Some(Found::Piece(piece)) => self.window.keep(piece),
                Some(Found::Head(taken)) => {
                    let bytes = self.window.bytes(taken);
                    (self.is_head, self.kept_head) = (is_head(bytes), bytes.len());
                    let (head, body, keeps_alive) = parse(bytes)?;
                    let (length, expects) = (head.content_length, head.expects_continue);
                    (self.state, self.keeps_alive) = (State::Body(body), keeps_alive);
                    self.window.keep(taken);
                    if length.is_some_and(|length| length > self.window.room() as u64) {
                        return Err(TOO_LARGE);
                    }
                    if expects && self.window.is_empty() {
                        return Ok(Collected::AwaitsContinue);
                    }
                }
            }
        }
    }

    /// Returns the request that was [collected](Collected::Whole) and its body, until
    /// [`next_request`](Self::next_request). `None` if there is none.
    pub fn whole(&self) -> Option<(IncomingRequest<'_>, &[u8])> {
        let is_whole = self.state == State::Idle && self.kept_head > 0;
        let bytes = Some(self.window.kept_bytes()).filter(|_| is_whole)?;
        let (head, body) = bytes.split_at_checked(self.kept_head)?;
        Some((parse(head).ok()?.0, body))
    }

    /// Takes the next head if it is the one before again, of which `last` is a copy. The number in
    /// `Content-Length` may be another of as many digits, which is set in `last`. Returns the
    /// length of the body, which is not 0. `None` if it is another head, or one that has not
    /// arrived at once: call [`next_part`](Self::next_part).
    ///
    /// This compares instead of parsing, for clients that send many requests to one endpoint.
    #[cfg(feature = "alloc")]
    pub fn next_same_head(&mut self, last: &mut OwnedFields) -> Option<u64> {
        let bytes = self.window.unsearched().filter(|_| self.state == State::Head)?;
        let length = last.repeated(bytes).filter(|length| (1..=self.max_body).contains(length))?;
        self.is_head = is_head(bytes);
        self.window.take_head(last.head_len());
        self.state = State::Body(Body::Length(length));
        Some(length)
    }

    /// Whether all of the body has been received, as [`Part::Body`] then has it. Not of chunked
    /// ones.
    pub fn has_whole_body(&self) -> bool {
        matches!(self.state, State::Body(Body::Length(left)) if left <= self.window.len() as u64)
    }

    /// Whether the method of the current or rejected request is HEAD, so that the response has no
    /// body.
    pub fn is_head(&self) -> bool {
        self.is_head
    }

    /// Continues with the next request, after [`Part::End`]. Returns `false` before that, and if
    /// the connection is [not kept alive](Self::keeps_alive).
    pub fn next_request(&mut self) -> bool {
        let goes_on = self.state == State::Idle && self.keeps_alive;
        if goes_on {
            (self.state, self.read, self.around, self.kept_head) = (State::Head, 0, 0, 0);
            self.window.release();
        }
        goes_on
    }

    /// Whether the client keeps the connection open for another request.
    pub fn keeps_alive(&self) -> bool {
        self.keeps_alive && !matches!(self.state, State::Failed(_))
    }

    /// Whether everything that was received is consumed.
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Forgets everything, for another connection.
    pub fn clear(&mut self) {
        (self.state, self.keeps_alive) = (State::Idle, true);
        self.window.clear();
        self.next_request();
    }

    /// Whether the input may end here, between two requests. Otherwise a request is incomplete.
    pub fn is_between_requests(&self) -> bool {
        matches!(self.state, State::Head | State::Idle) && self.window.is_empty()
    }

    fn advance(&mut self) -> Result<Option<Found>, MessageError> {
        let (before, is_body) = (self.window.len(), matches!(self.state, State::Body(_)));
        let found = self.state.step(&mut self.window, [HEAD_TOO_LONG, TARGET_TOO_LONG])?;
        if is_body {
            let piece = match found {
                Some(Found::Piece(piece)) => self.window.bytes(piece).len(),
                _ => 0,
            };
            self.read += piece as u64;
            self.around += (before - self.window.len() - piece) as u64;
            if self.read > self.max_body
                || self.around > self.max_body.saturating_add(MAX_CHUNK_OVERHEAD)
            {
                return Err(TOO_LARGE);
            }
        }
        Ok(found)
    }
}

fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEAD ")
}

fn parse(bytes: &[u8]) -> Result<(IncomingRequest<'_>, Body, bool), MessageError> {
    let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
        Ok(_) => return Err(head::parse_error(httparse::Error::Token)),
        Err(error) => return Err(head::parse_error(error)),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(head::parse_error(httparse::Error::Token));
    };
    let framing = Framing::of(request.headers)?;
    match framing.hosts {
        0 if version > 0 => return Err(MessageError::bad("missing Host")),
        0 | 1 => {}
        _ => return Err(MessageError::bad("more than one Host")),
    }
    let body = framing.body(version)?;
    let head = IncomingRequest {
        method,
        target,
        is_http_1_0: version == 0,
        expects_continue: framing.expects_continue
            && version > 0
            && body.is_some_and(|body| body != Body::Length(0)),
        content_length: if let Some(Body::Length(length)) = body { Some(length) } else { None },
        fields: HeadFields::after_first_line(bytes),
    };
    Ok((head, body.unwrap_or(Body::Length(0)), framing.keeps_alive(version)))
}

/// Maximum length of the framing of a chunked body beyond [`max_body`](RequestReader::max_body), in
/// bytes.
pub const MAX_CHUNK_OVERHEAD: u64 = 16 << 10;

const HEAD_TOO_LONG: MessageError = MessageError::new(431, "the request head exceeds the limit");
const TARGET_TOO_LONG: MessageError =
    MessageError::new(414, "the request target exceeds the limit");
const TOO_LARGE: MessageError = MessageError::new(413, "the request body exceeds the limit");
