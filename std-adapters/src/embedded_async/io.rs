//! Reading and writing, by way of the chunks: the core is not borrowed meanwhile.

use core::convert::Infallible;

use ::embassy_futures::yield_now;
use ::embedded_io_async::{Error as _, ErrorKind, Read, Write};

use super::connection::Connection;
use super::error::{Error, is_permanent};
use super::handler::Handler;

#[expect(
    clippy::await_holding_refcell_ref,
    reason = "who else uses a chunk takes it for empty, or full, while it is borrowed"
)]
impl<
    H: Handler,
    const RX: usize,
    const TX: usize,
    const N: usize,
    const S: usize,
    const REQUEST: usize,
> Connection<'_, H, RX, TX, N, S, REQUEST>
{
    /// Reads. Never completes but with an error.
    pub(super) async fn read<R: Read>(&self, mut reader: R) -> Result<Infallible, R::Error> {
        loop {
            Self::until(|| (!self.has_input()).then_some(())).await;
            let read = {
                let input = &mut *self.input.borrow_mut();
                let read = reader.read(&mut input.bytes).await;
                input.filled(*read.as_ref().unwrap_or(&0));
                read
            };
            match read {
                Ok(0) => {
                    self.core.borrow_mut().end_of_input();
                    self.input_ended.set(true);
                    self.touch();
                    return core::future::pending().await;
                }
                Ok(_) => self.touch(),
                Err(error) if error.kind() == ErrorKind::Interrupted => yield_now().await,
                Err(error) if is_permanent(error.kind()) => return Err(error),
                Err(error) => {
                    self.core.borrow_mut().rx().lost();
                    self.touch();
                    self.handler.on_read_error(error.kind());
                    // A cut wire may fail at once, again and again: lets other tasks run.
                    yield_now().await;
                }
            }
        }
    }

    /// Writes all output. Never completes but with an error.
    pub(super) async fn write<W: Write, R>(
        &self,
        mut writer: W,
    ) -> Result<Infallible, Error<R, W::Error>> {
        loop {
            Self::until(|| (!self.output.borrow().is_empty()).then_some(())).await;
            {
                let output = &mut *self.output.borrow_mut();
                while !output.is_empty() {
                    match writer.write(output.rest()).await {
                        Ok(0) => return Err(Error::WriteZero),
                        Ok(written) => output.advance(written),
                        Err(error) if error.kind() == ErrorKind::Interrupted => yield_now().await,
                        Err(error) => return Err(Error::Write(error)),
                    }
                }
            }
            if !self.has_more.get() {
                writer.flush().await.map_err(Error::Write)?;
                self.is_flushed.set(self.output.borrow().is_empty());
            }
            self.touch();
        }
    }
}
