//! What a port receives: bytes, and faults between them.

use std::collections::VecDeque;
use std::fmt;

use embedded_io::ErrorKind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault(pub(crate) ErrorKind);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Fault {}

impl embedded_io::Error for Fault {
    fn kind(&self) -> ErrorKind {
        self.0
    }
}

pub(crate) type Received = VecDeque<Result<u8, ErrorKind>>;

/// Reads at most `chunk` bytes, up to the next fault.
pub(crate) fn read(from: &mut Received, chunk: usize, into: &mut [u8]) -> Result<usize, Fault> {
    assert!(!into.is_empty(), "a read into an empty slice looks like the end of input");
    let mut read = 0;
    while read < into.len().min(chunk) {
        match from.front() {
            Some(Ok(byte)) => into[read] = *byte,
            Some(Err(kind)) if read == 0 => {
                let fault = Fault(*kind);
                from.pop_front();
                return Err(fault);
            }
            _ => break,
        }
        from.pop_front();
        read += 1;
    }
    Ok(read)
}
