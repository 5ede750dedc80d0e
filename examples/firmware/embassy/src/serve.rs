//! The firmware on a port.

use core::time::Duration;

use embassy_futures::join::join;
use embedded_io_async::{Read, Write};
use firmware_app::{AsyncApp, Board, CATALOG, CONFIG, IN_FLIGHT, SUBSCRIPTIONS};
use mcp_sansio_adapters::embedded_async::Connection;
use static_cell::StaticCell;

use crate::Embassy;

/// The server with its application, on a board. For a `static`.
pub type Firmware<B> =
    Connection<'static, AsyncApp<B, Embassy>, RX_BYTES, TX_BYTES, IN_FLIGHT, SUBSCRIPTIONS>;

/// Builds the firmware in its place. Not inlined, so that the stack for building is freed.
#[inline(never)]
pub fn build<B: Board>(place: &'static StaticCell<Firmware<B>>, board: B) -> &'static Firmware<B> {
    place.init_with(|| {
        Connection::new(&CONFIG, AsyncApp::new(board, Embassy))
            .catalog(&CATALOG)
            .line_timeout(Duration::from_secs(2))
    })
}

/// Serves the port. Never completes.
pub async fn serve<B: Board>(
    firmware: &Firmware<B>,
    mut reader: impl Read,
    mut writer: impl Write,
) {
    let serving = async {
        loop {
            // A serial line does not end, and a port that fails is used again.
            let _ = firmware.serve(&mut reader, &mut writer, &Embassy).await;
        }
    };
    join(serving, firmware.handler().housekeeping()).await;
}

/// Maximum length of a line, in bytes.
pub const RX_BYTES: usize = 2048;
/// Size of the transmit buffer, in bytes.
pub const TX_BYTES: usize = 512;
