//! The two roles of a connection.

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;

use super::outcomes::{Kept, OutcomeMemory, Places};
#[cfg(feature = "alloc")]
use crate::client::GrowingClientState;
use crate::client::{Client, ClientConfig, ClientEvent, ClientState};
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::message::Messages;
use crate::rpc::RpcError;
#[cfg(feature = "alloc")]
use crate::server::GrowingServerState;
use crate::server::{Admission, Server, ServerConfig, ServerEvent, ServerState};
use crate::time::Instant;
use crate::tx::Tx;

/// The memory of a [`Connection`](super::Connection)'s machine: a state of a server or of a client,
/// of any size, or a `&mut` of one.
pub trait Memory: Sealed {
    /// [`ServerConfig`] or [`ClientConfig`].
    type Config<'c>;
    /// [`Server`] or [`Client`].
    type Machine<'s>: for<'f> Machine<Event<'f> = Self::Event<'f>>
    where
        Self: 's;
    /// [`ServerEvent`] or [`ClientEvent`].
    type Event<'f>;
    #[doc(hidden)]
    type Outcomes<O, const N: usize>: OutcomeMemory<O>;

    /// Returns the machine, which is a view of the memory.
    fn machine<'s, 'c: 's>(&'s mut self, config: &'s Self::Config<'c>) -> Self::Machine<'s>;

    /// Sends notifications that no event has caused. Returns whether some wait for room.
    #[doc(hidden)]
    fn notify(&mut self, config: &Self::Config<'_>, tx: &mut Tx<'_>) -> bool {
        let _ = (config, tx);
        false
    }

    #[doc(hidden)]
    fn admission(&self) -> Admission {
        Admission::Wait
    }

    #[doc(hidden)]
    fn is_blocked(&self) -> bool {
        false
    }

    /// Returns whether the connection ends once nothing is open.
    #[doc(hidden)]
    fn is_closing(&self) -> bool {
        false
    }
}

/// A [`Server`] or a [`Client`].
pub trait Machine: Sealed {
    /// [`ServerEvent`] or [`ClientEvent`].
    type Event<'f>;

    #[doc(hidden)]
    fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'f>>, SendError>;

    #[doc(hidden)]
    fn handle_timeout<'f>(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<Self::Event<'f>>, SendError>;

    #[doc(hidden)]
    fn poll_timeout(&self) -> Option<Instant>;

    /// Returns whether a further request has to wait.
    #[doc(hidden)]
    fn is_full(&self) -> bool;

    /// Ends a request with an internal error, also if its response has begun.
    #[doc(hidden)]
    fn fail(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> Result<(), SendError>;

    /// Returns whether the peer awaits a response from the application.
    #[doc(hidden)]
    fn is_awaited(&self) -> bool;

    /// Returns an event that the end of the connection causes, until there is none.
    #[doc(hidden)]
    fn end<'f>(&mut self) -> Option<Self::Event<'f>>;

    /// Forgets the peer.
    #[doc(hidden)]
    fn close(&mut self);
}

impl Machine for Server<'_> {
    type Event<'f> = ServerEvent<'f>;

    fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        self.next_event(now, messages, tx)
    }

    fn handle_timeout<'f>(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        self.handle_timeout(now, tx)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn fail(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> Result<(), SendError> {
        self.fail(request, &RpcError::internal(INVALID), tx)
    }

    fn is_awaited(&self) -> bool {
        self.is_awaited()
    }

    fn end<'f>(&mut self) -> Option<ServerEvent<'f>> {
        None
    }

    fn close(&mut self) {
        self.close();
    }
}

impl Machine for Client<'_> {
    type Event<'f> = ClientEvent<'f>;

    fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        self.next_event(now, messages, tx)
    }

    fn handle_timeout<'f>(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        self.handle_timeout(now, tx)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn is_full(&self) -> bool {
        false
    }

    fn fail(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> Result<(), SendError> {
        self.respond_error(request, &RpcError::internal(INVALID), tx)
    }

    fn is_awaited(&self) -> bool {
        false
    }

    fn end<'f>(&mut self) -> Option<ClientEvent<'f>> {
        self.close()
    }

    fn close(&mut self) {
        while self.close().is_some() {}
    }
}

macro_rules! memory {
    (
        {$($size:tt)*} $state:ty:
        $config:ident, $machine:ident, $event:ident, $view:ident, $kept:ty $(, $($more:tt)*)?
    ) => {
        impl<$($size)*> Memory for $state {
            type Config<'c> = $config<'c>;
            type Machine<'s> = $machine<'s>;
            type Event<'f> = $event<'f>;
            type Outcomes<O, const PLACES: usize> = $kept;

            fn machine<'s, 'c: 's>(&'s mut self, config: &'s $config<'c>) -> $machine<'s> {
                self.$view(config)
            }

            $($($more)*)?
        }

        impl<$($size)*> Sealed for $state {}
    };
}

memory!({const N: usize, const S: usize} ServerState<N, S>:
    ServerConfig, Server, ServerEvent, server, Places<[Option<Kept<O>>; PLACES]>);
memory!({const N: usize} ClientState<N>:
    ClientConfig, Client, ClientEvent, client, Places<[Option<Kept<O>>; PLACES]>);
#[cfg(feature = "alloc")]
memory!({} GrowingServerState: ServerConfig, Server, ServerEvent, server, VecDeque<Kept<O>>,
    fn notify(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        self.notify(config, tx)
    }

    fn admission(&self) -> Admission {
        self.admission
    }

    fn is_blocked(&self) -> bool {
        self.is_blocked()
    }

    fn is_closing(&self) -> bool {
        self.is_closing
    }
);
#[cfg(feature = "alloc")]
memory!({} GrowingClientState: ClientConfig, Client, ClientEvent, client, VecDeque<Kept<O>>);

impl<T: Memory> Memory for &mut T {
    type Config<'c> = T::Config<'c>;
    type Machine<'s>
        = T::Machine<'s>
    where
        Self: 's;
    type Event<'f> = T::Event<'f>;
    type Outcomes<O, const N: usize> = T::Outcomes<O, N>;

    fn machine<'s, 'c: 's>(&'s mut self, config: &'s Self::Config<'c>) -> Self::Machine<'s> {
        T::machine(self, config)
    }

    fn notify(&mut self, config: &Self::Config<'_>, tx: &mut Tx<'_>) -> bool {
        T::notify(self, config, tx)
    }

    fn admission(&self) -> Admission {
        T::admission(self)
    }

    fn is_blocked(&self) -> bool {
        T::is_blocked(self)
    }

    fn is_closing(&self) -> bool {
        T::is_closing(self)
    }
}

impl<T: Memory> Sealed for &mut T {}
impl Sealed for Server<'_> {}
impl Sealed for Client<'_> {}

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

const INVALID: &str = "The response cannot be sent";
