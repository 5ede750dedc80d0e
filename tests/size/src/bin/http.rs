//! `one_tool` over HTTP: for clients of all revisions, with a token and subscriptions to the list
//! of tools, which changes when the lamp is switched. The serial port stands in for a socket.
#![no_std]
#![no_main]

use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, Change, Messages, RawJson, SendError, Server, ServerConfig, ServerEvent,
    ServerFeatures, Target, Tx, entries,
};
use mcp_sansio_http1::{Access, CONTINUE, Collected, Exchange, MAX_HEAD, RequestReader};
use size::{board, uart::Uart};

const RX_BYTES: usize = 1024;
const TX_BYTES: usize = 512;
size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!("size of RequestReader, beside its bytes", size_of::<Reader>());
size::figure!("size of Exchange, beside its bytes", size_of::<Output>());

type Reader = RequestReader<&'static mut [u8]>;
type Output = Exchange<4, &'static mut [u8]>;

static CONFIG: ServerConfig = ServerConfig::new(Implementation::new("lamp", "1.0.0"), FEATURES);
const FEATURES: ServerFeatures = ServerFeatures::TOOLS.with(ServerFeatures::TOOLS_LIST_CHANGED);
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
static ACCESS: Access =
    Access::new().host_policy(HostPolicy::hosts(&["board"]).addresses()).tokens(&["secret"]);

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; RX_BYTES] = [0; RX_BYTES];
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];

    board::open();
    let mut reader: Reader = RequestReader::new(RX.as_mut_slice());
    let mut link = Link { port: Uart::open(), exchange: Exchange::new(TX.as_mut_slice()) };
    loop {
        match reader.collect() {
            Ok(Collected::Whole) => {
                let whole = reader.whole();
                if let Some((head, body)) = &whole {
                    if let Some(messages) = link.exchange.begin(&CONFIG, &ACCESS, head, body) {
                        link.handle(messages);
                    }
                    link.drain();
                }
                reader.next_request();
            }
            Ok(Collected::AwaitsContinue) => _ = link.port.write(CONTINUE),
            Ok(Collected::Part) => {
                let read = link.port.read(reader.spare());
                reader.commit(read);
            }
            Err(error) => {
                link.exchange.reject(&error.into(), reader.is_head());
                link.drain();
                reader.clear();
            }
        }
    }
}

struct Link {
    port: Uart,
    exchange: Output,
}

impl Link {
    #[inline(never)]
    fn handle(&mut self, mut messages: Messages<'_>) {
        loop {
            let event = self.exchange.next_event(&CONFIG, board::now(), &mut messages);
            match event {
                Ok(Some(ServerEvent::Request(request))) => {
                    let mut target = Target::Responded;
                    let responded = self.send(|server, tx| {
                        target = CATALOG.respond(server, &request, tx)?;
                        Ok(())
                    });
                    let (Ok(()), Target::Tool(_)) = (responded, target) else { continue };
                    let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
                        Some(on) => {
                            board::set_lamp(on);
                            TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
                        }
                        None => TextResult::error("on must be true or false"),
                    };
                    let _ = self.send(|server, tx| server.respond(request.handle, &result, tx));
                }
                Ok(Some(ServerEvent::Listening { request })) => {
                    // A board with several sockets goes on with the others here.
                    let _ = self
                        .send(|server, tx| server.publish(&mut Change::tools(), tx).map(|_| ()));
                    let _ = self.send(|server, tx| server.end_listen(request, tx).map(|_| ()));
                }
                Ok(Some(_)) => {}
                Err(SendError::Full) => self.drain(),
                Ok(None) | Err(_) => return self.exchange.complete(),
            }
        }
    }

    fn send(
        &mut self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        loop {
            let (mut server, tx) = self.exchange.parts(&CONFIG);
            match call(&mut server, tx) {
                Err(SendError::Full) => self.drain(),
                result => return result,
            }
        }
    }

    fn drain(&mut self) {
        let mut out = [0; MAX_HEAD];
        loop {
            match self.exchange.write(&mut out) {
                0 => return,
                len => _ = self.port.write(out.get(..len).unwrap_or_default()),
            }
        }
    }
}
