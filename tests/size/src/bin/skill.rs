//! A server without tools, but with a skill of two files: listed, read, verified by its clients.
#![no_std]
#![no_main]

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Connection, Request, RxBuffer, ServedSkill, Server, ServerConfig, ServerEvent,
    ServerState, Step, Turn, TxBuffer, skill,
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
    ServerConfig::new(Implementation::new("bench", "1.0.0"), CATALOG.features());
static CATALOG: Catalog = Catalog::new().skills(SKILLS);
static SKILLS: &[ServedSkill] = &[skill!(
    "skill://soldering" in "../../../../examples/skills/soldering",
    "references/IRONS.md"
)];

// Its locals are not alive while the connection reads.
#[inline(never)]
fn answer(request: &Request<'_>, mut turn: Turn<'_, Server<'_>>, port: &mut Uart) {
    let _ = send(port, &mut turn, |server, tx| CATALOG.respond(server, request, tx));
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
