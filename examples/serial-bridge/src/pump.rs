//! The lines of both sides, a thread each, and the relay between them.
//!
//! One thread reads the client, one opens and reads the device, one writes to it, so that a device
//! that sends a long response without reading blocks neither side. One lock orders all decisions.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::{CheckedByte, LineChecker, LineChecksum, RxBuffer};
use mcp_sansio_relay::{Relay, ServerKind};

use super::device::{Device, Link, TICK};
use super::journal::Journal;
use super::options::Options;

struct Pump {
    state: Mutex<State>,
    /// Signals output that was queued or written.
    changed: Condvar,
    /// Whether the lines of the device have checksums.
    has_checksums: bool,
}

struct State {
    relay: Relay,
    journal: Journal,
    link: Option<Arc<Link>>,
    /// Whether bytes are being written to the device.
    writing: bool,
    /// The error after which the device accepts no bytes.
    write_error: Option<io::Error>,
    /// The client accepts no more output.
    client_is_gone: bool,
}

/// Runs until the client ends the input.
pub(crate) fn run(options: Options, journal: Journal) -> io::Result<()> {
    let Options { device, has_checksums, timing, linger, .. } = options;
    let relay = Relay::new(ServerKind::Device, device.to_string(), timing, Instant::now());
    let state = State {
        relay,
        journal,
        link: None,
        writing: false,
        write_error: None,
        client_is_gone: false,
    };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    let pump = Arc::new(Pump { state, changed, has_checksums });
    let (reader, writer) = (pump.clone(), pump.clone());
    thread::spawn(move || reader.attend(&device));
    thread::spawn(move || writer.write());
    pump.read_client()?;

    let mut state = pump.lock();
    let end = Instant::now() + linger;
    while !state.relay.is_idle() && !state.client_is_gone && Instant::now() < end {
        state = pump.wait(state, end);
    }
    state.relay.close();
    state.flush();
    pump.changed.notify_all();
    let end = Instant::now() + LAST_WORDS;
    while (state.writing || !state.relay.out.to_server.is_empty())
        && state.link.is_some()
        && Instant::now() < end
    {
        state = pump.wait(state, end);
    }
    Ok(())
}

impl Pump {
    fn read_client(&self) -> io::Result<()> {
        let mut input = io::stdin().lock();
        let mut rx = RxBuffer::with_limit(Vec::new(), MAX_LINE);
        loop {
            let read = match input.read(rx.spare()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            rx.commit(read);
            if read == 0 {
                rx.end_of_input();
            }
            let mut state = self.lock();
            // The client may wait for a slow device, but never the reverse.
            while state.link.is_some() && state.relay.out.to_server.len() > MAX_QUEUED {
                state = self.wait(state, Instant::now() + TICK);
            }
            while let Some(frame) = rx.next_frame() {
                state.relay.client_line(Instant::now(), frame);
            }
            state.flush();
            self.changed.notify_all();
            if read == 0 || state.client_is_gone {
                return Ok(());
            }
        }
    }

    /// Opens the device, and reopens it after each loss.
    fn attend(&self, device: &Device) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            match device.open() {
                Ok(link) => {
                    let opened = Instant::now();
                    let link = Arc::new(link);
                    self.with(|state| {
                        state.write_error = None;
                        state.link = Some(link.clone());
                        state.relay.link_up(Instant::now());
                    });
                    let why = self.read_device(&link);
                    link.shut_down();
                    self.with(|state| {
                        state.link = None;
                        state.relay.link_down(Instant::now(), &why);
                    });
                    if opened.elapsed() >= LONGEST_PAUSE {
                        pause = SHORTEST_PAUSE;
                    }
                }
                Err(trouble) => self
                    .with(|state| state.relay.link_refused(Instant::now(), &trouble.to_string())),
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Reads until the line is lost, and returns the reason.
    fn read_device(&self, link: &Link) -> String {
        let mut rx = RxBuffer::with_limit(Vec::new(), MAX_LINE);
        let mut checker = self.has_checksums.then(LineChecker::new);
        let mut bytes = [0; 4096];
        loop {
            let read = match &checker {
                None => link.read(rx.spare()),
                Some(_) => link.read(&mut bytes),
            };
            let read = match read {
                Ok(Some(0)) => return "the line was closed".to_owned(),
                Ok(read) => read.unwrap_or(0),
                Err(error) => return error.to_string(),
            };
            match &mut checker {
                None => rx.commit(read),
                Some(checker) => bytes.iter().take(read).for_each(|byte| {
                    let byte = match checker.take(*byte) {
                        None => return,
                        Some(CheckedByte::Byte(byte)) => byte,
                        Some(CheckedByte::Gap) => {
                            rx.lost();
                            b'\n'
                        }
                    };
                    if rx.spare().is_empty() {
                        self.take_lines(&mut rx);
                    }
                    if let Some(place) = rx.spare().first_mut() {
                        *place = byte;
                        rx.commit(1);
                    }
                }),
            }
            if let Some(error) = self.take_lines(&mut rx) {
                return error.to_string();
            }
        }
    }

    /// Handles the lines of the device. Returns the error after which it accepts no bytes.
    fn take_lines(&self, rx: &mut RxBuffer<Vec<u8>>) -> Option<io::Error> {
        self.with(|state| {
            let now = Instant::now();
            while let Some(frame) = rx.next_frame() {
                state.relay.server_line(now, frame);
            }
            state.relay.tick(now);
            state.write_error.take()
        })
    }

    fn write(&self) {
        let mut state = self.lock();
        loop {
            let Some(link) = state.link.clone().filter(|_| !state.relay.out.to_server.is_empty())
            else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let mut bytes = std::mem::take(&mut state.relay.out.to_server);
            if self.has_checksums {
                bytes = with_checksums(&bytes);
            }
            state.writing = true;
            drop(state);
            let written = link.write_all(&bytes, || {
                !self.lock().link.as_ref().is_some_and(|now| Arc::ptr_eq(now, &link))
            });
            state = self.lock();
            state.writing = false;
            if let Err(error) = written
                && state.link.as_ref().is_some_and(|now| Arc::ptr_eq(now, &link))
            {
                state.write_error = Some(error);
                state.relay.out.to_server.clear();
            }
            self.changed.notify_all();
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let done = act(&mut state);
        state.flush();
        self.changed.notify_all();
        done
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, until: Instant) -> MutexGuard<'s, State> {
        let left = until.saturating_duration_since(Instant::now());
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl State {
    fn flush(&mut self) {
        let out = &mut self.relay.out;
        if !out.to_client.is_empty() {
            let mut stdout = io::stdout().lock();
            self.client_is_gone |=
                stdout.write_all(&out.to_client).and_then(|()| stdout.flush()).is_err();
            out.to_client.clear();
        }
        for entry in out.entries.drain(..) {
            self.journal.write(&entry);
        }
    }
}

/// Ends each of these lines with its checksum.
fn with_checksums(lines: &[u8]) -> Vec<u8> {
    let mut checksum = LineChecksum::new();
    let mut checked = Vec::with_capacity(lines.len() + 64);
    for byte in lines {
        if *byte == b'\n' {
            checked.extend(checksum.end());
        } else {
            checksum.add(*byte);
            checked.push(*byte);
        }
    }
    checked
}

/// Maximum length of a line in either direction, in bytes.
const MAX_LINE: usize = 16 << 20;
/// Maximum number of bytes queued for the device; beyond it the client is not read.
const MAX_QUEUED: usize = 256 << 10;
/// A device that reappears may need a moment until its port can be opened.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Time for the device to accept the last bytes after the client has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
