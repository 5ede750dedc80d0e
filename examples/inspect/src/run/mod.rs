//! `inspect run --watch`: a proxy between a host and a server under development, which starts the
//! server again when its program changes.
//!
//! `mcp-sansio-relay` decides about messages, [`Build`] about starts. One loop takes their steps;
//! threads read the host and the process, and write to the process.

mod build;
mod child;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio::{Frame, Printable, RxBuffer};
use mcp_sansio_relay::{Entry, Relay, ServerKind, Timing};

use super::config::found;
use super::options::{HELP, Stop, wrong};
use build::Build;
use child::Child;

/// Runs until the host ends the input.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Stop> {
    let command = parse(words)?;
    let (sender, events) = sync_channel(MAX_EVENTS);
    let place = command.first().map(|program| program.to_string_lossy().into_owned());
    let files = command.iter().map(PathBuf::from).filter(|word| word.is_file()).collect();
    let proxy = Proxy {
        relay: Relay::new(ServerKind::Process, place.unwrap_or_default(), TIMING, Instant::now()),
        command,
        files,
        build: Build::default(),
        child: None,
        number: 0,
        from_client: RxBuffer::with_limit(Vec::new(), MAX_LINE),
        from_server: RxBuffer::with_limit(Vec::new(), MAX_LINE),
        events: sender.clone(),
        unread: Arc::default(),
    };
    let unread = proxy.unread.clone();
    thread::spawn(move || read_client(&sender, &unread));
    proxy.run(&events);
    Ok(ExitCode::SUCCESS)
}

/// Returns the command, with the absolute path of its program.
fn parse(words: &[OsString]) -> Result<Vec<OsString>, Stop> {
    use lexopt::prelude::*;
    let (mut watches, mut command) = (false, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => return Err(Stop::Help(HELP)),
            Long("watch") => watches = true,
            Value(word) => {
                command.push(found(&word)?.into_os_string());
                command.extend(parser.raw_args().map_err(wrong)?);
            }
            other => return Err(wrong(other.unexpected())),
        }
    }
    if !watches || command.is_empty() {
        return Err(Stop::Wrong("run takes --watch and the program of a server".to_owned()));
    }
    Ok(command)
}

/// An event for the loop.
pub(crate) enum Event {
    Client(Vec<u8>),
    ClientEnded,
    /// Output of the process with this number.
    Server(u32, Vec<u8>),
    ServerEnded(u32),
}

struct Proxy {
    relay: Relay,
    command: Vec<OsString>,
    /// The words of the command that are files.
    files: Vec<PathBuf>,
    build: Build,
    child: Option<Child>,
    /// Number of processes that were started.
    number: u32,
    from_client: RxBuffer<Vec<u8>>,
    from_server: RxBuffer<Vec<u8>>,
    events: SyncSender<Event>,
    unread: Arc<AtomicUsize>,
}

impl Proxy {
    fn run(mut self, events: &Receiver<Event>) {
        let mut next_look = Instant::now();
        let mut end = None;
        while end.is_none_or(|end| Instant::now() < end) {
            let event = events.recv_timeout(TICK).ok();
            let now = Instant::now();
            let is_last = end.is_some() && matches!(event, Some(Event::ServerEnded(_)));
            match event {
                Some(Event::ClientEnded) => {
                    self.from_client.end_of_input();
                    self.client(&[]);
                    end = Some(now + LINGER);
                }
                Some(Event::Client(bytes)) => self.client(&bytes),
                Some(Event::Server(number, bytes)) if self.is_running(number) => {
                    self.server(&bytes);
                }
                Some(Event::ServerEnded(number)) if self.is_running(number) => self.ended(),
                // Of an earlier process.
                Some(Event::Server(..) | Event::ServerEnded(_)) | None => {}
            }
            if end.is_none() && next_look <= now {
                next_look = now + TICK;
                if self.build.is_due(now, build::look(&self.files)) {
                    self.restart();
                }
            }
            self.relay.tick(Instant::now());
            if self.flush().is_err() || is_last {
                break;
            }
            match &mut self.child {
                Some(child) if end.is_some() => child.end_input(),
                None if end.is_some() => break,
                _ => {}
            }
        }
        if let Some(child) = self.child.take() {
            child.end();
        }
    }

    fn is_running(&self, number: u32) -> bool {
        self.child.as_ref().is_some_and(|child| child.number == number)
    }

