//! The two roles of a connection.

#[cfg(feature = "alloc")]
use crate::client::GrowingClientState;
use crate::client::{Client, ClientConfig, ClientEvent, ClientState};
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::message::Messages;
use crate::rpc::RpcError;
#[cfg(feature = "alloc")]
use crate::server::GrowingServerState;
use crate::server::{Server, ServerConfig, ServerEvent, ServerState};
use crate::time::Instant;
use crate::tx::Tx;

/// The memory of a [`Connection`](super::Connection)'s machine: a state of a server or of a client,
/// of any size.
pub trait Memory: Sealed {
    /// [`ServerConfig`] or [`ClientConfig`].
    type Config<'c>;
    /// [`Server`] or [`Client`].
    type Machine<'s>;
    /// [`ServerEvent`] or [`ClientEvent`].
    type Event<'f>;

    /// Returns the machine, which is a view of the memory.
    fn machine<'s, 'c: 's>(&'s mut self, config: &'s Self::Config<'c>) -> Self::Machine<'s>;

    #[doc(hidden)]
    fn next_event<'f>(
        machine: &mut Self::Machine<'_>,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'f>>, SendError>;

    #[doc(hidden)]
    fn handle_timeout<'f>(
        machine: &mut Self::Machine<'_>,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'f>>, SendError>;

    #[doc(hidden)]
    fn poll_timeout(machine: &Self::Machine<'_>) -> Option<Instant>;

    /// Returns whether a further request has to wait.
    #[doc(hidden)]
    fn is_full(machine: &Self::Machine<'_>) -> bool;

    /// Ends a request with an internal error, also if its response has begun.
    #[doc(hidden)]
    fn fail(
        machine: &mut Self::Machine<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError>;

    /// Returns whether the peer awaits a response from the application.
    #[doc(hidden)]
    fn is_awaited(machine: &Self::Machine<'_>) -> bool;

    /// Returns an event that the end of the connection causes, until there is none.
    #[doc(hidden)]
    fn end<'f>(machine: &mut Self::Machine<'_>) -> Option<Self::Event<'f>>;
}

macro_rules! server {
    ($({$($size:tt)*} $state:ty),+) => {$(
        impl<$($size)*> Memory for $state {
            type Config<'c> = ServerConfig<'c>;
            type Machine<'s> = Server<'s>;
            type Event<'f> = ServerEvent<'f>;

            fn machine<'s, 'c: 's>(&'s mut self, config: &'s ServerConfig<'c>) -> Server<'s> {
                self.server(config)
            }

            fn next_event<'f>(
                server: &mut Server<'_>,
                now: Instant,
                messages: &mut Messages<'f>,
                tx: &mut Tx<'_>,
            ) -> Result<Option<ServerEvent<'f>>, SendError> {
                server.next_event(now, messages, tx)
            }

            fn handle_timeout<'f>(
                server: &mut Server<'_>,
                now: Instant,
                tx: &mut Tx<'_>,
            ) -> Result<Option<ServerEvent<'f>>, SendError> {
                server.handle_timeout(now, tx)
            }

            fn poll_timeout(server: &Server<'_>) -> Option<Instant> {
                server.poll_timeout()
            }

            fn is_full(server: &Server<'_>) -> bool {
                server.is_full()
            }

            fn fail(
                server: &mut Server<'_>,
                request: RequestHandle,
                tx: &mut Tx<'_>,
            ) -> Result<(), SendError> {
                server.fail(request, &RpcError::internal(INVALID), tx)
            }

            fn is_awaited(server: &Server<'_>) -> bool {
                server.is_awaited()
            }

            fn end<'f>(_: &mut Server<'_>) -> Option<ServerEvent<'f>> {
                None
            }
        }

        impl<$($size)*> Sealed for $state {}
    )+};
}

macro_rules! client {
    ($({$($size:tt)*} $state:ty),+) => {$(
        impl<$($size)*> Memory for $state {
            type Config<'c> = ClientConfig<'c>;
            type Machine<'s> = Client<'s>;
            type Event<'f> = ClientEvent<'f>;

            fn machine<'s, 'c: 's>(&'s mut self, config: &'s ClientConfig<'c>) -> Client<'s> {
                self.client(config)
            }

            fn next_event<'f>(
                client: &mut Client<'_>,
                now: Instant,
                messages: &mut Messages<'f>,
                tx: &mut Tx<'_>,
            ) -> Result<Option<ClientEvent<'f>>, SendError> {
                client.next_event(now, messages, tx)
            }

            fn handle_timeout<'f>(
                client: &mut Client<'_>,
                now: Instant,
                tx: &mut Tx<'_>,
            ) -> Result<Option<ClientEvent<'f>>, SendError> {
                client.handle_timeout(now, tx)
            }

            fn poll_timeout(client: &Client<'_>) -> Option<Instant> {
                client.poll_timeout()
            }

            fn is_full(_: &Client<'_>) -> bool {
                false
            }

            fn fail(
                client: &mut Client<'_>,
                request: RequestHandle,
                tx: &mut Tx<'_>,
            ) -> Result<(), SendError> {
                client.respond_error(request, &RpcError::internal(INVALID), tx)
            }

            fn is_awaited(_: &Client<'_>) -> bool {
                false
            }

            fn end<'f>(client: &mut Client<'_>) -> Option<ClientEvent<'f>> {
                client.close()
            }
        }

        impl<$($size)*> Sealed for $state {}
    )+};
}

server!({const N: usize, const S: usize} ServerState<N, S>);
client!({const N: usize} ClientState<N>);
#[cfg(feature = "alloc")]
server!({} GrowingServerState);
#[cfg(feature = "alloc")]
client!({} GrowingClientState);

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

const INVALID: &str = "The response cannot be sent";
