//! A server's process, a thread for its input and one for its output.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Event;

/// A process, which is killed when it is dropped.
pub(crate) struct Child {
    process: process::Child,
    input: Option<Sender<Vec<u8>>>,
    /// Number of the process, since output of an earlier one may come late.
    pub(crate) number: u32,
    /// Number of bytes that it has not read.
    unread: Arc<AtomicUsize>,
}

impl Child {
    /// Starts the command. Its output is told as events.
    pub(crate) fn start(
        command: &[OsString],
        number: u32,
        events: &SyncSender<Event>,
        unread: &Arc<AtomicUsize>,
    ) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, lines) = channel::<Vec<u8>>();
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let read = unread.clone();
        thread::spawn(move || {
            let Some(mut stdin) = stdin else { return };
            let mut is_open = true;
            for line in lines {
                // Lines for a process that reads no more are dropped.
                is_open = is_open && stdin.write_all(&line).is_ok();
                read.fetch_sub(line.len(), Ordering::Relaxed);
            }
        });
        let events = events.clone();
        thread::spawn(move || {
            let Some(mut stdout) = stdout else { return };
            let mut bytes = [0; 64 << 10];
            loop {
                let event = match stdout.read(&mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(0) | Err(_) => Event::ServerEnded(number),
                    Ok(read) => Event::Server(number, bytes.iter().take(read).copied().collect()),
                };
                let is_end = matches!(event, Event::ServerEnded(_));
                if events.send(event).is_err() || is_end {
                    return;
                }
            }
        });
        Ok(Self { process, input: Some(input), number, unread: unread.clone() })
    }

    /// Queues bytes for the process.
    pub(crate) fn send(&self, bytes: Vec<u8>) {
        let length = bytes.len();
        self.unread.fetch_add(length, Ordering::Relaxed);
        if self.input.as_ref().is_none_or(|input| input.send(bytes).is_err()) {
            self.unread.fetch_sub(length, Ordering::Relaxed);
        }
    }

    /// Ends the input, by which a server ends.
    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the process, kills it if it does not come, and returns how it ended.
    pub(crate) fn end(mut self) -> String {
        self.end_input();
        let end = Instant::now() + GRACE;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if Instant::now() < end => thread::sleep(STEP),
                Ok(None) => return "killed, since it did not end with its input".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // A process that has ended cannot be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Time for a server to end with its input.
const GRACE: Duration = Duration::from_millis(500);
const STEP: Duration = Duration::from_millis(5);
