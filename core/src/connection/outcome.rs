//! Outcomes of requests.

use core::convert::Infallible;

use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::tx::Tx;

/// The outcome of a request: a result, an error, or input that is required first. `M` is
/// [`Server<'_>`](crate::Server) or [`Client<'_>`](crate::Client).
///
/// The handler of a request runs once and returns its outcome; only sending it repeats. One that
/// owns its data can be handed in ([`Connection::answer`](super::Connection::answer),
/// [`Turn::answer`](super::Turn::answer)); one that borrows from the request is sent while the
/// event lives ([`Turn::send`](super::Turn::send)).
///
/// ```
/// use mcp_sansio::types::TextResult;
/// use mcp_sansio::{ErrorCode, Outcome, RequestHandle, RpcError, SendError, Server, Tx};
/// enum Reply {
///     Celsius(f32),
///     NoSensor,
/// }
/// impl Outcome<Server<'_>> for Reply {
///     fn send(
///         &self,
///         server: &mut Server<'_>,
///         request: RequestHandle,
///         tx: &mut Tx<'_>,
///     ) -> Result<(), SendError> {
///         match self {
///             Self::Celsius(value) => {
///                 server.respond(request, &TextResult::new(&value.to_string()), tx)
///             }
///             Self::NoSensor => {
///                 server.respond_error(request, &RpcError::internal("no sensor"), tx)
///             }
///         }
///     }
/// }
/// ```
pub trait Outcome<M> {
    /// Writes the outcome, with one call of `machine`. Called again with the same value until it
    /// returns something other than [`SendError::Full`], and must then write the same bytes.
    ///
    /// # Errors
    /// Those of `machine`. Any but `Full` ends the request with an internal error (-32603).
    fn send(
        &self,
        machine: &mut M,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError>;
}

impl<M> Outcome<M> for Infallible {
    fn send(&self, _: &mut M, _: RequestHandle, _: &mut Tx<'_>) -> Result<(), SendError> {
        match *self {}
    }
}

/// The outcome of a function that can fail.
impl<M, T: Outcome<M>, E: Outcome<M>> Outcome<M> for Result<T, E> {
    fn send(
        &self,
        machine: &mut M,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Ok(outcome) => outcome.send(machine, request, tx),
            Err(outcome) => outcome.send(machine, request, tx),
        }
    }
}
