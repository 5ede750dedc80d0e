//! Transport over any reader and writer, with two threads.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::transport::{ConnectionEnd, Transferred, Transport};

/// Any input and output. One thread reads and one writes, so that neither blocks the other or the
/// caller; buffers are passed back and forth. The threads end with their streams, or at their next
/// read or write after this was closed.
#[derive(Debug)]
pub struct ThreadedStreams {
    name: String,
    signals: Receiver<Signal>,
    /// Empty buffers for the reader; `None` once the input has ended.
    empty: Option<Sender<Vec<u8>>>,
    /// Full buffers for the writer; `None` once the output has ended.
    full: Option<Sender<Vec<u8>>>,
    /// The writer's buffer, unless it is being written.
    idle: Option<Vec<u8>>,
    /// Chunks that were read, and how much of each has been passed on.
    chunks: std::collections::VecDeque<(Vec<u8>, usize)>,
}

/// Reports of the threads.
#[derive(Debug)]
enum Signal {
    Read(Vec<u8>),
    Wrote(Vec<u8>),
    InputEnded(Option<io::Error>),
    OutputEnded,
}

impl ThreadedStreams {
    /// Starts the threads. `name` is used in error messages.
    pub fn new(
        name: impl Into<String>,
        mut input: impl Read + Send + 'static,
        mut output: impl Write + Send + 'static,
    ) -> Self {
        let (sender, signals) = channel();
        let (empty, to_read) = channel::<Vec<u8>>();
        let (full, to_write) = channel::<Vec<u8>>();
        let reports = sender.clone();
        thread::spawn(move || {
            while let Ok(mut chunk) = to_read.recv() {
                chunk.resize(CHUNK, 0);
                let signal = loop {
                    match input.read(&mut chunk) {
                        Ok(0) => break Signal::InputEnded(None),
                        Ok(read) => {
                            chunk.truncate(read);
                            break Signal::Read(chunk);
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => break Signal::InputEnded(Some(error)),
                    }
                };
                let last = matches!(signal, Signal::InputEnded(_));
                if reports.send(signal).is_err() || last {
                    return;
                }
            }
        });
        thread::spawn(move || {
            while let Ok(mut chunk) = to_write.recv() {
                if output.write_all(&chunk).and_then(|()| output.flush()).is_err() {
                    let _ = sender.send(Signal::OutputEnded);
                    return;
                }
                chunk.clear();
                if sender.send(Signal::Wrote(chunk)).is_err() {
                    return;
                }
            }
        });
        for _ in 0..BUFFERS {
            let _ = empty.send(Vec::new());
        }
        let chunks = std::collections::VecDeque::with_capacity(BUFFERS);
        Self {
            name: name.into(),
            signals,
            empty: Some(empty),
            full: Some(full),
            idle: Some(Vec::new()),
            chunks,
        }
    }

    /// Closes the server's input after everything has been written.
    #[cfg(not(unix))]
    pub(super) fn close_output(&mut self) {
        self.full = None;
    }

    fn take(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            Signal::Read(chunk) => self.chunks.push_back((chunk, 0)),
            Signal::Wrote(chunk) => self.idle = Some(chunk),
            Signal::OutputEnded => self.full = None,
            Signal::InputEnded(error) => {
                self.empty = None;
                if let Some(error) = error.filter(|error| !is_closed(error)) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Reads and writes as far as possible without waiting.
    fn attempt(&mut self, out: &[u8], into: &mut [u8]) -> Transferred {
        let mut done = Transferred::default();
        match &self.full {
            None => done.written = out.len(),
            Some(full) if !out.is_empty() => {
                if let Some(mut chunk) = self.idle.take() {
                    done.written = out.len().min(CHUNK);
                    chunk.extend_from_slice(out.get(..done.written).unwrap_or_default());
                    // A writer that has ended has sent `OutputEnded`.
                    let _ = full.send(chunk);
                }
            }
            Some(_) => {}
        }
        while let Some((chunk, from)) = self.chunks.front_mut() {
            let rest = chunk.get(*from..).unwrap_or_default();
            let room = into.get_mut(done.read..).unwrap_or_default();
            let len = rest.len().min(room.len());
            if len == 0 {
                break;
            }
            if let (Some(to), Some(part)) = (room.get_mut(..len), rest.get(..len)) {
                to.copy_from_slice(part);
            }
            *from += len;
            done.read += len;
            if *from == chunk.len()
                && let Some((chunk, _)) = self.chunks.pop_front()
                && let Some(empty) = &self.empty
            {
                let _ = empty.send(chunk);
            }
        }
        done.ended = self.empty.is_none() && self.chunks.is_empty() && done.read == 0;
        done
    }
}

impl Transport for ThreadedStreams {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn open(&mut self) -> io::Result<()> {
        if self.empty.is_some() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            while let Ok(signal) = self.signals.try_recv() {
                self.take(signal)?;
            }
            let done = self.attempt(out, into);
            if done != Transferred::default() {
                return Ok(done);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let signal = match left {
                None => self.signals.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(left) => self.signals.recv_timeout(left),
            };
            match signal {
                Ok(signal) => self.take(signal)?,
                Err(RecvTimeoutError::Timeout) => return Ok(done),
                // Both threads have ended.
                Err(RecvTimeoutError::Disconnected) => self.empty = None,
            }
        }
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        self.full = None;
        self.empty = None;
        self.chunks.clear();
        Ok(ConnectionEnd::new(self.name()))
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
    )
}

/// Size of a buffer, in bytes.
const CHUNK: usize = 64 << 10;
/// Number of buffers of the reader.
const BUFFERS: usize = 2;
