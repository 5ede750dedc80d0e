//! A kept-alive connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Instant;

use mcp_sansio::http::Fields as _;
use mcp_sansio_http1::{Part, ResponseReader};
use rustix::event::{PollFd, PollFlags};

/// A response, as far as it has come.
#[derive(Clone, Default)]
pub struct Response {
    pub status: u16,
    pub session: Option<String>,
    is_stream: bool,
    /// For an event stream, the whole stream.
    pub body: Vec<u8>,
}

pub struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    sent: usize,
    reader: ResponseReader<Vec<u8>>,
    answer: Response,
    /// The id of the request in flight, and the time at which it was sent.
    pub asked: (u64, Instant),
}

impl Connection {
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            out: Vec::new(),
            sent: 0,
            reader: ResponseReader::new(vec![0; 1 << 17]),
            answer: Response::default(),
            asked: (0, Instant::now()),
        })
    }

    /// Sends a request; what the socket does not take goes out in `receive`.
    pub fn send(&mut self, head: &str, body: &[u8], id: u64) -> io::Result<()> {
        if !self.reader.expect_response("POST") {
            return Err(io::Error::other("the server does not keep the connection"));
        }
        self.answer.is_stream = false;
        self.out.clear();
        self.sent = 0;
        self.out.extend_from_slice(head.as_bytes());
        if !body.is_empty() {
            write!(self.out, "Content-Length: {}\r\n", body.len())?;
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        self.asked = (id, Instant::now());
        self.flush()
    }

    /// Whether the head of an event stream has arrived.
    pub fn is_streaming(&self) -> bool {
        self.answer.is_stream
    }

    fn has_more_to_send(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Ready when it is readable, or writable if it has more to send.
    pub fn poll_fd(&self) -> PollFd<'_> {
        let out = if self.has_more_to_send() { PollFlags::OUT } else { PollFlags::empty() };
        PollFd::new(&self.stream, PollFlags::IN | out)
    }

    /// Sends and receives bytes; returns the response when it is complete.
    pub fn receive(&mut self) -> io::Result<Option<&Response>> {
        if self.has_more_to_send() {
            self.flush()?;
        }
        match self.stream.read(self.reader.spare()) {
            Ok(0) => return Err(io::Error::other("the server closed the connection")),
            Ok(n) => self.reader.commit(n),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        }
        let answer = &mut self.answer;
        while let Some(part) = self.reader.next_part().map_err(io::Error::other)? {
            match part {
                Part::Head(head) => {
                    let field = |name| str::from_utf8(head.fields.nth(name, 0)?).ok();
                    answer.status = head.status;
                    answer.session = field("mcp-session-id").map(str::to_owned);
                    answer.is_stream = field("content-type")
                        .is_some_and(|kind| kind.starts_with("text/event-stream"));
                    answer.body.clear();
                }
                Part::Body(piece) => answer.body.extend_from_slice(piece),
                Part::End => return Ok(Some(answer)),
            }
        }
        Ok(None)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.stream.write(&self.out[self.sent..]) {
            Ok(n) => self.sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}
