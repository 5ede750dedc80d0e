//! Transport over any reader and writer, with two threads.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::blocking::{Input as _, Threaded};
use crate::gone::is_gone;

/// Any input and output. One thread reads ([`Threaded`]) and one writes, so that neither blocks the
/// other or the caller. The threads end with their streams, or at their next read or write after
/// this was closed.
#[derive(Debug)]
pub struct ThreadedStreams {
    name: String,
    /// `None` once it has ended.
    input: Option<Threaded>,
    /// To the writer; `None` once the output has ended.
    full: Option<Sender<Vec<u8>>>,
    /// What the writer has written.
    written: Receiver<Vec<u8>>,
    /// The writer's buffer, unless it is being written.
    idle: Option<Vec<u8>>,
}

impl ThreadedStreams {
    /// Starts the threads. `name` is used in error messages.
    pub fn new(
        name: impl Into<String>,
        input: impl Read + Send + 'static,
        mut output: impl Write + Send + 'static,
    ) -> Self {
        let input = Threaded::new(input);
        let waker = input.ends_wait();
        let (full, to_write) = channel::<Vec<u8>>();
        let (sender, written) = channel();
        thread::spawn(move || {
            while let Ok(mut chunk) = to_write.recv() {
                let done = output.write_all(&chunk).and_then(|()| output.flush());
                chunk.clear();
                if done.is_err() || sender.send(chunk).is_err() {
                    break;
                }
                waker.wake_by_ref();
            }
            drop(sender);
            waker.wake();
        });
        let (name, input, full) = (name.into(), Some(input), Some(full));
        Self { name, input, full, written, idle: Some(Vec::new()) }
    }

    #[cfg(not(unix))]
    pub(super) fn close_output(&mut self) {
        self.full = None;
    }

    /// Takes the writer's buffer back, and waits for it for so long.
    fn wrote(&mut self, timeout: Duration) {
        match self.written.recv_timeout(timeout) {
            Ok(chunk) => self.idle = Some(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.full = None,
        }
    }

    /// Does what is possible without waiting. Reads first: a writer that ends the wait of that has
    /// written.
    fn attempt(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<Transferred> {
        let mut done = Transferred::default();
        if let Some(input) = self.input.as_mut().filter(|_| !into.is_empty()) {
            let read = match input.wait(Some(Duration::ZERO)) {
                Ok(true) => input.read(into).map(Some),
                waited => waited.map(|_| None),
            };
            match read {
                Ok(None) => {}
                Ok(Some(read)) if read > 0 => done.read = read,
                Err(error) if !is_gone(&error) => return Err(error),
                Ok(Some(_)) | Err(_) => self.input = None,
            }
        }
        done.ended = self.input.is_none();
        self.wrote(Duration::ZERO);
        match &self.full {
            None => done.written = out.len(),
            Some(full) if !out.is_empty() => {
                if let Some(mut chunk) = self.idle.take() {
                    done.written = out.len().min(CHUNK);
                    chunk.extend_from_slice(out.get(..done.written).unwrap_or_default());
                    // A writer that has ended is noticed the next time.
                    let _ = full.send(chunk);
                }
            }
            Some(_) => {}
        }
        Ok(done)
    }
}

impl Transport for ThreadedStreams {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn open(&mut self) -> io::Result<()> {
        if self.input.is_some() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let done = self.attempt(out, into)?;
        if done != Transferred::default() {
            return Ok(done);
        }
        match &mut self.input {
            // The writer ends the wait, too.
            Some(input) if !into.is_empty() => match input.wait(timeout) {
                Ok(_) => {}
                Err(error) if is_gone(&error) => self.input = None,
                Err(error) => return Err(error),
            },
            _ => self.wrote(timeout.unwrap_or(Duration::MAX)),
        }
        self.attempt(out, into)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        self.full = None;
        self.input = None;
        Ok(ConnectionEnd::new(self.name()))
    }
}

/// Maximum length of a write, in bytes.
const CHUNK: usize = 64 << 10;
