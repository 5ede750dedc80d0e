//! A client: connects to a server of either era, lists its tools page by page, calls one of them,
//! and begins again.
#![no_std]
#![no_main]

use mcp_sansio::types::{CallToolParams, Implementation, PaginatedParams};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ClientState,
    Connection, Encode, RawJson, RxBuffer, Step, Turn, TxBuffer,
};
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!("size of ClientState<4>", size_of::<ClientState<4>>());
size::figure!("each request in flight", size_of::<ClientState<5>>() - size_of::<ClientState<4>>());

static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("remote", "1.0.0"), ClientFeatures::NONE);

/// The turn of an event, and the serial port.
struct Remote<'r, 't> {
    port: &'r mut Uart,
    turn: Turn<'t, Client<'t>>,
}

impl Remote<'_, '_> {
    /// Connects again, without knowledge of the server's era.
    fn connect(&mut self) {
        let now = self.turn.now();
        let client = self.turn.parts().0;
        while client.close().is_some() {}
        client.set_era(None);
        let _ = send(self.port, &mut self.turn, |client, tx| client.connect(now, tx));
    }

    fn request<P: Encode>(&mut self, method: &str, params: &P) {
        let (now, options) = (self.turn.now(), CallOptions::new());
        let _ = send(self.port, &mut self.turn, |client, tx| {
            client.request(now, method, params, options, tx)
        });
    }

    fn take(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(_) => self.request("tools/list", &PaginatedParams::new()),
            ClientEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
                self.take_result(*result);
            }
            ClientEvent::ConnectFailed(_) | ClientEvent::CallFinished { .. } => self.connect(),
            _ => {}
        }
    }

    /// A page of tools, or the result of the tool.
    fn take_result(&mut self, result: RawJson<'_>) {
        let Some(tools) = result.get("tools") else {
            board::set_lamp(result.get("isError").is_none());
            return self.connect();
        };
        let mut names = tools.elements().filter_map(|tool| tool.get("name")?.as_string());
        if names.any(|name| name == "lamp") {
            const ON: RawJson = RawJson::from_static(r#"{"on":true}"#);
            self.request("tools/call", &CallToolParams::new("lamp").arguments(ON));
        } else if let Some(next) = PaginatedParams::next_page(result) {
            self.request("tools/list", &next);
        } else {
            self.connect();
        }
    }
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; RX_BYTES] = [0; RX_BYTES];
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];
    static mut STATE: ClientState<4> = ClientState::new();

    board::open();
    let port = &mut Uart::open();
    let (rx, tx) = (RxBuffer::new(RX.as_mut_slice()), TxBuffer::new(TX.as_mut_slice()));
    let mut connection: Connection<_, _, _> = Connection::new(&CONFIG, STATE, rx, tx);
    Remote { port, turn: connection.turn(board::now()) }.connect();
    loop {
        match connection.next(board::now()) {
            Step::Event(event, turn) => Remote { port, turn }.take(&event),
            Step::Io { write: [], mut read, .. } => {
                let n = port.read_ready(read.spare());
                read.commit(n);
            }
            Step::Io { write, .. } => {
                let written = port.write(write);
                connection.wrote(written);
            }
            Step::Again | Step::Closed => {}
        }
    }
}
