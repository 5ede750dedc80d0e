//! The memory of a server or a client, which the caller has.

use core::mem::{align_of, replace, size_of};
use core::ptr::addr_of_mut;
use core::slice::from_raw_parts_mut;

use mcp_sansio::{
    ClientConfig, ClientState, Connection, Instant, JsonStr, Memory, RawJson, Request, RxBuffer,
    ServerConfig, ServerState, TxBuffer,
};

use crate::tables::{Found, Tables};

/// Maximum number of requests in flight, of calls, and of resources that a client has subscribed
/// to.
pub(crate) const PLACES: usize = 4;

/// Size of a server in units of 8 bytes, beside its two buffers.
#[cfg(target_pointer_width = "32")]
pub const MCP_SERVER_WORDS: usize = 192;
/// Size of a server in units of 8 bytes, beside its two buffers.
#[cfg(target_pointer_width = "64")]
pub const MCP_SERVER_WORDS: usize = 512;

/// The memory of a server: a `static` variable, usually. It must stay where it is after
/// `mcp_server_init`. One value serves one connection.
#[repr(C)]
pub struct mcp_server {
    opaque: [u64; MCP_SERVER_WORDS],
}

impl mcp_server {
    /// Returns memory for `mcp_server_init`.
    pub const fn new() -> Self {
        Self { opaque: [0; MCP_SERVER_WORDS] }
    }
}

mcp_sansio::default_is_new!(mcp_server);

/// Size of a client in units of 8 bytes, beside its two buffers.
#[cfg(target_pointer_width = "32")]
pub const MCP_CLIENT_WORDS: usize = 168;
/// Size of a client in units of 8 bytes, beside its two buffers.
#[cfg(target_pointer_width = "64")]
pub const MCP_CLIENT_WORDS: usize = 512;

/// The memory of a client: a `static` variable, usually. It must stay where it is after
/// `mcp_client_init`. One value serves one connection.
#[repr(C)]
pub struct mcp_client {
    opaque: [u64; MCP_CLIENT_WORDS],
}

impl mcp_client {
    /// Returns memory for `mcp_client_init`.
    pub const fn new() -> Self {
        Self { opaque: [0; MCP_CLIENT_WORDS] }
    }
}

mcp_sansio::default_is_new!(mcp_client);

/// The type of the memory of a server or a client, and what is in it.
pub(crate) trait Role: Sized {
    type Config: 'static;
    type State: 'static;
    /// All but what the connection borrows.
    type Live: 'static;
}

#[repr(C)]
struct Inner<R: Role> {
    /// Its own address: other memory, and a copy, are no server.
    address: usize,
    config: R::Config,
    state: R::State,
    live: R::Live,
}

const fn fits<R: Role>() -> bool {
    size_of::<Inner<R>>() <= size_of::<R>() && align_of::<Inner<R>>() <= align_of::<R>()
}

const _: () = assert!(fits::<mcp_server>(), "{}", WITHOUT_ROOM);
const _: () = assert!(fits::<mcp_client>(), "{}", WITHOUT_ROOM);
const WITHOUT_ROOM: &str =
    "no room in the memory of the caller: with 32 bits and a system, set MCP_SANSIO_SMALL=1";

impl Role for mcp_server {
    type Config = ServerConfig<'static>;
    type State = ServerState<PLACES, PLACES>;
    type Live = Live;
}

impl Role for mcp_client {
    type Config = ClientConfig<'static>;
    type State = ClientState<PLACES>;
    type Live = ClientLive;
}

pub(crate) type Link<S> = Connection<'static, &'static mut S, &'static mut [u8], &'static mut [u8]>;

/// The memory of a server beside the machine.
pub(crate) struct Live {
    pub(crate) stage: Stage,
    pub(crate) tables: Tables,
    pub(crate) now: Instant,
    /// The request of the latest event. Its frame is in the receive buffer until the next step.
    pub(crate) request: Option<Request<'static>>,
    /// The entry that it is for; `None` while the response of the library has no room.
    pub(crate) found: Option<Found>,
    /// Whether the input has ended, of which the receive buffer learns when no request borrows it.
    pub(crate) has_ended: bool,
    /// Whether bytes were lost at the end of what was read, of which it learns then, too.
    pub(crate) has_gap: bool,
}

/// A configuration can be changed until the connection borrows it.
#[allow(clippy::large_enum_variant, reason = "it is moved once")]
pub(crate) enum Stage {
    Configured {
        rx: &'static mut [u8],
        tx: &'static mut [u8],
    },
    Open(Link<ServerState<PLACES, PLACES>>),
    /// Between the two, in one function.
    Opening,
}

/// The memory of a client beside the machine.
pub(crate) struct ClientLive {
    pub(crate) link: Link<ClientState<PLACES>>,
    /// The subject of the latest event. It is in the receive buffer until the next step.
    pub(crate) value: Option<RawJson<'static>>,
    pub(crate) message: Option<JsonStr<'static>>,
    /// Both as for a server.
    pub(crate) has_ended: bool,
    pub(crate) has_gap: bool,
}

/// Returns where the parts are.
fn inside<R: Role>(memory: *mut R) -> Option<*mut Inner<R>> {
    (!memory.is_null() && memory.is_aligned()).then_some(memory.cast())
}

/// Returns where the parts are that [`begin`] and [`finish`] have written.
fn checked<R: Role>(memory: *mut R) -> Option<*mut Inner<R>> {
    let inner = inside(memory)?;
    // SAFETY: it is memory of this size; of that which holds nothing one number is read.
    let address = unsafe { addr_of_mut!((*inner).address).read() };
    (address == memory.addr()).then_some(inner)
}

