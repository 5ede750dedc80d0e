//! The response of a catalog, as an outcome that is handed in.

use alloc::boxed::Box;

use super::{Catalog, Target};
use crate::buffers::tx::Tx;
use crate::connection::Outcome;
use crate::protocol::error::SendResult;
use crate::rpc::RpcError;
use crate::rpc::inflight::RequestHandle;
use crate::server::{OwnedRequest, Request, Server};

/// The response of a catalog to a request, with a copy of its parameters:
/// [`Catalog::response`].
#[derive(Clone, Debug)]
pub struct CatalogResponse<'c> {
    catalog: &'c Catalog<'c>,
    // An `Err` is not to be large.
    request: Box<OwnedRequest>,
}

impl<'c> Catalog<'c> {
    /// Returns the response that [`respond`](Self::respond) sends, for a loop that hands in
    /// [outcomes](Outcome). A request that it leaves to the application gets an internal error
    /// (-32603).
    ///
    /// With [`ToolOutput`](crate::ToolOutput) these are all outcomes of a server of tools:
    ///
    /// ```
    /// use mcp_sansio::{CatalogResponse, ToolOutput};
    /// type Reply = Result<ToolOutput<'static>, CatalogResponse<'static>>;
    /// ```
    pub fn response(&'c self, request: &Request<'_>) -> CatalogResponse<'c> {
        CatalogResponse { catalog: self, request: Box::new(request.into()) }
    }
}

impl Outcome<Server<'_>> for CatalogResponse<'_> {
    fn send(&self, server: &mut Server<'_>, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        match self.catalog.respond(server, &self.request.as_request(), tx)? {
            Target::Responded => Ok(()),
            _ => server.respond_error(request, &NO_RESPONSE, tx),
        }
    }
}

const NO_RESPONSE: RpcError<'_> = RpcError::internal("The application sent no response");
