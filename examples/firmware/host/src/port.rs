//! Standard input and output as a port. A thread reads, so that the loop never blocks.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use embedded_io::{ErrorType, Read, ReadReady, Write};

pub(crate) struct Stdio {
    input: Receiver<Vec<u8>>,
    held: VecDeque<u8>,
    ended: bool,
}

impl Stdio {
    pub(crate) fn open() -> Self {
        let (send, input) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                match io::Read::read(&mut io::stdin(), &mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(read @ 1..) if send.send(buffer[..read].to_vec()).is_ok() => {}
                    _ => break,
                }
            }
        });
        Self { input, held: VecDeque::new(), ended: false }
    }

    /// Waits until there are bytes to read, for at most this time.
    pub(crate) fn wait(&mut self, most: Duration) {
        let most = most.min(Duration::from_secs(3600));
        match self.input.recv_timeout(most) {
            Ok(bytes) => self.held.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            // Slow tools go on after the end of the input.
            Err(RecvTimeoutError::Disconnected) if self.ended => thread::sleep(most),
            Err(RecvTimeoutError::Disconnected) => self.ended = true,
        }
    }
}

impl ErrorType for Stdio {
    type Error = io::Error;
}

impl ReadReady for Stdio {
    fn read_ready(&mut self) -> io::Result<bool> {
        if self.held.is_empty() {
            match self.input.try_recv() {
                Ok(bytes) => self.held.extend(bytes),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.ended = true,
            }
        }
        Ok(self.ended || !self.held.is_empty())
    }
}

impl Read for Stdio {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut self.held, into)
    }
}

impl Write for Stdio {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut io::stdout(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut io::stdout())
    }
}
