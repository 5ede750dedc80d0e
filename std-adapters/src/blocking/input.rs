//! Input that can be waited for with a timeout.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

/// Input that can be waited for.
pub trait Input: Read {
    /// Waits until there are bytes to read or the input has ended, for at most `timeout`. Returns
    /// `false` after the timeout, or early: when the [`waker`](Self::waker) was woken. Without a
    /// timeout and a waker it may return `true` at once, because reading waits, too.
    ///
    /// # Errors
    /// Errors of the input.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool>;

    /// Returns a waker that ends the current or the next [`wait`](Self::wait) from another thread.
    /// The default waker does nothing, so the server sees the reason for it only after the next
    /// message or timeout.
    ///
    /// # Errors
    /// The system has no resources left.
    fn waker(&mut self) -> io::Result<Waker> {
        Ok(Waker::noop().clone())
    }
}

/// Any other input, read by a thread, so that the caller can stop waiting. The thread reads at most
/// four chunks of 64 KiB ahead. It ends with the input, or at its next read after this is dropped.
#[derive(Debug)]
pub struct Threaded {
    messages: Receiver<Message>,
    sender: SyncSender<Message>,
    /// The rest of the chunk that is being read.
    chunk: VecDeque<u8>,
    has_ended: bool,
}

#[derive(Debug)]
enum Message {
    Chunk(io::Result<Vec<u8>>),
    Woken,
}

impl Threaded {
    /// Starts the thread.
    pub fn new(mut input: impl Read + Send + 'static) -> Self {
        let (sender, messages) = sync_channel(1);
        let chunks = Chunks(sender.clone());
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = match input.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read.map(|len| buffer.get(..len).unwrap_or_default().to_vec()),
                };
                let is_last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if chunks.0.send(Message::Chunk(read)).is_err() || is_last {
                    return;
                }
            }
        });
        Self { messages, sender, chunk: VecDeque::new(), has_ended: false }
    }

    /// Returns what ends a [`wait`](Input::wait).
    pub(super) fn ends_wait(&self) -> Waker {
        let sender = self.sender.clone();
        // If it is full, there are chunks that end the wait.
        waker(move || drop(sender.try_send(Message::Woken)))
    }

    fn has_rest(&self) -> bool {
        self.has_ended || !self.chunk.is_empty()
    }

    fn take(&mut self, chunk: io::Result<Vec<u8>>) -> io::Result<()> {
        let chunk = chunk?;
        self.has_ended = chunk.is_empty();
        self.chunk = chunk.into();
        Ok(())
    }
}

/// Sends the chunks, and the end also if reading panics.
struct Chunks(SyncSender<Message>);

impl Drop for Chunks {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Chunk(Ok(Vec::new())));
    }
}

impl Read for Threaded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_rest() {
            if let Ok(Message::Chunk(chunk)) = self.messages.recv() {
                self.take(chunk)?;
            }
        }
        self.chunk.read(buffer)
    }
}

impl Input for Threaded {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        if self.has_rest() {
            return Ok(true);
        }
        match self.messages.recv_timeout(timeout.unwrap_or(Duration::MAX)) {
            Ok(Message::Chunk(chunk)) => self.take(chunk).map(|()| true),
            Ok(Message::Woken) | Err(RecvTimeoutError::Timeout) => Ok(false),
            // The thread sends the end before it ends.
            Err(RecvTimeoutError::Disconnected) => Ok(true),
        }
    }

    fn waker(&mut self) -> io::Result<Waker> {
        Ok(self.ends_wait())
    }
}

/// Returns a waker that calls a function.
pub(super) fn waker(wake: impl Fn() + Send + Sync + 'static) -> Waker {
    struct Function<F>(F);

    impl<F: Fn()> Wake for Function<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    Arc::new(Function(wake)).into()
}
