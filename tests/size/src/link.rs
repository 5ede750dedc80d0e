//! Two functions between the core and a serial port, as an adapter would have them.

use mcp_sansio::{SendError, Storage, Tx, TxBuffer};

use crate::uart::Uart;

/// Repeats a call, and sends buffered bytes, until the transmit buffer has room for it.
///
/// # Errors
/// Other errors of the call.
pub fn send<S: Storage, R>(
    port: &mut Uart,
    tx: &mut TxBuffer<S>,
    mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    loop {
        match call(tx) {
            Err(SendError::Full) => drain(port, tx),
            result => return result,
        }
    }
}

/// Sends all buffered bytes.
pub fn drain(port: &mut Uart, tx: &mut Tx<'_>) {
    while !tx.pending().is_empty() {
        port.write(tx.pending());
        tx.advance(tx.pending().len());
    }
}
