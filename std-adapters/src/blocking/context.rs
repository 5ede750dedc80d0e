//! A server with the output that it writes to: each call drains and repeats until it is through.

use std::fmt;
use std::io::Write;

use mcp_sansio::types::InputRequiredResult;
use mcp_sansio::{
    Call, Catalog, Change, ClientRequest, Delivery, Instant, Json, LogMessage, Messages, Payload,
    Progress, RawJson, Request, RequestHandle, RpcError, SendError, Server, ServerEvent, Target,
    Tx, TxBuffer,
};
use serde::Serialize;

use super::{Error, IN_FLIGHT, MAX_PENDING, SUBSCRIPTIONS};

/// What a handler speaks through. The calls are those of [`Server`], where the documentation is;
/// they take as long as the output takes.
///
/// All of them fail with the output ([`Error::Io`]), or where the core refuses ([`Error::Send`]);
/// after the latter the session can go on.
pub struct Context<'s, 'c, const N: usize = IN_FLIGHT, const S: usize = SUBSCRIPTIONS> {
    server: &'s mut Server<'c, N, S>,
    tx: &'s mut TxBuffer<Vec<u8>>,
    output: &'s mut dyn Write,
    clock: std::time::Instant,
    /// What the clock said last: it is read once for all that one read brings.
    now: Instant,
}

impl<'s, 'c, const N: usize, const S: usize> Context<'s, 'c, N, S> {
    pub(super) fn new(
        server: &'s mut Server<'c, N, S>,
        tx: &'s mut TxBuffer<Vec<u8>>,
        output: &'s mut dyn Write,
        clock: std::time::Instant,
    ) -> Self {
        Self { server, tx, output, clock, now: Instant::from_millis(0) }
    }

    /// The time since the session began.
    pub fn now(&self) -> Instant {
        Instant::from_millis(u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// The server, to ask it something, or for a call that is not below.
    pub fn server(&mut self) -> &mut Server<'c, N, S> {
        self.server
    }

    /// [`Catalog::respond`]: responds to lists and unknown names, and returns the entry that the
    /// request is for otherwise.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_from<'k>(
        &mut self,
        catalog: &Catalog<'k>,
        request: &Request<'_>,
    ) -> Result<Target<'k>, Error> {
        self.send(|server, tx| catalog.respond(server, request, tx))
    }

    /// [`Server::respond`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond<T: Serialize + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond(request, &Json(result), tx))
    }

    /// [`Server::respond_raw`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_raw(
        &mut self,
        request: RequestHandle,
        result: RawJson<'_>,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond_raw(request, result, tx))
    }

    /// [`Server::respond_structured`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_structured(
        &mut self,
        request: RequestHandle,
        data: RawJson<'_>,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond_structured(request, data, tx))
    }

    /// [`Server::respond_invalid_arguments`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_invalid_arguments(
        &mut self,
        request: RequestHandle,
        why: &dyn fmt::Display,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond_invalid_arguments(request, why, tx))
    }

    /// [`Server::respond_error`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond_error(request, error, tx))
    }

    /// [`Server::input_required`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn input_required(
        &mut self,
        request: RequestHandle,
        input: &InputRequiredResult<'_>,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.input_required(request, input, tx))
    }

    /// [`Server::progress`]; sent at once.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn progress(
        &mut self,
        request: RequestHandle,
        progress: &Progress<'_>,
    ) -> Result<Delivery, Error> {
        let now = self.now();
        let answered = self.send(|server, tx| server.progress(now, request, progress, tx))?;
        self.drain()?;
        Ok(answered)
    }

    /// [`Server::log`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn log<T: Serialize + ?Sized>(
        &mut self,
        request: RequestHandle,
        message: &LogMessage<'_, T>,
    ) -> Result<Delivery, Error> {
        let message =
            LogMessage { level: message.level, logger: message.logger, data: &Json(message.data) };
        self.send(|server, tx| server.log(request, &message, tx))
    }

    /// [`Server::log_unrelated`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn log_unrelated<T: Serialize + ?Sized>(
        &mut self,
        message: &LogMessage<'_, T>,
    ) -> Result<Delivery, Error> {
        let message =
            LogMessage { level: message.level, logger: message.logger, data: &Json(message.data) };
        self.send(|server, tx| server.log_unrelated(&message, tx))
    }

    /// [`Server::publish`], to all subscribers.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error> {
        while self.send(|server, tx| server.publish(&mut change, tx))? {}
        Ok(())
    }

    /// [`Server::end_listen`], to its end.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn end_listen(&mut self, request: RequestHandle) -> Result<(), Error> {
        while self.send(|server, tx| server.end_listen(request, tx))? {}
        Ok(())
    }

    /// [`Server::notify`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn notify<P: Serialize + ?Sized>(&mut self, method: &str, params: &P) -> Result<(), Error> {
        self.send(|server, tx| server.notify(method, &Json(params), tx))
    }

    /// [`Server::request`]; the answer is an event.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn request<P: Payload + ?Sized>(
        &mut self,
        request: &ClientRequest<'_, P>,
    ) -> Result<Call, Error> {
        let now = self.now();
        self.send(|server, tx| server.request(now, request, tx))
    }

    /// [`Server::cancel_call`]
    ///
    /// # Errors
    /// See [`Context`].
    pub fn cancel_call(&mut self, call: Call) -> Result<bool, Error> {
        let now = self.now();
        self.send(|server, tx| server.cancel_call(now, call, tx))
    }

    /// Any call of the server: repeated after each drain, until it is through.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'c, N, S>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, Error> {
        loop {
            match call(self.server, self.tx) {
                Err(error) if error.is_full() => self.drain()?,
                Err(error) => return Err(Error::Send(error)),
                Ok(value) => {
                    // Enough for one system call; more would only leave the cache.
                    if self.tx.pending().len() >= ENOUGH {
                        self.drain()?;
                    }
                    return Ok(value);
                }
            }
        }
    }

    /// Writes everything out. Done before each wait; in the middle of long work it tells the client
    /// sooner.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn drain(&mut self) -> Result<(), Error> {
        if self.tx.pending().is_empty() {
            return Ok(());
        }
        self.output.write_all(self.tx.pending())?;
        self.tx.advance(self.tx.pending().len());
        Ok(self.output.flush()?)
    }

    /// After a panic of the handler: ends a line that it has begun and will not finish, so that
    /// others can write.
    pub(super) fn broken_off(&mut self) -> Result<(), Error> {
        if self.tx.is_mid_frame() {
            self.drain()?;
            self.output.write_all(b"\n")?;
            *self.tx = TxBuffer::with_limit(Vec::new(), MAX_PENDING);
        }
        Ok(())
    }

    /// Reads the clock.
    pub(super) fn tick(&mut self) {
        self.now = self.now();
    }

    pub(super) fn next_event<'f>(
        &mut self,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, Error> {
        let now = self.now;
        self.send(|server, tx| server.next_event(now, messages, tx))
    }

    pub(super) fn handle_timeout(&mut self) -> Result<Option<ServerEvent<'static>>, Error> {
        let now = self.now;
        self.send(|server, tx| server.handle_timeout(now, tx))
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.server.poll_timeout()
    }

    pub(super) fn close(&mut self) {
        self.server.close();
    }
}

impl<const N: usize, const S: usize> fmt::Debug for Context<'_, '_, N, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("in_flight", &self.server.open_requests())
            .finish_non_exhaustive()
    }
}

/// Bytes of answers after which they are written although there is more to read.
const ENOUGH: usize = 64 << 10;
