//! A port whose input is scripted, byte by byte or not at all.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use embedded_io::{ErrorKind, ErrorType, Read, ReadReady, Write};

use crate::received::{Received, read};

/// The port, and its other end.
#[derive(Clone)]
pub(crate) struct Uart(Rc<RefCell<Line>>);

#[derive(Default)]
pub(crate) struct Line {
    pub(crate) input: Received<ErrorKind>,
    pub(crate) output: Vec<u8>,
    /// Maximum number of bytes of a read or write.
    chunk: usize,
    /// Whether the transmitter accepts no more bytes.
    pub(crate) is_deaf: bool,
    pub(crate) has_ended: bool,
    /// Maximum number of bytes that waited while something was written.
    pub(crate) unread: usize,
    /// Number of bytes that had been written at the last flush.
    pub(crate) flushed: usize,
    /// Answers a line, which is taken from the output.
    pub(crate) answer: Option<Answer>,
}

type Answer = Box<dyn FnMut(&str) -> String>;

impl Uart {
    /// Limits reads and writes to this many bytes.
    pub(crate) fn new(chunk: usize) -> Self {
        Self(Rc::new(RefCell::new(Line { chunk, ..Line::default() })))
    }

    pub(crate) fn line(&self) -> RefMut<'_, Line> {
        self.0.borrow_mut()
    }

    pub(crate) fn says(&self, bytes: impl AsRef<[u8]>) {
        self.line().input.extend(bytes.as_ref().iter().copied().map(Ok));
    }

    /// Adds an error of the receiver at this position of the input.
    pub(crate) fn fails(&self, kind: ErrorKind) {
        self.line().input.push_back(Err(kind));
    }
}

impl ErrorType for Uart {
    type Error = ErrorKind;
}

impl ReadReady for Uart {
    fn read_ready(&mut self) -> Result<bool, ErrorKind> {
        let line = self.line();
        Ok(!line.input.is_empty() || line.has_ended)
    }
}

impl Read for Uart {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        let line = &mut *self.line();
        read(&mut line.input, line.chunk, into)
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let line = &mut *self.line();
        line.unread = line.unread.max(line.input.len());
        let len = if line.is_deaf { 0 } else { bytes.len().min(line.chunk) };
        line.output.extend_from_slice(&bytes[..len]);
        let Some(answer) = &mut line.answer else { return Ok(len) };
        while let Some(end) = line.output.iter().position(|byte| *byte == b'\n') {
            let sent = line.output.drain(..=end).collect();
            let said = answer(&String::from_utf8(sent).expect("UTF-8"));
            line.input.extend(said.into_bytes().into_iter().map(Ok));
        }
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        let line = &mut *self.line();
        line.flushed = line.output.len();
        Ok(())
    }
}
