//! A kept-alive connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use memchr::memmem;

use super::response::{self, Response};

pub struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    filled: usize,
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
            received: vec![0; 1 << 17],
            filled: 0,
            answer: Response::default(),
            asked: (0, Instant::now()),
        })
    }

    /// Sends a request; what the socket does not take goes out in `receive`.
    pub fn send(&mut self, head: &str, body: &[u8], id: u64) -> io::Result<()> {
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
        let received = self.received[..self.filled].to_ascii_lowercase();
        memmem::find(&received, b"content-type: text/event-stream").is_some()
            && memmem::find(&received, b"\r\n\r\n").is_some()
    }

    pub fn has_more_to_send(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Sends and receives bytes; returns the response when it is complete.
    pub fn receive(&mut self) -> io::Result<Option<&Response>> {
        if self.has_more_to_send() {
            self.flush()?;
        }
        if self.filled == self.received.len() {
            self.received.resize(self.filled * 2, 0);
        }
        match self.stream.read(&mut self.received[self.filled..]) {
            Ok(0) => return Err(io::Error::other("the server closed the connection")),
            Ok(n) => self.filled += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        }
        if !response::read(&self.received[..self.filled], &mut self.answer)? {
            return Ok(None);
        }
        // No other request is in flight, so nothing else may have arrived.
        self.filled = 0;
        Ok(Some(&self.answer))
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

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
