//! The responses to input requests, as they are computed.

use std::future::Future;
use std::pin::Pin;

use mcp_sansio_engine::InputResponse;

use crate::client::OwnedInputRequest;

/// A response that is being computed.
pub(crate) type InputFuture = Pin<Box<dyn Future<Output = InputResponse> + Send>>;
/// Computes responses. Boxed, so that clients and connections have no type parameter for it: input
/// requests are rare.
pub(crate) type InputHandler = Box<dyn Fn(OwnedInputRequest) -> InputFuture + Send + Sync>;
