//! The firmware on a network: an HTTP server on [embassy-net](embassy_net), without an allocator.
#![no_std]
#![forbid(unsafe_code)]

mod names;

pub use names::be_found;

use embassy_net::tcp::TcpSocket;
use embassy_net::{Config, DhcpConfig, Stack};
use embassy_time::{Duration, with_timeout};
use firmware_app::{AsyncApp, Board, CATALOG, CONFIG, SUBSCRIPTIONS};
use firmware_embassy::Embassy;
use mcp_sansio::http::server::HostPolicy;
use mcp_sansio_adapters::embedded_async::http::{Access, HttpOptions, HttpServer};
use static_cell::StaticCell;

/// The server with its application, on a board. For a `static`.
pub type Firmware<B> =
    HttpServer<'static, AsyncApp<B, Embassy>, CONNECTIONS, RX_BYTES, TX_BYTES, SUBSCRIPTIONS>;

static OPTIONS: HttpOptions<'_> = HttpOptions::new(&CONFIG).catalog(&CATALOG).access(ACCESS);
/// A page in a browser reaches the board by a name of its own choice, but not by its address.
const ACCESS: Access<'_> =
    Access::new().host_policy(HostPolicy::hosts(&[HOST]).addresses()).tokens(&[TOKEN]);

/// Asks the router for an address, and tells it the name.
pub fn config() -> Config {
    let mut dhcp = DhcpConfig::default();
    dhcp.hostname = NAME.try_into().ok();
    Config::dhcpv4(dhcp)
}

/// Builds the firmware in its place. Not inlined, so that the stack for building is freed.
#[inline(never)]
pub fn build<B: Board>(place: &'static StaticCell<Firmware<B>>, board: B) -> &'static Firmware<B> {
    place.init_with(|| HttpServer::new(&OPTIONS, AsyncApp::new(board, Embassy)))
}

/// Serves one client after the other. For [`CONNECTIONS`] tasks. Never completes.
pub async fn serve<B: Board>(firmware: &Firmware<B>, stack: Stack<'_>) {
    let (mut rx, mut tx) = ([0; SOCKET_BYTES], [0; SOCKET_BYTES]);
    loop {
        let mut socket = TcpSocket::new(stack, &mut rx, &mut tx);
        // A client that has lost its power does not close its connection.
        socket.set_timeout(Some(Duration::from_secs(30)));
        if socket.accept(PORT).await.is_err() {
            continue;
        }
        let (reader, writer) = socket.split();
        let _ = firmware.serve(reader, writer, &Embassy).await;
        socket.close();
        // The client knows that these were the last bytes. If that packet is lost, it is sent again
        // after a second.
        let _ = with_timeout(Duration::from_secs(2), socket.flush()).await;
    }
}

/// The name of the board: two of them need two.
pub const NAME: &str = "board";
/// Its name on the local network.
const HOST: &str = "board.local";
/// The port of HTTP.
pub const PORT: u16 = 80;
/// Number of connections at a time.
pub const CONNECTIONS: usize = 4;
/// Number of sockets: those of connections, of [`be_found`], and of DHCP.
pub const SOCKETS: usize = CONNECTIONS + 2;
/// Maximum length of a request with its head, in bytes.
pub const RX_BYTES: usize = 2048;
/// Size of the transmit buffer, in bytes.
pub const TX_BYTES: usize = 512;
/// Size of each of a socket's buffers, in bytes.
const SOCKET_BYTES: usize = 1024;
/// The token of the board. One of your own is chosen when it is built: `MCP_TOKEN=...`.
const TOKEN: &str = match option_env!("MCP_TOKEN") {
    Some(token) => token,
    None => "an-example-that-everybody-knows",
};
