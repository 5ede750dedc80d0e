//! The firmware on a port.

use core::time::Duration;

use embassy_futures::join::join;
use embedded_io_async::{Read, Write};
use firmware_app::{AsyncApp, Board, CONFIG, IN_FLIGHT, SUBSCRIPTIONS};
use mcp_sansio_adapters::embedded_io_async::Link;

use crate::Embassy;

/// Serves the port for ever.
pub async fn serve<B: Board>(board: B, mut reader: impl Read, mut writer: impl Write) {
    let link: Link<'_, _, RX_BYTES, TX_BYTES, IN_FLIGHT, SUBSCRIPTIONS> =
        Link::new(&CONFIG, AsyncApp::new(board, Embassy)).line_timeout(Duration::from_secs(2));
    let serving = async {
        loop {
            // A serial line has no end, and a port that fails is tried again.
            let _ = link.serve(&mut reader, &mut writer, &Embassy).await;
        }
    };
    join(serving, link.handler().housekeeping()).await;
}

/// The longest line that is accepted, in bytes.
pub const RX_BYTES: usize = 2048;
/// What answers are written through.
pub const TX_BYTES: usize = 512;
