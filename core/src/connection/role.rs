//! The two roles of a connection, and a pair of both.

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;

use super::outbox::{OutcomeMemory, OutcomeSlots, PendingOutcome};
use super::{Connection, Outcome, Step, Turn};
use crate::buffers::Storage;
use crate::buffers::rx::RxBuffer;
use crate::buffers::tx::Tx;
#[cfg(feature = "alloc")]
use crate::client::GrowingClientState;
use crate::client::{Client, ClientConfig, ClientEvent, ClientState};
use crate::message::Messages;
use crate::protocol::error::SendResult;
use crate::rpc::RpcError;
use crate::rpc::inflight::RequestHandle;
#[cfg(feature = "alloc")]
use crate::server::GrowingServerState;
use crate::server::{Admission, Server, ServerConfig, ServerEvent, ServerState};
use crate::text::copy;
use crate::time::Instant;

/// The memory of a [`Connection`](super::Connection)'s machine: a state of a server or of a client,
/// of any size, or a `&mut` of one.
pub trait Memory: sealed::Memory {
    /// [`ServerConfig`] or [`ClientConfig`].
    type Config<'c>;
    /// [`Server`] or [`Client`].
    type Machine<'s>: for<'f> Machine<Event<'f> = Self::Event<'f>>
    where
        Self: 's;
    /// [`ServerEvent`] or [`ClientEvent`].
    type Event<'f>;

    /// Returns the machine, which is a view of the memory.
    fn machine<'s, 'c: 's>(&'s mut self, config: &'s Self::Config<'c>) -> Self::Machine<'s>;

    /// Sends notifications that no event has caused. Returns whether some wait for room.
    fn notify(&mut self, config: &Self::Config<'_>, tx: &mut Tx<'_>) -> bool {
        let _ = (config, tx);
        false
    }
}

/// A [`Server`] or a [`Client`], with its event.
pub trait Machine: sealed::Machine {}

impl<M: sealed::Machine> Machine for M {}

pub(super) mod sealed {
    use super::*;

    /// The questions of a connection to its memory, which applications do not ask.
    pub trait Memory {
        type Outcomes<O, const N: usize>: OutcomeMemory<O>;

        fn admission(&self) -> Admission {
            Admission::Wait
        }

        fn is_blocked(&self) -> bool {
            false
        }

        /// Returns whether the connection ends once nothing is open.
        fn is_closing(&self) -> bool {
            false
        }
    }

    /// The calls of a connection to its machine.
    pub trait Machine {
        type Event<'f>;

        fn next_event<'f>(
            &mut self,
            now: Instant,
            messages: &mut Messages<'f>,
            tx: &mut Tx<'_>,
        ) -> SendResult<Option<Self::Event<'f>>>;

        fn handle_timeout<'f>(
            &mut self,
            now: Instant,
            tx: &mut Tx<'_>,
        ) -> SendResult<Option<Self::Event<'f>>>;

        fn poll_timeout(&self) -> Option<Instant>;

        /// Returns whether a further request has to wait.
        fn is_full(&self) -> bool;

        /// Ends a request with an internal error, also if its response has begun.
        fn fail(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult;

        /// Skips the id of a call whose line was cut off, so that no other call has it.
        fn skip_id(&mut self);

        /// Returns whether the peer awaits a response from the application.
        fn has_open_requests(&self) -> bool;

        /// Returns an event that the end of the connection causes, until there is none.
        fn end<'f>(&mut self) -> Option<Self::Event<'f>>;

        /// Forgets the peer.
        fn close(&mut self);
    }
}

macro_rules! machine {
    ($machine:ident, $event:ident, $fail:ident, $($own:tt)*) => {
        impl sealed::Machine for $machine<'_> {
            type Event<'f> = $event<'f>;

            fn next_event<'f>(
                &mut self,
                now: Instant,
                messages: &mut Messages<'f>,
                tx: &mut Tx<'_>,
            ) -> SendResult<Option<$event<'f>>> {
                self.next_event(now, messages, tx)
            }

            fn handle_timeout<'f>(
                &mut self,
                now: Instant,
                tx: &mut Tx<'_>,
            ) -> SendResult<Option<$event<'f>>> {
                self.handle_timeout(now, tx)
            }

            fn poll_timeout(&self) -> Option<Instant> {
                self.poll_timeout()
            }

            fn fail(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
                self.$fail(request, &RpcError::internal(INVALID), tx)
            }

            fn skip_id(&mut self) {
                self.skip_id();
            }

            $($own)*
        }
    };
}

