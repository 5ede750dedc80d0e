//! Reading and writing. Bytes pass through a chunk, so that no buffer is borrowed during a read or
//! a write.

use core::convert::Infallible;

use ::embassy_futures::yield_now;
use ::embedded_io_async::{Error as _, ErrorKind, Read, Write};

use super::connection::Connection;
use super::error::{Error, is_permanent};
use super::handler::Handler;
use super::read_buffer::CHUNK;

impl<H: Handler, const RX: usize, const TX: usize, const N: usize, const S: usize>
    Connection<'_, H, RX, TX, N, S>
{
    /// Reads until the input has ended and all possible responses have been written.
    pub(super) async fn read<R: Read>(&self, mut reader: R) -> Result<(), R::Error> {
        let mut chunk = [0; CHUNK];
        loop {
            match reader.read(&mut chunk).await {
                Ok(0) => break,
                Ok(read) => self.put_bytes(chunk.get(..read).unwrap_or_default()).await,
                Err(error) if error.kind() == ErrorKind::Interrupted => yield_now().await,
                Err(error) if is_permanent(error.kind()) => return Err(error),
                Err(error) => {
                    // 0xFF is never valid UTF-8, so the damaged line is rejected.
                    if self.is_mid_line() {
                        self.put_bytes(&[0xff]).await;
                    }
                    self.handler.on_read_error(error.kind());
                    // A cut wire may fail at once, again and again: lets other tasks run.
                    yield_now().await;
                }
            }
        }
        if self.is_mid_line() {
            // The last line may lack its line end.
            self.put_bytes(b"\n").await;
        }
        Self::until(|| self.state.borrow().is_through().then_some(())).await;
        Ok(())
    }

    /// Puts bytes into the read buffer when it has room.
    pub(super) async fn put_bytes(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = Self::until(|| {
                let state = &mut *self.state.borrow_mut();
                let rest = state.read_buffer.put(bytes, state.now)?;
                state.is_touched = true;
                Some(rest)
            })
            .await;
        }
    }

    pub(super) fn is_mid_line(&self) -> bool {
        self.state.borrow().read_buffer.is_mid_line()
    }

    /// Moves bytes from the read buffer.
    pub(super) fn take_bytes(&self, into: &mut [u8]) -> Option<usize> {
        let state = &mut *self.state.borrow_mut();
        let taken = state.read_buffer.take(into)?;
        (state.has_lines, state.is_touched) = (true, true);
        Some(taken)
    }

    /// Writes all output. Never completes but with an error.
    pub(super) async fn write<W: Write, R>(
        &self,
        mut writer: W,
    ) -> Result<Infallible, Error<R, W::Error>> {
        let mut chunk = [0; CHUNK];
        loop {
            let len = Self::until(|| {
                let state = &mut *self.state.borrow_mut();
                let pending = state.tx.pending();
                let len = pending.len().min(CHUNK);
                chunk.get_mut(..len)?.copy_from_slice(pending.get(..len)?);
                if len == 0 {
                    return None;
                }
                state.tx.advance(len);
                state.is_writing = true;
                state.drained();
                Some(len)
            })
            .await;
            let mut rest = chunk.get(..len).unwrap_or_default();
            while !rest.is_empty() {
                match writer.write(rest).await {
                    Ok(0) => return Err(Error::WriteZero),
                    Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                    Err(error) if error.kind() == ErrorKind::Interrupted => yield_now().await,
                    Err(error) => return Err(Error::Write(error)),
                }
            }
            let is_last = self.state.borrow().tx.pending().is_empty();
            if is_last {
                writer.flush().await.map_err(Error::Write)?;
                let state = &mut *self.state.borrow_mut();
                (state.is_writing, state.is_touched) = (false, true);
            }
        }
    }
}
