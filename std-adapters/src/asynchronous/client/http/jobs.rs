//! Concurrent jobs of a stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::http::client::{Exchange, Post};
use mcp_sansio::http::sse::EventReader;

use super::transport_state::TransportState;
use super::wire::Wire;
use super::{listen, post};

/// A job that runs concurrently with others.
pub(super) enum Job {
    /// Sends a message in a POST, and delivers the response.
    Message(Post),
    /// Reads the GET stream of a session.
    Listen,
    /// Reads the stream of a server of 2024-11-05, which has begun.
    Older(Box<Begun>),
    /// Ends the session.
    Delete,
}

/// A stream of which a part has been read.
pub(super) struct Begun {
    pub(super) wire: Wire,
    pub(super) exchange: Exchange,
    pub(super) events: EventReader<Vec<u8>>,
    /// Bytes that were read behind it, for which there was no room.
    pub(super) chunk: Vec<u8>,
}

/// Identifies a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Name {
    /// A request, by its id.
    Request(String),
    /// A message without a response, or the end of the session: it completes before the stream
    /// closes.
    Short,
    /// The GET stream. There is one: that of the latest session.
    Listen,
    /// The stream of a server of 2024-11-05.
    Older,
}

pub(super) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Job {
    pub(super) fn run(self, shared: &Arc<TransportState>) -> Running {
        let shared = Arc::clone(shared);
        match self {
            Self::Message(message) => Box::pin(async move { post::post(&shared, &message).await }),
            Self::Listen => Box::pin(async move { listen::listen(&shared).await }),
            Self::Older(begun) => Box::pin(async move { listen::older(&shared, *begun).await }),
            Self::Delete => Box::pin(async move { listen::delete(&shared).await }),
        }
    }
}
