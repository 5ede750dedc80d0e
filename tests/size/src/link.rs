//! Between a connection of the core and a serial port.

use mcp_sansio::{Machine, SendError, Spare, Turn, Tx};

use crate::uart::Uart;

/// Repeats a call, and writes bytes, until the transmit buffer has room for it.
///
/// # Errors
/// Other errors of the call.
pub fn send<M: Machine, R>(
    port: &mut Uart,
    turn: &mut Turn<'_, M>,
    call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    turn.send(pump(port), call)
}

/// Returns the function with which [`Turn::send`] writes. One type for all calls, so that the code
/// around it is linked once.
fn pump(port: &mut Uart) -> impl FnMut(&[u8], &mut Spare<'_>) -> Result<usize, SendError> {
    |bytes, _| Ok(port.write(bytes))
}
