//! A client: connects to a server of either era, lists its tools page by page, calls one of them,
//! and begins again.
#![no_std]
#![no_main]

use core::mem::MaybeUninit;

use mcp_sansio::types::{CallToolParams, Implementation, PaginatedParams};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, ClientState,
    Encode, RawJson, RxBuffer, TxBuffer,
};
use size::{RX_BYTES, TX_BYTES, board, drain, send, uart::Uart};

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!("size of ClientState<4>", size_of::<ClientState<4>>());
size::figure!("each request in flight", size_of::<ClientState<5>>() - size_of::<ClientState<4>>());

static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("remote", "1.0.0"), ClientFeatures::NONE);

/// The client and its serial port.
struct Remote {
    port: Uart,
    tx: TxBuffer<[u8; TX_BYTES]>,
    client: Client<'static>,
}

impl Remote {
    /// Connects again, without knowledge of the server's era.
    fn connect(&mut self) {
        while self.client.close().is_some() {}
        self.client.set_era(None);
        let _ = send(&mut self.port, &mut self.tx, |tx| self.client.connect(board::now(), tx));
    }

    fn request<P: Encode>(&mut self, method: &str, params: &P) {
        let options = CallOptions::new();
        let _ = send(&mut self.port, &mut self.tx, |tx| {
            self.client.request(board::now(), method, params, options, tx)
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
    static mut RX: RxBuffer<[u8; RX_BYTES]> = RxBuffer::new([0; RX_BYTES]);
    static mut STATE: ClientState<4> = ClientState::new();
    static mut REMOTE: MaybeUninit<Remote> = MaybeUninit::uninit();

    board::open();
    let remote = REMOTE.write(Remote {
        port: Uart::open(),
        tx: TxBuffer::new([0; TX_BYTES]),
        client: STATE.client(&CONFIG),
    });
    remote.connect();
    loop {
        let now = board::now();
        while let Some(mut messages) = RX.next_messages() {
            while let Ok(Some(event)) = send(&mut remote.port, &mut remote.tx, |tx| {
                remote.client.next_event(now, &mut messages, tx)
            }) {
                remote.take(&event);
            }
        }
        while let Ok(Some(event)) =
            send(&mut remote.port, &mut remote.tx, |tx| remote.client.handle_timeout(now, tx))
        {
            remote.take(&event);
        }
        drain(&mut remote.port, &mut remote.tx);
        let read = remote.port.read_ready(RX.spare());
        RX.commit(read);
    }
}
