//! Baseline of HTTP without MCP: the cost of the sockets with a minimal server. Prints its port.
//!
//! It reads with one `epoll` for all connections, finds the end of each request, and sends a
//! constant with the id and the text in it. All memory is allocated at the start. Nothing is
//! validated, so no server can be much cheaper than this one.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use floor::{Copier, after};
use memchr::memmem::Finder;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

const CONNECTIONS: usize = 1024;
/// Room for one request of any size the driver sends.
const BUFFER: usize = 128 << 10;

/// Place for a connection.
struct Place {
    stream: Option<TcpStream>,
    received: Vec<u8>,
    filled: usize,
    /// Length of the request, once its head is complete.
    length: Option<usize>,
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut server = Server::new();
    let new = || Place { stream: None, received: vec![0; BUFFER], filled: 0, length: None };
    let mut places: Vec<Place> = (0..CONNECTIONS).map(|_| new()).collect();
    let mut events = Vec::with_capacity(CONNECTIONS);

    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, EventData::new_u64(CONNECTIONS as u64), EventFlags::IN)?;
    println!("{}", listener.local_addr()?.port());
    loop {
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            if let Some(place) = places.get_mut(event.data.u64() as usize) {
                server.serve(place)?;
                continue;
            }
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            let free = places.iter().position(|place| place.stream.is_none());
            let free = free.ok_or_else(|| io::Error::other("too many connections"))?;
            epoll::add(&epoll, &stream, EventData::new_u64(free as u64), EventFlags::IN)?;
            places[free].stream = Some(stream);
        }
    }
}

struct Server {
    copier: Copier,
    end: Finder<'static>,
    length: Finder<'static>,
    body: Vec<u8>,
    response: Vec<u8>,
}

impl Server {
    fn new() -> Self {
        Self {
            copier: Copier::default(),
            end: Finder::new("\r\n\r\n"),
            length: Finder::new("Content-Length: "),
            body: Vec::with_capacity(BUFFER),
            response: Vec::with_capacity(BUFFER),
        }
    }

    /// Reads what has arrived, and responds if it completes a request. A client sends the next
    /// request after the response.
    fn serve(&mut self, place: &mut Place) -> io::Result<()> {
        let Some(stream) = &mut place.stream else { return Ok(()) };
        match stream.read(&mut place.received[place.filled..]) {
            Ok(n) if n > 0 => place.filled += n,
            _ => {
                (place.stream, place.filled, place.length) = (None, 0, None);
                return Ok(());
            }
        }
        let received = &place.received[..place.filled];
        if place.length.is_none() {
            place.length = self.end.find(received).map(|head| head + 4 + self.length_of(received));
        }
        let Some(length) = place.length.filter(|length| place.filled >= *length) else {
            return Ok(());
        };
        self.respond(&received[..length])?;
        (place.filled, place.length) = (0, None);
        // The socket blocks: the driver reads whatever arrives, so it will take the rest.
        stream.write_all(&self.response)
    }

    fn length_of(&self, head: &[u8]) -> usize {
        let digits = after(&self.length, head).unwrap_or_default();
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
    }

    fn respond(&mut self, request: &[u8]) -> io::Result<()> {
        self.body.clear();
        self.copier.answer(request, &mut self.body);
        let status = if self.body.is_empty() { "202 Accepted" } else { "200 OK" };
        self.response.clear();
        write!(
            self.response,
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.body.len()
        )?;
        self.response.extend_from_slice(&self.body);
        Ok(())
    }
}
