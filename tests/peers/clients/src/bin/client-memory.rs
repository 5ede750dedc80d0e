//! `client-memory PORT ours|rmcp`: opens a thousand connections to a server on this machine, makes
//! a call on each, and prints the memory that one of them takes.

use std::error::Error;
use std::net::TcpStream;

use async_io::Async;
use clients::{CONFIG, memory_kib};
use mcp_sansio::types::CallToolParams;
use mcp_sansio::{CallOptions, Era, RawJson};
use mcp_sansio_adapters::asynchronous::client::{Client, ClientLimits, Connection, Connector};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;

const COUNT: usize = 1000;

/// Prints the growth of resident memory from the first few connections to `COUNT` of them.
#[derive(Default)]
struct Meter(usize);

impl Meter {
    fn connected(&mut self, number: usize) {
        if number == 9 {
            self.0 = memory_kib("VmRSS:");
        }
    }

    fn stop(self) {
        println!("{} B a connection", (memory_kib("VmRSS:") - self.0) * 1024 / COUNT);
    }
}

/// Requests in flight of a client.
const IN_FLIGHT: usize = ClientLimits::new().max_in_flight as usize;

fn ours(port: u16) -> Result<(), Box<dyn Error>> {
    println!(
        "core's client of {IN_FLIGHT} {} B, connection future {} B",
        size_of::<mcp_sansio::ClientState<{ IN_FLIGHT }>>(),
        size_of::<Connection<Async<TcpStream>>>()
    );
    let executor = smol::LocalExecutor::new();
    async_io::block_on(executor.run(async {
        let mut held: Vec<Client> = Vec::new();
        let mut meter = Meter::default();
        for number in 0..COUNT + 10 {
            let stream = Async::<TcpStream>::connect(([127, 0, 0, 1], port)).await?;
            let (client, connection) = Connector::new(&CONFIG).era(Era::Legacy).connect(stream);
            executor.spawn(connection).detach();
            let params =
                CallToolParams::new("echo").arguments(RawJson::from_static(r#"{"text":"hello"}"#));
            client.request("tools/call", &params, CallOptions::new()).await?;
            held.push(client);
            meter.connected(number);
        }
        meter.stop();
        Ok(())
    }))
}

fn rmcp(port: u16) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut held = Vec::new();
        let mut meter = Meter::default();
        for number in 0..COUNT + 10 {
            let service =
                ().serve(tokio::net::TcpStream::connect(("127.0.0.1", port)).await?).await?;
            let mut arguments = serde_json::Map::new();
            arguments.insert("text".into(), "hello".into());
            service.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
            held.push(service);
            meter.connected(number);
        }
        meter.stop();
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [port, who] if who == "ours" => ours(port.parse()?),
        [port, who] if who == "rmcp" => rmcp(port.parse()?),
        _ => Err("usage: client-memory PORT ours|rmcp".into()),
    }
}
