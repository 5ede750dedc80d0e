//! The memory of a server, which the caller has.

use core::mem::{align_of, size_of};
use core::ptr::addr_of_mut;

use mcp_sansio::{Connection, Instant, Request, ServerConfig, ServerState};

use crate::tables::{Found, Tables};

/// Maximum number of requests in flight, and of resources that a client has subscribed to.
const PLACES: usize = 4;

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

impl Default for mcp_server {
    fn default() -> Self {
        Self::new()
    }
}

/// What is in this memory.
#[repr(C)]
struct Inner {
    /// Its own address: other memory, and a copy, are no server.
    address: usize,
    config: ServerConfig<'static>,
    state: ServerState<PLACES, PLACES>,
    live: Live,
}

const _: () = assert!(size_of::<Inner>() <= size_of::<mcp_server>());
const _: () = assert!(align_of::<Inner>() <= align_of::<mcp_server>());

pub(crate) type Link = Connection<
    'static,
    &'static mut ServerState<PLACES, PLACES>,
    &'static mut [u8],
    &'static mut [u8],
>;

/// All but what the connection borrows.
pub(crate) struct Live {
    pub(crate) stage: Stage,
    pub(crate) tables: Tables,
    pub(crate) now: Instant,
    /// The request of the latest event. Its frame is in the receive buffer until the next step.
    pub(crate) request: Option<Request<'static>>,
    /// The entry that it is for; `None` while the response of the library has no room.
    pub(crate) found: Option<Found>,
}

/// A configuration can be changed until the connection borrows it.
pub(crate) enum Stage {
    Configured {
        rx: &'static mut [u8],
        tx: &'static mut [u8],
    },
    Open(Link),
    /// Between the two, in one function.
    Opening,
}

/// Makes a server.
///
/// # Safety
/// The pointer is that of memory of this size that nothing else uses.
pub(crate) unsafe fn place(server: *mut mcp_server, config: &ServerConfig<'static>, live: Live) {
    let inner = server.cast::<Inner>();
    // SAFETY: the memory is as large and as aligned as an `Inner`, by the assertions above.
    unsafe {
        addr_of_mut!((*inner).config).write(*config);
        addr_of_mut!((*inner).state).write(ServerState::new());
        addr_of_mut!((*inner).live).write(live);
        addr_of_mut!((*inner).address).write(server.addr());
    }
}

/// Returns what is inside of a server; `None` for memory that holds none.
///
/// # Safety
/// The pointer is null, or that of a `mcp_server` that no other call uses at the same time.
pub(crate) unsafe fn live<'a>(server: *mut mcp_server) -> Option<&'a mut Live> {
    let inner = checked(server)?;
    // SAFETY: `place` has written it. The connection borrows other fields only.
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
    // SAFETY: as in `live`, whose reference ends here.
    let live = unsafe { &mut *addr_of_mut!((*inner).live) };
    if !matches!(live.stage, Stage::Configured { .. }) {
        return None;
    }
    // SAFETY: nothing borrows it yet.
    let config = unsafe { &mut *addr_of_mut!((*inner).config) };
    Some((config, &mut live.tables))
}

/// Returns the connection, which is opened first; `None` for memory that holds no server.
///
/// # Safety
/// As [`live`].
pub(crate) unsafe fn opened<'a>(server: *mut mcp_server) -> Option<&'a mut Live> {
    let inner = checked(server)?;
    // SAFETY: as in `live`.
    let live = unsafe { &mut *addr_of_mut!((*inner).live) };
    if let Stage::Configured { .. } = live.stage
        && let Stage::Configured { rx, tx } = core::mem::replace(&mut live.stage, Stage::Opening)
    {
        use mcp_sansio::{RxBuffer, TxBuffer};
        // SAFETY: `place` has written both, and from here on nothing but the connection uses them:
        // they stay where they are, and `configuration` returns nothing more.
        let (config, state) =
            unsafe { (&*addr_of_mut!((*inner).config), &mut *addr_of_mut!((*inner).state)) };
        live.stage =
            Stage::Open(Connection::new(config, state, RxBuffer::new(rx), TxBuffer::new(tx)));
    }
    Some(live)
}

fn checked(server: *mut mcp_server) -> Option<*mut Inner> {
    if server.is_null() || !server.is_aligned() {
        return None;
    }
    let inner = server.cast::<Inner>();
    // SAFETY: it is memory of this size; of that which holds no server one number is read.
    let address = unsafe { addr_of_mut!((*inner).address).read() };
    (address == server.addr()).then_some(inner)
}

impl Live {
    /// Returns the connection, if it is open.
    pub(crate) fn link(&mut self) -> Option<&mut Link> {
        match &mut self.stage {
            Stage::Open(link) => Some(link),
            _ => None,
        }
    }
}
