//! What is under way on a stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::http::client::Exchange;
use mcp_sansio::http::sse::EventReader;

use super::connector::Connect;
use super::transport_state::TransportState;
use super::wire::Wire;
use super::{listen, post};

/// Something to be done while other things are.
pub(super) enum Job<S> {
    /// To post a message, and to bring its answer.
    Message(Vec<u8>),
    /// To hear what belongs to no request.
    Listen,
    /// To hear all that a server of 2024-11-05 says, on a stream that has begun.
    Older(Box<Begun<S>>),
    /// To end the session.
    Delete,
}

/// A stream of which something has been read.
pub(super) struct Begun<S> {
    pub(super) wire: Wire<S>,
    pub(super) exchange: Exchange,
    pub(super) events: EventReader<Vec<u8>>,
    /// Bytes that were read behind that, for which there was no room.
    pub(super) chunk: Vec<u8>,
}

/// What a job is known by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Name {
    /// The id of the request that it brings the answer to.
    Request(String),
    /// A message without an answer, or the end of the session: it is finished before the stream
    /// closes.
    Short,
    /// The stream of what belongs to no request. There is one: that of the latest session.
    Listen,
    /// All that a server of 2024-11-05 says.
    Older,
}

pub(super) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<S> Job<S> {
    pub(super) fn run<D: Connect<Stream = S>>(self, shared: &Arc<TransportState<D>>) -> Running
    where
        S: Send + 'static,
    {
        let shared = Arc::clone(shared);
        match self {
            Self::Message(message) => Box::pin(async move { post::post(&shared, &message).await }),
            Self::Listen => Box::pin(async move { listen::listen(&shared).await }),
            Self::Older(begun) => Box::pin(async move { listen::older(&shared, *begun).await }),
            Self::Delete => Box::pin(async move { listen::delete(&shared).await }),
        }
    }
}
