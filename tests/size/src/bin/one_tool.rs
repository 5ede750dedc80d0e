//! The smallest useful server: one tool, for all revisions of the protocol.
#![no_std]
#![no_main]

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, RawJson, RxBuffer, ServerConfig, ServerEvent, ServerFeatures, ServerState, Target,
    TxBuffer,
};
use size::{board, drain, send, uart::Uart};

const BYTES: usize = 512;
size::figure!("buffer rx", BYTES);
size::figure!("buffer tx", BYTES);
size::figure!("size of ServerState<4, 4>", size_of::<ServerState<4, 4>>());
size::figure!(
    "each request in flight",
    size_of::<ServerState<5, 4>>() - size_of::<ServerState<4, 4>>()
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
    static mut STATE: ServerState<4, 4> = ServerState::new();

    board::open();
    let mut port = Uart::open();
    let mut server = STATE.server(&CONFIG);
    loop {
        while let Some(mut messages) = RX.next_messages() {
            while let Ok(Some(event)) =
                send(&mut port, TX, |tx| server.next_event(board::now(), &mut messages, tx))
            {
                let ServerEvent::Request(request) = event else { continue };
                let Ok(Target::Tool(_)) =
                    send(&mut port, TX, |tx| CATALOG.respond(&mut server, &request, tx))
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