machine! { Server, ServerEvent, fail,
    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn has_open_requests(&self) -> bool {
        self.has_open_requests()
    }

    fn end<'f>(&mut self) -> Option<ServerEvent<'f>> {
        None
    }

    fn close(&mut self) {
        self.close();
    }
}

machine! { Client, ClientEvent, respond_error,
    fn is_full(&self) -> bool {
        false
    }

    fn has_open_requests(&self) -> bool {
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
        $config:ident, $machine:ident, $event:ident, $view:ident, $kept:ty
        $(, $notify:item)? $(; $($more:tt)*)?
    ) => {
        impl<$($size)*> Memory for $state {
            type Config<'c> = $config<'c>;
            type Machine<'s> = $machine<'s>;
            type Event<'f> = $event<'f>;

            #[cfg_attr(not(small), inline(always))]
            fn machine<'s, 'c: 's>(&'s mut self, config: &'s $config<'c>) -> $machine<'s> {
                self.$view(config)
            }

            $($notify)?
        }

        impl<$($size)*> sealed::Memory for $state {
            type Outcomes<O, const PLACES: usize> = $kept;

            $($($more)*)?
        }
    };
}

memory!({const N: usize, const S: usize} ServerState<N, S>:
    ServerConfig, Server, ServerEvent, server, OutcomeSlots<[Option<PendingOutcome<O>>; PLACES]>);
memory!({const N: usize} ClientState<N>:
    ClientConfig, Client, ClientEvent, client, OutcomeSlots<[Option<PendingOutcome<O>>; PLACES]>);
#[cfg(feature = "alloc")]
memory!({} GrowingServerState:
    ServerConfig, Server, ServerEvent, server, VecDeque<PendingOutcome<O>>,
    fn notify(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        self.notify(config, tx)
    };

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
memory!({} GrowingClientState:
    ClientConfig, Client, ClientEvent, client, VecDeque<PendingOutcome<O>>);

impl<T: Memory> Memory for &mut T {
    type Config<'c> = T::Config<'c>;
    type Machine<'s>
        = T::Machine<'s>
    where
        Self: 's;
    type Event<'f> = T::Event<'f>;

    fn machine<'s, 'c: 's>(&'s mut self, config: &'s Self::Config<'c>) -> Self::Machine<'s> {
        T::machine(self, config)
    }

    fn notify(&mut self, config: &Self::Config<'_>, tx: &mut Tx<'_>) -> bool {
        T::notify(self, config, tx)
    }
}