/// Begins a server or a client. `None` if the pointer is null.
///
/// # Safety
/// The pointer is null, or that of memory of this size that nothing else uses.
pub(crate) unsafe fn begin<R: Role>(
    memory: *mut R,
    config: R::Config,
    state: R::State,
) -> Option<()> {
    let inner = inside(memory)?;
    // SAFETY: the memory is as large and as aligned as an `Inner`, by the assertions above.
    unsafe {
        addr_of_mut!((*inner).address).write(0);
        addr_of_mut!((*inner).config).write(config);
        addr_of_mut!((*inner).state).write(state);
    }
    Some(())
}

/// Finishes it.
///
/// # Safety
/// As [`begin`], which comes before.
pub(crate) unsafe fn finish<R: Role>(memory: *mut R, live: R::Live) {
    let Some(inner) = inside(memory) else { return };
    // SAFETY: as in `begin`.
    unsafe {
        addr_of_mut!((*inner).live).write(live);
        addr_of_mut!((*inner).address).write(memory.addr());
    }
}

/// Lends the configuration and the state to the connection, once.
///
/// # Safety
/// [`begin`] has written them, and nothing else refers to them from here on.
pub(crate) unsafe fn lend<R: Role>(memory: *mut R) -> (&'static R::Config, &'static mut R::State) {
    let inner = memory.cast::<Inner<R>>();
    // SAFETY: the caller says so; they stay where they are.
    unsafe { (&*addr_of_mut!((*inner).config), &mut *addr_of_mut!((*inner).state)) }
}

/// Returns what is inside; `None` for memory that holds nothing.
///
/// # Safety
/// The pointer is null, or that of such memory, which no other call uses at the same time.
pub(crate) unsafe fn live<'a, R: Role>(memory: *mut R) -> Option<&'a mut R::Live> {
    let inner = checked(memory)?;
    // SAFETY: `finish` has written it. The connection borrows other fields only.
    Some(unsafe { &mut *addr_of_mut!((*inner).live) })
}

/// Returns the configuration, to change it. `None` once the connection borrows it.
///
/// # Safety
/// As [`live`].
pub(crate) unsafe fn configuration<'a>(
    server: *mut mcp_server,
) -> Option<(&'a mut ServerConfig<'static>, &'a mut Tables)> {
    let inner = checked(server)?;
    // SAFETY: the caller keeps to what it says.
    let live = unsafe { live(server) }?;
    if !matches!(live.stage, Stage::Configured { .. }) {
        return None;
    }
    // SAFETY: nothing borrows it yet.
    let config = unsafe { &mut *addr_of_mut!((*inner).config) };
    Some((config, &mut live.tables))
}

/// Returns the server, whose connection is opened first; `None` for memory that holds none.
///
/// # Safety
/// As [`live`].
pub(crate) unsafe fn opened<'a>(server: *mut mcp_server) -> Option<&'a mut Live> {
    // SAFETY: the caller keeps to what it says.
    let live = unsafe { live(server) }?;
    if let Stage::Configured { .. } = live.stage
        && let Stage::Configured { rx, tx } = replace(&mut live.stage, Stage::Opening)
    {
        // SAFETY: from here on `configuration` returns nothing more.
        let (config, state) = unsafe { lend(server) };
        let (rx, tx) = (RxBuffer::new(rx), TxBuffer::new(tx));
        live.stage = Stage::Open(Connection::new(config, state, rx, tx));
    }
    Some(live)
}

/// Returns two buffers of the caller, all zeros. `None` if one is null, or larger than memory.
///
/// # Safety
/// Both are null, or memory of this size that nothing else uses.
pub(crate) unsafe fn buffers(
    (rx, rx_size): (*mut u8, usize),
    (tx, tx_size): (*mut u8, usize),
) -> Option<(&'static mut [u8], &'static mut [u8])> {
    if rx.is_null() || tx.is_null() || rx_size.max(tx_size) > isize::MAX as usize {
        return None;
    }
    // SAFETY: the caller says so.
    unsafe {
        rx.write_bytes(0, rx_size);
        tx.write_bytes(0, tx_size);
        Some((from_raw_parts_mut(rx, rx_size), from_raw_parts_mut(tx, tx_size)))
    }
}

/// Records that bytes were read. After a gap that the receive buffer does not know, their memory
/// was lent before that.
pub(crate) fn read<S: Memory>(link: &mut Link<S>, has_gap: bool, count: usize) {
    if has_gap
        && let Some(first) = link.rx().spare().first_mut()
        // It ends the line with the gap, which is no JSON then.
        && *first != b'\n'
    {
        // No UTF-8 text has this byte.
        *first = 0xff;
    }
    link.rx().commit(count);
}

impl ClientLive {
    /// Returns the connection, whose receive buffer knows of all gaps, if no event borrows that.
    pub(crate) fn free_link(&mut self) -> Option<&mut Link<ClientState<PLACES>>> {
        if self.value.is_some() || self.message.is_some() {
            return None;
        }
        if replace(&mut self.has_gap, false) {
            self.link.rx().lost();
        }
        Some(&mut self.link)
    }
}

impl Live {
    /// Returns the connection, if it is open.
    pub(crate) fn link(&mut self) -> Option<&mut Link<ServerState<PLACES, PLACES>>> {
        match &mut self.stage {
            Stage::Open(link) => Some(link),
            _ => None,
        }
    }

    /// Returns the connection, whose receive buffer knows of all gaps, if no request borrows that.
    pub(crate) fn free_link(&mut self) -> Option<&mut Link<ServerState<PLACES, PLACES>>> {
        if self.request.is_some() {
            return None;
        }
        let has_gap = replace(&mut self.has_gap, false);
        let link = self.link()?;
        if has_gap {
            link.rx().lost();
        }
        Some(link)
    }
}
