//! Incremental parser of responses.

use super::head::{self, Framing, HeadFields, MAX_FIELDS, Window};
use super::{Body, Found, MessageError, Part, State};
use mcp_sansio::Storage;
use mcp_sansio::http::ResponseHead;

/// Reads the responses of a connection, each announced with
/// [`expect_response`](Self::expect_response).
#[derive(Debug)]
pub struct ResponseReader<S: Storage + ?Sized> {
    state: State,
    to_head_request: bool,
    keeps_alive: bool,
    /// Whether any byte of the response has been received.
    has_begun: bool,
    interim: u8,
    window: Window<S>,
}

/// The head of a final response; interim responses (1xx) are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IncomingResponse<'f> {
    /// 200 to 999.
    pub status: u16,
    /// The length of the body, if known.
    pub content_length: Option<u64>,
    /// The header fields.
    pub fields: HeadFields<'f>,
}

impl IncomingResponse<'_> {
    /// Returns this head as a [`ResponseHead`].
    pub fn as_head(&self) -> ResponseHead<'_> {
        ResponseHead::new(self.status, &self.fields)
    }
}

impl<S: Storage> ResponseReader<S> {
    /// Creates a reader that uses all of `storage` and never grows.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a reader whose storage may grow up to `limit` bytes, the maximum length of a head.
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        let window = Window::new(storage, limit);
        Self {
            state: State::Idle,
            to_head_request: false,
            keeps_alive: true,
            has_begun: false,
            interim: 0,
            window,
        }
    }
}

impl<S: Storage + ?Sized> ResponseReader<S> {
    /// Announces the response to a request of this method. Returns `false` while another response
    /// is being read, and if the connection is not [reusable](Self::is_reusable).
    pub fn expect_response(&mut self, method: &str) -> bool {
        if !self.is_reusable() {
            return false;
        }
        (self.state, self.to_head_request, self.has_begun, self.interim) =
            (State::Head, method == "HEAD", false, 0);
        true
    }

    /// Returns the free space that the transport reads into. Empty while received bytes must be
    /// consumed first.
    pub fn spare(&mut self) -> &mut [u8] {
        self.window.spare()
    }

    /// Appends the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.has_begun |= n > 0;
        self.window.commit(n);
    }

    /// Returns the next part, lent until the next call; `None` if more bytes are needed, or, after
    /// [`Part::End`], until the next request is sent.
    ///
    /// # Errors
    /// [`MessageError`] if the bytes are invalid: close the connection. Later calls return the same
    /// error.
    pub fn next_part(&mut self) -> Result<Option<Part<'_, IncomingResponse<'_>>>, MessageError> {
        match self.advance() {
            Ok(None) => Ok(None),
            Ok(Some(Found::End)) => Ok(Some(Part::End)),
            Ok(Some(Found::Piece(piece))) => Ok(Some(Part::Body(self.window.bytes(piece)))),
            Ok(Some(Found::Head(taken))) => {
                let parsed = parse(self.window.bytes(taken));
                parsed.map(|(head, ..)| Some(Part::Head(head)))
            }
            Err(error) => {
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    /// Handles the end of the connection. Returns `true` if it ends the response: [`Part::End`] is
    /// next.
    ///
    /// # Errors
    /// [`MessageError`] if the response is incomplete or missing.
    pub fn end_of_input(&mut self) -> Result<bool, MessageError> {
        self.keeps_alive = false;
        match self.state {
            State::Body(Body::UntilClose) => self.state = State::Body(Body::Rest),
            State::Idle | State::Body(Body::Rest) => {}
            State::Failed(error) => return Err(error),
            State::Head | State::Body(_) => {
                self.state = State::Failed(MessageError::TRUNCATED);
                return Err(MessageError::TRUNCATED);
            }
        }
        Ok(self.state == State::Body(Body::Rest))
    }

    /// Whether any byte of the expected response has been received. If not, and a reused connection
    /// ends, the server has not processed the request.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether another request may be sent on this connection.
    pub fn is_reusable(&self) -> bool {
        self.keeps_alive && self.state == State::Idle && self.window.is_empty()
    }

    /// Takes the next part. Interim responses are left out.
    fn advance(&mut self) -> Result<Option<Found>, MessageError> {
        loop {
            let found = self.state.step(&mut self.window, [TOO_LONG; 2])?;
            let Some(Found::Head(taken)) = found else { return Ok(found) };
            let (head, body, keeps_alive) = parse(self.window.bytes(taken))?;
            match head.status {
                101 => {
                    let reason = "unexpected status 101 (Switching Protocols)";
                    return Err(MessageError::bad(reason));
                }
                100..=199 if self.interim >= MAX_INTERIM => {
                    return Err(MessageError::bad("too many interim responses"));
                }
                100..=199 => self.interim += 1,
                status => {
                    let has_none = self.to_head_request || matches!(status, 204 | 304);
                    let body = if has_none { Body::Length(0) } else { body };
                    self.keeps_alive &= keeps_alive && body != Body::UntilClose;
                    self.state = State::Body(body);
                    return Ok(found);
                }
            }
        }
    }
}

fn parse(bytes: &[u8]) -> Result<(IncomingResponse<'_>, Body, bool), MessageError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(len)) if len == bytes.len() => {}
        Ok(_) => return Err(head::parse_error(httparse::Error::Token)),
        Err(error) => return Err(head::parse_error(error)),
    }
    let (Some(status @ 100..), Some(version)) = (response.code, response.version) else {
        return Err(head::parse_error(httparse::Error::Status));
    };
    let framing = Framing::of(response.headers)?;
    let body = framing.body(version)?;
    let head = IncomingResponse {
        status,
        content_length: if let Some(Body::Length(length)) = body { Some(length) } else { None },
        fields: HeadFields::after_first_line(bytes),
    };
    Ok((head, body.unwrap_or(Body::UntilClose), framing.keeps_alive(version)))
}

/// Maximum number of interim responses (1xx) before a response.
pub const MAX_INTERIM: u8 = 16;

const TOO_LONG: MessageError = MessageError::bad("the response head exceeds the limit");