impl<T: Memory> sealed::Memory for &mut T {
    type Outcomes<O, const N: usize> = T::Outcomes<O, N>;

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

const INVALID: &str = "The response cannot be sent";

/// A client and a server, each a [`Connection`], whose bytes are moved in memory: for tests and
/// simulations in virtual time, with the real messages.
///
/// ```
/// use mcp_sansio::types::{CallToolParams, Implementation, TextResult};
/// use mcp_sansio::*;
///
/// static SERVER: ServerConfig =
///     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
/// static CLIENT: ClientConfig =
///     ClientConfig::new(Implementation::new("test", "1.0.0"), ClientFeatures::NONE);
///
/// let buffers = || (RxBuffer::new([0; 512]), TxBuffer::new([0; 256]));
/// let ((rx, tx), (server_rx, server_tx)) = (buffers(), buffers());
/// let client: Connection<_, _, _> = Connection::new(&CLIENT, ClientState::<4>::new(), rx, tx);
/// let server: Connection<_, _, _> =
///     Connection::new(&SERVER, ServerState::<4, 4>::new(), server_rx, server_tx);
/// let mut pair = Pair::new(client, server);
/// let now = Instant::from_millis(0);
///
/// let mut turn = pair.client().turn(now);
/// let (client, tx) = turn.parts();
/// client.set_era(Some(Era::Modern));
/// client.connect(now, tx)?;
/// client.request(now, "tools/call", &CallToolParams::new("say"), CallOptions::new(), tx)?;
/// loop {
///     match pair.next(now) {
///         PairStep::Server(ServerEvent::Request(request), mut turn) => {
///             turn.respond(request.handle, &TextResult::new("hello"))?;
///         }
///         PairStep::Client(ClientEvent::CallFinished { outcome, .. }, _) => {
///             let CallOutcome::Result(result) = outcome else { panic!("{outcome:?}") };
///             assert!(result.as_str().contains("hello"));
///             break;
///         }
///         PairStep::Idle(_) => panic!("no response"),
///         _ => {}
///     }
/// }
/// # Ok::<(), SendError>(())
/// ```
pub struct Pair<C, S> {
    client: C,
    server: S,
    /// Number of bytes that the other end has taken, of the client and of the server.
    moved: [usize; 2],
    /// Times of the next timeouts, of the client and of the server.
    until: [Option<Instant>; 2],
    is_servers_turn: bool,
    /// Number of steps since anything was done.
    idle: u8,
}

/// The next step of a [`Pair`].
#[derive(Debug)]
#[must_use]
pub enum PairStep<'p, CE, CM, CO, SE, SM, SO> {
    /// An event of the client.
    Client(CE, Turn<'p, CM, CO>),
    /// An event of the server.
    Server(SE, Turn<'p, SM, SO>),
    /// Bytes were moved, or something was done without the application: call [`Pair::next`] again.
    Again,
    /// Nothing is left to do until the application does something, or until this time.
    Idle(Option<Instant>),
}

impl<C, S> Pair<C, S> {
    /// Connects a client and a server.
    pub const fn new(client: C, server: S) -> Self {
        Self { client, server, moved: [0; 2], until: [None; 2], is_servers_turn: false, idle: 0 }
    }
}

/// The step of a pair of such connections.
type StepOf<'p, CT, CO, ST, SO> = PairStep<
    'p,
    <CT as Memory>::Event<'p>,
    <CT as Memory>::Machine<'p>,
    CO,
    <ST as Memory>::Event<'p>,
    <ST as Memory>::Machine<'p>,
    SO,
>;

impl<'c, 's, CT, CR, CW, CO, ST, SR, SW, SO, const CN: usize, const SN: usize>
    Pair<Connection<'c, CT, CR, CW, CO, CN>, Connection<'s, ST, SR, SW, SO, SN>>
where
    CT: for<'f> Memory<Event<'f> = ClientEvent<'f>>,
    CR: Storage,
    CW: Storage,
    CO: for<'m> Outcome<CT::Machine<'m>>,
    ST: for<'f> Memory<Event<'f> = ServerEvent<'f>>,
    SR: Storage,
    SW: Storage,
    SO: for<'m> Outcome<ST::Machine<'m>>,
{
    /// Makes a step of one of the two: handles what it has received, and moves what it has written
    /// to the other.
    pub fn next(&mut self, now: Instant) -> StepOf<'_, CT, CO, ST, SO> {
        self.record_moved();
        let is_servers_turn = self.is_servers_turn;
        self.is_servers_turn = !is_servers_turn;
        let idle = core::mem::take(&mut self.idle);
        let [of_client, of_server] = &mut self.moved;
        let [client_until, server_until] = &mut self.until;
        let has_moved = if is_servers_turn {
            match hand_over(self.server.next(now), self.client.rx(), of_server, server_until) {
                Ok(has_moved) => has_moved,
                Err((event, turn)) => return PairStep::Server(event, turn),
            }
        } else {
            match hand_over(self.client.next(now), self.server.rx(), of_client, client_until) {
                Ok(has_moved) => has_moved,
                Err((event, turn)) => return PairStep::Client(event, turn),
            }
        };
        if has_moved {
            return PairStep::Again;
        }
        self.idle = idle.saturating_add(1);
        if self.idle < 2 {
            return PairStep::Again;
        }
        PairStep::Idle(self.until.into_iter().flatten().min())
    }

    /// Returns the client.
    pub fn client(&mut self) -> &mut Connection<'c, CT, CR, CW, CO, CN> {
        self.record_moved();
        self.idle = 0;
        &mut self.client
    }

    /// Returns the server.
    pub fn server(&mut self) -> &mut Connection<'s, ST, SR, SW, SO, SN> {
        self.record_moved();
        self.idle = 0;
        &mut self.server
    }

    /// Not while they are moved: they may be borrowed until the next call.
    fn record_moved(&mut self) {
        let [of_client, of_server] = core::mem::take(&mut self.moved);
        self.client.wrote(of_client);
        self.server.wrote(of_server);
    }
}

crate::text::opaque_debug!([C, S] Pair<C, S> { moved });

/// Carries out the step of one end: copies what it writes into the receive buffer of the other, as
/// far as there is room. Returns whether anything was done, or the event.
fn hand_over<'p, E, M, O, R: Storage>(
    step: Step<'p, E, M, O>,
    rx: &mut RxBuffer<R>,
    moved: &mut usize,
    due: &mut Option<Instant>,
) -> Result<bool, (E, Turn<'p, M, O>)> {
    match step {
        Step::Event(event, turn) => return Err((event, turn)),
        Step::Again => return Ok(true),
        Step::Io { write, until, .. } => {
            let spare = rx.spare();
            *moved = write.len().min(spare.len());
            copy(write, spare);
            rx.commit(*moved);
            *due = until;
        }
        Step::Closed => *due = None,
    }
    Ok(*moved > 0)
}
