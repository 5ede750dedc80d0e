//! The lines of both sides, a thread each, and what passes between them.
//!
//! One thread reads the client, one opens and reads the device, one writes to it, so that a device
//! that writes a long answer and does not read meanwhile holds up nobody. Everything that is
//! decided is decided under one lock, in the order in which it came.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::RxBuffer;

use super::device::{Device, Link, TICK};
use super::journal::Journal;
use super::options::Options;
use super::relay::Relay;

struct Pump {
    state: Mutex<State>,
    /// Something is to be written, or has been.
    changed: Condvar,
}

struct State {
    relay: Relay,
    journal: Journal,
    link: Option<Arc<Link>>,
    /// What is on its way to the device.
    writing: bool,
    /// The device takes nothing any more.
    write_error: Option<io::Error>,
    /// The client takes nothing any more.
    client_is_gone: bool,
}

/// Until the client ends the input.
pub(crate) fn run(options: Options, journal: Journal) -> io::Result<()> {
    let Options { device, timing, .. } = options;
    let relay = Relay::new(device.to_string(), timing, Instant::now());
    let state = State {
        relay,
        journal,
        link: None,
        writing: false,
        write_error: None,
        client_is_gone: false,
    };
    let pump = Arc::new(Pump { state: Mutex::new(state), changed: Condvar::new() });
    let (reader, writer) = (pump.clone(), pump.clone());
    thread::spawn(move || reader.attend(&device));
    thread::spawn(move || writer.write());
    pump.read_client()?;

    let mut state = pump.lock();
    let end = Instant::now() + timing.linger;
    while !state.relay.is_idle() && !state.client_is_gone && Instant::now() < end {
        state = pump.wait(state, end);
    }
    state.relay.close();
    state.flush();
    pump.changed.notify_all();
    let end = Instant::now() + LAST_WORDS;
    while (state.writing || !state.relay.out.to_device.is_empty())
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
            if read == 0
                && let Some(end) = rx.spare().first_mut()
            {
                // A last line without an end is a line.
                *end = b'\n';
                rx.commit(1);
            }
            let mut state = self.lock();
            // The client can wait as long as the device takes its time, but not the device for the
            // client.
            while state.link.is_some() && state.relay.out.to_device.len() > MAX_QUEUED {
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

    /// Opens the device, and again whenever it is gone.
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

    /// Returns why there is no more.
    fn read_device(&self, link: &Link) -> String {
        let mut rx = RxBuffer::with_limit(Vec::new(), MAX_LINE);
        loop {
            let read = match link.read(rx.spare()) {
                Ok(Some(0)) => return "it has hung up".to_owned(),
                Ok(read) => read.unwrap_or(0),
                Err(error) => return error.to_string(),
            };
            rx.commit(read);
            let lost = self.with(|state| {
                let now = Instant::now();
                while let Some(frame) = rx.next_frame() {
                    state.relay.device_line(now, frame);
                }
                state.relay.tick(now);
                state.write_error.take()
            });
            if let Some(error) = lost {
                return error.to_string();
            }
        }
    }

    fn write(&self) {
        let mut state = self.lock();
        loop {
            let Some(link) = state.link.clone().filter(|_| !state.relay.out.to_device.is_empty())
            else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let bytes = std::mem::take(&mut state.relay.out.to_device);
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
                state.relay.out.to_device.clear();
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

/// The longest line, in bytes, in either direction.
const MAX_LINE: usize = 16 << 20;
/// How much may wait for the device before no more is read from the client, in bytes.
const MAX_QUEUED: usize = 256 << 10;
/// A device that comes back is there at once, but its port may need a moment.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long the device may take to take what it is told when the client is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);
