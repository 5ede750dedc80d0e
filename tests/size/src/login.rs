//! A client that logs in. Lines on the serial port stand in for its HTTP: it writes what it sends,
//! and reads the status with the body of the answer, or the query of a redirect.

use core::fmt::Write as _;

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{Attempts, AuthorizationState, Lost, Reaction, Setup, Step, UnixTime};

use crate::uart::Uart;

/// Memory of the flow, in bytes.
pub const ARENA: usize = 4096;
/// Longest line that is read, in bytes.
pub const LINE: usize = 2048;

/// The port as a formatter.
struct Out<'p>(&'p mut Uart);

impl core::fmt::Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Logs in, and sends requests with the token, for ever.
pub fn run(setup: &Setup<'_>, arena: &mut [u8], line: &mut [u8; LINE]) -> ! {
    let mut port = Uart::open();
    let mut state = AuthorizationState::new(arena);
    let mut attempts = Attempts::new();
    // A board has a generator of random numbers. A proof needs the time of the day.
    let mut seed = 1_u32;
    let mut random = |out: &mut [u8]| {
        for byte in out {
            seed = seed.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            *byte = (seed >> 24) as u8;
        }
    };
    let now = Some(UnixTime::from_secs(1_800_000_000));
    loop {
        let mut machine = state.open(setup);
        let mut out = Out(&mut port);
        match machine.step(now, &mut random) {
            Step::Ready => {
                let url = setup.endpoint;
                let _ = write!(out, "POST {url}");
                let _ = machine.fields(now, &mut random, "POST", url, &mut |name, value| {
                    let _ = write!(out, "|{name}: {value}");
                });
                let generation = machine.generation();
                let (status, challenge) = answer(&mut port, line);
                let fields = [("www-authenticate", challenge)];
                let head = ResponseHead::new(status, &fields);
                match machine.challenged(&head, generation, &mut attempts) {
                    Reaction::SendAgain | Reaction::Authorize => {}
                    Reaction::Report => attempts = Attempts::new(),
                }
            }
            Step::Send(request) => {
                let _ = write!(out, "{} {}", request.method(), request.url());
                request.fields(&mut |name, value| {
                    let _ = write!(out, "|{name}: {value}");
                });
                let _ = write!(out, "|");
                out.0.write(request.body());
                let (status, body) = answer(&mut port, line);
                if status == 0 {
                    machine.failed(Lost::Network);
                } else {
                    let fields = [("content-type", "application/json")];
                    machine.response(now, &ResponseHead::new(status, &fields), body.as_bytes());
                }
            }
            Step::Redirect { .. } => machine.redirect_uri("https://panel.example/callback"),
            Step::Show(url) => {
                let _ = write!(out, "show {url}");
                let (_, query) = answer(&mut port, line);
                machine.redirected(query);
            }
            Step::Lock => machine.locked(None),
            Step::Keep | Step::Forget => {}
            Step::Failed(failure) => {
                let _ = writeln!(out, "failed: {failure}");
            }
            _ => machine.cancel(),
        }
    }
}

/// Ends the line that was written, and reads the next: a status, and what is behind it. A line that
/// is too long, or no text, is a lost connection.
fn answer<'l>(port: &mut Uart, line: &'l mut [u8; LINE]) -> (u16, &'l str) {
    port.write(b"\n");
    let mut len = 0;
    let mut byte = [0];
    loop {
        port.read(&mut byte);
        if byte == *b"\n" {
            break;
        }
        if let Some(place) = line.get_mut(len) {
            *place = byte[0];
        }
        len += 1;
    }
    let text = line.get(..len).and_then(|line| core::str::from_utf8(line).ok());
    let (status, rest) = text.and_then(|text| text.split_once(' ')).unwrap_or_default();
    (status.parse().unwrap_or_default(), rest)
}
