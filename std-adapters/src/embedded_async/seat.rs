//! What happens to a request, wherever its connection comes from.

use ::embassy_futures::select::{Either, select};
use core::future::Future;

use mcp_sansio::{
    Catalog, Link, Outcome as _, Request, RequestHandle, RpcError, SendError, Server, Target,
    ToolContext, Tx,
};

use super::Handler;
use super::wire::until;

/// Where a request is handled.
pub(super) trait Seat: Link {
    fn is_open(&self, request: RequestHandle) -> bool;

    /// Sends a response, after what waits to be sent before it. Completes without it once the
    /// request is over.
    fn respond(
        &self,
        request: RequestHandle,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> impl Future<Output = Result<(), SendError>>;
}

/// Handles a request until its response is sent or it is over.
pub(super) async fn handle<H: Handler>(
    handler: &H,
    catalog: Option<&Catalog<'_>>,
    request: &Request<'_>,
    seat: &impl Seat,
) {
    let handle = request.handle;
    let target = match catalog {
        None => Target::Other,
        Some(catalog) => match catalog.target(request) {
            // It begins even if there is no room for a response.
            Ok(target @ Target::Tool(_)) => target,
            _ => {
                let mut target = Target::Responded;
                let mut respond = |server: &mut Server<'_>, tx: &mut Tx<'_>| {
                    target = catalog.respond(server, request, tx)?;
                    Ok(())
                };
                match (seat.respond(handle, &mut respond).await, target) {
                    (Err(_), _) | (_, Target::Responded) => return,
                    (Ok(()), target) => target,
                }
            }
        },
    };
    let work = handler.on_request(target, ToolContext::new(request, seat));
    let is_over = until(|| (!seat.is_open(handle)).then_some(()));
    let Either::Second(response) = select(is_over, work).await else { return };
    let mut send = |server: &mut Server<'_>, tx: &mut Tx<'_>| response.send(server, handle, tx);
    if let Err(error) = seat.respond(handle, &mut send).await {
        handler.on_send_error(error);
        fail(seat, handle, &RpcError::internal("The response cannot be sent")).await;
    }
}

/// Sends an error in place of a response.
pub(super) async fn fail(seat: &impl Seat, request: RequestHandle, error: &RpcError<'_>) {
    let mut fail = |server: &mut Server<'_>, tx: &mut Tx<'_>| server.fail(request, error, tx);
    // It is valid.
    let _ = seat.respond(request, &mut fail).await;
}
