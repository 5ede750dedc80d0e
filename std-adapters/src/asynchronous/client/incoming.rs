//! Input of a connection: from the stream to events.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_lite::AsyncRead;
use mcp_sansio::{ClientEvent, RxBuffer};

use super::inner::ConnectionInner;
use crate::runtime::is_gone;

/// Input that was read and not processed.
pub(crate) struct Incoming {
    rx: RxBuffer<Vec<u8>>,
    /// Whether unprocessed frames are left.
    has_more: bool,
    input_ended: bool,
}

impl Incoming {
    pub(crate) fn new(max_line: usize) -> Self {
        Self { rx: RxBuffer::with_limit(Vec::new(), max_line), has_more: false, input_ended: false }
    }

    /// Returns whether the input has ended and everything is processed.
    pub(crate) fn has_ended(&self) -> bool {
        self.input_ended && !self.rx.is_mid_frame() && !self.has_more
    }

    /// Discards the input.
    pub(crate) fn discard(&mut self) {
        self.has_more = false;
        self.rx.clear();
    }

    pub(crate) fn read(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        // The buffer is full only while a frame waits for room for its response.
        if self.input_ended || self.rx.spare().is_empty() {
            return Ok(false);
        }
        let spare = self.rx.spare();
        let len = spare.len().min(READ);
        match Pin::new(stream).poll_read(cx, spare.get_mut(..len).unwrap_or_default()) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(read)) if read > 0 => self.rx.commit(read),
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Poll::Ready(Err(error)) if !is_gone(&error) => return Err(error),
            Poll::Ready(Ok(_) | Err(_)) => {
                self.input_ended = true;
                self.rx.end_of_input();
            }
        }
        Ok(true)
    }

    /// Processes up to [`FRAMES`] frames; `dispatch` gets the events that belong to no call. A
    /// frame whose response does not fit is lent again later, while reading goes on.
    pub(crate) fn take_events(
        &mut self,
        inner: &ConnectionInner,
        dispatch: &mut dyn FnMut(&ClientEvent<'_>),
    ) -> bool {
        let now = inner.now();
        let (mut moved, mut frames) = (false, 0);
        self.has_more = false;
        while let Some(mut messages) = self.rx.next_messages() {
            loop {
                let taken = inner.with(|state| {
                    let event =
                        state.call(|client, tx| client.next_event(now, &mut messages, tx))?;
                    Ok::<_, mcp_sansio::SendError>(event.map(|event| (state.take(&event), event)))
                });
                match taken {
                    Ok(Some((is_taken, event))) => {
                        moved = true;
                        if !is_taken {
                            dispatch(&event);
                        }
                    }
                    Ok(None) => break,
                    Err(_) => return moved,
                }
            }
            frames += 1;
            if frames == FRAMES {
                // The rest is processed in the next round.
                self.has_more = true;
                return true;
            }
        }
        moved
    }
}

/// Maximum number of bytes of a read.
const READ: usize = 64 << 10;
/// Frames in a row before the other sources are processed.
const FRAMES: usize = 256;
