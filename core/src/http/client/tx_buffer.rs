//! The output buffer of a client over HTTP: the body of one POST request.

use super::message::OutgoingMessage;
#[cfg(feature = "alloc")]
use super::message::Post;
use crate::framing::Framing;
use crate::storage::Storage;
use crate::tx::TxBuffer;

impl<S: Storage> TxBuffer<S> {
    /// Creates a buffer for the messages of a client over HTTP, in storage that may grow up to
    /// `limit` bytes. Each message is the body of a POST request, so the buffer holds one at a
    /// time: until it has been taken, others get [`SendError::Full`](crate::SendError::Full). A
    /// message should fit, because the length of the body must be known.
    #[must_use]
    pub const fn for_http_requests(storage: S, limit: usize) -> Self {
        Self::with_limit(storage, limit).with_framing(Framing::Post(None))
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
    /// Returns the message in a buffer [for HTTP requests](Self::for_http_requests), for the head
    /// of its request. Its body is [`pending`](Self::pending). `None` if there is none, if it is
    /// not complete, and when a part of it has been taken.
    #[must_use]
    pub fn post(&self) -> Option<OutgoingMessage<'_>> {
        match self.framing() {
            Framing::Post(Some(revision)) => OutgoingMessage::written(self.pending(), *revision),
            _ => None,
        }
    }

    /// Takes the message out of a buffer [for HTTP requests](Self::for_http_requests), which is
    /// free for the next one then. `None` as [`post`](Self::post).
    #[cfg(feature = "alloc")]
    pub fn take_post(&mut self) -> Option<Post> {
        let Framing::Post(Some(revision)) = *self.framing() else { return None };
        self.post()?;
        let post = Post::new(self.pending().to_vec(), revision);
        self.clear();
        Some(post)
    }
}
