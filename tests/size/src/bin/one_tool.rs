//! The smallest useful server: one tool, for all revisions of the protocol.
#![no_std]
#![no_main]

use core::mem::MaybeUninit;

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, RawJson, RxBuffer, Server, ServerConfig, ServerEvent, ServerFeatures, Target, TxBuffer,
};
use size::{board, drain, send, uart::Uart};

const BYTES: usize = 512;
size::figure!("buffer rx", BYTES);
size::figure!("buffer tx", BYTES);
size::figure!("size of Server<4, 4>", size_of::<Server<'_, 4, 4>>());
size::figure!(
    "each request in flight",
    size_of::<Server<'_, 5, 4>>() - size_of::<Server<'_, 4, 4>>()
);

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("lamp", "1.0.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
    "lamp",
    RawJson::from_static(
        r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#,
    ),
)
.description("Switches the lamp")]);

#[size::entry]
fn main() -> ! {
    static mut RX: RxBuffer<[u8; BYTES]> = RxBuffer::new([0; BYTES]);
    static mut TX: TxBuffer<[u8; BYTES]> = TxBuffer::new([0; BYTES]);
    static mut SERVER: MaybeUninit<Server<'static, 4, 4>> = MaybeUninit::uninit();

    board::open();
    let mut port = Uart::open();
    let server = SERVER.write(Server::with_table_sizes(&CONFIG));
    loop {
        while let Some(mut messages) = RX.next_messages() {
            while let Ok(Some(event)) =
                send(&mut port, TX, |tx| server.next_event(board::now(), &mut messages, tx))
            {
                let ServerEvent::Request(request) = event else { continue };
                let Ok(Target::Tool(_)) =
                    send(&mut port, TX, |tx| CATALOG.respond(server, &request, tx))
                else {
                    continue;
                };
                let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
                    Some(on) => {
                        board::set_lamp(on);
                        TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
                    }
                    None => TextResult::error("on must be true or false"),
                };
                let _ = send(&mut port, TX, |tx| server.respond(request.handle, &result, tx));
            }
        }
        drain(&mut port, TX);
        let read = port.read(RX.spare());
        RX.commit(read);
    }
}
