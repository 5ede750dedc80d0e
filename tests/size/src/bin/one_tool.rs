//! The smallest useful server: one tool, for all revisions of the protocol.
#![no_std]
#![no_main]

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, Connection, RawJson, Request, RxBuffer, Server, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, Step, Target, Turn, TxBuffer, entries,
};
use size::{board, send, uart::Uart};

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
static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        Tool::new(
            "lamp",
            RawJson::from_static(
                r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#,
            ),
        )
        .description("Switches the lamp")
    ])
    .unchecked();

// Its locals are not alive while the connection reads.
#[inline(never)]
fn answer(request: &Request<'_>, mut turn: Turn<'_, Server<'_>>, port: &mut Uart) {
    let target = send(port, &mut turn, |server, tx| CATALOG.respond(server, request, tx));
    let Ok(Target::Tool(_)) = target else { return };
    let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
        Some(on) => {
            board::set_lamp(on);
            TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
        }
        None => TextResult::error("on must be true or false"),
    };
    let _ = send(port, &mut turn, |server, tx| server.respond(request.handle, &result, tx));
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; BYTES] = [0; BYTES];
    static mut TX: [u8; BYTES] = [0; BYTES];
    static mut STATE: ServerState<4, 4> = ServerState::new();

    board::open();
    let mut port = Uart::open();
    let (rx, tx) = (RxBuffer::new(RX.as_mut_slice()), TxBuffer::new(TX.as_mut_slice()));
    let mut connection: Connection<_, _, _> = Connection::new(&CONFIG, STATE, rx, tx);
    loop {
        match connection.next(board::now()) {
            Step::Event(ServerEvent::Request(request), turn) => answer(&request, turn, &mut port),
            Step::Io { write: [], mut read, .. } => {
                let n = port.read(read.spare());
                read.commit(n);
            }
            Step::Io { write, .. } => {
                let written = port.write(write);
                connection.wrote(written);
            }
            _ => {}
        }
    }
}
