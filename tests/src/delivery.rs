//! Tells whether a response was sent: the calls that write one return `Ok(())` for a request that
//! is over, too.

use mcp_sansio::{Delivery, RequestHandle, SendError, Tx};

use crate::endpoint::Endpoint;

/// Calls `respond` and returns [`Delivery::Sent`] for a request that was open before, else
/// [`Delivery::Gone`]. Asserts that the response closes the request, and that nothing is written
/// for a request that is gone.
pub fn respond<M: Endpoint>(
    machine: &mut M,
    request: RequestHandle,
    tx: &mut Tx<'_>,
    respond: impl FnOnce(&mut M, &mut Tx<'_>) -> Result<(), SendError>,
) -> Result<Delivery, SendError> {
    let (was_open, pending) = (machine.is_request_open(request), tx.pending().len());
    respond(machine, tx)?;
    assert!(!machine.is_request_open(request), "the response did not close the request");
    if was_open {
        return Ok(Delivery::Sent);
    }
    assert_eq!(tx.pending().len(), pending, "a response to a request that is gone was written");
    Ok(Delivery::Gone)
}