    fn client(&mut self, bytes: &[u8]) {
        let relay = &mut self.relay;
        frames(&mut self.from_client, bytes, |frame| relay.client_line(Instant::now(), frame));
    }

    fn server(&mut self, bytes: &[u8]) {
        let relay = &mut self.relay;
        frames(&mut self.from_server, bytes, |frame| relay.server_line(Instant::now(), frame));
    }

    /// Ends the process that runs, and starts the program that is there now.
    fn restart(&mut self) {
        if let Some(child) = self.child.take() {
            // Its last lines are for nobody: their requests end with an error.
            child.end();
            self.relay.link_down(Instant::now(), "The server was restarted");
        }
        self.number += 1;
        match Child::start(&self.command, self.number, &self.events, &self.unread) {
            Ok(child) => {
                self.child = Some(child);
                self.build.started();
                self.from_server.clear();
                self.relay.link_up(Instant::now());
            }
            // A linker may still have the file open ("Text file busy"): the next look tries again.
            Err(error) => {
                let place = self.command.first().map(|program| Path::new(program).display());
                let trouble = place.map(|place| format!("{place}: {error}"));
                self.relay.link_refused(Instant::now(), &trouble.unwrap_or_default());
            }
        }
    }

    /// Handles the end of the process by itself.
    fn ended(&mut self) {
        self.from_server.end_of_input();
        self.server(&[]);
        if let Some(child) = self.child.take() {
            let how = child.end();
            self.relay.link_down(Instant::now(), &format!("The server has ended ({how})"));
        }
    }

    /// Writes what the relay has to say. Errors are those of the host, which is gone.
    fn flush(&mut self) -> io::Result<()> {
        let out = &mut self.relay.out;
        for entry in out.entries.drain(..) {
            match entry {
                Entry::Event(text) => eprintln!("inspect: {}", Printable::new(text)),
                Entry::Noise(text) => {
                    eprintln!("inspect: no message on standard output: {}", Printable::new(text));
                }
                Entry::Sent(_) | Entry::Received(_) | Entry::Told(_) => {}
            }
        }
        let to_server = std::mem::take(&mut out.to_server);
        if let Some(child) = self.child.as_ref().filter(|_| !to_server.is_empty()) {
            child.send(to_server);
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out.to_client)?;
        out.to_client.clear();
        stdout.flush()
    }
}

/// Reads the host, which waits for a server that does not read.
fn read_client(events: &SyncSender<Event>, unread: &AtomicUsize) {
    let mut input = io::stdin().lock();
    let mut bytes = vec![0; 64 << 10];
    loop {
        while unread.load(Ordering::Relaxed) > MAX_UNREAD {
            thread::sleep(TICK);
        }
        let event = match input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => Event::ClientEnded,
            Ok(read) => Event::Client(bytes.iter().take(read).copied().collect()),
        };
        let is_end = matches!(event, Event::ClientEnded);
        if events.send(event).is_err() || is_end {
            return;
        }
    }
}

/// Adds bytes to a buffer, and hands out each frame that they complete.
fn frames(rx: &mut RxBuffer<Vec<u8>>, mut bytes: &[u8], mut each: impl FnMut(Frame<'_>)) {
    loop {
        while let Some(frame) = rx.next_frame() {
            each(frame);
        }
        let spare = rx.spare();
        let (now, later) = bytes.split_at(bytes.len().min(spare.len()));
        spare.iter_mut().zip(now).for_each(|(to, byte)| *to = *byte);
        rx.commit(now.len());
        bytes = later;
        if now.is_empty() {
            return;
        }
    }
}

/// Time between two looks at the files.
const TICK: Duration = Duration::from_millis(100);
/// A program takes a moment to be linked and started.
const TIMING: Timing = Timing { wait: Duration::from_secs(20), patience: Duration::from_secs(10) };
/// Time for the last responses after the host has ended; hosts kill a process after a second or
/// two.
const LINGER: Duration = Duration::from_secs(1);
/// Maximum length of a line in either direction, in bytes.
const MAX_LINE: usize = 16 << 20;
/// Maximum number of bytes that wait for the server; beyond it the host is not read.
const MAX_UNREAD: usize = 1 << 20;
/// Maximum number of chunks that wait for the loop, each of 64 KiB at most.
const MAX_EVENTS: usize = 64;
