//! The two functions between the core and a serial port, as an adapter would bring them.

use mcp_sansio::{SendError, Storage, Tx, TxBuffer};

use crate::uart::Uart;

/// Repeats a call for which there is no room until there is some.
///
/// # Errors
/// What the call says beside that.
pub fn send<S: Storage, R>(
    port: &mut Uart,
    tx: &mut TxBuffer<S>,
    mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    loop {
        match call(tx) {
            Err(error) if error.is_full() => drain(port, tx),
            result => return result,
        }
    }
}

/// Sends everything.
pub fn drain(port: &mut Uart, tx: &mut Tx<'_>) {
    while !tx.pending().is_empty() {
        port.write(tx.pending());
        tx.advance(tx.pending().len());
    }
}
