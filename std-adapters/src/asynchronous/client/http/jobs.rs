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
pub(crate) enum Job {
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
pub(crate) struct Begun {
    pub(crate) wire: Wire,
    pub(crate) exchange: Exchange,
    pub(crate) events: EventReader<Vec<u8>>,
    /// Bytes that were read behind it, for which there was no room.
    pub(crate) chunk: Vec<u8>,
}

/// Identifies a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Name {
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

pub(crate) type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Job {
    pub(crate) fn run(self, shared: &Arc<TransportState>) -> Running {
        let shared = Arc::clone(shared);
        match self {
            Self::Message(message) => Box::pin(async move { post::post(&shared, &message).await }),
            Self::Listen => Box::pin(async move { listen::listen(&shared).await }),
            Self::Older(begun) => Box::pin(async move { listen::older(&shared, *begun).await }),
            Self::Delete => Box::pin(async move { listen::delete(&shared).await }),
        }
    }
}
