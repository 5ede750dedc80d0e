//! The board of the tests, and a client that speaks to it.

use std::cell::Cell;
use std::rc::Rc;

use embassy_net::tcp::{ConnectError, TcpSocket};
use embassy_net::{Ipv4Address, Stack};
use embassy_time::Timer;
use firmware_app::{Board, MAX_REGISTERS, Quantity};
use firmware_network::{CONNECTIONS, PORT};
use static_cell::StaticCell;

use crate::lan::Lan;

/// Counts how often an output was switched.
#[derive(Clone, Default)]
pub(crate) struct Pins {
    pub(crate) switched: Rc<Cell<u32>>,
}

impl Board for Pins {
    fn measure(&mut self, _: Quantity) -> Option<i32> {
        None
    }

    fn set_output(&mut self, _: u8, _: bool) {
        self.switched.set(self.switched.get() + 1);
    }

    fn pin(&mut self, _: u8) -> bool {
        false
    }

    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS] {
        [("", 0); MAX_REGISTERS]
    }

    fn stack(&mut self) -> (u32, u32) {
        (0, 0)
    }

    fn reset(&mut self) {}
}

/// Adds the board, 10.0.0.1.
pub(crate) fn board(lan: &mut Lan) -> Pins {
    let pins = Pins::default();
    let (stack, _) = lan.station(1);
    let place = Box::leak(Box::new(StaticCell::new()));
    let firmware = firmware_network::build(place, pins.clone());
    for _ in 0..CONNECTIONS {
        lan.spawn(firmware_network::serve(firmware, stack));
    }
    pins
}

/// Connects to the board.
pub(crate) async fn connect(client: Stack<'static>) -> Result<TcpSocket<'static>, ConnectError> {
    let (rx, tx) = (Box::leak(Box::new([0; 4096])), Box::leak(Box::new([0; 4096])));
    let mut socket = TcpSocket::new(client, rx, tx);
    socket.connect((Ipv4Address::new(10, 0, 0, 1), PORT)).await?;
    Ok(socket)
}

pub(crate) async fn send(socket: &mut TcpSocket<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let sent = socket.write(bytes).await.expect("the connection is open");
        bytes = &bytes[sent..];
    }
}

/// Reads until this has come so many times, or to the end.
pub(crate) async fn read_to(socket: &mut TcpSocket<'_>, times: usize, text: &str) -> String {
    let (mut all, mut piece) = (String::new(), [0; 1024]);
    while all.matches(text).count() < times {
        match socket.read(&mut piece).await.expect("the connection is open") {
            0 => break,
            read => all += str::from_utf8(&piece[..read]).expect("ASCII"),
        }
    }
    all
}

/// Sends a request on a connection of its own and returns the response. Tries again while the
/// board has no room, as a host does.
pub(crate) async fn ask(client: Stack<'static>, request: &str) -> String {
    loop {
        if let Ok(mut socket) = connect(client).await {
            send(&mut socket, request.as_bytes()).await;
            return read_to(&mut socket, usize::MAX, "\n").await;
        }
        Timer::after_millis(100).await;
    }
}

/// A call that switches an output.
pub(crate) fn switch(on: bool) -> String {
    let params = format!(r#","name":"output_09","arguments":{{"on":{on}}}"#);
    post("tools/call", "output_09", &params)
}

/// A request of 2026-07-28, the last one on its connection.
pub(crate) fn post(method: &str, name: &str, params: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{{META}}}{params}}}}}"#
    );
    let head = [
        "POST /mcp HTTP/1.1",
        "host: 10.0.0.1",
        "authorization: Bearer an-example-that-everybody-knows",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "mcp-protocol-version: 2026-07-28",
        &format!("mcp-method: {method}"),
        &format!("mcp-name: {name}"),
        "connection: close",
        &format!("content-length: {}", body.len()),
    ];
    let head: String = head
        .iter()
        .filter(|field| !field.ends_with(": "))
        .map(|field| format!("{field}\r\n"))
        .collect();
    format!("{head}\r\n{body}")
}

const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}"#
);
