//! One connection: its requests and responses, one after the other.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use futures_lite::future::yield_now;
use futures_lite::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _};
use mcp_sansio::SendError;
use mcp_sansio_http1::{
    BodyLength, HeadWriter, IncomingResponse, MessageError, Part, ResponseReader,
};

use crate::gone::is_gone;
use crate::runtime::{self, BoxedStream};

pub(crate) struct Wire {
    stream: BoxedStream,
    reader: ResponseReader<Vec<u8>>,
    idle_since: Instant,
    was_used: bool,
    /// Whether the response has been read completely.
    is_over: bool,
    /// Steps since the last yield.
    steps: u8,
}

impl Wire {
    pub(crate) fn new(stream: BoxedStream) -> Self {
        Self {
            stream,
            reader: ResponseReader::with_limit(vec![0; READ], MAX_HEAD),
            idle_since: runtime::now(),
            was_used: false,
            is_over: false,
            steps: 0,
        }
    }

    /// Sends a request. On a new connection a write error is ignored, because the server may have
    /// responded before it has read everything; on a reused one it is an error, because the server
    /// may have closed it meanwhile.
    pub(crate) async fn send(&mut self, method: &str, request: &[u8]) -> io::Result<()> {
        if !self.reader.expect_response(method) {
            return Err(ErrorKind::NotConnected.into());
        }
        self.is_over = false;
        let was_used = std::mem::replace(&mut self.was_used, true);
        match self.stream.write_all(request).await {
            Ok(()) => self.stream.flush().await,
            Err(error) if !was_used && is_gone(&error) => Ok(()),
            failed => failed,
        }
    }

    /// Reads the head of the response and passes it to `look`.
    pub(crate) async fn head<R>(
        &mut self,
        look: impl FnOnce(IncomingResponse<'_>) -> R,
    ) -> io::Result<R> {
        loop {
            match self.reader.next_part().map_err(invalid)? {
                Some(Part::Head(head)) => return Ok(look(head)),
                Some(_) => return Err(ErrorKind::InvalidData.into()),
                None => {}
            }
            self.give_way().await;
            if self.read().await? == 0 {
                self.reader.end_of_input().map_err(cut)?;
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Passes the next piece of the body to `take`. Returns `false` at its end.
    pub(crate) async fn piece(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> io::Result<bool> {
        while !self.is_over {
            self.give_way().await;
            match self.reader.next_part().map_err(invalid)? {
                Some(Part::Body(piece)) => {
                    take(piece);
                    return Ok(true);
                }
                Some(Part::End) => {
                    self.is_over = true;
                    break;
                }
                Some(Part::Head(_)) => return Err(ErrorKind::InvalidData.into()),
                None => {}
            }
            if self.read().await? == 0 {
                self.reader.end_of_input().map_err(cut)?;
            }
        }
        Ok(false)
    }

    /// Reads the whole body. A body longer than `limit` is cut off there, and the result is `true`.
    pub(crate) async fn body(&mut self, limit: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut body = Vec::new();
        while self.piece(&mut |piece| body.extend_from_slice(piece)).await? {
            if body.len() > limit {
                body.truncate(limit);
                return Ok((body, true));
            }
        }
        Ok((body, false))
    }

    /// Yields after some steps: a server that never pauses must not starve others or delay
    /// timeouts.
    async fn give_way(&mut self) {
        self.steps += 1;
        if self.steps >= STEPS {
            self.steps = 0;
            yield_now().await;
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        loop {
            let read = match self.stream.read(self.reader.spare()).await {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_gone(&error) => 0,
                read => read?,
            };
            self.reader.commit(read);
            return Ok(read);
        }
    }

    /// Returns whether another request can be sent on the connection, which is idle from now on.
    pub(crate) fn rest(&mut self) -> bool {
        self.idle_since = runtime::now();
        self.reader.is_reusable()
    }

    /// Returns whether the connection can still be used: it was idle only for a short time, and the
    /// server has not closed it.
    pub(crate) fn is_fresh(&mut self) -> bool {
        if runtime::elapsed(self.idle_since) > MAX_REST {
            return false;
        }
        let mut byte = [0];
        Pin::new(&mut self.stream)
            .poll_read(&mut Context::from_waker(Waker::noop()), &mut byte)
            .is_pending()
    }
}

/// Returns the bytes of a request with these fields; `None` if one has an invalid character.
pub(crate) fn request<'f>(
    method: &str,
    target: &str,
    authority: &str,
    fields: impl Iterator<Item = &'f (String, String)> + Clone,
    body: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let length = body.map_or(BodyLength::Absent, |body| BodyLength::Known(body.len() as u64));
    let mut bytes = vec![0; HEAD];
    loop {
        let mut writer = HeadWriter::request(&mut bytes, method, target).field("host", authority);
        for (name, value) in fields.clone() {
            writer = writer.field(name, value);
        }
        match writer.finish(length) {
            Ok(len) => {
                bytes.truncate(len);
                bytes.extend_from_slice(body.unwrap_or_default());
                return Some(bytes);
            }
            Err(SendError::TooLarge) => bytes.resize(bytes.len() * 2, 0),
            Err(_) => return None,
        }
    }
}

fn invalid(error: MessageError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("invalid HTTP/1.1 response: {error}"))
}

fn cut(error: MessageError) -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, error)
}

/// Initial size of the head of a request.
const HEAD: usize = 1024;
/// Maximum length of the head of a response, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Maximum idle time of a connection. Servers close them after five seconds and more.
const MAX_REST: Duration = Duration::from_secs(4);
/// Reads and pieces of a body in a row before the task yields.
const STEPS: u8 = 16;
/// Maximum number of bytes of a read.
const READ: usize = 16 << 10;
pub(crate) const INVALID_FIELD: &str = "invalid character in a header field of the request";
